// From the server's curves to the columns of a plot: one shared step axis, bands, single runs, marks where a
// value is not finite.
import type { CellCurve, Curves, TrialCurve } from '@/shared/api/types';

// undefined: this series has no point at that step (the line goes on). null: a hole (the line breaks).
export type Value = number | null | undefined;

export interface PlotSeries {
  kind: 'low' | 'high' | 'run' | 'partial' | 'mean';
  cell: number;
  label: string;
  values: Value[];
}

// A value no axis can place.
export interface Mark {
  cell: number;
  step: number;
  value: number; // NaN or an infinity
}

export interface CurvePlot {
  steps: number[];
  series: PlotSeries[]; // a band is a "high" directly followed by its "low"
  marks: Mark[];
}

export interface CurveView {
  hidden: ReadonlySet<number>;
  band: boolean;
  runs: boolean;
  late: boolean; // only the last half of the steps, where the differences are
}

const finite = (value: number | undefined): number | null =>
  value !== undefined && Number.isFinite(value) ? value : null;

function stepAxis(cells: readonly CellCurve[], trials: readonly TrialCurve[]): number[] {
  const steps = new Set<number>();
  for (const curve of [...cells, ...trials]) curve.step.forEach((step) => steps.add(step));
  return [...steps].sort((a, b) => a - b);
}

interface MeanColumns {
  full: (i: number) => Value;
  partial: ((i: number) => Value) | null;
}

// The mean where every seed has arrived, and apart from it the stretch where it is over fewer: such a mean
// may still jump.
function meanColumns(curve: CellCurve): MeanColumns {
  const most = Math.max(0, ...curve.n);
  const whole = (i: number) => (curve.n[i] ?? most) >= most;
  const some = curve.step.some((_, i) => !whole(i));
  const full = (i: number) => (whole(i) ? finite(curve.mean[i]) : null);
  if (!some) return { full, partial: null };
  const last = curve.step.length - 1;
  const touches = (i: number) => !whole(i) || (i < last && !whole(i + 1)) || (i > 0 && !whole(i - 1));
  return { full, partial: (i) => (touches(i) ? finite(curve.mean[i]) : null) };
}

function marksOf(cell: number, step: readonly number[], values: readonly number[]): Mark[] {
  return values.flatMap((value, i) => (Number.isFinite(value) ? [] : [{ cell, step: step[i]!, value }]));
}

// The points of a curve from a step on.
function cellFrom(curve: CellCurve, from: number): CellCurve {
  const first = curve.step.findIndex((step) => step >= from);
  const cut = <T>(values: T[]) => (first < 0 ? [] : values.slice(first));
  return { ...curve, step: cut(curve.step), mean: cut(curve.mean), std: cut(curve.std), n: cut(curve.n) };
}

function trialFrom(curve: TrialCurve, from: number): TrialCurve {
  const first = curve.step.findIndex((step) => step >= from);
  return first < 0
    ? { ...curve, step: [], value: [] }
    : { ...curve, step: curve.step.slice(first), value: curve.value.slice(first) };
}

const lastStep = (curves: readonly { step: readonly number[] }[]) =>
  curves.reduce((most, curve) => Math.max(most, curve.step[curve.step.length - 1] ?? 0), 0);

export function assembleCurves(curves: Pick<Curves, 'cells' | 'trials'>, view: CurveView): CurvePlot {
  const from = view.late ? lastStep(curves.cells) / 2 : -Infinity;
  const shown = (curve: { cell: number }) => !view.hidden.has(curve.cell);
  const cells = curves.cells.filter(shown).map((curve) => cellFrom(curve, from));
  const trials = view.runs ? curves.trials.filter(shown).map((curve) => trialFrom(curve, from)) : [];
  const steps = stepAxis(cells, trials);
  const index = new Map(steps.map((step, i) => [step, i]));
  const column = (step: readonly number[], value: (i: number) => Value): Value[] => {
    const values = new Array<Value>(steps.length).fill(undefined);
    step.forEach((each, i) => {
      values[index.get(each)!] = value(i);
    });
    return values;
  };
  const series: PlotSeries[] = [];

  for (const { cell, label, step, mean, std } of view.band ? cells : []) {
    const edge = (sign: number) => (i: number) => {
      const spread = finite(std[i]);
      return spread === null ? null : finite(mean[i]! + sign * spread);
    };
    series.push({ kind: 'high', cell, label, values: column(step, edge(1)) });
    series.push({ kind: 'low', cell, label, values: column(step, edge(-1)) });
  }
  for (const { cell, seed, step, value } of trials) {
    series.push({ kind: 'run', cell, label: `seed ${seed}`, values: column(step, (i) => finite(value[i])) });
  }
  for (const curve of cells) {
    const { cell, label, step } = curve;
    const { full, partial } = meanColumns(curve);
    if (partial) series.push({ kind: 'partial', cell, label, values: column(step, partial) });
    series.push({ kind: 'mean', cell, label, values: column(step, full) });
  }
  const marks = [
    ...cells.flatMap((curve) => marksOf(curve.cell, curve.step, curve.mean)),
    ...trials.flatMap((curve) => marksOf(curve.cell, curve.step, curve.value)),
  ];
  return { steps, series, marks };
}

export interface Reading {
  step: number;
  mean: number;
  std: number;
  n: number;
}

// What a cell reads at a step: its last point at or before it. null before its first; without a step, its
// last point.
export function readingAt(curve: CellCurve, step: number | null): Reading | null {
  let low = 0;
  let high = curve.step.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (step === null || curve.step[middle]! <= step) low = middle + 1;
    else high = middle;
  }
  const i = low - 1;
  if (i < 0) return null;
  return { step: curve.step[i]!, mean: curve.mean[i] ?? NaN, std: curve.std[i] ?? NaN, n: curve.n[i] ?? 0 };
}
