// TanStack Table and Virtual in Preact: the headless cores with Preact's state.
import {
  type ColumnDef,
  createTable,
  getCoreRowModel,
  getSortedRowModel,
  type RowData,
  type SortingState,
  type Table,
  type TableOptionsResolved,
  type VisibilityState,
} from '@tanstack/table-core';
import { Virtualizer, type VirtualizerOptions } from '@tanstack/virtual-core';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { QueryCodec } from '@/shared/router';

declare module '@tanstack/table-core' {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  interface ColumnMeta<TData extends RowData, TValue> {
    class?: string;
    title?: string; // the plain name, for screen readers where the header is more than text
    label?: string; // said before the value where the table is drawn as cards
    rowHeader?: boolean;
    fixed?: boolean; // always shown: the picker leaves it out
  }
}

export interface TableSetup<T> {
  data: T[];
  columns: ColumnDef<T, any>[];
  sorting: SortingState;
  setSorting: (sorting: SortingState) => void;
  rowId: (row: T) => string;
  hidden?: ReadonlySet<string>; // columns not shown
}

const apply = <T>(updater: T | ((old: T) => T), old: T): T =>
  typeof updater === 'function' ? (updater as (old: T) => T)(old) : updater;

const noneHidden: ReadonlySet<string> = new Set();
const visibilityOf = (hidden: ReadonlySet<string>): VisibilityState =>
  Object.fromEntries([...hidden].map((id) => [id, false]));

export function useTable<T>(setup: TableSetup<T>): Table<T> {
  const { data, columns, sorting, setSorting, rowId, hidden = noneHidden } = setup;
  const [table] = useState(() => {
    const options: TableOptionsResolved<T> = {
      data,
      columns,
      state: {},
      onStateChange: () => {},
      renderFallbackValue: null,
      getCoreRowModel: getCoreRowModel(),
      getSortedRowModel: getSortedRowModel(),
    };
    return createTable<T>(options);
  });
  const [state, setState] = useState(() => table.initialState);
  table.setOptions((previous) => ({
    ...previous,
    data,
    columns,
    getRowId: rowId,
    enableSortingRemoval: true,
    enableMultiSort: false,
    autoResetAll: false,
    state: { ...state, sorting, columnVisibility: visibilityOf(hidden) },
    onStateChange: (updater) => setState((old) => apply(updater, old)),
    onSortingChange: (updater) => setSorting(apply(updater, sorting)),
  }));
  return table;
}

// For accessors: what is undefined sorts last in either direction (with sortUndefined: 'last').
export const defined = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value);

// "mean.desc" in the address.
export const sortingQuery: QueryCodec<SortingState> = {
  read: (text) => {
    const found = /^([\w-]+)\.(asc|desc)$/.exec(text ?? '');
    return found ? [{ id: found[1]!, desc: found[2] === 'desc' }] : [];
  },
  write: (sorting) => (sorting[0] ? `${sorting[0].id}.${sorting[0].desc ? 'desc' : 'asc'}` : null),
};

// The hidden columns in the address; left out while they are the usual ones.
export function hiddenColumnsQuery(usual: readonly string[] = []): QueryCodec<ReadonlySet<string>> {
  const textOf = (ids: Iterable<string>) => [...ids].sort().join(',') || 'none';
  return {
    read: (text) =>
      new Set(text === null ? usual : text === 'none' ? [] : text.split(',').filter((id) => id !== '')),
    write: (hidden) => (textOf(hidden) === textOf(usual) ? null : textOf(hidden)),
  };
}

export interface RowGroup<R> {
  key: string; // empty: ungrouped
  rows: R[];
}

// Rows by what groupOf says of each, groups in the order of their first row.
export function groupRows<R>(rows: readonly R[], groupOf: ((row: R) => string) | undefined): RowGroup<R>[] {
  if (!groupOf) return [{ key: '', rows: [...rows] }];
  const groups = new Map<string, R[]>();
  for (const row of rows) {
    const key = groupOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return [...groups].map(([key, members]) => ({ key, rows: members }));
}

const rangeOf = (range: { startIndex: number; endIndex: number } | null) =>
  `${range?.startIndex}-${range?.endIndex}`;

type Rows = Virtualizer<HTMLElement, Element>;

// Both tell of changes only: the library's own also ask the new element at once, which lays the whole page out before
// it has been drawn.
function observeHeight(rows: Rows, tell: (rect: { width: number; height: number }) => void) {
  const observer = new ResizeObserver(([entry]) => {
    if (entry) tell({ width: entry.contentRect.width, height: entry.contentRect.height });
  });
  if (rows.scrollElement) observer.observe(rows.scrollElement);
  return () => observer.disconnect();
}
function observeScroll(rows: Rows, tell: (offset: number, isScrolling: boolean) => void) {
  const element = rows.scrollElement;
  const moved = () => tell(element!.scrollTop, false);
  element?.addEventListener('scroll', moved, { passive: true });
  return () => element?.removeEventListener('scroll', moved);
}

// Which rows are in sight of a scrolling element.
export function useVirtualRows(scroll: RefObject<HTMLElement>, count: number, rowHeight: number) {
  const [, redraw] = useState(0);
  const drawn = useRef('');
  const options: VirtualizerOptions<HTMLElement, Element> = {
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowHeight,
    overscan: 6,
    observeElementRect: observeHeight,
    observeElementOffset: observeScroll,
    scrollToFn: () => {}, // nothing scrolls it but the reader; at the start it would force a layout
    initialRect: { width: 0, height: Math.max(380, innerHeight - 330) }, // as .table-scroll-tall has it
    onChange: () => {
      if (rangeOf(virtualizer.range) !== drawn.current) redraw((n) => n + 1);
    },
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, Element>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  const items = virtualizer.getVirtualItems();
  drawn.current = rangeOf(virtualizer.range);
  const first = items[0];
  const last = items[items.length - 1];
  return {
    indexes: items.map((item) => item.index),
    before: first ? first.start : 0,
    after: last ? virtualizer.getTotalSize() - last.end : 0,
  };
}
