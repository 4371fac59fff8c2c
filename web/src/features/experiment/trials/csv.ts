// The trials shown as CSV: results as computed, factors as the cells name them.
import type { Trial } from '@/shared/api/messages';
import { csvOf } from '@/shared/csv';
import type { TrialTable } from '../data';
import { assignmentOf, valueText, varyingFactors } from '../factors';
import { trialReason, trialRetries } from './columns';

export function trialsCsv(trials: readonly Trial[], { columns, cells }: TrialTable): string {
  const factors = [...varyingFactors(cells).keys()];
  const assignments = new Map(cells.map((cell) => [cell.cell, assignmentOf(cell.assignment_json)]));
  const seriesName = ({ key }: TrialTable['columns'][number]) =>
    [key.metric, key.split, ...(key.labels === '{}' ? [] : [key.labels])].join('/');
  return csvOf(
    ['trial', 'cell', 'seed', ...factors, ...columns.map(seriesName), 'state', 'retries', 'reason'],
    trials.map((trial) => [
      trial.ordinal,
      trial.cell_label,
      trial.seed,
      ...factors.map((factor) => valueText(assignments.get(trial.cell)?.[factor])),
      ...columns.map((_, i) => trial.values[i]),
      trial.retired ? 'retired' : trial.state,
      trialRetries(trial),
      trialReason(trial),
    ]),
  );
}
