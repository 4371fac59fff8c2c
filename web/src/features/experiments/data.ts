// Reads of the list of experiments, best rows included.
import { useLiveParts } from '@/shared/api/live';
import { readPages } from '@/shared/api/client';
import { type Experiment, experimentList } from '@/shared/api/types';
import { matches } from '@/shared/ui/fields';

export const useExperiments = () =>
  useLiveParts<Experiment[]>(
    'experiments',
    (signal, begun) => readPages('/experiments', experimentList, (page) => page.experiments, signal, begun),
    (change) => change.all || change.experiments.length > 0,
  );

export interface ExperimentFilter {
  text: string;
  state: string; // empty: any
  tag?: string; // likewise
}

export function filterExperiments(all: readonly Experiment[], { text, state, tag = '' }: ExperimentFilter) {
  return all.filter(
    (each) =>
      (state === '' || each.state === state) &&
      (tag === '' || each.tags.includes(tag)) &&
      matches(
        text,
        each.name,
        each.description,
        each.owner,
        each.dataset,
        each.best?.label ?? '',
        each.note,
        ...each.tags,
      ),
  );
}

// Every tag that any of them has.
export const allTags = (all: readonly Experiment[]) => [...new Set(all.flatMap((each) => each.tags))].sort();
