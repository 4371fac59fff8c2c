// The columns of the trials table.
import type { ColumnDef } from '@tanstack/table-core';
import { hrefs } from '@/app/routes';
import type { Trial, TrialStage } from '@/shared/api/types';
import { count, failureText, percent, shortened } from '@/shared/format';
import { pickColumn } from '@/shared/tables/pick-column';
import { CellName, ProgressBar, State, stateTone } from '@/shared/ui/parts';

// How far along a trial is, 0 to 1: its stages weigh alike, running ones by their steps.
export function trialProgress(trial: Trial): number {
  if (trial.stages.length === 0) return 0;
  const share = (stage: TrialStage) =>
    stage.state === 'succeeded' ? 1 : stage.steps > 0 ? Math.min(1, stage.step / stage.steps) : 0;
  return trial.stages.reduce((sum, stage) => sum + share(stage), 0) / trial.stages.length;
}

export const trialAttempts = (trial: Trial) => trial.stages.reduce((sum, stage) => sum + stage.attempts, 0);

// Why a trial is as it is: its own words, else those of the first stage that has any.
export function trialReason(trial: Trial): string {
  const stage = trial.stages.find((each) => each.reason !== '');
  return failureText(stage?.failure_class ?? '', trial.reason || (stage?.reason ?? ''));
}

const stateOrder = ['running', 'failed', 'held', 'queued', 'blocked', 'succeeded', 'cancelled'];

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

function identityColumns(experiment: string): ColumnDef<Trial, any>[] {
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
        <CellName cell={trial.cell} label={shortened(trial.cell_label, 28)} title={trial.cell_label} />
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
      id: 'attempts',
      accessorFn: trialAttempts,
      header: 'Attempts',
      meta: { class: 'column-attempts number', title: 'attempts' },
      cell: ({ row }) => count(trialAttempts(row.original)),
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
  picked: ReadonlySet<number>,
  setPicked: (picked: ReadonlySet<number>) => void,
) => [
  pickColumn<Trial>(
    (trial) => trial.ordinal,
    (trial) => `trial ${trial.ordinal}`,
    picked,
    setPicked,
  ),
  ...identityColumns(experiment),
  ...progressColumns(),
];
