// The points of a stage: one series at a time, superseded points left out by the server.
import { useMemo, useState } from 'preact/hooks';
import { useQuery } from '@/shared/router';
import { SeriesPicker, seriesQuery } from '@/parts/curves/series-picker';
import { chooseSeries } from '@/parts/curves/choose-series';
import type { QuerySeriesResponse } from '@/shared/api/messages';
import { CurveChart } from '@/shared/charts/curve-chart';
import { plotOf } from '@/shared/charts/curve-data';
import type { Look } from '@/shared/palette';
import { curveSvg } from '@/shared/charts/curve-svg';
import { csvOf } from '@/shared/csv';
import { count, plural, seriesText, significant } from '@/shared/format';
import { FigureMenu } from '@/shared/charts/figure-menu';
import { Card } from '@/shared/ui/parts';
import { ReadFailure, Skeleton } from '@/shared/ui/states';
import { usePoints, useSeries } from './data';

const height = 240;
const usual = { metric: 'loss', reports: 'test', selectsOn: 'train' };

// Every point drawn.
export function pointsCsv(points: QuerySeriesResponse): string {
  const { step, epoch, images, time_us: time, value } = points;
  return csvOf(
    ['step', 'epoch', 'images', 'time_us', 'value'],
    step.map((each, i) => [each, epoch[i], images[i], time[i], value[i]]),
  );
}

function readingText(points: QuerySeriesResponse, step: number | null): string {
  const after = step === null ? -1 : points.step.findIndex((each) => each > step);
  const i = (after < 0 ? points.step.length : after) - 1;
  if (i < 0) return '';
  const parts = [`step ${count(points.step[i]!)}`, significant(points.value[i]!, 5)];
  const epoch = points.epoch[i];
  if (epoch !== undefined && epoch > 0) parts.splice(1, 0, `epoch ${significant(epoch, 3)}`);
  return parts.join(' · ');
}

interface Place {
  experiment: string;
  stage: number;
  cell: number;
  look: Look | null;
}

function Chart({
  place,
  title,
}: {
  place: Place & { series: Parameters<typeof usePoints>[2] };
  title: string;
}) {
  const { experiment, stage, cell, look, series } = place;
  const { data, error, refresh } = usePoints(experiment, stage, series);
  const [step, setStep] = useState<number | null>(null);
  const plot = useMemo(
    () => data && plotOf(data, cell, title, look),
    [data, cell, title, look?.hue, look?.variant],
  );
  if (!data || !plot)
    return error ? (
      <ReadFailure what="The points" error={error} retry={refresh} />
    ) : (
      <Skeleton rows={5} height={30} />
    );
  return (
    <>
      <div class="axis-caption">
        <span>
          {plural(data.step.length, 'point')}
          {data.reduced && ', reduced: every spike is kept'}
        </span>
        <span class="axis-tools">
          <span class="number">{readingText(data, step)}</span>
          {plot.x && (
            <FigureMenu
              name={`stage-${stage}-${series.metric}-${series.split}`}
              svg={(scheme) =>
                curveSvg({
                  plot,
                  title,
                  xName: 'step',
                  yName: title,
                  zoom: null,
                  logX: false,
                  logY: false,
                  scheme,
                })
              }
              csv={() => pointsCsv(data)}
            />
          )}
        </span>
      </div>
      <CurveChart
        plot={plot}
        focus={null}
        height={height}
        onPlace={setStep}
        wholeNumbers
        label={`${title} against steps.`}
      />
      {plot.marks.length > 0 && (
        <p class="table-note">A cross at the edge marks a value that is not a finite number (NaN or ∞).</p>
      )}
    </>
  );
}

const haltedTexts = {
  parked: 'Parked at a rung of its search: its curve is gray until the search sends it on.',
  stopped: 'Stopped by its search: its curve is gray.',
};

// halted: how a search holds the stage where it is; empty where none does.
export function PointsCard(props: Place & { halted?: '' | keyof typeof haltedTexts }) {
  const { experiment, stage, cell, halted = '' } = props;
  const look = halted === '' ? props.look : null;
  const [asked, choose] = useQuery('series', seriesQuery);
  const { data } = useSeries(experiment, stage);
  if (!data || data.series.length === 0) return null;
  const key = chooseSeries(asked, usual, data.series);
  const tools = <SeriesPicker value={key} available={data.series} choose={choose} />;
  return (
    <Card title="Points" id="points" tools={tools}>
      <Chart place={{ experiment, stage, cell, look, series: key }} title={seriesText(key)} />
      {halted !== '' && <p class="table-note">{haltedTexts[halted]}</p>}
    </Card>
  );
}
