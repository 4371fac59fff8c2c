// One series of every cell as a chart: means with their band, single runs, the part zoomed into read anew.
import { useMemo, useState } from 'preact/hooks';
import type { Curves, SeriesKey } from '@/shared/api/messages';
import { CurveChart, type Stretch } from '@/shared/charts/curve-chart';
import { assembleCurves, placeAt, stepAt, withForeign, type XAxis } from '@/shared/charts/curve-data';
import { curveSvg } from '@/shared/charts/curve-svg';
import { csvOf } from '@/shared/csv';
import { count, seriesText, significant } from '@/shared/format';
import { FigureMenu } from '@/shared/charts/figure-menu';
import { ReadFailure, Stale } from '@/shared/ui/states';
import { useCurves, useForeign } from '../data';
import type { CellSelection } from '@/parts/curves/cell-selection';
import { CurveLegend } from '@/parts/curves/curve-legend';
import { foreignCurves, ForeignLegend } from '@/parts/curves/foreign-legend';
import { axisNames, type Band, bandMeanings, type Zoom } from '@/parts/curves/curve-view';

const chartHeight = 300;

export interface Look {
  band: Band;
  runs: boolean;
  smoothing: number;
  axis: XAxis;
  logX: boolean;
  logY: boolean;
  zoom: Zoom | null;
  setZoom: (zoom: Zoom | null) => void;
}

// Every number of the curves drawn, means and runs.
export function curvesCsv(curves: Pick<Curves, 'cells' | 'trials'>, hidden: ReadonlySet<number>): string {
  const label = new Map(curves.cells.map((curve) => [curve.cell, curve.label]));
  const shown = (curve: { cell: number }) => !hidden.has(curve.cell);
  const head = [
    'cell',
    'label',
    'seed',
    'step',
    'epoch',
    'images',
    'seconds',
    'value',
    'std',
    'low',
    'high',
    'n',
  ];
  const means = curves.cells
    .filter(shown)
    .flatMap((c) =>
      c.step.map((step, i) => [
        c.cell,
        c.label,
        'mean',
        step,
        c.epoch[i],
        c.images[i],
        c.seconds[i],
        c.mean[i],
        c.std[i],
        c.low[i],
        c.high[i],
        c.n[i],
      ]),
    );
  const runs = curves.trials
    .filter(shown)
    .flatMap((c) =>
      c.step.map((step, i) => [
        c.cell,
        label.get(c.cell) ?? '',
        c.seed,
        step,
        c.epoch[i],
        c.images[i],
        c.seconds[i],
        c.value[i],
        undefined,
        undefined,
        undefined,
        1,
      ]),
    );
  return csvOf(head, [...means, ...runs]);
}

const most = 100; // cells drawn; more are a color without a name

// The first cells that are not hidden, with their runs.
export function firstCells(curves: Curves, hidden: ReadonlySet<number>): Curves {
  if (curves.cells.length <= most) return curves;
  const cells = curves.cells.filter((curve) => !hidden.has(curve.cell)).slice(0, most);
  const kept = new Set(cells.map((curve) => curve.cell));
  return { ...curves, cells, trials: curves.trials.filter((curve) => kept.has(curve.cell)) };
}

const placeText = (x: number | null, axis: XAxis) =>
  x === null
    ? 'latest'
    : axis === 'step' || axis === 'images'
      ? `${axis} ${count(Math.round(x))}`
      : axis === 'epoch'
        ? `epoch ${significant(x, 4)}`
        : `${significant(x, 4)} s`;

// What of the axis is shown: the stretch asked for. The points just outside it, which the server gives too, are where the
// lines lead to.
export function stretchOf(
  zoom: Zoom | null,
  axis: XAxis,
  curves: Pick<Curves, 'cells'>,
  plotted: readonly [number, number] | null,
): Stretch | null {
  if (!zoom || !plotted) return null;
  const from = placeAt(curves.cells, axis, zoom.from);
  const to = zoom.to === 0 ? plotted[1] : placeAt(curves.cells, axis, zoom.to);
  return [from, Math.max(to, from + (axis === 'step' ? 1 : 1e-9))];
}

const lastStep = (curves: Pick<Curves, 'cells'>) =>
  curves.cells.reduce((most, curve) => Math.max(most, curve.step[curve.step.length - 1] ?? 0), 0);

// The last half of what is shown, where the differences are.
export function lastHalf(curves: Pick<Curves, 'cells'>): Zoom | null {
  const last = lastStep(curves);
  return last > 1 ? { from: Math.floor(last / 2), to: 0 } : null;
}

