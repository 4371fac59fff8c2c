// Reads of the papers' claims, and the grid that a table's numbers make.
import { read } from '@/shared/api/client';
import {
  type Claim,
  type ClaimSetting,
  type ClaimSummary,
  type ClaimTable,
  ListClaimsResponse,
} from '@/shared/api/messages';
import { concerning, useLive } from '@/shared/api/live';

// Results change with the experiment's stages; print never.
const moves = (experiment: string) =>
  experiment === ''
    ? (change: { all: boolean }) => change.all
    : concerning(experiment, 'stage-state', 'experiment-state', 'experiment-extended', 'experiment-created');

// The papers come with every answer, whatever it is about; one table's is small.
export const usePapers = () =>
  useLive<ListClaimsResponse>(
    'papers',
    (signal) => read('/claims', ListClaimsResponse, { table: 'Table 1' }, signal),
    (change) => change.all,
  );

// What the experiment says of every paper, in counts.
export const useClaimCounts = (experiment: string) =>
  useLive<ListClaimsResponse>(
    `claim counts ${experiment}`,
    (signal) => read('/claims', ListClaimsResponse, { experiment, summary: true }, signal),
    moves(experiment),
  );

export const useClaims = (paperId: string, experiment: string) =>
  useLive<ListClaimsResponse>(
    `claims ${paperId} ${experiment}`,
    (signal) => read('/claims', ListClaimsResponse, { paper: paperId, experiment }, signal),
    moves(experiment),
    `claims ${paperId}`,
  );

// Only what the experiment has a cell for: that changes with its cells, not with their results.
export const useMatchedClaims = (experiment: string) =>
  useLive<ListClaimsResponse>(
    `matched claims ${experiment}`,
    (signal) => read('/claims', ListClaimsResponse, { experiment, matched: true }, signal),
    concerning(experiment, 'experiment-extended'),
  );

export interface Grid {
  rows: readonly string[];
  columns: readonly string[];
  at: (row: string, column: string) => Claim | undefined;
  decimals: ReadonlyMap<string, number>; // by column: print keeps zeros at the end, numbers do not
  priorOn: 'row' | 'column'; // where the print varies the method
}

const decimalsOf = (value: number) =>
  /e/.test(String(value)) ? 0 : (String(value).split('.')[1] ?? '').length;

// The prior every number of the line has; empty when they differ or there is none.
export function priorOf(claims: readonly Claim[]): string {
  const first = claims[0]?.prior_json ?? '';
  return claims.every((each) => each.prior_json === first) ? first : '';
}

export function gridOf(of: ClaimTable): Grid {
  const key = (row: string, column: string) => `${row}\n${column}`;
  const places = new Map(of.claims.map((each) => [key(each.row, each.column), each]));
  const decimals = new Map<string, number>();
  for (const each of of.claims)
    decimals.set(each.column, Math.max(decimals.get(each.column) ?? 0, decimalsOf(each.value)));
  const varies = of.rows.some((row) => {
    const found = of.claims.filter((each) => each.row === row);
    return new Set(found.map((each) => each.prior_json)).size > 1;
  });
  return {
    rows: of.rows.filter((row) => of.claims.some((each) => each.row === row)),
    columns: of.columns,
    at: (row, column) => places.get(key(row, column)),
    decimals,
    priorOn: varies ? 'column' : 'row',
  };
}

// "learned-absolute", "violin {curves: [hilbert]}" of a combination as canonical JSON.
export interface PriorName {
  id: string;
  options: string;
}
export function priorNames(json: string): PriorName[] {
  if (json === '') return [];
  const list = JSON.parse(json) as (string | Record<string, Record<string, unknown>>)[];
  return list.map((each) => {
    if (typeof each === 'string') return { id: each, options: '' };
    const [id, options] = Object.entries(each)[0]!;
    const shown = Object.entries(options).map(
      ([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`,
    );
    return { id, options: shown.join('; ') };
  });
}

// Options that print or code tell beyond the priors' ids, each once.
export function optionsOf(of: ClaimTable): ClaimSetting[] {
  const seen = new Map<string, ClaimSetting>();
  for (const claim of of.claims)
    for (const each of claim.options) seen.set(`${each.name}\n${each.value}\n${each.from}`, each);
  return [...seen.values()];
}

// Whether anything measured stands beside a number of it.
export const saysSomething = (of: ClaimSummary) =>
  of.numbers > of.not_comparable ||
  of.why.some((each) => ['setting', 'no-baseline', 'no-pairs'].includes(each.name));

// Every sentence of a table with the number it is about.
export const matchesOf = (of: ClaimTable) =>
  of.claims.flatMap((each) => each.measured.map((found) => ({ claim: each, match: found })));
