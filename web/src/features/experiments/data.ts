// Reads of the list of experiments and of each one's best row.
import { concerning, useLive } from '@/shared/api/live';
import { read, readPages, segment } from '@/shared/api/client';
import { experimentList, table } from '@/shared/api/types';

export const useExperiments = () =>
  useLive(
    'experiments',
    (signal) => readPages('/experiments', experimentList, (page) => page.experiments, signal),
    (change) => change.all || change.experiments.length > 0,
  );

export const useBest = (name: string) =>
  useLive(
    `best ${name}`,
    (signal) => read(`/experiments/${segment(name)}/table`, table, {}, signal),
    concerning(name, 'experiment-extended', 'experiment-state', 'stage-state'),
  );