function zoomOf(stretch: Stretch | null, curves: Pick<Curves, 'cells'>, axis: XAxis): Zoom | null {
  if (!stretch) return null;
  const from = stepAt(curves.cells, axis, stretch[0]);
  const to = Number.isFinite(stretch[1]) ? stepAt(curves.cells, axis, stretch[1]) : 0;
  return to === 0 ? (from > 0 ? { from, to } : null) : { from, to: Math.max(to, from + 1) };
}

export function SeriesChart({
  name,
  series,
  unit,
  cells,
  look,
  foreign,
  onRead,
}: {
  name: string;
  series: SeriesKey;
  unit: string;
  cells: CellSelection;
  look: Look;
  foreign: boolean; // other programs' series of this key were imported
  onRead: (curves: Curves) => void;
}) {
  const { band, runs, smoothing, axis, logX, logY, zoom } = look;
  const {
    data: found,
    error,
    readAt,
    refresh,
  } = useCurves(name, series, { band: band === 'interval' ? band : 'std', runs, zoom });
  const data = useMemo(() => found && firstCells(found, cells.hidden), [found, [...cells.hidden].join()]);
  const [place, setPlace] = useState<number | null>(null);
  if (found) onRead(found);
  const hiddenKey = [...cells.hidden].join();
  const view = { hidden: cells.hidden, band: band !== 'none', runs, x: axis, smoothing };
  const { data: others } = useForeign(name, series, foreign);
  const strangers = useMemo(() => foreignCurves(others), [others]);
  const plot = useMemo(
    () => data && withForeign(assembleCurves(data, view), strangers, axis),
    [data, strangers, hiddenKey, band, runs, axis, smoothing],
  );
  const title = `${seriesText(series)}${unit === '' ? '' : ` (${unit})`}`;
  const stretch = plot && data ? stretchOf(zoom, axis, data, plot.x) : null;
  const reduced = data?.trials.some((trial) => trial.reduced) ?? false;
  return (
    <div class="series-chart">
      {data && <Stale error={error} readAt={readAt} />}
      <div class="axis-caption">
        <span>{title}</span>
        <span class="axis-tools">
          <span class="number">{placeText(place, axis)}</span>
          {data && plot?.x && (
            <FigureMenu
              name={`${name}-${series.metric}-${series.split}`}
              svg={(scheme) =>
                curveSvg({
                  plot,
                  title: `${name}: ${title}`,
                  xName: axisNames[axis],
                  yName: title,
                  zoom: stretch,
                  logX,
                  logY,
                  scheme,
                })
              }
              csv={() => curvesCsv(data, cells.hidden)}
            />
          )}
        </span>
      </div>
      <div class="chart-box" style={{ minHeight: `${chartHeight}px` }}>
        {!data && error && <ReadFailure what="The curves" error={error} retry={refresh} />}
        {data && plot?.x && (
          <CurveChart
            plot={plot}
            focus={cells.focus}
            height={chartHeight}
            logX={logX}
            logY={logY}
            zoom={stretch}
            onZoom={(next) => look.setZoom(zoomOf(next, data, axis))}
            wholeNumbers={axis === 'step' || axis === 'images'}
            onPlace={setPlace}
            label={`Learning curves of ${title} against ${axisNames[axis]}; the values are in the list below.`}
          />
        )}
        {data && plot && !plot.x && (
          <p class="chart-empty">
            {data.cells.length > 0 && cells.hidden.size > 0
              ? 'All cells are hidden. Choose some below.'
              : zoom
                ? 'There is no point in this stretch.'
                : `No points of ${seriesText(series)} yet.`}
          </p>
        )}
      </div>
      {data && <CurveLegend curves={data} place={place} axis={axis} band={band} cells={cells} />}
      <ForeignLegend curves={strangers} place={axis === 'step' ? place : null} />
      {data && (
        <p class="table-note">
          {[
            `against ${axisNames[axis]}`,
            bandMeanings[band],
            found && found.cells.length > most
              ? `the first ${most} of ${count(found.cells.length)} cells are drawn; hide some to see others`
              : '',
            strangers.length === 0
              ? ''
              : axis === 'step'
                ? 'dashed gray: foreign series of other programs, never ranked or compared'
                : 'foreign series have steps alone, and are drawn against them',
            smoothing > 0 ? `line smoothed by ${smoothing}, raw line faint` : '',
            reduced
              ? 'long curves are drawn from afar: every spike of a single run is kept; zoom to read its points'
              : '',
          ]
            .filter((part) => part !== '')
            .join(' · ')}
        </p>
      )}
      {plot && plot.marks.length > 0 && (
        <p class="table-note">A cross at the edge marks a value that is not a finite number (NaN or ∞).</p>
      )}
    </div>
  );
}
