// Reads of one experiment, and which changes call for reading again.
import { concerning, type Live, useLive, useLiveParts } from '@/shared/api/live';
import { type Query, read, readPages, segment } from '@/shared/api/client';
import {
  Curves,
  ListForeignSeriesResponse,
  ListTrialsResponse,
  type SeriesKey,
  Table,
} from '@/shared/api/messages';

const path = (name: string) => `/experiments/${segment(name)}`;
const outcomes = [
  'experiment-created',
  'experiment-extended',
  'experiment-state',
  'stage-state',
  'attempt-ended',
];

const firstRows = 50; // more than a window shows; public/first.js asks for as many

// Sorted or grouped in another way than the server's, the table begins with other rows: then it comes whole.
async function tableInParts(
  name: string,
  labels: string,
  signal: AbortSignal,
  begun?: (first: Table) => void,
): Promise<Table> {
  const ask = (part: Query) => read(`${path(name)}/table`, Table, { labels, ...part }, signal);
  const query = new URLSearchParams(location.search);
  if (!begun || query.has('rank') || query.has('by')) return ask({});
  const first = await ask({ first_rows: firstRows });
  if (first.rows_total <= first.rows.length) return first;
  begun(first);
  return ask({});
}

// labels: canonical; empty for those of the training resolution.
export const useTableOf = (name: string, labels = '') =>
  useLiveParts<Table>(
    `table ${name} ${labels}`,
    (signal, begun) => tableInParts(name, labels, signal, begun),
    concerning(name, ...outcomes),
    `table ${name}`,
  );

// zoom: steps; to 0: to the end. The part is read by itself, so that its points are exact. Single runs come only where
// they are drawn: they are most of the answer.
export const useCurves = (
  name: string,
  key: SeriesKey,
  look: { band: 'std' | 'interval'; runs: boolean; zoom: { from: number; to: number } | null },
) => {
  const { band, runs, zoom } = look;
  const part = zoom ? { from_step: zoom.from, to_step: zoom.to } : {};
  const query = { ...key, band, max_points: 400, ...part, ...(runs ? {} : { means_only: true }) };
  return useLive(
    `curves ${name} ${JSON.stringify(query)}`,
    (signal) => read(`${path(name)}/curves`, Curves, query, signal),
    concerning(name, ...outcomes, 'points', 'attempt-started'),
    `curves ${name} ${key.metric} ${key.split}`,
  );
};

const foreignChanges = ['foreign-imported', 'foreign-removed'];

// What was imported beside it, without points.
export const useImports = (name: string) =>
  useLive(
    `foreign ${name}`,
    (signal) => read(`${path(name)}/foreign`, ListForeignSeriesResponse, {}, signal),
    concerning(name, ...foreignChanges),
  );

const none: ListForeignSeriesResponse = { imports: [] };

// Those of one series, with their points; nothing is asked where there are none.
export const useForeign = (name: string, key: SeriesKey, there: boolean) =>
  useLive(
    `foreign ${name} ${there ? JSON.stringify(key) : ''}`,
    (signal) =>
      there
        ? read(`${path(name)}/foreign`, ListForeignSeriesResponse, { ...key, max_points: 400 }, signal)
        : Promise.resolve(none),
    concerning(name, ...foreignChanges),
  );

export type TrialTable = Omit<ListTrialsResponse, 'next_page_token'>;

// Pages as one list: what holds for all of them once.
export function joinPages(pages: readonly TrialTable[]): TrialTable {
  const last = pages[pages.length - 1]!;
  const cells = new Map(pages.flatMap((page) => page.cells.map((cell) => [cell.cell, cell] as const)));
  return {
    trials: pages.flatMap((page) => page.trials),
    columns: last.columns,
    cells: [...cells.values()].sort((a, b) => a.cell - b.cell),
    available: last.available,
  };
}

// Every trial with its values of the metrics named ("top1/test"); of none: what the experiment reports.
export const useTrials = (name: string, metrics: readonly string[]): Live<TrialTable> =>
  useLiveParts(
    `trials ${name} ${metrics.join('|')}`,
    async (signal, begun) => {
      const part = begun && ((pages: TrialTable[]) => begun(joinPages(pages)));
      const asked = metrics.length > 0 ? { metrics: [...metrics] } : {};
      return joinPages(
        await readPages(`${path(name)}/trials`, ListTrialsResponse, (page) => [page], signal, part, asked),
      );
    },
    concerning(name),
    `trials ${name}`,
  );
