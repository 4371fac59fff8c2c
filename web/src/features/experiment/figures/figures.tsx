// Figures over the rows of an experiment: accuracy against cost with its Pareto front, and parallel coordinates.
import { useRef, useState } from 'preact/hooks';
import { flagQuery, textQuery, useQuery } from '@/shared/router';
import type { Experiment, PaperTable } from '@/shared/api/messages';
import { svgOf } from '@/shared/charts/figure';
import { type Limits, meets, ParallelPlot } from '@/shared/charts/parallel-plot';
import type { Look } from '@/shared/palette';
import { paretoFront } from '@/shared/charts/pareto';
import { ScatterPlot } from '@/shared/charts/scatter-plot';
import { plural, shortenedApart, significant } from '@/shared/format';
import { SelectField } from '@/shared/ui/fields';
import { FigureMenu } from '@/shared/charts/figure-menu';
import { Card, Swatch, Switch } from '@/shared/ui/parts';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { usePivotTable } from '@/parts/pivot/data';
import { usualRequest } from '@/parts/pivot/request';
import { axisName, numericFactors, parallelCsv, parallelOf, scatterCsv, scatterOf } from './figure-data';
import './figures.css';

const costs = [
  'ms_per_step',
  'parameters',
  'forward_ms_p50',
  'images_per_second',
  'flops',
  'peak_memory_bytes',
] as const;
const costQuery = textQuery('ms_per_step');
const logQuery = flagQuery(false);
const frontQuery = flagQuery(true);
const metricQuery = textQuery('');

function LegendRows({
  points,
  front,
  setFocus,
}: {
  points: readonly { look: Look | null; label: string; x: number; y: number }[];
  front: ReadonlySet<number>;
  setFocus: (index: number | null) => void;
}) {
  const names = shortenedApart(
    points.map((point) => point.label),
    30,
  );
  return (
    <ul class="figure-legend" aria-label="Rows drawn">
      {points.map((point, i) => (
        <li key={point.label} onMouseEnter={() => setFocus(i)} onMouseLeave={() => setFocus(null)}>
          <Swatch look={point.look} />
          <span class="cell-label" title={point.label}>
            {names[i]}
          </span>
          <span class="number">{significant(point.y, 4)}</span>
          {front.has(i) && <span class="tag">front</span>}
        </li>
      ))}
    </ul>
  );
}

