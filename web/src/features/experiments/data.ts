// What of the list of experiments is found.
import type { Experiment } from '@/shared/api/messages';
import { matches } from '@/shared/ui/fields';

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
