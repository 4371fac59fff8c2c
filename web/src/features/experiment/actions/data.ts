// What a person can do to an experiment or a trial.
import { post, segment } from '@/shared/api/client';
import { removing, useLive } from '@/shared/api/live';
import { DeleteExperimentResponse, Experiment, RerunExperimentResponse } from '@/shared/api/messages';

const path = (name: string) => `/experiments/${segment(name)}`;

export const pause = (name: string) => post(`${path(name)}:pause`, Experiment);
export const resume = (name: string) => post(`${path(name)}:resume`, Experiment);
export const cancel = (name: string) => post(`${path(name)}:cancel`, Experiment);
export const rerun = (name: string) => post(`${path(name)}:rerun`, RerunExperimentResponse);
export const deleteExperiment = (name: string, force: boolean) =>
  removing(() => post(`${path(name)}:delete`, DeleteExperimentResponse, { query: { force } }));

// What deleting would take along; nothing is deleted.
export const useDeletion = (name: string) =>
  useLive(
    `deletion of ${name}`,
    (signal) => post(`${path(name)}:delete`, DeleteExperimentResponse, { query: { dry_run: true }, signal }),
    (change) => change.all,
  );
