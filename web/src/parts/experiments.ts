// Reads of experiments that several pages share: one, and the list, best rows included.
import { read, readPages, segment } from '@/shared/api/client';
import { concerning, useLive, useLiveParts } from '@/shared/api/live';
import { Experiment, ListExperimentsResponse } from '@/shared/api/messages';

export const useExperiment = (name: string) =>
  useLive(
    `experiment ${name}`,
    (signal) => read(`/experiments/${segment(name)}`, Experiment, {}, signal),
    concerning(name),
  );

export const useExperiments = () =>
  useLiveParts<Experiment[]>(
    'experiments',
    (signal, begun) =>
      readPages('/experiments', ListExperimentsResponse, (page) => page.experiments, signal, begun),
    (change) => change.all || change.experiments.length > 0,
  );
