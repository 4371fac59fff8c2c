// The picture of a prior: what a patch attends to before any content, as the engine computed it. Nothing is
// computed here but colours and readings.
import {
  type Decoded,
  type Decoder,
  DecodeError,
  integer,
  list,
  message,
  optional,
  real,
  text,
} from '@/shared/api/decode';

const view = message({
  id: text,
  title: text,
  help: text,
  scale: text, // "sequential" or "diverging"
  low: real,
  high: real,
  heads: list(text), // a label per head
  values: list(list(list(optional(real)))), // [head][query][key]; null: never attended
});

const shape = message({
  version: integer,
  prior: text,
  revision: integer,
  setting: text,
  grid: list(integer), // rows, columns
  parameters_added: optional(integer),
  views: list(view),
  curves: list(message({ name: text, path: list(integer) })),
});

export type Picture = Decoded<typeof shape>;
export type PictureView = Picture['views'][number];
export type Value = number | null;

// Refuses a picture whose sizes do not fit: half a picture would mislead.
export const decodePicture: (value: unknown) => Picture = (value) => {
  const picture = (shape as Decoder<Picture>)(value, 'picture');
  const patches = picture.grid.reduce((product, each) => product * each, 1);
  if (picture.grid.length !== 2 || !(patches > 0))
    throw new DecodeError('picture.grid', 'rows and columns', picture.grid);
  for (const { id, values } of picture.views)
    for (const head of values)
      if (head.length !== patches || head.some((row) => row.length !== patches))
        throw new DecodeError(`picture.views.${id}`, `${patches} rows of ${patches} values`, head.length);
  return picture;
};

// Where a value stands between the ends: 0 to 1, or -1 to 1 for a diverging view. null stays null.
export function share(view: Pick<PictureView, 'scale' | 'low' | 'high'>, value: Value): number | null {
  if (value === null || Number.isNaN(value)) return null;
  if (view.scale === 'diverging') {
    const most = Math.max(Math.abs(view.low), Math.abs(view.high)) || 1;
    return Math.max(-1, Math.min(1, value / most));
  }
  const span = view.high - view.low;
  return span > 0 ? Math.max(0, Math.min(1, (value - view.low) / span)) : 0;
}

const finite = (head: readonly (readonly Value[])[]) =>
  head.flat().filter((value): value is number => value !== null && Number.isFinite(value));

// From the least to the largest value of one head, for all queries.
export function ownRange(head: readonly (readonly Value[])[]): readonly [number, number] {
  const values = finite(head);
  return values.length > 0 ? [Math.min(...values), Math.max(...values)] : [0, 0];
}

// Whether the heads lie so far apart that the range of all of them hides what is within each: then every head is
// better shown over its own. Differences that could be rounding do not count.
export function hidden(view: Pick<PictureView, 'low' | 'high' | 'values'>): boolean {
  const spreads = view.values.map(ownRange);
  const most = Math.max(0, ...spreads.map(([low, high]) => high - low));
  const size = Math.max(0, ...spreads.map(([low, high]) => Math.max(Math.abs(low), Math.abs(high))));
  return most > 2e-3 * size && most < 0.1 * (view.high - view.low);
}

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
