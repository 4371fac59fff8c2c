// From the server's curves to strokes of a plot: bands, single runs, means raw and smoothed, marks where a value is
// not finite. Every stroke has places of its own, so curves of different steps need no common axis.
import type { CellCurve, TrialCurve } from '@/shared/api/messages';
import type { Look } from '@/shared/palette';

export const xAxes = ['step', 'epoch', 'images', 'seconds'] as const;
export type XAxis = (typeof xAxes)[number];

export interface Stroke {
  kind: 'band' | 'run' | 'faint' | 'partial' | 'mean' | 'foreign';
  cell: number;
  look: Look | null;
  label: string;
  x: readonly number[];
  y: readonly number[]; // NaN breaks the line; of a band, the lower edge
  upper?: readonly number[];
}

// A value no axis can place.
export interface Mark {
  cell: number;
  x: number;
  value: number; // NaN or an infinity
}

export interface CurvePlot {
  strokes: Stroke[]; // in the order they are drawn
  marks: Mark[];
  x: [number, number] | null; // from the first point to the last; null without any
}

export interface CurveView {
  hidden: ReadonlySet<number>;
  band: boolean;
  runs: boolean;
  x?: XAxis;
  smoothing?: number; // 0: none, toward 1: more
}

type Columns = 'low' | 'high' | 'epoch' | 'images' | 'seconds';
export type CellPart = Omit<CellCurve, Columns> & Partial<Pick<CellCurve, Columns>>;
export type TrialPart = Omit<TrialCurve, Columns> & Partial<Pick<TrialCurve, 'epoch' | 'images' | 'seconds'>>;

const finite = (value: number | undefined): number =>
  value !== undefined && Number.isFinite(value) ? value : NaN;

// Where the points of a curve stand; steps serve where the server did not say.
export function placesOf(curve: CellPart | TrialPart, axis: XAxis): readonly number[] {
  const column = curve[axis];
  return column && column.length === curve.step.length ? column : curve.step;
}

// Exponential moving average, its start debiased (Kingma and Ba, Adam, section 3), the weight of the past falling by
// `smoothing` for every usual distance between points, so that unevenly spaced points are smoothed evenly. What is not
// finite breaks the line and is not averaged in.
export function smoothed(x: readonly number[], y: readonly number[], smoothing: number): number[] {
  const gaps = x.slice(1).map((each, i) => each - x[i]!);
  const usual = gaps.sort((a, b) => a - b)[gaps.length >> 1] || 1;
  let sum = 0;
  let weight = 0;
  let last = NaN;
  return y.map((value, i) => {
    if (!Number.isFinite(value)) return NaN;
    const kept = Number.isNaN(last) ? 0 : smoothing ** Math.min(1e3, Math.max(0, (x[i]! - last) / usual));
    sum = kept * sum + (1 - smoothing) * value;
    weight = kept * weight + (1 - smoothing);
    last = x[i]!;
    return sum / weight;
  });
}

interface Means {
  full: number[];
  partial: number[] | null;
}

// The mean where every seed has arrived, and apart from it the stretch where it is over fewer: such a mean
// may still jump.
function splitMean(curve: CellPart, values: readonly number[]): Means {
  const most = Math.max(0, ...curve.n);
  const whole = curve.step.map((_, i) => (curve.n[i] ?? most) >= most);
  const full = values.map((value, i) => (whole[i] ? value : NaN));
  if (whole.every(Boolean)) return { full, partial: null };
  const touches = (i: number) => !whole[i] || whole[i + 1] === false || whole[i - 1] === false;
  return { full, partial: values.map((value, i) => (touches(i) ? value : NaN)) };
}

function marksOf(cell: number, x: readonly number[], values: readonly number[]): Mark[] {
  const out: Mark[] = [];
  for (let i = 0; i < values.length; i += 1)
    if (!Number.isFinite(values[i])) out.push({ cell, x: x[i]!, value: values[i]! });
  return out;
}

function bandOf(curve: CellPart, x: readonly number[]): Stroke {
  const { cell, look, label, mean, std, low, high } = curve;
  const edge = (given: readonly number[] | undefined, sign: number) =>
    given && given.length === mean.length
      ? given.map(finite)
      : mean.map((value, i) => finite(value + sign * (std[i] ?? NaN)));
  return { kind: 'band', cell, look, label, x, y: edge(low, -1), upper: edge(high, 1) };
}

