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
  'system/memory_bytes': 'Memory, GiB',
  'system/gpu_percent': 'GPU, %',
  'system/gpu_memory_bytes': 'GPU memory, GiB',
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

function Chart({ series }: { series: SystemSeries }) {
  const title = titleOf(series.key);
  const points = useMemo(() => systemPoints(series), [series]);
  const plot = useMemo(() => plotOf(points, 0, title), [points, title]);
  const [place, setPlace] = useState<number | null>(null);
  const after = place === null ? -1 : points.step.findIndex((each) => each > place);
  const i = (after < 0 ? points.step.length : after) - 1;
  return (
    <figure class="system-chart">
      <figcaption class="axis-caption">
        <span>{title}</span>
        {i >= 0 && <span class="number">{significant(points.value[i]!, 3)}</span>}
      </figcaption>
      <CurveChart
        plot={plot}
        focus={null}
        height={height}
        onPlace={setPlace}
        label={`${title} against minutes before now.`}
      />
    </figure>
  );
}

export function SystemCard({ system }: { system: readonly SystemSeries[] }) {
  const drawn = system.filter((each) => each.value.length > 1);
  if (drawn.length === 0) return null;
  return (
    <Card title="Machine" id="machine" tools={<span class="quiet">minutes before now</span>}>
      <div class="system-charts">
        {drawn.map((each) => (
          <Chart key={`${each.key.metric} ${each.key.labels}`} series={each} />
        ))}
      </div>
    </Card>
  );
}
