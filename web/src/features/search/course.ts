// The strokes of a search: the curve of each unit, and the best value so far against what was spent.
import type { BestSoFar, Curves, SearchPhase } from '@/shared/api/messages';
import { assembleCurves, type CellPart, type CurvePlot, type Stroke } from '@/shared/charts/curve-data';
import type { Look } from '@/shared/palette';
import { isGray, unitName } from './units';

export const curvesMost = 300; // drawn at once

// The units whose curves are drawn: all, or those that went furthest.
export function drawnUnits(phase: SearchPhase): number[] {
  const all = phase.units.map((_, i) => i);
  if (all.length <= curvesMost) return all;
  const rung = (i: number) => phase.units[i]!.rung;
  return all.sort((a, b) => rung(b) - rung(a) || a - b).slice(0, curvesMost);
}

// The curves of a unit, under the unit's number: one, or where each rung trains anew one of every rung; none while there is no point.
function partsOf(phase: SearchPhase, index: number, curves: Curves, look: Look | null): CellPart[] {
  const unit = phase.units[index]!;
  const label = unitName(phase, unit);
  if (phase.unit !== 'trial') {
    const cells = unit.cells.length > 0 ? unit.cells : [unit.cell];
    return cells.flatMap((cell) => {
      const found = curves.cells.find((curve) => curve.cell === cell);
      return found ? [{ ...found, cell: index, look, label }] : [];
    });
  }
  const trials = unit.cells.length > 0 ? unit.trials : unit.trials.slice(0, 1);
  return trials.flatMap((trial) => {
    const found = curves.trials.find((curve) => curve.trial === trial);
    if (!found) return [];
    const { step, epoch, value } = found;
    const none = step.map(() => NaN);
    return [{ cell: index, look, label, step, epoch, mean: value, std: none, n: step.map(() => 1) }];
  });
}

// Parked and stopped units are gray, so that what still counts stands out; parked ones dotted, others thin.
const grayKind = (state: string): Stroke['kind'] => (state === 'parked' ? 'partial' : 'run');

export function coursePlot(
  phase: SearchPhase,
  curves: Curves,
  looks: readonly (Look | null)[],
  hidden: ReadonlySet<number>, // groups
): CurvePlot {
  const parts = drawnUnits(phase)
    .filter((index) => !hidden.has(phase.units[index]!.group))
    .flatMap((index) => {
      const unit = phase.units[index]!;
      return partsOf(phase, index, curves, isGray(unit) ? null : (looks[unit.group] ?? null));
    });
  const axis = { hidden: new Set<number>(), band: false, runs: false, x: 'epoch' as const };
  const plot = assembleCurves({ cells: parts, trials: [] }, axis);
  const strokes = plot.strokes.map((stroke) => {
    const { state } = phase.units[stroke.cell]!;
    return isGray({ state }) ? { ...stroke, kind: grayKind(state) } : stroke;
  });
  return { ...plot, strokes: strokes.sort((a, b) => Number(a.look !== null) - Number(b.look !== null)) };
}

// A staircase: the best stays what it is until a better one comes.
export function stairs(x: readonly number[], y: readonly number[]): { x: number[]; y: number[] } {
  const out = { x: [] as number[], y: [] as number[] };
  x.forEach((each, i) => {
    if (i > 0) {
      out.x.push(each);
      out.y.push(y[i - 1]!);
    }
    out.x.push(each);
    out.y.push(y[i]!);
  });
  return out;
}

export function bestPlot(best: BestSoFar, looks: ReadonlyMap<string, Look | null>): CurvePlot {
  const strokes = best.curves.map((curve, cell): Stroke => {
    const { x, y } = stairs(curve.epochs, curve.value);
    const value = y.map((each) => (Number.isFinite(each) ? each : NaN));
    return { kind: 'mean', cell, look: looks.get(curve.group) ?? null, label: curve.group, x, y: value };
  });
  const places = strokes.flatMap((stroke) => [stroke.x[0], stroke.x[stroke.x.length - 1]]);
  const ends = places.filter((each) => each !== undefined);
  return { strokes, marks: [], x: ends.length > 0 ? [Math.min(...ends), Math.max(...ends)] : null };
}

// The best there was of a curve once so much was spent; null before anything was known.
export function bestAt(
  curve: BestSoFar['curves'][number],
  epochs: number | null,
): { value: number; trial: number } | null {
  let found = -1;
  curve.epochs.forEach((each, i) => {
    if (epochs === null || each <= epochs) found = i;
  });
  const [value, trial] = [curve.value[found], curve.trial[found]];
  return value === undefined || trial === undefined ? null : { value, trial };
}
