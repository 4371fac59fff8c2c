// One worker: what it runs, what it ran, and what went wrong on it.
import type { ColumnDef } from '@tanstack/table-core';
import { useMemo, useState } from 'preact/hooks';
import { type PageProps, textQuery, useQuery } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import { useWorker } from './data';
import { WorkerActions } from './worker-actions';
import { TrialLink, WorkerCard } from './worker-card';
import './workers.css';
import type { WorkerAttempt } from '@/shared/api/messages';
import { ago, count, duration, failureText, moment, undefinedMark } from '@/shared/format';
import { DataTable } from '@/shared/tables/data-table';
import { sortingQuery, useTable } from '@/shared/tables/use-table';
import { useNow } from '@/shared/ui/hooks';
import { Card, orNothing, State } from '@/shared/ui/parts';
import { Tally } from '@/shared/ui/tally';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { SystemCard } from './system-card';

const anyState = textQuery('');
const page = 20; // attempts shown at once: on a narrow screen each is a card

function secondsOf({ start_time: start, end_time: end }: WorkerAttempt): number | undefined {
  return start === null || end === null ? undefined : (end - start) / 1000;
}

const columns = (now: number): ColumnDef<WorkerAttempt, any>[] => [
  {
    id: 'title',
    accessorKey: 'title',
    header: 'Trial',
    sortDescFirst: false,
    meta: { title: 'trial', rowHeader: true },
    cell: ({ row: { original: each } }) =>
      each.title === '' ? <span class="quiet">no longer wanted</span> : <TrialLink title={each.title} />,
  },
  {
    id: 'kind',
    accessorKey: 'kind',
    header: 'Stage',
    sortDescFirst: false,
    meta: { title: 'stage' },
    cell: ({ row: { original: each } }) => (
      <>
        {each.kind} <small>attempt {each.attempt}</small>
      </>
    ),
  },
  {
    id: 'state',
    accessorKey: 'state',
    header: 'State',
    sortDescFirst: false,
    meta: { title: 'state' },
    cell: ({ row }) => <State state={row.original.state} />,
  },
  {
    id: 'started',
    accessorFn: (each) => each.start_time ?? undefined,
    sortUndefined: 'last',
    header: 'Started',
    meta: { title: 'start' },
    cell: ({ row: { original: each } }) => (
      <span title={moment(each.start_time)}>{ago(each.start_time, now)}</span>
    ),
  },
  {
    id: 'took',
    accessorFn: secondsOf,
    sortUndefined: 'last',
    header: 'Took',
    meta: { class: 'number', title: 'time taken' },
    cell: ({ row }) => orNothing(duration(secondsOf(row.original) ?? -1)),
  },
  {
    id: 'reason',
    accessorFn: (each) => failureText(each.failure_class, each.reason) || undefined,
    sortUndefined: 'last',
    header: 'Reason',
    sortDescFirst: false,
    meta: { class: 'reason', title: 'reason' },
    cell: ({ row: { original: each } }) =>
      orNothing(failureText(each.failure_class, each.reason) || undefinedMark),
  },
];

function History({ attempts, name }: { attempts: readonly WorkerAttempt[]; name: string }) {
  const now = useNow();
  const [state, setState] = useQuery('state', anyState);
  const [sorting, setSorting] = useQuery('sort', sortingQuery);
  const [most, setMost] = useState(page);
  const data = useMemo(
    () => attempts.filter((each) => state === '' || each.state === state),
    [attempts, state],
  );
  const table = useTable({
    data,
    columns: useMemo(() => columns(now), [now]),
    sorting,
    setSorting,
    rowId: (each) => `${each.stage}/${each.attempt}`,
  });
  return (
    <Card
      title="What it ran"
      id="history"
      tools={
        <Tally
          label="Filter by state"
          values={attempts.map((each) => each.state)}
          value={state}
          choose={setState}
        />
      }
    >
      {attempts.length === 0 ? (
        <p class="quiet">Nothing yet.</p>
      ) : (
        <>
          <DataTable
            table={table}
            caption={`Attempts of ${name}`}
            class="table-small attempts worker-attempts"
            most={most}
          />
          {data.length > most && (
            <p class="table-note">
              The first {count(most)} of {count(data.length)}.{' '}
              <button type="button" class="button button-small" onClick={() => setMost(most + page)}>
                {count(Math.min(page, data.length - most))} more
              </button>
            </p>
          )}
        </>
      )}
    </Card>
  );
}

export default function WorkerPage({ params }: PageProps) {
  const name = params['name']!;
  const now = useNow(5000);
  const { data, error, readAt, refresh } = useWorker(name);
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Where you are">
        <a href={hrefs.workers()}>Workers</a>
        <span aria-hidden="true">/</span>
      </nav>
      <div class="title-row">
        <h1>{name}</h1>
      </div>
      {!data && error && <ReadFailure what={`The worker ${name}`} error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={5} height={28} />}
      {data && (
        <>
          <Stale error={error} readAt={readAt} page />
          <WorkerCard
            worker={data.worker}
            now={now}
            title="Now"
            actions={<WorkerActions worker={data.worker} after={refresh} />}
          />
          <SystemCard system={data.system} />
          <History attempts={data.attempts} name={name} />
        </>
      )}
    </div>
  );
}
