// The leaderboard as CSV (RFC 4180): the numbers as computed, not as rounded on the screen.
import type { Table, TableRow } from '@/shared/api/messages';
import { csvField } from '@/shared/csv';
import { isRanked } from './columns';

const number = (value: number) => (Number.isNaN(value) ? 'NaN' : String(value));
const known = (value: number) => (value < 0 ? '' : String(value));

const columns: readonly [string, (row: TableRow, rank: number, table: Table) => string][] = [
  ['rank', (row, rank, table) => (isRanked(row, table) ? String(rank) : '')],
  ['cell', (row) => csvField(row.label)],
  ['baseline', (row) => String(row.baseline)],
  ['metric', (_row, _rank, table) => csvField(table.metric)],
  ['split', (_row, _rank, table) => csvField(table.split)],
  ['labels', (_row, _rank, table) => csvField(table.labels)],
  ['n', (row) => String(row.n)],
  ['missing_seeds', (row) => csvField(row.missing_seeds.join(' '))],
  ['mean', (row) => number(row.mean)],
  ['std', (row) => number(row.std)],
  ['ci_low', (row) => number(row.ci_low)],
  ['ci_high', (row) => number(row.ci_high)],
  ['pairs', (row) => String(row.pairs)],
  ['difference', (row) => number(row.difference)],
  ['difference_std', (row) => number(row.difference_std)],
  ['difference_low', (row) => number(row.difference_low)],
  ['difference_high', (row) => number(row.difference_high)],
  ['p_sign_flip', (row) => number(row.p_sign_flip)],
  ['p_floor', (row) => number(row.p_floor)],
  ['p_t', (row) => number(row.p_t)],
  ['p_holm', (row) => number(row.p_holm)],
  ['parameters', (row) => known(row.parameters)],
  ['parameters_added', (row) => known(row.parameters_added)],
  ['ms_per_step', (row) => number(row.ms_per_step)],
  ['compared_with', (row) => csvField(row.baseline_label)],
  ['baseline_mean', (row) => number(row.baseline_mean)],
  ['top_seeds', (_row, _rank, table) => String(table.top_seeds)],
  ['mean_all', (row) => number(row.mean_all)],
  ['std_all', (row) => number(row.std_all)],
  ['standing', (row) => csvField(row.standing)],
  ['chosen_by', (row) => csvField(row.chosen_by)],
];

export function leaderboardCsv(table: Table): string {
  const seeds = [...new Set(table.rows.flatMap((row) => row.values.map((value) => value.seed)))].sort(
    (a, b) => a - b,
  );
  const head = [...columns.map(([name]) => name), ...seeds.map((seed) => `seed_${seed}`)];
  const lines = table.rows.map((row, i) => {
    const bySeed = new Map(row.values.map((value) => [value.seed, value.value]));
    const values = seeds.map((seed) => (bySeed.has(seed) ? number(bySeed.get(seed)!) : ''));
    return [...columns.map(([, write]) => write(row, i + 1, table)), ...values].join(',');
  });
  return `${[head.join(','), ...lines].join('\r\n')}\r\n`;
}
