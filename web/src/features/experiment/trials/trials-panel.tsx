// All trials of an experiment: state, reason, progress; filtered by state and cell, sorted, drawn only where
// in sight.
import { useMemo } from 'preact/hooks';
import { type QueryCodec, textQuery, useQuery } from '@/app/router';
import type { Trial } from '@/shared/api/types';
import { count, plural } from '@/shared/format';
import { VirtualTable } from '@/shared/tables/data-table';
import { sortingQuery, useTable } from '@/shared/tables/use-table';
import { Card } from '@/shared/ui/parts';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { useTrials } from '../data';
import { trialColumns } from './columns';

const everyState = textQuery('');
const cellQuery: QueryCodec<number | null> = {
  read: (text) => (text !== null && /^\d+$/.test(text) ? Number(text) : null),
  write: (cell) => (cell === null ? null : String(cell)),
};

export interface TrialFilter {
  state: string; // empty: any
  cell: number | null;
}

export function filterTrials(trials: readonly Trial[], { state, cell }: TrialFilter): Trial[] {
  return trials.filter(
    (trial) => (state === '' || trial.state === state) && (cell === null || trial.cell === cell),
  );
}

// How many there are of each value, in order of first sight.
export function tally<K>(items: readonly K[]): Map<K, number> {
  const counts = new Map<K, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

function StateFilter({
  trials,
  state,
  choose,
}: {
  trials: readonly Trial[];
  state: string;
  choose: (state: string) => void;
}) {
  const counts = tally(trials.map((trial) => trial.state));
  return (
    <div class="choice" role="group" aria-label="Filter by state">
      <button type="button" aria-pressed={state === ''} onClick={() => choose('')}>
        All <small>{count(trials.length)}</small>
      </button>
      {[...counts].map(([each, n]) => (
        <button key={each} type="button" aria-pressed={state === each} onClick={() => choose(each)}>
          {each} <small>{count(n)}</small>
        </button>
      ))}
    </div>
  );
}

function CellFilter({
  trials,
  cell,
  choose,
}: {
  trials: readonly Trial[];
  cell: number | null;
  choose: (cell: number | null) => void;
}) {
  const labels = new Map(trials.map((trial) => [trial.cell, trial.cell_label]));
  return (
    <select
      class="select"
      aria-label="Filter by cell"
      value={cell ?? ''}
      onChange={(event) =>
        choose(event.currentTarget.value === '' ? null : Number(event.currentTarget.value))
      }
    >
      <option value="">All cells</option>
      {[...labels]
        .sort((a, b) => a[0] - b[0])
        .map(([each, label]) => (
          <option key={each} value={each}>
            {label}
          </option>
        ))}
    </select>
  );
}

function TrialsTable({ name, trials }: { name: string; trials: Trial[] }) {
  const [sorting, setSorting] = useQuery('sort', sortingQuery);
  const columns = useMemo(() => trialColumns(name), [name]);
  const table = useTable({
    data: trials,
    columns,
    sorting,
    setSorting,
    rowId: (trial) => String(trial.ordinal),
  });
  return (
    <VirtualTable
      table={table}
      caption={`Trials of ${name}`}
      rowHeight={44}
      class="trials"
      rowClass={(trial) => (trial.retired ? 'row-retired' : '')}
    />
  );
}

export function TrialsPanel({ name }: { name: string }) {
  const { data, error, readAt, refresh } = useTrials(name);
  const [state, setState] = useQuery('state', everyState);
  const [cell, setCell] = useQuery('cell', cellQuery);
  const shown = useMemo(() => filterTrials(data ?? [], { state, cell }), [data, state, cell]);
  const tools = data && (
    <>
      <StateFilter trials={data} state={state} choose={setState} />
      <CellFilter trials={data} cell={cell} choose={setCell} />
    </>
  );
  return (
    <Card title="Trials" id="trials" tools={tools}>
      {!data && error && <ReadFailure what="The trials" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={8} height={30} />}
      {data && (
        <>
          <Stale error={error} readAt={readAt} />
          <TrialsTable name={name} trials={shown} />
          <p class="table-note">
            {shown.length === data.length
              ? plural(data.length, 'trial')
              : `${count(shown.length)} of ${plural(data.length, 'trial')}`}
          </p>
        </>
      )}
    </Card>
  );
}
