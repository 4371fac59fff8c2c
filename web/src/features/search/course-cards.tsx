// How the units fared: their curves by the metric that judges, and the best so far against what was spent.
import { useMemo, useState } from 'preact/hooks';
import type { Curves, SearchPhase, SeriesKey } from '@/shared/api/messages';
import { CurveChart } from '@/shared/charts/curve-chart';
import type { CurvePlot } from '@/shared/charts/curve-data';
import { curveSvg } from '@/shared/charts/curve-svg';
import { FigureMenu } from '@/shared/charts/figure-menu';
import { csvOf } from '@/shared/csv';
import { count, seriesText, significant, undefinedMark } from '@/shared/format';
import { hrefs } from '@/shared/hrefs';
import type { Look } from '@/shared/palette';
import { Card, LineSample } from '@/shared/ui/parts';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { chooseSeries } from '@/parts/curves/choose-series';
import { useBest, useSearchCurves } from './data';
import { bestAt, bestPlot, coursePlot, curvesMost } from './course';

const height = 260;

// Every point drawn, a line each.
export const plotCsv = (plot: CurvePlot, x: string, y: string) =>
  csvOf(
    ['unit', x, y],
    plot.strokes.flatMap((stroke) => stroke.x.map((each, i) => [stroke.label, each, stroke.y[i]])),
  );

function Menu(props: { name: string; plot: CurvePlot; title: string; xName: string; yName: string }) {
  const { name, plot, title, xName, yName } = props;
  const figure = { plot, title, xName, yName, zoom: null, logX: false, logY: false };
  return (
    <FigureMenu
      name={name}
      svg={(scheme) => curveSvg({ ...figure, scheme })}
      csv={() => plotCsv(plot, xName, yName)}
    />
  );
}

// What the lines mean; a group's button hides and shows its curves.
function CourseLegend(props: {
  phase: SearchPhase;
  looks: readonly Look[];
  hidden: ReadonlySet<number>;
  toggle: (group: number) => void;
}) {
  const { phase, looks, hidden, toggle } = props;
  const there = new Set(phase.units.map((unit) => unit.state));
  return (
    <ul class="course-legend" aria-label="Lines">
      {phase.groups.map((group, g) => (
        <li key={g}>
          <button
            type="button"
            class={`legend-entry ${hidden.has(g) ? 'legend-off' : ''}`}
            aria-pressed={!hidden.has(g)}
            onClick={() => toggle(g)}
          >
            <LineSample look={looks[g] ?? null} />
            <span class="cell-label">{group || 'all units'}</span>
          </button>
        </li>
      ))}
      {there.has('parked') && (
        <li class="course-gray">
          <svg class="line-sample" width={28} height={8} aria-hidden="true">
            <line x1={0} x2={28} y1={4} y2={4} stroke-dasharray="2 4" />
          </svg>
          parked: gray, dotted
        </li>
      )}
      {(there.has('stopped') || there.has('failed')) && (
        <li class="course-gray">
          <svg class="line-sample course-thin" width={28} height={8} aria-hidden="true">
            <line x1={0} x2={28} y1={4} y2={4} />
          </svg>
          stopped or failed: gray, thin
        </li>
      )}
    </ul>
  );
}

export function CurvesCard(props: {
  experiment: string;
  phase: SearchPhase;
  looks: readonly Look[];
  focus: number | null; // a unit
  onRead: (curves: Curves) => void;
}) {
  const { experiment, phase, looks, focus, onRead } = props;
  const [available, setAvailable] = useState<readonly SeriesKey[]>([]);
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const [place, setPlace] = useState<number | null>(null);
  const contract = { metric: phase.metric, reports: phase.split, selectsOn: phase.split };
  const series = chooseSeries(null, contract, available);
  const { data, error, readAt, refresh } = useSearchCurves(experiment, series, phase.unit === 'trial');
  if (data && data.available.length !== available.length) setAvailable(data.available);
  if (data) onRead(data);
  const plot = useMemo(
    () => data && coursePlot(phase, data, looks, hidden),
    [data, phase, JSON.stringify(looks), hidden],
  );
  const toggle = (group: number) => {
    const next = new Set(hidden);
    if (!next.delete(group)) next.add(group);
    setHidden(next);
  };
  const title = seriesText(series);
  const names = { xName: 'epoch', yName: title };
  return (
    <Card title="Curves" id="search-curves">
      {data && <Stale error={error} readAt={readAt} />}
      {!data && error && <ReadFailure what="The curves" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={5} height={30} />}
      {plot && (
        <>
          <div class="axis-caption">
            <span>{title}</span>
            <span class="axis-tools">
              <span class="number">{place === null ? '' : `epoch ${significant(place, 4)}`}</span>
              {plot.x && <Menu name={`${experiment}-search`} plot={plot} title={title} {...names} />}
            </span>
          </div>
          {plot.x ? (
            <CurveChart
              plot={plot}
              focus={focus}
              height={height}
              onPlace={setPlace}
              label={`${title} of every unit against epochs; the values are in the list of units below.`}
            />
          ) : (
            <p class="chart-empty">No points of {title} yet.</p>
          )}
          <CourseLegend phase={phase} looks={looks} hidden={hidden} toggle={toggle} />
          {phase.units.length > curvesMost && (
            <p class="table-note">
              The {count(curvesMost)} units that went furthest are drawn, of {count(phase.units.length)}.
            </p>
          )}
        </>
      )}
    </Card>
  );
}

export function BestCard({ experiment, looks }: { experiment: string; looks: ReadonlyMap<string, Look> }) {
  const { data, error, readAt, refresh } = useBest(experiment);
  const [place, setPlace] = useState<number | null>(null);
  const plot = useMemo(() => data && bestPlot(data, looks), [data, JSON.stringify([...looks])]);
  const title = data ? `best ${data.metric} on ${data.split}` : '';
  const names = { xName: 'epochs granted', yName: title };
  return (
    <Card title="Best so far" id="search-best">
      {data && <Stale error={error} readAt={readAt} />}
      {!data && error && <ReadFailure what="The best so far" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={5} height={30} />}
      {data && plot && !plot.x && <p class="chart-empty">No unit has a value yet.</p>}
      {data && plot?.x && (
        <>
          <div class="axis-caption">
            <span>{title} against epochs granted to the group</span>
            <span class="axis-tools">
              <span class="number">{place === null ? 'now' : `${significant(place, 4)} epochs`}</span>
              <Menu name={`${experiment}-best`} plot={plot} title={title} {...names} />
            </span>
          </div>
          <CurveChart
            plot={plot}
            focus={null}
            height={height}
            onPlace={setPlace}
            label={`${title} against epochs granted; the values are in the list below.`}
          />
          <ul class="course-legend" aria-label="Best of each group">
            {data.curves.map((curve) => {
              const at = bestAt(curve, place);
              return (
                <li key={curve.group} class="legend-entry">
                  <LineSample look={looks.get(curve.group) ?? null} />
                  <span class="cell-label">{curve.group || 'all units'}</span>
                  <span class="number">{at ? significant(at.value, 4) : undefinedMark}</span>
                  {at && <a href={hrefs.trial(experiment, at.trial)}>trial {at.trial}</a>}
                </li>
              );
            })}
          </ul>
        </>
      )}
    </Card>
  );
}