function meanStrokes(curve: CellPart, x: readonly number[], smoothing: number): Stroke[] {
  const { cell, look, label } = curve;
  const raw = curve.mean.map(finite);
  const drawn = smoothing > 0 ? smoothed(x, raw, smoothing) : raw;
  const { full, partial } = splitMean(curve, drawn);
  return [
    ...(smoothing > 0 ? [{ kind: 'faint', cell, look, label, x, y: raw } as const] : []),
    ...(partial ? [{ kind: 'partial', cell, look, label, x, y: partial } as const] : []),
    { kind: 'mean', cell, look, label, x, y: full },
  ];
}

export function assembleCurves(
  curves: { cells: readonly CellPart[]; trials: readonly TrialPart[] },
  view: CurveView,
): CurvePlot {
  const axis = view.x ?? 'step';
  const shown = (curve: { cell: number }) => !view.hidden.has(curve.cell);
  const cells = curves.cells.filter(shown).map((curve) => ({ curve, x: placesOf(curve, axis) }));
  const trials = (view.runs ? curves.trials.filter(shown) : []).map((curve) => ({
    curve,
    x: placesOf(curve, axis),
  }));
  const looks = new Map(curves.cells.map((curve) => [curve.cell, curve.look]));
  const strokes: Stroke[] = view.band ? cells.map(({ curve, x }) => bandOf(curve, x)) : [];
  for (const { curve, x } of trials)
    strokes.push({
      kind: 'run',
      cell: curve.cell,
      look: looks.get(curve.cell) ?? null,
      label: `seed ${curve.seed}`,
      x,
      y: curve.value.map(finite),
    });
  for (const { curve, x } of cells) strokes.push(...meanStrokes(curve, x, view.smoothing ?? 0));
  const marks = [
    ...cells.flatMap(({ curve, x }) => marksOf(curve.cell, x, curve.mean)),
    ...trials.flatMap(({ curve, x }) => marksOf(curve.cell, x, curve.value)),
  ];
  let ends: [number, number] | null = null;
  for (const { x } of [...cells, ...trials]) {
    if (x.length === 0) continue;
    const [first, last] = [x[0]!, x[x.length - 1]!];
    ends = ends ? [Math.min(ends[0], first), Math.max(ends[1], last)] : [first, last];
  }
  return { strokes, marks, x: ends };
}

// A series of another program: it has steps alone, and no cell. Its number is negative, so that no cell's is meant.
export interface ForeignCurve {
  source: string;
  step: readonly number[];
  value: readonly number[];
}
export const foreignCell = (index: number) => -1 - index;

// The plot with foreign series in front, dashed, where it is against steps.
export function withForeign(
  plot: CurvePlot,
  foreign: readonly ForeignCurve[],
  axis: XAxis = 'step',
): CurvePlot {
  const drawn = axis === 'step' ? foreign.filter(({ step }) => step.length > 0) : [];
  if (drawn.length === 0) return plot;
  const strokes = drawn.map(
    ({ source, step, value }, i): Stroke => ({
      kind: 'foreign',
      cell: foreignCell(i),
      look: null,
      label: `foreign: ${source}`,
      x: step,
      y: value.map(finite),
    }),
  );
  const ends = drawn.flatMap(({ step }) => [step[0]!, step[step.length - 1]!]);
  return {
    strokes: [...plot.strokes, ...strokes],
    marks: [...plot.marks, ...drawn.flatMap(({ step, value }, i) => marksOf(foreignCell(i), step, value))],
    x: [Math.min(...(plot.x ?? []), ...ends), Math.max(...(plot.x ?? []), ...ends)],
  };
}

// How many points of an ascending list lie at or before x.
function upTo(places: readonly number[], x: number): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle]! <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The value of a line where it crosses `edge`, between points i and j; that of i where there is no line.
function crossing(x: readonly number[], y: readonly number[], i: number, j: number, edge: number): number {
  const value = y[i]!;
  if (j < 0 || j >= x.length || !Number.isFinite(y[j]) || x[j] === x[i]) return value;
  return value + ((y[j]! - value) * (edge - x[i]!)) / (x[j]! - x[i]!);
}

