// The columns of the list of units.
import type { ColumnDef } from '@tanstack/table-core';
import type { SearchPhase, SearchUnit } from '@/shared/api/messages';
import { significant, undefinedMark } from '@/shared/format';
import { hrefs } from '@/shared/hrefs';
import type { Look } from '@/shared/palette';
import { pickColumn, type Picking } from '@/shared/tables/pick-column';
import { defined } from '@/shared/tables/use-table';
import { CellName, State } from '@/shared/ui/parts';
import { rungsOf, rungText, scoreOf, sentText, settingText, unitName, unitStates, valuesOf } from './units';

export interface UnitRow {
  index: number; // among the units of the phase
  unit: SearchUnit;
}

function identity(phase: SearchPhase, looks: readonly Look[]): ColumnDef<UnitRow, any>[] {
  return [
    {
      id: 'unit',
      accessorFn: (row) => row.index,
      header: 'Unit',
      sortDescFirst: false,
      meta: { class: 'column-unit', title: 'unit', rowHeader: true, fixed: true },
      cell: ({ row: { original: row } }) => (
        <CellName
          look={looks[row.unit.group] ?? null}
          label={unitName(phase, row.unit)}
          title={row.unit.label}
        />
      ),
    },
    {
      id: 'state',
      accessorFn: (row) => unitStates.indexOf(row.unit.state as (typeof unitStates)[number]),
      header: 'State',
      sortDescFirst: false,
      meta: { class: 'column-state', title: 'state', label: 'State' },
      cell: ({ row }) => <State state={row.original.unit.state} />,
    },
    {
      id: 'sent',
      accessorFn: (row) => row.unit.rung,
      header: 'Sent to',
      sortDescFirst: true,
      meta: { class: 'column-sent', title: 'the rung it was sent to', label: 'Sent to' },
      cell: ({ row }) => sentText(phase, row.original.unit) || undefinedMark,
    },
  ];
}

function settings(phase: SearchPhase): ColumnDef<UnitRow, any>[] {
  return phase.space.map(({ path }, i) => ({
    id: `setting-${i}`,
    accessorFn: (row: UnitRow) => valuesOf(row.unit)[path],
    sortUndefined: 'last' as const,
    sortDescFirst: false,
    header: path,
    meta: { class: 'column-setting number', title: path, label: path },
    cell: ({ row }: { row: { original: UnitRow } }) => settingText(valuesOf(row.original.unit)[path]),
  }));
}

function scores(phase: SearchPhase): ColumnDef<UnitRow, any>[] {
  const column = (id: string, rung: number | null, name: string): ColumnDef<UnitRow, any> => ({
    id,
    accessorFn: (row) => defined(scoreOf(row.unit, rung)),
    sortUndefined: 'last',
    sortDescFirst: phase.direction !== 'min',
    header: name,
    meta: { class: 'column-score number', title: `${phase.metric}, ${name}`, label: name },
    cell: ({ row }) => significant(scoreOf(row.original.unit, rung), 4),
  });
  const rungs = rungsOf(phase);
  if (rungs.length < 2) return [column('value', null, phase.metric)];
  return rungs.map((rung, i) => column(`rung-${i}`, rung, rungText(phase.resource, rung)));
}

const linksMost = 6;

const whereabouts = (experiment: string): ColumnDef<UnitRow, any>[] => [
  {
    id: 'trials',
    enableSorting: false,
    header: 'Trials',
    meta: { class: 'column-unit-trials', title: 'trials', label: 'Trials' },
    cell: ({ row }) => {
      const { trials } = row.original.unit;
      return (
        <>
          {trials.slice(0, linksMost).map((trial) => (
            <a key={trial} href={hrefs.trial(experiment, trial)}>
              {trial}
            </a>
          ))}
          {trials.length > linksMost && <span class="quiet">+{trials.length - linksMost}</span>}
        </>
      );
    },
  },
  {
    id: 'reason',
    enableSorting: false,
    header: 'Why',
    meta: { class: 'column-reason', title: 'why it is where it is', label: 'Why' },
    cell: ({ row }) => (
      <span class="clip" title={row.original.unit.reason}>
        {row.original.unit.reason}
      </span>
    ),
  },
];

export const unitColumns = (
  experiment: string,
  phase: SearchPhase,
  looks: readonly Look[],
  picking: Picking,
) => [
  pickColumn<UnitRow>(
    (row) => row.index,
    (row) => unitName(phase, row.unit),
    picking,
  ),
  ...identity(phase, looks),
  ...settings(phase),
  ...scores(phase),
  ...whereabouts(experiment),
];
