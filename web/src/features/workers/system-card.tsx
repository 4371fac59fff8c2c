// What a worker's machine did in the last hour, one chart a series.
import { useMemo, useState } from 'preact/hooks';
import type { SystemSeries } from '@/shared/api/messages';
import { CurveChart } from '@/shared/charts/curve-chart';
import { plotOf } from '@/shared/charts/curve-data';
import { significant } from '@/shared/format';
import { Card } from '@/shared/ui/parts';
import './system-card.css';

const height = 130;
const gibibyte = 2 ** 30;
const minute = 60e6; // microseconds

const names: Record<string, string> = {
  'system/cpu_percent': 'CPU, % of all cores',
  'system/memory_bytes': 'Memory in use, GiB',
  'system/gpu_percent': 'GPU, %',
  'system/gpu_memory_bytes': 'GPU memory in use, GiB',
};

// "GPU 1, %": names of machines' series, in units that people read.
export function titleOf({ metric, labels }: SystemSeries['key']): string {
  const name = names[metric] ?? metric;
  const gpu = (JSON.parse(labels || '{}') as { gpu?: number }).gpu;
  return gpu === undefined ? name : name.replace('GPU', `GPU ${gpu}`);
}

// Minutes before the newest sample, and the values in the title's unit.
export function systemPoints({ key, time_us: time, value }: SystemSeries) {
  const last = time[time.length - 1] ?? 0;
  const unit = key.metric.endsWith('_bytes') ? gibibyte : 1;
  const none = value.map(() => 0);
  return {
    step: time.map((each) => (each - last) / minute),
    value: value.map((each) => each / unit),
    epoch: none,
    images: none,
    time_us: time,
    reduced: false,
  };
}

// A share is of a hundred, and everything is of nothing at least: a steady load must not look like a wild one.
export function spanOf(metric: string, value: readonly number[]): readonly [number, number] {
  return metric.endsWith('_percent') ? [0, 105] : [0, 1.1 * Math.max(...value, 0.01)];
}

// A place on the axis, minutes before the newest sample: "12 min ago".
export function agoText(minutes: number): string {
  if (minutes === 0) return 'now';
  const past = Math.abs(minutes);
  return past < 1 ? `${Math.round(60 * past)} s ago` : `${Number(past.toPrecision(3))} min ago`;
}

function Chart({ series }: { series: SystemSeries }) {
  const title = titleOf(series.key);
  const points = useMemo(() => systemPoints(series), [series]);
  const plot = useMemo(() => plotOf(points, 0, title), [points, title]);
  const span = useMemo(() => spanOf(series.key.metric, points.value), [series.key.metric, points]);
  const [place, setPlace] = useState<number | null>(null);
  const after = place === null ? -1 : points.step.findIndex((each) => each > place);
  const i = (after < 0 ? points.step.length : after) - 1;
  return (
    <figure class="system-chart">
      <figcaption class="axis-caption">
        <span>{title}</span>
        {i >= 0 && (
          <span class="number">
            {significant(points.value[i]!, 3)} {agoText(points.step[i]!)}
          </span>
        )}
      </figcaption>
      <CurveChart
        plot={plot}
        focus={null}
        height={height}
        onPlace={setPlace}
        tickText={agoText}
        span={span}
        label={`${title} over the last minutes.`}
      />
    </figure>
  );
}

export function SystemCard({ system }: { system: readonly SystemSeries[] }) {
  const drawn = system.filter((each) => each.value.length > 1);
  if (drawn.length === 0) return null;
  return (
    <Card title="Machine" id="machine" tools={<span class="quiet">the last hour at most</span>}>
      <div class="system-charts">
        {drawn.map((each) => (
          <Chart key={`${each.key.metric} ${each.key.labels}`} series={each} />
        ))}
      </div>
    </Card>
  );
}
