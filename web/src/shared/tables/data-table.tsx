// A sortable table, semantic in every row; long ones draw only the rows in sight.
import type { Cell, Header, Row, SortDirection, Table } from '@tanstack/table-core';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { Icon } from '@/shared/ui/icon';
import { useVirtualRows } from './use-table';

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
  return <td class={columnDef.meta?.class}>{content(columnDef.cell, cell.getContext())}</td>;
}

interface RowProps<T> {
  rowClass?: ((row: T) => string) | undefined;
  onRowHover?: ((row: T | null) => void) | undefined;
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

export function DataTable<T>({
  table,
  caption,
  class: name,
  ...rows
}: RowProps<T> & { table: Table<T>; caption: string; class?: string }) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class={`table ${name ?? ''}`}>
        <caption class="off-screen">{caption}</caption>
        <Head table={table} />
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <BodyRow key={row.id} row={row} index={undefined} {...rows} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

// Of fixed row height and fixed column widths, in its own scrolling box.
export function VirtualTable<T>(
  props: RowProps<T> & { table: Table<T>; caption: string; rowHeight: number; class?: string },
) {
  const { table, caption, rowHeight, class: name, ...look } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const { rows } = table.getRowModel();
  const { indexes, before, after } = useVirtualRows(scroll, rows.length, rowHeight);
  const columns = table.getVisibleLeafColumns().length;
  return (
    <div class="table-scroll table-scroll-tall" ref={scroll} tabIndex={0} role="region" aria-label={caption}>
      <table class={`table table-fixed ${name ?? ''}`} aria-rowcount={rows.length + 1}>
        <caption class="off-screen">{caption}</caption>
        <Head table={table} />
        <tbody>
          {before > 0 && (
            <tr class="spacer" aria-hidden="true">
              <td colSpan={columns} style={{ height: `${before}px` }} />
            </tr>
          )}
          {indexes.map((index) => {
            const row = rows[index];
            return row && <BodyRow key={row.id} row={row} index={index} {...look} />;
          })}
          {after > 0 && (
            <tr class="spacer" aria-hidden="true">
              <td colSpan={columns} style={{ height: `${after}px` }} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
