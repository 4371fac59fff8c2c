// Reads of the workers, and what a person can ask of one.
import { useLive } from '@/shared/api/live';
import { post, read, segment } from '@/shared/api/client';
import type { Change } from '@/shared/api/event-stream';
import { ListWorkersResponse, Server, Worker, WorkerDetail } from '@/shared/api/messages';

const kinds = ['worker-registered', 'worker-state', 'attempt-started', 'attempt-ended', 'progress'];
const concerned = (change: Change) => change.all || kinds.includes(change.event.kind);
const path = (name: string) => `/workers/${segment(name)}`;

export const useWorkers = () =>
  useLive('workers', (signal) => read('/workers', ListWorkersResponse, {}, signal), concerned);

export const useWorker = (name: string) =>
  useLive(`worker ${name}`, (signal) => read(path(name), WorkerDetail, {}, signal), concerned);

export const useServer = () => useLive('server', (signal) => read('/server', Server, {}, signal), concerned);

// From `until` on, a time that the server reads; '': from now on.
export const drain = (name: string, reason: string, stop: boolean, until: string) =>
  post(`${path(name)}:drain`, Worker, {
    query: { reason, ...(stop ? { stop } : {}), ...(until === '' ? {} : { until }) },
  });
export const undrain = (name: string) => post(`${path(name)}:undrain`, Worker);
