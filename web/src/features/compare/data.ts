// Reads of a comparison: settings and results of all items in one answer, curves per experiment.
import type { QueryCodec } from '@/shared/router';
import { read, segment } from '@/shared/api/client';
import { useLive } from '@/shared/api/live';
import { type ComparedItem, Comparison, Curves, type SeriesKey } from '@/shared/api/messages';
import type { CellPart } from '@/shared/charts/curve-data';
import { apart, type Look } from '@/shared/palette';

export const itemsMost = 16;

// "a/3,a/cells/0" in the address.
export const itemsQuery: QueryCodec<readonly string[]> = {
  read: (text) => [...new Set((text ?? '').split(',').filter((each) => each !== ''))].slice(0, itemsMost),
  write: (items) => (items.length === 0 ? null : items.join(',')),
};

export const experimentOf = (item: string) => item.slice(0, item.indexOf('/'));
const experimentsOf = (items: readonly string[]) => [...new Set(items.map(experimentOf))].sort();

const concerned = (items: readonly string[]) => {
  const names = new Set(experimentsOf(items));
  return (change: { all: true } | { all: false; experiments: readonly string[] }) =>
    change.all || change.experiments.some((name) => names.has(name));
};

export const useComparison = (items: readonly string[], key: SeriesKey | null) =>
  useLive<Comparison>(
    `compare ${items.join()} ${key ? `${key.metric} ${key.split} ${key.labels}` : ''}`,
    (signal) => read('/compare', Comparison, { items, ...(key ?? {}) }, signal),
    concerned(items),
    `compare ${items.join()}`,
  );

// The curves of every experiment that an item belongs to.
export const useCurvesOf = (items: readonly string[], key: SeriesKey) =>
  useLive<ReadonlyMap<string, Curves>>(
    `curves of ${experimentsOf(items).join()} ${key.metric} ${key.split} ${key.labels}`,
    async (signal) => {
      const names = experimentsOf(items);
      const found = await Promise.all(
        names.map((name) =>
          read(`/experiments/${segment(name)}/curves`, Curves, { ...key, max_points: 400 }, signal),
        ),
      );
      return new Map(names.map((name, i) => [name, found[i]!]));
    },
    concerned(items),
    `curves of ${experimentsOf(items).join()}`,
  );

// A comparison, and how its items are called and look.
export interface Compared {
  comparison: Comparison;
  names: readonly string[];
  looks: readonly (Look | null)[];
}

// How the server calls the items: short, and unlike each other.
export const itemNames = (items: readonly Pick<ComparedItem, 'title'>[]) => items.map((item) => item.title);

// Letters of a name above a column: few columns have room for whole names.
export const headingRoom = (names: readonly string[]) => (names.length <= 4 ? 34 : 18);

// The items' looks, those of equal cells set apart.
export const itemLooks = (items: readonly Pick<ComparedItem, 'look'>[]): (Look | null)[] =>
  apart(items.map((item) => item.look));

// The items as curves of one chart, each in its look.
export function itemCurves(
  items: readonly Pick<ComparedItem, 'kind' | 'experiment' | 'cell' | 'label' | 'trials' | 'look'>[],
  found: ReadonlyMap<string, Curves>,
): Pick<Curves, 'trials' | 'available'> & { cells: CellPart[] } {
  const cells: CellPart[] = items.map((item, place) => {
    const source = found.get(item.experiment);
    const { label, look } = item;
    const empty = { cell: place, label, look, step: [], mean: [], std: [], n: [] };
    if (item.kind === 'cell') {
      const curve = source?.cells.find((each) => each.cell === item.cell);
      return curve ? { ...curve, cell: place, label, look } : empty;
    }
    const curve = source?.trials.find((each) => each.trial === item.trials[0]);
    if (!curve) return empty;
    const alone = curve.step.map(() => 1);
    return { ...empty, step: curve.step, mean: curve.value, std: curve.step.map(() => NaN), n: alone };
  });
  const trials = items.flatMap((item, place) =>
    item.kind === 'cell'
      ? (found.get(item.experiment)?.trials ?? [])
          .filter((each) => each.cell === item.cell)
          .map((each) => ({ ...each, cell: place }))
      : [],
  );
  const keys = new Map(
    [...found.values()].flatMap((each) =>
      each.available.map((key) => [`${key.metric}/${key.split}/${key.labels}`, key] as const),
    ),
  );
  return { cells, trials, available: [...keys.values()] };
}
