// Which trials are shown: by text, state, cell, factor values and results. All of it is in the address.
import type { QueryCodec } from '@/shared/router';
import type { Trial, TrialCell } from '@/shared/api/messages';
import { matches } from '@/shared/ui/fields';
import { assignmentOf, valueText } from '../factors';
import { trialReason } from './columns';

export interface Range {
  least: number; // both ends belong to it; infinite where there is no end
  most: number;
}

export const wholeRange: Range = { least: -Infinity, most: Infinity };

export interface TrialFilter {
  text: string;
  state: string; // empty: any
  cell: number | null;
  factors: ReadonlyMap<string, string>; // factor -> the value wanted
  ranges: ReadonlyMap<number, Range>; // by column of values
}

export const noFilter: TrialFilter = {
  text: '',
  state: '',
  cell: null,
  factors: new Map(),
  ranges: new Map(),
};

// A trial without a result is in no range.
const inRange = (value: number, { least, most }: Range) => value >= least && value <= most;

export function filterTrials(
  trials: readonly Trial[],
  cells: readonly TrialCell[],
  { text, state, cell, factors, ranges }: TrialFilter,
): Trial[] {
  const wanted = new Set(
    cells
      .filter((each) => {
        const assignment = assignmentOf(each.assignment_json);
        return [...factors].every(([factor, value]) => valueText(assignment[factor]) === value);
      })
      .map((each) => each.cell),
  );
  return trials.filter(
    (trial) =>
      (state === '' || trial.state === state) &&
      (cell === null || trial.cell === cell) &&
      (factors.size === 0 || wanted.has(trial.cell)) &&
      [...ranges].every(([column, range]) => inRange(trial.values[column] ?? NaN, range)) &&
      matches(text, trial.cell_label, `seed ${trial.seed}`, trial.state, trialReason(trial)),
  );
}

export const cellQuery: QueryCodec<number | null> = {
  read: (text) => (text !== null && /^\d+$/.test(text) ? Number(text) : null),
  write: (cell) => (cell === null ? null : String(cell)),
};

// "prior=violin|train.lr=0.003": values may hold commas and braces, so parts are apart by a bar, escaped within.
export const factorsQuery: QueryCodec<ReadonlyMap<string, string>> = {
  read: (text) =>
    new Map(
      (text ?? '').split('|').flatMap((part) => {
        const at = part.indexOf('=');
        return at > 0 ? [[part.slice(0, at), part.slice(at + 1).replaceAll('%7C', '|')] as const] : [];
      }),
    ),
  write: (factors) =>
    [...factors].map(([factor, value]) => `${factor}=${value.replaceAll('|', '%7C')}`).join('|') || null,
};

const endOf = (text: string, otherwise: number) =>
  text === '' || Number.isNaN(Number(text)) ? otherwise : Number(text);
const endText = (end: number) => (Number.isFinite(end) ? String(end) : '');

export const isWhole = ({ least, most }: Range) => least === -Infinity && most === Infinity;

// "0:80..90,1:..12": from 80 to 90 in the first column of values, at most 12 in the second.
export const rangesQuery: QueryCodec<ReadonlyMap<number, Range>> = {
  read: (text) =>
    new Map(
      (text ?? '').split(',').flatMap((part) => {
        const found = /^(\d+):([-+.e\d]*?)\.\.([-+.e\d]*)$/i.exec(part);
        if (!found) return [];
        const range = { least: endOf(found[2]!, -Infinity), most: endOf(found[3]!, Infinity) };
        return isWhole(range) ? [] : [[Number(found[1]), range] as const];
      }),
    ),
  write: (ranges) =>
    [...ranges]
      .map(([column, { least, most }]) => `${column}:${endText(least)}..${endText(most)}`)
      .join(',') || null,
};

// "top1/test/{}|ms_per_step/train/{}": the columns of values; none: what the experiment reports.
export const valuesQuery: QueryCodec<readonly string[]> = {
  read: (text) => [...new Set((text ?? '').split('|').filter((part) => part !== ''))].slice(0, 16),
  write: (metrics) => metrics.join('|') || null,
};
