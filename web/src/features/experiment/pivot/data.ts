// Reads of the paper table.
import { post } from '@/shared/api/client';
import { concerning, useLive } from '@/shared/api/live';
import { paperTable, type PaperTable } from '@/shared/api/paper';
import { bodyOf, type Format, type PaperRequest } from './request';

const path = '/paper-table';
const outcomes = [
  'experiment-extended',
  'experiment-state',
  'experiment-deleted',
  'stage-state',
  'attempt-ended',
];

export function usePaperTable(experiments: readonly string[], request: PaperRequest) {
  const body = bodyOf(experiments, request);
  const concerns = experiments.map((name) => concerning(name, ...outcomes));
  return useLive<PaperTable>(
    `paper table ${JSON.stringify(body)}`,
    (signal) => post(path, paperTable, { body, signal }),
    (change) => concerns.some((concern) => concern(change)),
    `paper table ${experiments.join()}`,
  );
}

// The same table as text of a format, for a paper. Throws ApiError.
export async function renderedTable(
  experiments: readonly string[],
  request: PaperRequest,
  format: Format,
): Promise<string> {
  return (await post(path, paperTable, { body: bodyOf(experiments, request, format) })).rendered;
}
