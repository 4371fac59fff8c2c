// A sortable table, semantic in every row; long ones draw only the rows in sight.
import type { Cell, Header, Row, SortDirection, Table } from '@tanstack/table-core';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { Icon } from '@/shared/ui/icon';
import { groupRows, useVirtualRows } from './use-table';

const ariaSort = (sorted: false | SortDirection) =>
  sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : 'none';

function content(definition: unknown, context: unknown): ComponentChildren {
  return (typeof definition === 'function' ? definition(context) : definition) as ComponentChildren;
}

function HeaderCell<T>({ header }: { header: Header<T, unknown> }) {
  const { column } = header;
  const sorted = column.getIsSorted();
  const label = content(column.columnDef.header, header.getContext());
  const meta = column.columnDef.meta;
  if (!column.getCanSort())
    return (
      <th scope="col" class={meta?.class}>
        {label}
      </th>
    );
  return (
    <th scope="col" class={meta?.class} aria-sort={ariaSort(sorted)}>
      <span class="th-content">
        {typeof column.columnDef.header === 'string' ? null : label}
        <button
          type="button"
          class="sort-button"
          aria-label={`Sort by ${meta?.title ?? column.id}`}
          onClick={column.getToggleSortingHandler() as (event: unknown) => void}
        >
          {typeof column.columnDef.header === 'string' ? label : null}
          <span class={`sort-icon ${sorted ? 'sorted' : ''}`}>
            <Icon name={sorted === 'asc' ? 'up' : sorted === 'desc' ? 'down' : 'sort'} size={12} />
          </span>
        </button>
      </span>
    </th>
  );
}

function BodyCell<T>({ cell }: { cell: Cell<T, unknown> }) {
  const { columnDef } = cell.column;
  const { meta } = columnDef;
  const shown = content(columnDef.cell, cell.getContext());
  if (meta?.rowHeader)
    return (
      <th scope="row" class={meta.class}>
        {shown}
      </th>
    );
  return (
    <td class={meta?.class} data-label={meta?.label}>
      {shown}
    </td>
  );
}

interface RowProps<T> {
  rowClass?: ((row: T) => string) | undefined;
  onRowHover?: ((row: T | null) => void) | undefined;
  groupOf?: ((row: T) => string) | undefined; // the name of the row's group
}

function GroupRow({ name, size, columns }: { name: string; size: number; columns: number }) {
  return (
    <tr class="group-row">
      <th scope="rowgroup" colSpan={columns}>
        <span class="group-name">
          {name || 'none'} <small>{size}</small>
        </span>
      </th>
    </tr>
  );
}

function BodyRow<T>({
  row,
  index,
  rowClass,
  onRowHover,
}: RowProps<T> & { row: Row<T>; index: number | undefined }) {
  return (
    <tr
      class={rowClass?.(row.original)}
      aria-rowindex={index === undefined ? undefined : index + 2}
      onMouseEnter={onRowHover && (() => onRowHover(row.original))}
      onMouseLeave={onRowHover && (() => onRowHover(null))}
    >
      {row.getVisibleCells().map((cell) => (
        <BodyCell key={cell.id} cell={cell} />
      ))}
    </tr>
  );
}

function Head<T>({ table }: { table: Table<T> }) {
  return (
    <thead>
      {table.getHeaderGroups().map((group) => (
        <tr key={group.id}>
          {group.headers.map((header) => (
            <HeaderCell key={header.id} header={header} />
          ))}
        </tr>
      ))}
    </thead>
  );
}

// `most`: the rows drawn, the first of them as sorted.
export function DataTable<T>({
  table,
  caption,
  class: name,
  groupOf,
  most = Infinity,
  ...rows
}: RowProps<T> & { table: Table<T>; caption: string; class?: string; most?: number }) {
  const groups = groupRows(
    table.getRowModel().rows.slice(0, most),
    groupOf && ((row) => groupOf(row.original)),
  );
  const columns = table.getVisibleLeafColumns().length;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class={`table ${name ?? ''}`}>
        <caption class="off-screen">{caption}</caption>
        <Head table={table} />
        {groups.map((group) => (
          <tbody key={group.key}>
            {groupOf && <GroupRow name={group.key} size={group.rows.length} columns={columns} />}
            {group.rows.map((row) => (
              <BodyRow key={row.id} row={row} index={undefined} {...rows} />
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}

function Spacer({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}

// Of fixed row height and fixed column widths, in its own scrolling box.
export function VirtualTable<T>(
  props: RowProps<T> & { table: Table<T>; caption: string; rowHeight: number; class?: string },
) {
  const { table, caption, rowHeight, class: name, groupOf, ...look } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const groups = groupRows(table.getRowModel().rows, groupOf && ((row) => groupOf(row.original)));
  const lines = groups.flatMap((group) => [...(groupOf ? [group] : []), ...group.rows]);
  const { indexes, before, after } = useVirtualRows(scroll, lines.length, rowHeight);
  const columns = table.getVisibleLeafColumns().length;
  return (
    <div class="table-scroll table-scroll-tall" ref={scroll} tabIndex={0} role="region" aria-label={caption}>
      <table class={`table table-fixed ${name ?? ''}`} aria-rowcount={lines.length + 1}>
        <caption class="off-screen">{caption}</caption>
        <Head table={table} />
        <tbody>
          <Spacer height={before} columns={columns} />
          {indexes.map((index) => {
            const line = lines[index];
            if (!line) return null;
            return 'rows' in line ? (
              <GroupRow key={`group ${line.key}`} name={line.key} size={line.rows.length} columns={columns} />
            ) : (
              <BodyRow key={line.id} row={line} index={index} {...look} />
            );
          })}
          <Spacer height={after} columns={columns} />
        </tbody>
      </table>
    </div>
  );
}
