// What a cell of the pivot table says, in sentences with its own numbers.
import type { PaperCell, PaperTable, TableHeading } from '@/shared/api/messages';
import { fixed, interval, plural, pValue, signed } from '@/shared/format';

const testNames: Record<string, string> = {
  'sign-flip': 'exact sign-flip test',
  'paired-t': 'paired t test',
  welch: 'Welch test',
};

const flagTexts: Record<string, string> = {
  'missing-seeds': 'Seeds are missing.',
  'failed-seeds': 'Seeds failed.',
  'mixed-devices': 'Its runs are from different kinds of device.',
  'mixed-engine': 'Its runs were trained by another program than those it is compared with; it is never marked.',
  'mixed-environment': 'Its runs differ in precision, threads, path or build.',
  'not-finite': 'A value is not a finite number.',
  'stopped-early': 'Runs were stopped early, which biases the sample.',
  unpaired: 'No seed is in common with the baseline: the difference is of the means.',
  'no-spread': 'No difference varies, so a t test has no p.',
  'varying-times': 'Times vary between the seeds: something else used the machine.',
};

const listed = (seeds: readonly number[]) =>
  seeds.length > 10 ? `${seeds.length} of them` : seeds.join(', ');

function meanSentence(cell: PaperCell, heading: TableHeading, table: PaperTable, digits: number): string {
  if (cell.n === 0) return 'No seed has a result.';
  const unit = heading.unit === '' ? '' : ` ${heading.unit}`;
  const mean = `Mean ${fixed(cell.mean, digits)}${unit} over ${plural(cell.n, 'seed')}`;
  if (cell.n < 2) return `${mean}; one seed has no deviation.`;
  return (
    `${mean}, standard deviation ${fixed(cell.std, digits)}, ` +
    `${Math.round(100 * table.level)} % interval ${interval(cell.low, cell.high, digits)}.`
  );
}

function differenceSentences(cell: PaperCell, table: PaperTable, digits: number): string[] {
  if (Number.isNaN(cell.difference) || table.baseline === '') return [];
  const range = interval(cell.difference_low, cell.difference_high, digits);
  const out = [
    `${signed(cell.difference, digits)} against ${table.baseline} ${range}, ${plural(cell.pairs, 'pair')}.`,
  ];
  if (Number.isNaN(cell.p)) return out;
  const floor = Number.isNaN(cell.p_floor) ? '' : ` (lowest reachable ${pValue(cell.p_floor)})`;
  const test = testNames[cell.test || table.test] ?? cell.test;
  if (Number.isNaN(cell.p_adjusted)) {
    out.push(`${test}, outside the correction and never marked: p = ${pValue(cell.p)}.`);
    return out;
  }
  out.push(
    `${test}: p = ${pValue(cell.p)}${floor}, corrected ${pValue(cell.p_adjusted)}: ` +
      `${cell.significant ? 'significant' : 'not significant'} at ${table.alpha}.`,
  );
  return out;
}

// Everything a reader may ask about a cell, shown on hover and focus.
export function cellSentences(
  cell: PaperCell,
  heading: TableHeading,
  table: PaperTable,
  digits: number,
): string[] {
  const out = [meanSentence(cell, heading, table, digits)];
  if (cell.best) out.push('Best of its column.');
  if (cell.second) out.push('Second of its column.');
  out.push(...differenceSentences(cell, table, digits));
  if (cell.missing_seeds.length > 0) out.push(`Missing seeds: ${listed(cell.missing_seeds)}.`);
  if (cell.failed_seeds.length > 0) out.push(`Failed seeds: ${listed(cell.failed_seeds)}.`);
  for (const flag of cell.flags)
    if (flag !== 'missing-seeds' && flag !== 'failed-seeds') out.push(flagTexts[flag] ?? `${flag}.`);
  if (cell.seeds_needed > 0)
    out.push(`${plural(cell.seeds_needed, 'seed')} would show the difference asked about with 80 % power.`);
  const trials = cell.trials.length > 0 ? cell.trials : cell.values.map((value) => value.trial);
  if (trials.length > 0)
    out.push(
      `From ${trials.slice(0, 8).join(', ')}${trials.length > 8 ? `, and ${trials.length - 8} more` : ''}.`,
    );
  return out;
}

// Whether every cell is over equally many seeds, so that n is said once and not in each.
export function commonCount(table: PaperTable): number | null {
  const counts = new Set(table.cells.filter((cell) => cell.n > 0).map((cell) => cell.n));
  return counts.size === 1 ? [...counts][0]! : null;
}

export const headingText = (heading: TableHeading) => heading.labels.join(' · ');

// A column by what it is, for the address: its place may change when the table does.
export const headingKey = (heading: TableHeading) =>
  [...heading.keys, heading.metric, heading.split, heading.reduce].join('|');
