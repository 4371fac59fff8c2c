// The columns of the leaderboard.
import type { ColumnDef } from '@tanstack/table-core';
import type { ComponentChildren } from 'preact';
import type { Table, TableRow } from '@/shared/api/messages';
import { Interval } from '@/shared/charts/dot-plot';
import { extent } from '@/shared/charts/scales';
import {
  decimalsFor,
  fixed,
  interval,
  meanStd,
  milliseconds,
  parameters,
  parametersAdded,
  plural,
  pValue,
  shortenedApart,
  signed,
  undefinedMark,
} from '@/shared/format';
import { pickColumn, pickedMost } from '@/shared/tables/pick-column';
import { defined } from '@/shared/tables/use-table';
import { Explain } from '@/shared/ui/explain';
import { CellName } from '@/shared/ui/parts';
import {
  differenceText,
  floorText,
  holmText,
  intervalText,
  meanStdText,
  parametersText,
  pText,
  speedText,
  varyText,
} from './explanations';

// `rank` is the place in the table; `ranked` is false where nothing says that it is the better one.
export type Ranked = TableRow & { rank: number; ranked: boolean; name: string };

// Nothing is ranked by values that have chosen, nor what a search did not send to its end.
export const isRanked = (row: TableRow, { chose }: Pick<Table, 'chose'>) => !chose && row.standing === '';

const nameMost = 52; // characters: some lines of the column

// A row's name is its label, or what tells it from the others where that is long.
export function rankRows(table: Pick<Table, 'rows' | 'chose'>): Ranked[] {
  const { rows } = table;
  const names = shortenedApart(
    rows.map((row) => row.label),
    nameMost,
  );
  return rows.map((row, i) => ({ ...row, rank: i + 1, ranked: isRanked(row, table), name: names[i]! }));
}

// The common axis of the interval column, over every mean, whisker and run.
export function intervalDomain(rows: readonly TableRow[]): [number, number] {
  const range = extent(
    rows.flatMap((row) => [row.mean, row.ci_low, row.ci_high, ...row.values.map((each) => each.value)]),
  );
  if (!range) return [0, 1];
  const slack = 0.02 * (range[1] - range[0] || 1);
  return [range[0] - slack, range[1] + slack];
}

interface Look {
  decimals: number;
  domain: [number, number];
  asked: number; // seeds
}

function lookOf(table: Table): Look {
  return {
    decimals: decimalsFor(table.rows.map((row) => row.std)),
    domain: intervalDomain(table.rows),
    asked: table.seeds,
  };
}

function SeedCount({ row, asked }: { row: TableRow; asked: number }) {
  if (row.missing_seeds.length === 0) return <>{row.n}</>;
  const missing =
    row.missing_seeds.length > 12 ? `${row.missing_seeds.length} of them` : row.missing_seeds.join(', ');
  return (
    <Explain
      term="the number of seeds"
      text={
        `${row.n} of ${plural(asked, 'seed')} have a result; missing: ${missing}. ` +
        'The mean is over those that have one.'
      }
    >
      <span class="incomplete">
        {row.n}
        <small>/{asked}</small>
      </span>
    </Explain>
  );
}

function MeanCell({ row, look }: { row: TableRow; look: Look }) {
  const { mean, std } = meanStd(row.mean, row.std, look.decimals);
  return (
    <span class="mean-std">
      <b>{mean}</b>
      <span>{row.n > 1 ? ` ± ${std}` : ''}</span>
    </span>
  );
}

function IntervalCell({ row, look }: { row: TableRow; look: Look }) {
  const range = interval(row.ci_low, row.ci_high, look.decimals);
  const text = `${row.label}: mean ${fixed(row.mean, look.decimals)}, 95 % interval ${range}`;
  return (
    <Interval
      look={row.look}
      mean={row.mean}
      low={row.ci_low}
      high={row.ci_high}
      values={row.values.map((each) => each.value)}
      domain={look.domain}
      reference={row.baseline_mean}
      label={text}
    />
  );
}

function DifferenceCell({ row, look }: { row: TableRow; look: Look }) {
  if (row.baseline) return <span class="quiet">baseline</span>;
  if (Number.isNaN(row.difference)) return <>{undefinedMark}</>;
  return (
    <span class="difference" title={`from ${row.baseline_label}`}>
      <b>{signed(row.difference, look.decimals)}</b>
      <small>{interval(row.difference_low, row.difference_high, look.decimals)}</small>
    </span>
  );
}

function PCell({ row }: { row: TableRow }) {
  if (row.baseline || Number.isNaN(row.p_sign_flip)) return <>{row.baseline ? '' : undefinedMark}</>;
  const reached = row.p_sign_flip <= row.p_floor * (1 + 1e-9);
  return (
    <Explain term="the lowest reachable p" text={floorText(row)}>
      <span class="p-value">
        {pValue(row.p_sign_flip)}
        <small>{reached ? 'at floor' : `floor ${pValue(row.p_floor)}`}</small>
      </span>
    </Explain>
  );
}

