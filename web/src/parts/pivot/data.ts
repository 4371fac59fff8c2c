// Reads of the pivot table.
import { post, postAhead } from '@/shared/api/client';
import { concerning, useLiveParts } from '@/shared/api/live';
import { PaperTable } from '@/shared/api/messages';
import { bodyOf, type Format, type PivotRequest, requestFrom } from './request';

const path = '/paper-table';
const outcomes = [
  'experiment-extended',
  'experiment-state',
  'experiment-deleted',
  'stage-state',
  'attempt-ended',
];

const firstRows = 30; // more than a window shows

const beginning = (experiments: readonly string[], request: PivotRequest) => ({
  ...bodyOf(experiments, request),
  first_rows: firstRows,
});

// Asks for the beginning of the table of this address.
export const pivotTableAhead = (experiments: readonly string[], query: URLSearchParams): void =>
  postAhead(path, beginning(experiments, requestFrom(query)));

export function usePivotTable(experiments: readonly string[], request: PivotRequest) {
  const body = bodyOf(experiments, request);
  const concerns = experiments.map((name) => concerning(name, ...outcomes));
  return useLiveParts<PaperTable>(
    `pivot table ${JSON.stringify(body)}`,
    async (signal, begun) => {
      if (begun) {
        const first = await post(path, PaperTable, { body: beginning(experiments, request), signal });
        if (first.rows_total <= first.rows.length) return first;
        begun(first);
      }
      return post(path, PaperTable, { body, signal });
    },
    (change) => concerns.some((concern) => concern(change)),
    `pivot table ${experiments.join()}`,
  );
}

// The same table as text of a format, for a paper. Throws ApiError.
export async function renderedTable(
  experiments: readonly string[],
  request: PivotRequest,
  format: Format,
): Promise<string> {
  return (await post(path, PaperTable, { body: bodyOf(experiments, request, format) })).rendered;
}
