// Tags and notes of experiments and trials: what a person writes beside the work.
import { post, segment } from '@/shared/api/client';
import { Annotation } from '@/shared/api/messages';

// Whose they are: an experiment, or one trial of it.
export interface Annotated {
  experiment: string;
  ordinal?: number;
}

export interface Written {
  tags: readonly string[];
  note: string;
}

const path = ({ experiment, ordinal }: Annotated) =>
  `/experiments/${segment(experiment)}${ordinal === undefined ? '' : `/trials/${ordinal}`}`;

// Tags as typed: words, each once.
export const tagsOf = (typed: string): string[] => [
  ...new Set(typed.split(/[\s,]+/).filter((tag) => tag !== '')),
];

// Only what differs is sent, so that what others wrote meanwhile stays.
export function changesOf(before: Written, after: Written) {
  return {
    add_tags: after.tags.filter((tag) => !before.tags.includes(tag)),
    remove_tags: before.tags.filter((tag) => !after.tags.includes(tag)),
    ...(after.note === before.note ? {} : { note: after.note }),
  };
}

export const annotate = (whose: Annotated, before: Written, after: Written) =>
  post(`${path(whose)}:annotate`, Annotation, { body: changesOf(before, after) });
