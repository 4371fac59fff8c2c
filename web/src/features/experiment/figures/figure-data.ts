// What the figures are drawn from: the pivot table with a row per combination of factors and a column per metric.
import type { PaperTable, TableHeading } from '@/shared/api/messages';
import { axisOf, type ParallelAxis, type ParallelLine } from '@/shared/charts/parallel-plot';
import type { Directions } from '@/shared/charts/pareto';
import type { ScatterPoint } from '@/shared/charts/scatter-plot';
import { type CsvValue, csvOf } from '@/shared/csv';
import { rowLooks } from '@/parts/pivot/looks';
import { headingText } from '@/parts/pivot/words';

// Costs fall to be better, whatever nobody declared; throughput is the exception.
const growing = /per_second$|throughput/;

export const directionOf = (heading: Pick<TableHeading, 'direction' | 'metric'>): 'min' | 'max' =>
  heading.direction === 'max' || heading.direction === 'min'
    ? heading.direction
    : growing.test(heading.metric)
      ? 'max'
      : 'min';

const columnOf = (table: PaperTable, metric: string) =>
  table.columns.findIndex((column) => column.metric === metric);
const cellAt = (table: PaperTable, row: number, column: number) =>
  table.cells[row * table.columns.length + column];

export const metricName = (heading: TableHeading) =>
  heading.unit === '' ? heading.metric : `${heading.metric} (${heading.unit})`;

// What an axis of numbers is called: a metric with its unit, or a factor.
export function axisName(table: PaperTable, name: string): string {
  const column = table.columns[columnOf(table, name)];
  return column ? metricName(column) : name;
}

// A number of a row: a metric's mean, or the value of a factor that is a number.
export function numberOf(table: PaperTable, row: number, name: string): number {
  const factor = table.row_axes.indexOf(name);
  if (factor >= 0) {
    const label = table.rows[row]!.labels[factor] ?? '';
    return label.trim() === '' ? NaN : Number(label);
  }
  return cellAt(table, row, columnOf(table, name))?.mean ?? NaN;
}

// Factors whose every value is a number.
export const numericFactors = (table: PaperTable) =>
  table.row_axes.filter((axis) => table.rows.every((_, row) => Number.isFinite(numberOf(table, row, axis))));

export interface Scatter {
  points: ScatterPoint[];
  directions: Directions;
}

export function scatterOf(table: PaperTable, x: string, y: string): Scatter {
  const [cx, cy] = [columnOf(table, x), columnOf(table, y)];
  const looks = rowLooks(table);
  const points = table.rows.map((heading, row) => {
    const cell = cellAt(table, row, cy);
    return {
      look: looks[row]!,
      label: headingText(heading) || 'all',
      x: numberOf(table, row, x),
      y: cell?.mean ?? NaN,
      low: cell?.low ?? NaN,
      high: cell?.high ?? NaN,
    };
  });
  const direction = (column: number) => (column < 0 ? 'min' : directionOf(table.columns[column]!));
  return { points, directions: { x: direction(cx), y: direction(cy) } };
}

export function scatterCsv({ points }: Scatter, x: string, y: string, front: ReadonlySet<number>): string {
  return csvOf(
    ['row', x, y, `${y}_low`, `${y}_high`, 'on_front'],
    points.map((point, i) => [point.label, point.x, point.y, point.low, point.high, front.has(i)]),
  );
}

export interface Parallel {
  axes: ParallelAxis[];
  lines: ParallelLine[];
}

export function parallelOf(table: PaperTable): Parallel {
  const factors = table.row_axes.map((axis, i) =>
    axisOf(
      axis,
      table.rows.map((heading) => heading.labels[i] ?? ''),
    ),
  );
  const metrics = table.columns.map((heading, column) => ({
    axis: { name: metricName(heading), names: null, better: directionOf(heading) },
    values: table.rows.map((_, row) => cellAt(table, row, column)?.mean ?? NaN),
  }));
  const all = [...factors, ...metrics];
  const looks = rowLooks(table);
  return {
    axes: all.map((each) => each.axis),
    lines: table.rows.map((heading, row) => ({
      look: looks[row]!,
      label: headingText(heading) || 'all',
      values: all.map((each) => each.values[row]!),
    })),
  };
}

export function parallelCsv({ axes, lines }: Parallel): string {
  const written = (axis: ParallelAxis, value: number): CsvValue => (axis.names ? axis.names[value] : value);
  return csvOf(
    axes.map((axis) => axis.name),
    lines.map((line) => line.values.map((value, a) => written(axes[a]!, value))),
  );
}
