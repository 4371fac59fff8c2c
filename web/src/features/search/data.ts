// Reads of a search, which decisions call for reading again, and what people decide themselves.
import { post, read, segment } from '@/shared/api/client';
import { concerning, useLive } from '@/shared/api/live';
import {
  BestSoFar,
  Curves,
  Importance,
  ListDecisionsResponse,
  Search,
  type SearchDecision,
  type SeriesKey,
} from '@/shared/api/messages';

const path = (name: string) => `/experiments/${segment(name)}`;
const decided = ['search-decided', 'experiment-created', 'experiment-extended', 'experiment-state'];

export const useSearch = (name: string) =>
  useLive(
    `search ${name}`,
    (signal) => read(`${path(name)}/search`, Search, { all_units: true }, signal),
    concerning(name, ...decided),
  );

export const useBest = (name: string) =>
  useLive(
    `best so far ${name}`,
    (signal) => read(`${path(name)}/search/best`, BestSoFar, {}, signal),
    concerning(name, ...decided),
  );

export const useImportance = (name: string) =>
  useLive(
    `importance ${name}`,
    (signal) => read(`${path(name)}/search/importance`, Importance, {}, signal),
    concerning(name, ...decided),
  );

// runs: with the curve of every trial, where trials are what is judged.
export const useSearchCurves = (name: string, key: SeriesKey, runs: boolean) => {
  const query = { ...key, max_points: 120, ...(runs ? {} : { means_only: true }) };
  return useLive(
    `curves of the search ${name} ${JSON.stringify(query)}`,
    (signal) => read(`${path(name)}/curves`, Curves, query, signal),
    concerning(name, ...decided, 'points', 'attempt-started', 'attempt-ended', 'stage-state'),
    `curves of the search ${name}`,
  );
};

const pageSize = 1000;

// Reads the log after decision `from`: whole first, then what has come since. A log only grows.
export function decisionReader(
  name: string,
  from: number,
): (signal: AbortSignal) => Promise<SearchDecision[]> {
  let kept: SearchDecision[] = [];
  return async (signal) => {
    let more = true;
    while (more) {
      const after = kept[kept.length - 1]?.number ?? from;
      const query = { after, page_size: pageSize };
      const page = await read(`${path(name)}/search/decisions`, ListDecisionsResponse, query, signal);
      kept = [...kept, ...page.decisions];
      more = page.more && page.decisions.length > 0;
    }
    return kept;
  };
}

export const useDecisions = (name: string, from: number) =>
  useLive(
    `decisions ${name} ${from}`,
    decisionReader(name, from),
    concerning(name, ...decided),
    `decisions ${name}`,
  );

const decide = (verb: 'stop' | 'continue') => (name: string, trials: readonly number[], reason: string) =>
  post(`${path(name)}/search:${verb}`, Search, { body: { trials: trials.map(String), reason } });

export const stopTrials = decide('stop');
export const continueTrials = decide('continue');
