// The leaderboard: the server's table, drawn. Only rounding happens here.
import { useMemo } from 'preact/hooks';
import { numberSetQuery, textQuery, useQuery } from '@/shared/router';
import type { Live } from '@/shared/api/live';
import type { Table } from '@/shared/api/messages';
import { count, labelText, plural } from '@/shared/format';
import { ColumnPicker } from '@/shared/tables/column-picker';
import { DataTable, VirtualTable } from '@/shared/tables/data-table';
import { hiddenColumnsQuery, sortingQuery, useTable } from '@/shared/tables/use-table';
import { CompareLink } from '@/shared/ui/compare-link';
import { CopyButton, DownloadButton } from '@/shared/ui/copy';
import { SelectField } from '@/shared/ui/fields';
import { Card, Choice } from '@/shared/ui/parts';
import { Callout, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import type { CellSelection } from '@/parts/curves/cell-selection';
import { factorValue, groupingFactors } from '../factors';
import { leaderboardColumns, type Ranked, rankRows } from './columns';
import { leaderboardCsv } from './csv';

export interface LeaderboardProps {
  name: string;
  live: Live<Table>;
  labels: string;
  setLabels: (labels: string) => void;
  cells: CellSelection;
  active: boolean;
}

const columnsQuery = hiddenColumnsQuery([]);
const noFactor = textQuery('');
const manyRows = 150; // more are drawn only where in sight

function Board({ name, table, cells }: { name: string; table: Table; cells: CellSelection }) {
  const [sorting, setSorting] = useQuery('rank', sortingQuery);
  const [hidden, setHidden] = useQuery('board', columnsQuery);
  const [picked, setPicked] = useQuery('cells', numberSetQuery);
  const [factor, setFactor] = useQuery('by', noFactor);
  const columns = useMemo(() => leaderboardColumns(table, picked, setPicked), [table, picked]);
  const data = useMemo(() => rankRows(table), [table]);
  const grid = useTable({ data, columns, sorting, setSorting, rowId: (row) => String(row.cell), hidden });
  const factors = useMemo(() => groupingFactors(table.rows), [table]);
  const options = [{ value: '', text: 'none' }, ...factors.map((value) => ({ value, text: value }))];
  const look = {
    table: grid,
    caption: `Leaderboard: ${table.metric} on ${table.split}`,
    rowClass: (row: Ranked) =>
      `${row.baseline ? 'row-baseline' : ''} ${cells.focus === row.cell ? 'row-focus' : ''}`,
    onRowHover: (row: Ranked | null) => cells.setFocus(row ? row.cell : null),
    groupOf: factors.includes(factor) ? (row: Ranked) => factorValue(row.assignment_json, factor) : undefined,
  };
  return (
    <>
      <div class="toolbar toolbar-quiet">
        <CompareLink items={[...picked].map((cell) => `${name}/cells/${cell}`)} what="cells" />
        <span class="toolbar-end">
          {factors.length > 0 && (
            <SelectField label="Group" value={factor} options={options} choose={setFactor} />
          )}
          <ColumnPicker table={grid} hidden={hidden} set={setHidden} />
        </span>
      </div>
      {Math.max(table.rows.length, table.rows_total) > manyRows ? (
        <VirtualTable {...look} rowHeight={49} class="leaderboard leaderboard-long" />
      ) : (
        <DataTable {...look} class="leaderboard" />
      )}
    </>
  );
}

function Tools({
  name,
  table,
  setLabels,
}: {
  name: string;
  table: Table;
  setLabels: (labels: string) => void;
}) {
  const csv = () => leaderboardCsv(table);
  return (
    <>
      {table.label_sets.length > 1 && (
        <Choice
          label="Evaluated at"
          value={table.labels}
          choose={setLabels}
          options={table.label_sets.map((labels) => ({ value: labels, text: labelText(labels) || 'plain' }))}
        />
      )}
      <CopyButton label="Copy CSV" text={csv} />
      <DownloadButton
        label="Download the leaderboard as CSV"
        name={`${name}-leaderboard.csv`}
        type="text/csv"
        text={csv}
      />
    </>
  );
}

// "best on validation"; nothing for the last value, which is what one expects.
const reducerText = ({ reduce, selects_on: selectsOn }: Table) =>
  reduce === 'last' ? '' : selectsOn === '' ? reduce : `${reduce} on ${selectsOn}`;

function Notes({ table }: { table: Table }) {
  const setting = [`${table.metric} on ${table.split}`, labelText(table.labels), reducerText(table)].filter(
    (part) => part !== '',
  );
  const parts = [
    setting.join(', ') +
      (table.direction === '' ? '' : `; ${table.direction === 'max' ? 'higher' : 'lower'} is better`),
    plural(table.seeds, 'seed'),
    table.baseline === '' ? 'no baseline declared' : `paired against ${table.baseline}`,
    table.correction,
    table.matched === '' ? '' : `matched protocol: ${table.matched}`,
  ];
  return <p class="table-note">{parts.filter((part) => part !== '').join(' · ')}</p>;
}

export function Leaderboard({ name, live, setLabels, cells, active }: LeaderboardProps) {
  const { data: table, error, readAt, refresh } = live;
  const whole = table !== undefined && table.rows_total <= table.rows.length;
  const measured = table?.rows.some((row) => row.n > 0) ?? false;
  return (
    <Card
      title="Leaderboard"
      id="leaderboard"
      tools={table && whole && <Tools name={name} table={table} setLabels={setLabels} />}
    >
      {!table && error && <ReadFailure what="The leaderboard" error={error} retry={refresh} />}
      {!table && !error && <Skeleton rows={6} height={30} />}
      {table && (
        <>
          <Stale error={error} readAt={readAt} />
          <Board name={name} table={table} cells={cells} />
          {!whole && (
            <p class="quiet card-note" role="status">
              The first {count(table.rows.length)} of {count(table.rows_total)} rows; the others are on their
              way.
            </p>
          )}
          {!measured && (
            <p class="quiet card-note">
              {active ? 'No trial has finished yet. Rows fill as results arrive.' : 'No trial has a result.'}
            </p>
          )}
          {table.warnings.length > 0 && (measured || !active) && (
            <Callout tone="warning">
              <ul class="plain-list">
                {table.warnings.map((warning) => (
                  <li key={warning}>{warning}</li>
                ))}
              </ul>
            </Callout>
          )}
          <Notes table={table} />
        </>
      )}
    </Card>
  );
}
