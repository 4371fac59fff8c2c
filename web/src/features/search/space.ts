// The axes of a search's space and of the value, and which units a brush on them leaves. Places are shares of an axis:
// 0 at its low end, 1 at its high one, whatever its scale.
import type { SearchDimension, SearchPhase } from '@/shared/api/messages';
import { extent, padded, ticksOf } from '@/shared/charts/scales';
import { plainNumber, scoreOf, valuesOf } from './units';

export interface SpaceAxis {
  name: string;
  kind: string; // "linear", "log", "int", "choice"
  low: number;
  high: number;
  choices: readonly string[];
}

export interface SpaceLine {
  unit: number; // place among the units of the phase
  group: number;
  places: readonly number[]; // by axis; NaN without
}

export type Brush = ReadonlyMap<number, readonly [number, number]>; // by axis, in places

const isLog = ({ kind, low }: Pick<SpaceAxis, 'kind' | 'low'>) => kind === 'log' && low > 0;

// Where a number or a choice stands; NaN for what the axis has no place for.
export function placeOn(axis: SpaceAxis, value: unknown): number {
  if (axis.kind === 'choice') {
    const written = typeof value === 'string' ? value : JSON.stringify(value);
    const same = (choice: string) =>
      choice === written || (typeof value === 'number' && Number(choice) === value);
    const at = axis.choices.findIndex(same); // 1e-05 is 0.00001
    return at < 0 ? NaN : placeOfChoice(axis, at);
  }
  if (typeof value !== 'number' || !Number.isFinite(value)) return NaN;
  if (!(axis.high > axis.low)) return 0.5;
  if (isLog(axis)) return value > 0 ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : NaN;
  return (value - axis.low) / (axis.high - axis.low);
}

const placeOfChoice = ({ choices }: SpaceAxis, at: number) =>
  choices.length > 1 ? at / (choices.length - 1) : 0.5;

// What stands at a place, for people.
export function textAt(axis: SpaceAxis, place: number): string {
  if (axis.kind === 'choice') return axis.choices[Math.round(place * (axis.choices.length - 1))] ?? '';
  const value = isLog(axis)
    ? axis.low * (axis.high / axis.low) ** place
    : axis.low + place * (axis.high - axis.low);
  return axis.kind === 'int' ? String(Math.round(value)) : plainNumber(value, 3);
}

// The marks of an axis with their places.
export function marksOf(axis: SpaceAxis): { place: number; text: string }[] {
  if (axis.kind === 'choice') return axis.choices.map((text, i) => ({ place: placeOfChoice(axis, i), text }));
  if (!(axis.high > axis.low)) return [{ place: 0.5, text: plainNumber(axis.low, 4) }];
  const found = ticksOf(isLog(axis))(axis.low, axis.high, 5);
  const whole = axis.kind === 'int' ? found.filter(Number.isInteger) : found;
  return whole.map((tick) => ({ place: placeOn(axis, tick), text: plainNumber(tick) }));
}

const axisOfDimension = ({ path, kind, low, high, choices }: SearchDimension): SpaceAxis => ({
  name: path,
  kind,
  low,
  high,
  choices,
});

// The space, then the value at `rung` (null: each unit's latest).
export function axesOf(phase: SearchPhase, rung: number | null): SpaceAxis[] {
  const range = extent(phase.units.map((unit) => scoreOf(unit, rung)));
  const [low, high] = range ? padded(range, 0.04) : [0, 1];
  const value = { name: phase.metric, kind: 'linear', low, high, choices: [] };
  return [...phase.space.map(axisOfDimension), value];
}

export function linesOf(phase: SearchPhase, axes: readonly SpaceAxis[], rung: number | null): SpaceLine[] {
  const last = axes[axes.length - 1]!;
  return phase.units.map((unit, i) => {
    const values = valuesOf(unit);
    const places = phase.space.map((dimension, a) => placeOn(axes[a]!, values[dimension.path]));
    return { unit: i, group: unit.group, places: [...places, placeOn(last, scoreOf(unit, rung))] };
  });
}

const slack = 1e-9; // of values printed and read back

export const within = (line: SpaceLine, brush: Brush): boolean =>
  [...brush].every(([axis, [low, high]]) => {
    const place = line.places[axis]!;
    return place >= low - slack && place <= high + slack;
  });

// A brush with one axis changed; the whole of an axis is no brush.
export function brushed(brush: Brush, axis: number, low: number, high: number): Brush {
  const next = new Map(brush);
  const [from, to] = [Math.max(0, Math.min(low, high)), Math.min(1, Math.max(low, high))];
  if (from <= 0 && to >= 1) next.delete(axis);
  else next.set(axis, [from, to]);
  return next;
}

// How far one press of a key moves an end: to the next choice or whole number, or a fiftieth.
export function stepOf(axis: SpaceAxis): number {
  if (axis.kind === 'choice') return 1 / Math.max(1, axis.choices.length - 1);
  if (axis.kind === 'int' && axis.high > axis.low) return Math.max(0.02, 1 / (axis.high - axis.low));
  return 0.02;
}

// The line nearest to a point between axes, in pixels; -1 where none is as near as `most`.
export function nearestLine(
  lines: readonly SpaceLine[],
  axes: number,
  at: { x: number; y: number }, // x: 0 at the first axis, axes - 1 at the last; y in places
  most: number,
): number {
  const left = Math.min(axes - 2, Math.max(0, Math.floor(at.x)));
  const share = at.x - left;
  let best = -1;
  let distance = most;
  lines.forEach((line, i) => {
    const [from, to] = [line.places[left]!, line.places[left + 1]!];
    const off = Math.abs(from + share * (to - from) - at.y); // NaN is never nearer
    if (off < distance) [best, distance] = [i, off];
  });
  return best;
}
