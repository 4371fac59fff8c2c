// Reads of the workers.
import { useLive } from '@/shared/api/live';
import { read } from '@/shared/api/client';
import { workerList } from '@/shared/api/types';

const kinds = ['worker-registered', 'worker-state', 'attempt-started', 'attempt-ended', 'progress'];

export const useWorkers = () =>
  useLive(
    'workers',
    (signal) => read('/workers', workerList, {}, signal),
    (change) => change.all || kinds.includes(change.event.kind),
  );
