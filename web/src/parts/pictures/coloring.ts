// The colors of a patch map, and readings of its grid.
import type { Picture, PictureView } from './documents';

export type Value = number | null;

// How values become colors: up from the low end, to both sides of zero, or on one side of zero from its near end to its
// far one.
export interface Coloring {
  scale: string; // "sequential", "diverging", "above", "below"
  low: number;
  high: number;
}

const nearZero = 0.2; // of the color, for the end nearest to zero: the sign must show

// Where a value stands between the ends: 0 to 1, or below zero down to -1 where the scale has a sign. null stays null.
export function share(view: Coloring, value: Value): number | null {
  if (value === null || Number.isNaN(value)) return null;
  if (view.scale === 'diverging') {
    const most = Math.max(Math.abs(view.low), Math.abs(view.high)) || 1;
    return Math.max(-1, Math.min(1, value / most));
  }
  const span = view.high - view.low;
  if (view.scale === 'above' || view.scale === 'below') {
    const below = view.scale === 'below';
    const far = span > 0 ? (below ? view.high - value : value - view.low) / span : 1;
    const size = nearZero + (1 - nearZero) * Math.max(0, Math.min(1, far));
    return below ? -size : size;
  }
  return span > 0 ? Math.max(0, Math.min(1, (value - view.low) / span)) : 0;
}

const finite = (head: readonly (readonly Value[])[]) =>
  head.flat().filter((value): value is number => value !== null && Number.isFinite(value));

// From the least to the largest value of one head, for all queries.
export function ownRange(head: readonly (readonly Value[])[]): readonly [number, number] {
  const values = finite(head);
  return values.length > 0 ? [Math.min(...values), Math.max(...values)] : [0, 0];
}

export const ranges = ['shared', 'spread', 'own'] as const;
export type Range = (typeof ranges)[number]; // the view's, that of its values, each head's own

type Shown = Pick<PictureView, 'low' | 'high' | 'values'>;

const wholeRange = ({ values }: Pick<Shown, 'values'>) => ownRange(values.flat());
const widthOf = ([low, high]: readonly [number, number]) => high - low;

// Differences that could be rounding do not count.
const rounding = ([low, high]: readonly [number, number]) => 2e-3 * Math.max(Math.abs(low), Math.abs(high));

// Whether every value is the same: there is nothing to see but that.
export function flat(view: Pick<Shown, 'values'>): boolean {
  const whole = wholeRange(view);
  return widthOf(whole) <= rounding(whole);
}

// The range that shows most: each head's own where the heads lie so far apart that a common one hides what is within
// each, that of the values where they fill little of the view's, else the view's.
export function usualRange(view: Shown): Range {
  const whole = wholeRange(view);
  if (flat(view)) return 'shared';
  const most = Math.max(...view.values.map((head) => widthOf(ownRange(head))));
  if (most > rounding(whole) && most < 0.25 * widthOf(whole)) return 'own';
  return widthOf(whole) < 0.35 * (view.high - view.low) ? 'spread' : 'shared';
}

// The colors of one head. A view with two signs keeps them: what lies on one side of zero takes that side's color.
export function coloring(view: PictureView, head: number, range: Range): Coloring {
  if (range === 'shared') return view;
  const [low, high] = range === 'own' ? ownRange(view.values[head]!) : wholeRange(view);
  const scale =
    view.scale !== 'diverging' ? 'sequential' : low >= 0 ? 'above' : high <= 0 ? 'below' : 'diverging';
  return { scale, low, high };
}

// The view to begin with: the first in which something differs.
export const tellingView = (picture: Picture): PictureView | undefined =>
  picture.views.find((view) => !flat(view)) ?? picture.views[0];

// Not the middle: what differs by direction shows better from a place with all of it around.
export const usualPatch = ([rows, columns]: readonly number[]) =>
  Math.floor(rows! / 2) * columns! + Math.floor(columns! / 3);

export const patchName = (patch: number, columns: number) =>
  `row ${Math.floor(patch / columns) + 1}, column ${(patch % columns) + 1}`;

// The patch one step away, staying on the grid.
export function moved(patch: number, key: string, [rows, columns]: readonly number[]): number | null {
  const [row, column] = [Math.floor(patch / columns!), patch % columns!];
  const steps: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  };
  const step = steps[key];
  if (!step) return null;
  const next = (value: number, by: number, size: number) => Math.max(0, Math.min(size - 1, value + by));
  return next(row, step[0], rows!) * columns! + next(column, step[1], columns!);
}

// Points of a curve through the middles of the patches, for an SVG whose patches are of size 1.
export const curvePoints = (path: readonly number[], columns: number) =>
  path.map((patch) => `${(patch % columns) + 0.5},${Math.floor(patch / columns) + 0.5}`).join(' ');