function CostFigure({ name, table, x, y }: { name: string; table: PaperTable; x: string; y: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [logX, setLogX] = useQuery('figlog', logQuery);
  const [withFront, setFront] = useQuery('front', frontQuery);
  const [focus, setFocus] = useState<number | null>(null);
  const scatter = scatterOf(table, x, y);
  const front = new Set(withFront ? paretoFront(scatter.points, scatter.directions) : []);
  const { directions } = scatter;
  const [xName, yName] = [axisName(table, x), axisName(table, y)];
  return (
    <>
      <div class="toolbar toolbar-quiet">
        <Switch label="Pareto front" on={withFront} set={setFront} />
        <Switch label="log x" on={logX} set={setLogX} />
        <FigureMenu
          name={`${name}-${y}-against-${x}`}
          svg={(scheme) =>
            svgOf(box.current!.querySelector('svg.figure')!, {
              title: `${name}: ${y} against ${x}`,
              legend: scatter.points,
              scheme,
              yName,
            })
          }
          csv={() => scatterCsv(scatter, x, y, front)}
        />
      </div>
      <p class="axis-caption">
        <span>{yName}, mean and interval over the seeds</span>
      </p>
      <div ref={box}>
        <ScatterPlot
          points={scatter.points}
          xName={xName}
          yName={yName}
          logX={logX}
          front={withFront ? directions : null}
          focus={focus}
          setFocus={setFocus}
          label={`${y} against ${x}, a point per row; the numbers are in the list below.`}
        />
      </div>
      {withFront && (
        <p class="table-note">
          {front.size} of {plural(table.rows.length, 'row')} on the front: no other has{' '}
          {directions.y === 'max' ? 'more' : 'less'} {y} for {directions.x === 'min' ? 'less' : 'more'} {x}.
        </p>
      )}
      <LegendRows points={scatter.points} front={front} setFocus={setFocus} />
    </>
  );
}

// The values that meet a requirement; at the end of the range where every value does, none is made.
export const required = (
  end: number,
  better: 'min' | 'max',
  [low, high]: readonly [number, number],
): readonly [number, number] | null =>
  better === 'min' ? (end >= high ? null : [-Infinity, end]) : end <= low ? null : [end, Infinity];

function Requirement({
  name,
  better,
  range,
  limit,
  set,
}: {
  name: string;
  better: 'min' | 'max'; // what is required: at most, or at least
  range: readonly [number, number];
  limit: readonly [number, number] | undefined;
  set: (limit: readonly [number, number] | null) => void;
}) {
  const step = (range[1] - range[0]) / 100 || 1;
  const said = `${name} ${better === 'min' ? 'at most' : 'at least'}`;
  return (
    <label class="select-field">
      <span>
        {said}
        {limit && <b class="number"> {significant(limit[better === 'min' ? 1 : 0], 3)}</b>}
      </span>
      <input
        type="range"
        class="range"
        aria-label={said}
        min={range[0]}
        max={range[1]}
        step={step}
        value={limit?.[better === 'min' ? 1 : 0] ?? range[better === 'min' ? 1 : 0]}
        onInput={(event) => set(required(event.currentTarget.valueAsNumber, better, range))}
      />
    </label>
  );
}

function FactorFigure({ name, table }: { name: string; table: PaperTable }) {
  const box = useRef<HTMLDivElement>(null);
  const [focus, setFocus] = useState<number | null>(null);
  const [limits, setLimits] = useState<Limits>(new Map());
  const parallel = parallelOf(table);
  const count = parallel.lines.filter((line) => meets(line, limits)).length;
  const require = (axis: number, limit: readonly [number, number] | null) => {
    const next = new Map(limits);
    if (limit) next.set(axis, limit);
    else next.delete(axis);
    setLimits(next);
  };
  return (
    <>
      <div class="toolbar toolbar-quiet">
        {parallel.axes.map((axis, a) => {
          if (axis.names) return null;
          const values = parallel.lines.map((line) => line.values[a]!).filter(Number.isFinite);
          if (values.length === 0) return null;
          return (
            <Requirement
              key={axis.name}
              name={axis.name}
              better={axis.better}
              range={[Math.min(...values), Math.max(...values)]}
              limit={limits.get(a)}
              set={(limit) => require(a, limit)}
            />
          );
        })}
        <FigureMenu
          name={`${name}-factors`}
          svg={(scheme) =>
            svgOf(box.current!.querySelector('svg.figure')!, {
              title: `${name}: factors and results`,
              legend: parallel.lines,
              scheme,
            })
          }
          csv={() => parallelCsv(parallel)}
        />
      </div>
      <div ref={box}>
        <ParallelPlot
          {...parallel}
          limits={limits}
          focus={focus}
          setFocus={setFocus}
          label="Factors and results, a line per row"
        />
      </div>
      <p class="table-note">
        {limits.size > 0 ? `${count} of ${plural(parallel.lines.length, 'row')} meet what is required. ` : ''}
        {focus !== null ? parallel.lines[focus]?.label : ''}
      </p>
    </>
  );
}

export function Figures({ experiment }: { experiment: Experiment }) {
  const [askedX, setX] = useQuery('cost', costQuery);
  const [askedY, setY] = useQuery('metric', metricQuery);
  const y = askedY || experiment.primary_metric;
  const asMetric = (metric: string) => ({ metric, split: '', reduce: '', labels: '' });
  const isFactor = askedX.startsWith('factor:');
  const x = isFactor ? askedX.slice('factor:'.length) : askedX;
  const metrics = [asMetric(y), ...(isFactor || x === y ? [] : [asMetric(x)])];
  const {
    data: table,
    error,
    readAt,
    refresh,
  } = usePivotTable([experiment.name], { ...usualRequest, metrics });
  const options = [
    ...costs.map((value) => ({ value: value as string, text: value as string })),
    ...(table ? numericFactors(table) : []).map((axis) => ({ value: `factor:${axis}`, text: axis })),
  ];
  if (!options.some((option) => option.value === askedX)) options.push({ value: askedX, text: x });
  const tools = (
    <>
      <SelectField label="Against" value={askedX} options={options} choose={setX} />
      <label class="select-field">
        <span>Metric</span>
        <input
          class="text-field"
          aria-label="Metric drawn"
          value={y}
          onChange={(event) => setY(event.currentTarget.value.trim())}
        />
      </label>
    </>
  );
  return (
    <>
      <Card title="Accuracy against cost" id="cost" tools={tools}>
        {!table && error && <ReadFailure what="The figure" error={error} retry={refresh} />}
        {!table && !error && <Skeleton rows={6} height={30} />}
        {table && <Stale error={error} readAt={readAt} />}
        {table && <CostFigure name={experiment.name} table={table} x={x} y={y} />}
      </Card>
      {table && (
        <Card title="Factors and results" id="factors">
          <FactorFigure name={experiment.name} table={table} />
        </Card>
      )}
    </>
  );
}
