// The columns of the list of experiments.
import type { ColumnDef } from '@tanstack/table-core';
import { hrefs } from '@/shared/hrefs';
import { Tags } from '@/shared/annotations/annotations';
import type { Experiment } from '@/shared/api/messages';
import { ago, count, duration, meanStdText, moment, plural, undefinedMark } from '@/shared/format';
import { ProgressBar, State, Swatch } from '@/shared/ui/parts';

type Columns = ColumnDef<Experiment, any>[];

function Best({ experiment }: { experiment: Experiment }) {
  const { best } = experiment;
  if (!best)
    return (
      <span class="quiet">
        {isLive(experiment) && experiment.trials_done === 0 ? 'no result yet' : undefinedMark}
      </span>
    );
  return (
    <span class="best">
      <span class="best-label">
        <Swatch look={best.look} />
        <span class="cell-label" title={best.label}>
          {best.label}
        </span>
      </span>
      <span class="number">
        {meanStdText(best.mean, best.std)}
        <small> {best.unit || best.metric}</small>
      </span>
    </span>
  );
}

const failures = (stages: Readonly<Record<string, number>>) =>
  (stages['failed'] ?? 0) + (stages['held'] ?? 0);

function Trials({ experiment }: { experiment: Experiment }) {
  const { name, trials, trials_done: done, running, stages } = experiment;
  const bad = failures(stages);
  return (
    <>
      <span class="progress-cell">
        <ProgressBar
          label={`Trials of ${name}`}
          total={trials}
          parts={[
            { label: 'done', value: done, tone: 'good' },
            { label: 'running', value: Math.min(running.length, trials - done), tone: 'running' },
          ]}
        />
        <span class="number">
          {count(done)} / {count(trials)}
        </span>
      </span>
      {bad > 0 && <small class="bad">{plural(bad, 'stage')} failed</small>}
    </>
  );
}

const isLive = ({ state }: Experiment) => state === 'active' || state === 'paused';
const stateOrder = ['active', 'paused', 'failed', 'completed', 'cancelled'];

function mainColumns(): Columns {
  return [
    {
      id: 'name',
      accessorKey: 'name',
      header: 'Experiment',
      sortDescFirst: false,
      meta: { class: 'column-experiment', title: 'experiment', rowHeader: true, fixed: true },
      cell: ({ row: { original: each } }) => (
        <>
          <a href={hrefs.experiment(each.name)}>{each.name}</a>
          <small class="clip" title={each.description}>
            {each.description || each.owner}
          </small>
          {each.tags.length > 0 && <Tags tags={each.tags} />}
        </>
      ),
    },
    {
      id: 'dataset',
      accessorKey: 'dataset',
      header: 'Dataset',
      sortDescFirst: false,
      meta: { title: 'dataset', label: 'Dataset' },
      cell: ({ row }) => row.original.dataset,
    },
    {
      id: 'state',
      accessorFn: (each) => stateOrder.indexOf(each.state),
      header: 'State',
      sortDescFirst: false,
      meta: { title: 'state', label: 'State' },
      cell: ({ row }) => <State state={row.original.state} />,
    },
    {
      id: 'trials',
      accessorFn: (each) => (each.trials > 0 ? each.trials_done / each.trials : 0),
      header: 'Trials',
      meta: { class: 'column-progress', title: 'trials done', label: 'Trials' },
      cell: ({ row }) => <Trials experiment={row.original} />,
    },
  ];
}

function timeColumns(now: number): Columns {
  return [
    {
      id: 'running',
      accessorFn: (each) => each.running.length,
      header: 'Running',
      meta: { class: 'number', title: 'stages running', label: 'Running' },
      cell: ({ row }) => row.original.running.length || undefinedMark,
    },
    {
      id: 'left',
      accessorFn: (each) => (isLive(each) && each.eta_seconds >= 0 ? each.eta_seconds : undefined),
      sortUndefined: 'last',
      sortDescFirst: false,
      header: 'Time left',
      meta: { class: 'number', title: 'time left', label: 'Time left' },
      cell: ({ row: { original: each } }) => (isLive(each) ? duration(each.eta_seconds) : undefinedMark),
    },
    {
      id: 'best',
      accessorFn: (each) => each.best?.mean,
      sortUndefined: 'last',
      header: 'Best',
      meta: { class: 'column-best', title: 'best result', label: 'Best' },
      cell: ({ row }) => <Best experiment={row.original} />,
    },
    {
      id: 'created',
      accessorFn: (each) => each.create_time ?? undefined,
      sortUndefined: 'last',
      header: 'Created',
      meta: { title: 'created', label: 'Created' },
      cell: ({ row: { original: each } }) => (
        <span title={moment(each.create_time)}>{ago(each.create_time, now)}</span>
      ),
    },
  ];
}

function furtherColumns(): Columns {
  return [
    {
      id: 'took',
      accessorKey: 'elapsed_seconds',
      header: 'Took',
      meta: { class: 'number', title: 'time taken', label: 'Took' },
      cell: ({ row }) => duration(row.original.elapsed_seconds),
    },
    {
      id: 'cells',
      accessorKey: 'cells',
      header: 'Cells',
      meta: { class: 'number', title: 'cells', label: 'Cells' },
      cell: ({ row }) => count(row.original.cells),
    },
    {
      id: 'metric',
      accessorKey: 'primary_metric',
      header: 'Metric',
      sortDescFirst: false,
      meta: { title: 'metric', label: 'Metric' },
      cell: ({ row }) => row.original.primary_metric,
    },
    {
      id: 'owner',
      accessorKey: 'owner',
      header: 'Owner',
      sortDescFirst: false,
      meta: { title: 'owner', label: 'Owner' },
      cell: ({ row }) => row.original.owner || undefinedMark,
    },
  ];
}

export const usuallyHidden = ['took', 'cells', 'metric', 'owner'];
export const experimentColumns = (now: number) => [
  ...mainColumns(),
  ...timeColumns(now),
  ...furtherColumns(),
];