const whole = { hidden: new Set<number>(), band: false, runs: false };

// One run as a curve of its own.
export function plotOf(
  points: { step: readonly number[]; value: readonly number[] },
  cell: number,
  label: string,
  look: Look | null = null,
): CurvePlot {
  const [step, value] = [[...points.step], [...points.value]];
  const curve = { cell, look, label, step, mean: value, std: step.map(() => NaN), n: step.map(() => 1) };
  return assembleCurves({ cells: [curve], trials: [] }, whole);
}

// Lowest and highest of what is drawn between two places: the points there, and the lines that lead out of it up to its
// ends.
export function heightOf(
  plot: CurvePlot,
  [from, to]: readonly [number, number],
  log: boolean,
): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  const include = (x: readonly number[], values: readonly number[], first: number, last: number) => {
    for (let i = first; i < last; i += 1) {
      const value = // comparisons leave NaN out
        x[i]! < from
          ? crossing(x, values, i, i + 1, from)
          : x[i]! > to
            ? crossing(x, values, i, i - 1, to)
            : values[i]!;
      if (log && value <= 0) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  };
  for (const { x, y, upper } of plot.strokes) {
    const first = Math.max(0, upTo(x, from) - 1);
    const last = Math.min(x.length, upTo(x, to) + 1);
    include(x, y, first, last);
    if (upper) include(x, upper, first, last);
  }
  return low <= high ? [low, high] : null;
}

export interface Reading {
  x: number; // where it stands on the axis
  step: number;
  mean: number;
  std: number;
  low: number;
  high: number;
  n: number;
}

// What a cell reads at a place: its last point at or before it. null before its first; without a place, its
// last point.
export function readingAt(curve: CellPart, x: number | null, axis: XAxis = 'step'): Reading | null {
  const places = placesOf(curve, axis);
  const i = (x === null ? curve.step.length : upTo(places, x)) - 1;
  if (i < 0) return null;
  const at = (column: readonly number[] | undefined) => column?.[i] ?? NaN;
  return {
    x: places[i]!,
    step: curve.step[i]!,
    mean: at(curve.mean),
    std: at(curve.std),
    low: at(curve.low),
    high: at(curve.high),
    n: curve.n[i] ?? 0,
  };
}

// Where the drawn means have points, ascending: what can be read.
export function stopsOf(plot: CurvePlot): number[] {
  const stops = new Set<number>();
  for (const { kind, x } of plot.strokes) if (kind === 'mean') for (const each of x) stops.add(each);
  return [...stops].sort((a, b) => a - b);
}

// The nearest of ascending places; null without any.
export function nearest(places: readonly number[], x: number): number | null {
  const after = upTo(places, x);
  const [before, next] = [places[after - 1], places[after]];
  if (before === undefined || next === undefined) return before ?? next ?? null;
  return x - before <= next - x ? before : next;
}

const longestOf = (curves: readonly CellPart[]) =>
  curves.reduce<CellPart | null>(
    (best, curve) =>
      (curve.step[curve.step.length - 1] ?? -1) > (best?.step[best.step.length - 1] ?? -1) ? curve : best,
    null,
  );

// What stands in `to` where `from` has x; between points in proportion, beyond them the nearest.
function carried(from: readonly number[], to: readonly number[], x: number): number {
  const i = upTo(from, x) - 1;
  if (i < 0) return to[0]!;
  if (i >= from.length - 1) return to[from.length - 1]!;
  const share = (x - from[i]!) / (from[i + 1]! - from[i]! || 1);
  return to[i]! + share * (to[i + 1]! - to[i]!);
}

// The step that stands at a place of another axis, from the longest of the curves.
export function stepAt(curves: readonly CellPart[], axis: XAxis, x: number): number {
  if (axis === 'step') return Math.max(0, Math.round(x));
  const longest = longestOf(curves);
  return longest ? Math.round(carried(placesOf(longest, axis), longest.step, x)) : 0;
}

// The place of a step on another axis, from the longest of the curves.
export function placeAt(curves: readonly CellPart[], axis: XAxis, step: number): number {
  const longest = longestOf(curves);
  return axis === 'step' || !longest ? step : carried(longest.step, placesOf(longest, axis), step);
}
