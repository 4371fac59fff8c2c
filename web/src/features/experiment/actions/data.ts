// What a person can do to an experiment or a trial.
import { post, segment } from '@/shared/api/client';
import { useLive } from '@/shared/api/live';
import { deleteResponse, rerunResponse } from '@/shared/api/operations';
import { experiment } from '@/shared/api/types';

const path = (name: string) => `/experiments/${segment(name)}`;

export const pause = (name: string) => post(`${path(name)}:pause`, experiment);
export const resume = (name: string) => post(`${path(name)}:resume`, experiment);
export const cancel = (name: string) => post(`${path(name)}:cancel`, experiment);
export const rerun = (name: string) => post(`${path(name)}:rerun`, rerunResponse);
export const deleteExperiment = (name: string, force: boolean) =>
  post(`${path(name)}:delete`, deleteResponse, { query: { force } });

// What deleting would take along; nothing is deleted.
export const useDeletion = (name: string) =>
  useLive(
    `deletion of ${name}`,
    (signal) => post(`${path(name)}:delete`, deleteResponse, { query: { dry_run: true }, signal }),
    (change) => change.all,
  );
