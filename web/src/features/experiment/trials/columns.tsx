// The columns of the trials table.
import type { ColumnDef } from '@tanstack/table-core';
import { hrefs } from '@/shared/hrefs';
import type { Trial, TrialCell, TrialColumn, TrialStage } from '@/shared/api/messages';
import {
  count,
  failureText,
  labelText,
  percent,
  plural,
  seriesText,
  shortenedApart,
  significant,
} from '@/shared/format';
import { pickColumn, pickedMost, type Picking } from '@/shared/tables/pick-column';
import { defined } from '@/shared/tables/use-table';
import { CellName, ProgressBar, State, stateTone } from '@/shared/ui/parts';
import type { TrialTable } from '../data';
import { assignmentOf, valueText } from '../factors';

// How far along a trial is, 0 to 1: its stages weigh alike, running ones by their steps.
export function trialProgress(trial: Trial): number {
  if (trial.stages.length === 0) return 0;
  const share = (stage: TrialStage) =>
    stage.state === 'succeeded' ? 1 : stage.steps > 0 ? Math.min(1, stage.step / stage.steps) : 0;
  return trial.stages.reduce((sum, stage) => sum + share(stage), 0) / trial.stages.length;
}

// Attempts in the place of one that failed or was lost; going on after a rung is none.
export const trialRetries = (trial: Trial) => trial.stages.reduce((sum, stage) => sum + stage.retries, 0);

// Why a trial is as it is: its own words, else those of the first stage that has any.
export function trialReason(trial: Trial): string {
  const stage = trial.stages.find((each) => each.reason !== '');
  return failureText(stage?.failure_class ?? '', trial.reason || (stage?.reason ?? ''));
}

const stateOrder = [
  'running',
  'failed',
  'held',
  'queued',
  'blocked',
  'parked',
  'waiting',
  'succeeded',
  'stopped',
  'cancelled',
];

function Stages({ trial }: { trial: Trial }) {
  return (
    <span class="stage-chips">
      {trial.stages.map((stage) => (
        <span
          key={stage.role}
          class={`chip chip-${stateTone(stage.state)}`}
          title={`${stage.role}: ${stage.state}${stage.shared ? ', shared with another experiment' : ''}`}
        >
          {stage.role}
          <span class="off-screen">: {stage.state}</span>
        </span>
      ))}
    </span>
  );
}

function Progress({ trial }: { trial: Trial }) {
  const share = trialProgress(trial);
  const tone =
    trial.state === 'succeeded'
      ? 'good'
      : stateTone(trial.state) === 'idle'
        ? 'running'
        : stateTone(trial.state);
  return (
    <span class="progress-cell">
      <ProgressBar
        label={`Trial ${trial.ordinal}`}
        total={1000}
        parts={[{ label: 'thousandths', value: Math.round(1000 * share), tone }]}
      />
      <span class="number">{percent(share, 1)}</span>
    </span>
  );
}

function identityColumns(experiment: string, cells: readonly TrialCell[]): ColumnDef<Trial, any>[] {
  const short = shortenedApart(
    cells.map((cell) => cell.label),
    28,
  );
  const names = new Map(cells.map((cell, i) => [cell.cell, short[i]!]));
  return [
    {
      id: 'ordinal',
      accessorKey: 'ordinal',
      header: 'Trial',
      sortDescFirst: false,
      meta: { class: 'column-trial number', title: 'trial', fixed: true },
      cell: ({ row }) => <a href={hrefs.trial(experiment, row.original.ordinal)}>{row.original.ordinal}</a>,
    },
    {
      id: 'cell',
      accessorKey: 'cell_label',
      header: 'Cell',
      sortDescFirst: false,
      meta: { class: 'column-cell', title: 'cell' },
      cell: ({ row: { original: trial } }) => (
        <CellName
          look={trial.look}
          label={names.get(trial.cell) ?? trial.cell_label}
          title={trial.cell_label}
        />
      ),
    },
    {
      id: 'seed',
      accessorKey: 'seed',
      header: 'Seed',
      sortDescFirst: false,
      meta: { class: 'column-seed number', title: 'seed' },
      cell: ({ row }) => row.original.seed,
    },
  ];
}