const explained = (name: ComponentChildren, term: string, text: string) => () => (
  <span class="explained">
    {name}
    <Explain term={term} text={text} />
  </span>
);

type Columns = ColumnDef<Ranked, any>[];
const numeric = (title: string) => ({ class: 'number', title });
const sortUndefined = 'last' as const;

function cellColumns(look: Look): Columns {
  return [
    {
      id: 'rank',
      accessorKey: 'rank',
      header: '#',
      sortDescFirst: false,
      meta: { class: 'number column-rank', title: 'rank' },
      cell: ({ row }) => (row.original.ranked ? row.original.rank : undefinedMark),
    },
    {
      id: 'cell',
      accessorKey: 'label',
      header: 'Cell',
      sortDescFirst: false,
      meta: { class: 'column-name', title: 'cell', fixed: true },
      cell: ({ row: { original: row } }) => (
        <CellName look={row.look} label={row.name} title={row.label} baseline={row.baseline} />
      ),
    },
    {
      id: 'n',
      accessorKey: 'n',
      header: 'n',
      meta: { class: 'number column-n', title: 'number of seeds' },
      cell: ({ row }) => <SeedCount row={row.original} asked={look.asked} />,
    },
  ];
}

function meanColumns(table: Table, look: Look): Columns {
  return [
    {
      id: 'mean',
      accessorFn: (row) => defined(row.mean),
      sortUndefined,
      sortDescFirst: table.direction === 'max',
      meta: { class: 'number column-mean', title: 'mean' },
      header: explained(
        table.unit === '' ? table.metric : `${table.metric} (${table.unit})`,
        'the mean',
        meanStdText,
      ),
      cell: ({ row }) => <MeanCell row={row.original} look={look} />,
    },
    {
      id: 'interval',
      enableSorting: false,
      meta: { class: 'column-interval', title: '95 % interval' },
      header: explained('95 % interval', 'the interval', intervalText),
      cell: ({ row }) => <IntervalCell row={row.original} look={look} />,
    },
    {
      id: 'difference',
      accessorFn: (row) => (row.baseline ? 0 : defined(row.difference)),
      sortUndefined,
      sortDescFirst: table.direction === 'max',
      meta: numeric('difference'),
      header: explained(
        table.baseline === '' ? 'vs baseline' : `vs ${table.baseline}`,
        'the paired difference',
        differenceText(table.baseline || 'the baseline', table.unit),
      ),
      cell: ({ row }) => <DifferenceCell row={row.original} look={look} />,
    },
  ];
}

function testColumns(): Columns {
  return [
    {
      id: 'p',
      accessorFn: (row) => defined(row.p_sign_flip),
      sortUndefined,
      sortDescFirst: false,
      meta: numeric('p'),
      header: explained('p', 'p', pText),
      cell: ({ row }) => <PCell row={row.original} />,
    },
    {
      id: 'holm',
      accessorFn: (row) => defined(row.p_holm),
      sortUndefined,
      sortDescFirst: false,
      meta: numeric('Holm p'),
      header: explained('Holm p', 'the Holm-corrected p', holmText),
      cell: ({ row: { original: row } }) => (row.baseline ? '' : pValue(row.p_holm)),
    },
  ];
}

function costColumns(): Columns {
  return [
    {
      id: 'parameters',
      accessorFn: (row) => (row.parameters_added < 0 ? undefined : row.parameters_added),
      sortUndefined,
      sortDescFirst: false,
      meta: numeric('parameters added'),
      header: explained('Params added', 'parameters added', parametersText),
      cell: ({ row: { original: row } }) => (
        <span title={`${parameters(row.parameters)} in all`}>{parametersAdded(row.parameters_added)}</span>
      ),
    },
    {
      id: 'speed',
      accessorFn: (row) => defined(row.ms_per_step),
      sortUndefined,
      sortDescFirst: false,
      meta: numeric('milliseconds per step'),
      header: explained('ms/step', 'milliseconds per step', speedText),
      cell: ({ row: { original: row } }) =>
        row.times_vary ? (
          <Explain term="times that vary" text={varyText}>
            <span>{milliseconds(row.ms_per_step)}†</span>
          </Explain>
        ) : (
          milliseconds(row.ms_per_step)
        ),
    },
  ];
}

export function leaderboardColumns(
  table: Table,
  picked: ReadonlySet<number>,
  setPicked: (picked: ReadonlySet<number>) => void,
): Columns {
  const look = lookOf(table);
  const pick = pickColumn<Ranked>(
    (row) => row.cell,
    (row) => `${row.label} to compare`,
    { picked, setPicked, most: pickedMost },
  );
  return [pick, ...cellColumns(look), ...meanColumns(table, look), ...testColumns(), ...costColumns()];
}
