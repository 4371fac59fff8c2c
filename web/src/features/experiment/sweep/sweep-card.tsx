// The sweep: the metric at every setting it was evaluated at, as a plot and as numbers.
import { useRef } from 'preact/hooks';
import type { Live } from '@/shared/api/live';
import type { SweepSeries, Table } from '@/shared/api/messages';
import { svgOf } from '@/shared/charts/figure';
import { type SweepAxis, sweepAxis, SweepPlot } from '@/shared/charts/sweep-plot';
import { csvOf } from '@/shared/csv';
import { decimalsFor, meanStd, plural, seriesText, shortenedApart, undefinedMark } from '@/shared/format';
import { FigureMenu } from '@/shared/charts/figure-menu';
import { Card, CellName } from '@/shared/ui/parts';
import { ReadFailure, Skeleton } from '@/shared/ui/states';
import { WhenNear } from '@/shared/ui/when-near';
import type { CellSelection } from '@/parts/curves/cell-selection';

// The one label that differs between the settings: "resolution".
export function varyingLabel(labelSets: readonly string[]): string {
  const parsed = labelSets.flatMap((labels) => {
    try {
      return [JSON.parse(labels || '{}') as Record<string, unknown>];
    } catch {
      return [];
    }
  });
  const keys = [...new Set(parsed.flatMap((labels) => Object.keys(labels)))];
  return (
    keys.find((key) => new Set(parsed.map((labels) => JSON.stringify(labels[key]))).size > 1) ??
    keys[0] ??
    'setting'
  );
}

function SweepNumbers({
  series,
  axis,
  name,
  cells,
}: {
  series: readonly SweepSeries[];
  axis: SweepAxis;
  name: string;
  cells: CellSelection;
}) {
  const decimals = decimalsFor(series.flatMap((each) => each.points.map((point) => point.std)));
  const names = shortenedApart(
    series.map((each) => each.label),
    20,
  );
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="The sweep in numbers">
      <table class="table table-small sweep-table">
        <caption class="off-screen">Mean ± standard deviation by {name}</caption>
        <thead>
          <tr>
            <th scope="col">{name}</th>
            {axis.texts.map((text, i) => (
              <th key={axis.keys[i]} scope="col" class="number">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {series.map((each, i) => (
            <tr
              key={each.cell}
              class={cells.focus === each.cell ? 'row-focus' : ''}
              onMouseEnter={() => cells.setFocus(each.cell)}
              onMouseLeave={() => cells.setFocus(null)}
            >
              <th scope="row">
                <CellName look={each.look} label={names[i]!} title={each.label} />
              </th>
              {axis.keys.map((key) => {
                const point = each.points.find((candidate) => candidate.labels === key);
                const { mean, std } = point
                  ? meanStd(point.mean, point.std, decimals)
                  : { mean: undefinedMark, std: '' };
                return (
                  <td key={key} class="number" title={point && `n = ${point.n}`}>
                    {mean}
                    {point && point.n > 1 && <small> ± {std}</small>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const most = 60; // cells drawn

const metricName = ({ metric, split, unit }: Table) =>
  `${seriesText({ metric, split, labels: '' })}${unit === '' ? '' : ` (${unit})`}`;

// Every number of the sweep, as computed.
export function sweepCsv(series: readonly SweepSeries[], name: string): string {
  return csvOf(
    ['cell', 'label', name, 'labels', 'mean', 'std', 'n'],
    series.flatMap((each) =>
      each.points.map((p) => [each.cell, each.label, p.x, p.labels, p.mean, p.std, p.n]),
    ),
  );
}

// "3 seeds", "2 of 3 seeds", "1 to 2 of 3 seeds": how many are in the means shown.
export function seedsText(series: readonly SweepSeries[], asked: number): string {
  const counts = series.flatMap((each) => each.points.map((point) => point.n)).filter((n) => n > 0);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (counts.length === 0 || least >= asked) return plural(asked, 'seed');
  return `${least === most ? least : `${least} to ${most}`} of ${plural(asked, 'seed')}`;
}

// With one setting there is nothing to draw that the leaderboard does not say.
export const sweeps = (table: Pick<Table, 'label_sets'>) => table.label_sets.length > 1;

export function SweepCard({ live, cells }: { live: Live<Table>; cells: CellSelection }) {
  const { data: table, error, refresh } = live;
  const all = table?.sweep.filter((each) => each.points.length > 0) ?? [];
  const visible = all.filter((each) => !cells.hidden.has(each.cell));
  const order = new Map(table?.rows.map((row, rank) => [row.cell, rank]) ?? []);
  const best = [...visible].sort((a, b) => (order.get(a.cell) ?? 0) - (order.get(b.cell) ?? 0));
  const shown = visible.length > most ? best.slice(0, most) : visible;
  const name = varyingLabel(table?.label_sets ?? []);
  const box = useRef<HTMLDivElement>(null);
  const tools = table && shown.length > 0 && (
    <FigureMenu
      name={`${table.experiment}-by-${name}`}
      svg={(scheme) =>
        svgOf(box.current!.querySelector('svg.figure')!, {
          title: `${table.metric} by ${name}`,
          legend: shown,
          scheme,
          yName: metricName(table),
        })
      }
      csv={() => sweepCsv(all, name)}
    />
  );
  return (
    <Card
      title={name === 'setting' ? 'Sweep' : `By ${name}`}
      id="sweep"
      class="sweep-card"
      {...(tools ? { tools } : {})}
    >
      {!table && error && <ReadFailure what="The sweep" error={error} retry={refresh} />}
      {!table && !error && <Skeleton rows={6} height={28} />}
      {table && all.length === 0 && (
        <p class="chart-empty">Nothing has been evaluated at more than one setting yet.</p>
      )}
      {table && all.length > 0 && (
        <WhenNear>
          <p class="axis-caption">
            <span>
              {metricName(table)}, mean ± std over {seedsText(all, table.seeds)}
            </span>
          </p>
          <div ref={box}>
            <SweepPlot
              series={shown}
              focus={cells.focus}
              height={260}
              axis={name}
              label={`${table.metric} by ${name}; the numbers are in the table below.`}
            />
          </div>
          {visible.length > most && (
            <p class="table-note">
              The best {most} of {plural(visible.length, 'cell')} are drawn; the file has all.
            </p>
          )}
          <SweepNumbers series={shown} axis={sweepAxis(all)} name={name} cells={cells} />
        </WhenNear>
      )}
    </Card>
  );
}