// "top1", and what else tells it from the other columns.
export function columnName(column: TrialColumn, columns: readonly TrialColumn[]): string {
  const same = columns.filter((each) => each.key.metric === column.key.metric);
  const several = (part: 'split' | 'labels') => new Set(same.map((each) => each.key[part])).size > 1;
  return [
    column.key.metric,
    ...(several('split') ? [column.key.split] : []),
    ...(several('labels') ? [labelText(column.key.labels)] : []),
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

export const valueId = (column: number) => `value-${column}`;

function valueColumns(columns: readonly TrialColumn[]): ColumnDef<Trial, any>[] {
  return columns.map((column, i) => {
    const name = columnName(column, columns);
    const reduce = column.reduce === 'last' ? '' : `, ${column.reduce}`;
    const chosen = column.selects_on === '' ? '' : ` on ${column.selects_on}`;
    return {
      id: valueId(i),
      accessorFn: (trial) => defined(trial.values[i] ?? NaN),
      sortUndefined: 'last',
      sortDescFirst: column.direction === 'max',
      header: () => (
        <span title={`${seriesText(column.key)}${reduce}${chosen}`}>
          {column.unit === '' ? name : `${name} (${column.unit})`}
        </span>
      ),
      meta: { class: 'column-value number', title: name },
      cell: ({ row }) => significant(row.original.values[i] ?? NaN, 4),
    };
  });
}

export const factorId = (factor: string) => `factor-${factor.replace(/[^\w]/g, '-')}`;

function factorColumns(factors: readonly string[], cells: readonly TrialCell[]): ColumnDef<Trial, any>[] {
  const assignments = new Map(cells.map((cell) => [cell.cell, assignmentOf(cell.assignment_json)]));
  return factors.map((factor) => {
    const textOf = (trial: Trial) => valueText(assignments.get(trial.cell)?.[factor]);
    return {
      id: factorId(factor),
      // Numbers in their order, names in theirs.
      accessorFn: (trial) => {
        const text = textOf(trial);
        return text === '' ? undefined : Number.isNaN(Number(text)) ? text : Number(text);
      },
      sortUndefined: 'last',
      sortDescFirst: false,
      header: factor,
      meta: { class: 'column-factor', title: factor },
      cell: ({ row }) => (
        <span class="clip" title={textOf(row.original)}>
          {textOf(row.original)}
        </span>
      ),
    };
  });
}

function progressColumns(): ColumnDef<Trial, any>[] {
  return [
    {
      id: 'state',
      accessorFn: (trial) => stateOrder.indexOf(trial.state),
      header: 'State',
      sortDescFirst: false,
      meta: { class: 'column-state', title: 'state' },
      cell: ({ row: { original: trial } }) => (
        <State state={trial.state} label={trial.retired ? `${trial.state}, retired` : trial.state} />
      ),
    },
    {
      id: 'stages',
      enableSorting: false,
      header: 'Stages',
      meta: { class: 'column-stages', title: 'stages' },
      cell: ({ row }) => <Stages trial={row.original} />,
    },
    {
      id: 'progress',
      accessorFn: trialProgress,
      header: 'Progress',
      meta: { class: 'column-progress', title: 'progress' },
      cell: ({ row }) => <Progress trial={row.original} />,
    },
    {
      id: 'retries',
      accessorFn: trialRetries,
      header: 'Retries',
      meta: { class: 'column-retries number', title: 'retries' },
      cell: ({ row: { original: trial } }) => (
        <span
          title={trial.stages
            .map((stage) => `${stage.role}: ${plural(stage.attempts, 'attempt')}`)
            .join(', ')}
        >
          {count(trialRetries(trial))}
        </span>
      ),
    },
    {
      id: 'reason',
      accessorFn: (trial) => trialReason(trial) || undefined,
      sortUndefined: 'last',
      header: 'Reason',
      sortDescFirst: false,
      meta: { class: 'column-reason', title: 'reason' },
      cell: ({ row }) => (
        <span class="clip" title={trialReason(row.original)}>
          {trialReason(row.original)}
        </span>
      ),
    },
  ];
}

export const trialColumns = (
  experiment: string,
  { columns, cells }: Pick<TrialTable, 'columns' | 'cells'>,
  factors: readonly string[],
  picking: Picking,
) => [
  pickColumn<Trial>(
    (trial) => trial.ordinal,
    (trial) => `trial ${trial.ordinal} to compare`,
    { ...picking, most: pickedMost },
  ),
  ...identityColumns(experiment, cells),
  ...factorColumns(factors, cells),
  ...valueColumns(columns),
  ...progressColumns(),
];
