// Reads of one trial.
import { concerning, useLive } from '@/shared/api/live';
import { read, segment } from '@/shared/api/client';
import { trialDetail } from '@/shared/api/types';

export const useTrial = (experiment: string, ordinal: string) =>
  useLive(
    `trial ${experiment} ${ordinal}`,
    (signal) =>
      read(`/experiments/${segment(experiment)}/trials/${segment(ordinal)}`, trialDetail, {}, signal),
    concerning(experiment),
  );
