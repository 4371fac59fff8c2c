// All trials of an experiment: state, reason, progress; filtered by state and cell, sorted, drawn only where
// in sight.
import { useMemo } from 'preact/hooks';
import { choiceQuery, numberSetQuery, type QueryCodec, textQuery, useQuery } from '@/app/router';
import type { Trial } from '@/shared/api/types';
import { count, plural } from '@/shared/format';
import { ColumnPicker } from '@/shared/tables/column-picker';
import { VirtualTable } from '@/shared/tables/data-table';
import { CompareLink } from '@/shared/ui/compare-link';
import { hiddenColumnsQuery, sortingQuery, useTable } from '@/shared/tables/use-table';
import { matches, SearchField, SelectField } from '@/shared/ui/fields';
import { Card } from '@/shared/ui/parts';
import { Tally } from '@/shared/ui/tally';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { useTrials } from '../data';
import { trialColumns, trialReason } from './columns';

const everyState = textQuery('');
const cellQuery: QueryCodec<number | null> = {
  read: (text) => (text !== null && /^\d+$/.test(text) ? Number(text) : null),
  write: (cell) => (cell === null ? null : String(cell)),
};

export interface TrialFilter {
  text: string;
  state: string; // empty: any
  cell: number | null;
}

export function filterTrials(trials: readonly Trial[], { text, state, cell }: TrialFilter): Trial[] {
  return trials.filter(
    (trial) =>
      (state === '' || trial.state === state) &&
      (cell === null || trial.cell === cell) &&
      matches(text, trial.cell_label, `seed ${trial.seed}`, trial.state, trialReason(trial)),
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

const groups = ['none', 'cell', 'seed', 'state'] as const;
type Group = (typeof groups)[number];
const groupQuery = choiceQuery(groups, 'none');
const groupOptions = groups.map((value) => ({ value, text: value }));
const groupOf: Record<Group, ((trial: Trial) => string) | undefined> = {
  none: undefined,
  cell: (trial) => trial.cell_label,
  seed: (trial) => `seed ${trial.seed}`,
  state: (trial) => trial.state,
};
const anyText = textQuery('');
const columnsQuery = hiddenColumnsQuery([]);

interface Filters {
  all: readonly Trial[];
  filter: TrialFilter;
  setText: (text: string) => void;
  setState: (state: string) => void;
  setCell: (cell: number | null) => void;
}

function TrialsTable({ name, trials, filters }: { name: string; trials: Trial[]; filters: Filters }) {
  const [sorting, setSorting] = useQuery('sort', sortingQuery);
  const [group, setGroup] = useQuery('group', groupQuery);
  const [hidden, setHidden] = useQuery('columns', columnsQuery);
  const [picked, setPicked] = useQuery('pick', numberSetQuery);
  const columns = useMemo(() => trialColumns(name, picked, setPicked), [name, picked]);
  const rowId = (trial: Trial) => String(trial.ordinal);
  const table = useTable({ data: trials, columns, sorting, setSorting, rowId, hidden });
  const { all, filter, setText, setState, setCell } = filters;
  return (
    <>
      <div class="toolbar">
        <SearchField label="Find trials" value={filter.text} set={setText} />
        <Tally
          label="Filter by state"
          values={all.map((trial) => trial.state)}
          value={filter.state}
          choose={setState}
        />
        <CellFilter trials={all} cell={filter.cell} choose={setCell} />
        <span class="toolbar-end">
          <CompareLink items={[...picked].map((ordinal) => `${name}/${ordinal}`)} what="trials" />
          <SelectField label="Group" value={group} options={groupOptions} choose={setGroup} />
          <ColumnPicker table={table} hidden={hidden} set={setHidden} />
        </span>
      </div>
      <VirtualTable
        table={table}
        caption={`Trials of ${name}`}
        rowHeight={44}
        class="trials"
        rowClass={(trial) => (trial.retired ? 'row-retired' : '')}
        groupOf={groupOf[group]}
      />
    </>
  );
}

export function TrialsPanel({ name }: { name: string }) {
  const { data, error, readAt, refresh } = useTrials(name);
  const [text, setText] = useQuery('q', anyText);
  const [state, setState] = useQuery('state', everyState);
  const [cell, setCell] = useQuery('cell', cellQuery);
  const filter = { text, state, cell };
  const shown = useMemo(() => filterTrials(data ?? [], filter), [data, text, state, cell]);
  return (
    <Card title="Trials" id="trials">
      {!data && error && <ReadFailure what="The trials" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={8} height={30} />}
      {data && (
        <>
          <Stale error={error} readAt={readAt} />
          <TrialsTable
            name={name}
            trials={shown}
            filters={{ all: data, filter, setText, setState, setCell }}
          />
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
