// What the columns mean, in the reader's words. The sentences use the row's own numbers.
import type { TableRow } from '@/shared/api/messages';
import { count, plural, pValue } from '@/shared/format';

export const meanStdText = 'Mean over the seeds ± sample standard deviation (n − 1 in the denominator).';

export const intervalText =
  'Dot: mean. Whiskers: 95 % Student-t interval of the mean. Small ticks: the single runs. ' +
  'Dotted line: the mean of the baseline it is compared with. All rows share the axis.';

export function differenceText(baseline: string, unit: string): string {
  const points = unit === '%' ? ' In percentage points.' : '';
  return (
    `Mean over seeds of (this cell − ${baseline}), each difference between two runs of equal seed: ` +
    `same data order, same augmentation, same common initial weights. In brackets its 95 % interval.${points}`
  );
}

export const pText =
  'Exact two-sided sign-flip test of the paired differences: the share of all ways to flip their signs ' +
  'that give a mean at least as far from zero. It assumes no distribution.';

export const holmText =
  'The p-value after Holm’s correction for the number of comparisons in this table. ' +
  'Judge the table by this one.';

export const parametersText = 'Trainable parameters beyond the smallest cell of the same model.';

export const speedText =
  'Mean over the seeds of each training’s median time of one step. ' +
  'Compare only runs on the same kind of device.';

export const varyText =
  'One seed’s steps took half as long again as another’s, or more: something else used the machine.';

// Why p cannot be small with few seeds, and how many seeds it would take.
export function floorText(row: TableRow): string {
  const ways = 2 ** row.pairs;
  const needed = Math.max(row.pairs + 1, 6);
  const reached = row.p_sign_flip <= row.p_floor * (1 + 1e-9);
  const ability =
    row.p_floor > 0.05 ? ' So p < 0.05 is out of reach here, however clear the difference.' : '';
  const arrived = reached ? ' This row is at that floor: every seed’s difference has the same sign.' : '';
  return (
    `With ${plural(row.pairs, 'pair')} there are 2^${row.pairs} = ${count(ways)} ways to flip the signs, ` +
    `and the lowest p they can give is 2 / ${count(ways)} = ${pValue(row.p_floor)}.${ability}${arrived} ` +
    `With ${needed} seeds the floor is ${pValue(2 / 2 ** needed)}.`
  );
}
