// All trials of an experiment: results, state, reason, progress; filtered, sorted, drawn only where in sight.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { choiceQuery, numberSetQuery, textQuery, useQuery } from '@/shared/router';
import type { Trial } from '@/shared/api/messages';
import { count, plural } from '@/shared/format';
import { ColumnPicker } from '@/shared/tables/column-picker';
import { VirtualTable } from '@/shared/tables/data-table';
import { CompareLink } from '@/shared/ui/compare-link';
import { hiddenColumnsQuery, sortingQuery, useTable } from '@/shared/tables/use-table';
import { DownloadButton } from '@/shared/ui/copy';
import { SearchField, SelectField } from '@/shared/ui/fields';
import { Card } from '@/shared/ui/parts';
import { Tally } from '@/shared/ui/tally';
import { ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { type TrialTable, useTrials } from '../data';
import { varyingFactors } from '../factors';
import { factorId, trialColumns } from './columns';
import { trialsCsv } from './csv';
import { FilterMenu, ResultsMenu } from './filter-menu';
import {
  cellQuery,
  factorsQuery,
  filterTrials,
  rangesQuery,
  type TrialFilter,
  valuesQuery,
} from './trial-filter';

const everyState = textQuery('');

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

// What of the trials is asked for and shown; all of it in the address.
function useTrialFilter(): {
  filter: TrialFilter;
  setText: (text: string) => void;
  setState: (state: string) => void;
  setCell: (cell: number | null) => void;
  setFactors: (factors: TrialFilter['factors']) => void;
  setRanges: (ranges: TrialFilter['ranges']) => void;
} {
  const [text, setText] = useQuery('q', anyText);
  const [state, setState] = useQuery('state', everyState);
  const [cell, setCell] = useQuery('cell', cellQuery);
  const [factors, setFactors] = useQuery('where', factorsQuery);
  const [ranges, setRanges] = useQuery('range', rangesQuery);
  const filter = useMemo(
    () => ({ text, state, cell, factors, ranges }),
    [text, state, cell, factors, ranges],
  );
  return { filter, setText, setState, setCell, setFactors, setRanges };
}

function Toolbar({
  all,
  chosen,
  end,
}: {
  all: TrialTable;
  chosen: ReturnType<typeof useTrialFilter>;
  end: ComponentChildren;
}) {
  const { filter, setText, setState, setCell, setFactors, setRanges } = chosen;
  const [, setMetrics] = useQuery('values', valuesQuery);
  const factors = useMemo(() => varyingFactors(all.cells), [all.cells]);
  return (
    <div class="toolbar">
      <SearchField label="Find trials" value={filter.text} set={setText} />
      <Tally
        label="Filter by state"
        values={all.trials.map((trial) => trial.state)}
        value={filter.state}
        choose={setState}
      />
      <CellFilter trials={all.trials} cell={filter.cell} choose={setCell} />
      <FilterMenu
        factors={factors}
        chosen={filter.factors}
        setChosen={setFactors}
        columns={all.columns}
        ranges={filter.ranges}
        setRanges={setRanges}
      />
      <span class="toolbar-end">
        {end}
        <ResultsMenu
          columns={all.columns}
          available={all.available}
          choose={(metrics) => {
            setRanges(new Map()); // they name columns by place
            setMetrics(metrics);
          }}
        />
      </span>
    </div>
  );
}

function TrialsTable({
  name,
  all,
  chosen,
}: {
  name: string;
  all: TrialTable;
  chosen: ReturnType<typeof useTrialFilter>;
}) {
  const factors = useMemo(() => [...varyingFactors(all.cells).keys()], [all.cells]);
  const factorIds = factors.map(factorId).join();
  const [sorting, setSorting] = useQuery('sort', sortingQuery);
  const [group, setGroup] = useQuery('group', groupQuery);
  // The cell's name says its factors; as columns they come when asked for.
  const columnsQuery = useMemo(() => hiddenColumnsQuery(factors.map(factorId)), [factorIds]);
  const [hidden, setHidden] = useQuery('columns', columnsQuery);
  const [picked, setPicked] = useQuery('pick', numberSetQuery);
  const trials = useMemo(() => filterTrials(all.trials, all.cells, chosen.filter), [all, chosen.filter]);
  const columns = useMemo(
    () => trialColumns(name, all, factors, { picked, setPicked }),
    [name, picked, all.columns, all.cells],
  );
  const rowId = (trial: Trial) => String(trial.ordinal);
  const table = useTable({ data: trials, columns, sorting, setSorting, rowId, hidden });
  return (
    <>
      <Toolbar
        all={all}
        chosen={chosen}
        end={
          <>
            <CompareLink items={[...picked].map((ordinal) => `${name}/${ordinal}`)} what="trials" />
            <SelectField label="Group" value={group} options={groupOptions} choose={setGroup} />
            <ColumnPicker table={table} hidden={hidden} set={setHidden} />
            <DownloadButton
              label="Download the trials shown as CSV"
              name={`${name}-trials.csv`}
              type="text/csv"
              text={() =>
                trialsCsv(
                  table.getRowModel().rows.map((row) => row.original),
                  all,
                )
              }
            />
          </>
        }
      />
      <VirtualTable
        table={table}
        caption={`Trials of ${name}`}
        rowHeight={44}
        class="trials"
        rowClass={(trial) => (trial.retired ? 'row-retired' : '')}
        groupOf={groupOf[group]}
      />
      <p class="table-note">
        {trials.length === all.trials.length
          ? plural(trials.length, 'trial')
          : `${count(trials.length)} of ${plural(all.trials.length, 'trial')}`}
      </p>
    </>
  );
}

export function TrialsPanel({ name }: { name: string }) {
  const [metrics] = useQuery('values', valuesQuery);
  const { data, error, readAt, refresh } = useTrials(name, metrics);
  const chosen = useTrialFilter();
  return (
    <Card title="Trials" id="trials">
      {!data && error && <ReadFailure what="The trials" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={8} height={30} />}
      {data && (
        <>
          <Stale error={error} readAt={readAt} />
          <TrialsTable name={name} all={data} chosen={chosen} />
        </>
      )}
    </Card>
  );
}
