// Sorting: both directions, undefined last in either, state given from outside.
import type { SortingState } from '@tanstack/table-core';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { useState } from 'preact/hooks';
import { afterEach, expect, test } from 'vitest';
import { DataTable } from './data-table';
import { defined, sortingQuery, useTable } from './use-table';

interface Item {
  name: string;
  value: number;
}
const items: Item[] = [
  { name: 'b', value: 2 },
  { name: 'none', value: NaN },
  { name: 'a', value: 1 },
  { name: 'c', value: 10 },
];

function Example() {
  const [sorting, setSorting] = useState<SortingState>([]);
  const [columns] = useState(() => [
    {
      id: 'name',
      accessorKey: 'name',
      header: 'Name',
      cell: ({ row }: { row: { original: Item } }) => row.original.name,
    },
    {
      id: 'value',
      accessorFn: (item: Item) => defined(item.value),
      sortUndefined: 'last' as const,
      sortDescFirst: true,
      header: 'Value',
      meta: { title: 'value' },
    },
  ]);
  const table = useTable({ data: items, columns, sorting, setSorting, rowId: (item) => item.name });
  return <DataTable table={table} caption="Items" />;
}

afterEach(() => render(null, document.body));
const order = () => [...document.querySelectorAll('tbody td:first-child')].map((cell) => cell.textContent);
const press = (label: string) =>
  act(() => document.querySelector<HTMLButtonElement>(`button[aria-label="Sort by ${label}"]`)!.click());
const sortOf = (column: number) => document.querySelectorAll('th')[column]!.getAttribute('aria-sort');

test('a column sorts down, up and back to the given order, undefined last both ways', async () => {
  await act(() => render(<Example />, document.body));
  expect(order()).toEqual(['b', 'none', 'a', 'c']);
  await press('value');
  expect(order()).toEqual(['c', 'b', 'a', 'none']);
  expect(sortOf(1)).toBe('descending');
  await press('value');
  expect(order()).toEqual(['a', 'b', 'c', 'none']);
  expect(sortOf(1)).toBe('ascending');
  await press('value');
  expect(order()).toEqual(['b', 'none', 'a', 'c']);
  expect(sortOf(1)).toBe('none');
});

test('only one column sorts at a time', async () => {
  await act(() => render(<Example />, document.body));
  await press('value');
  await press('name');
  expect(order()).toEqual(['a', 'b', 'c', 'none']);
  expect([sortOf(0), sortOf(1)]).toEqual(['ascending', 'none']);
});

test('sorting is written into the address and read back; nonsense means none', () => {
  const sorting = [{ id: 'mean', desc: true }];
  expect(sortingQuery.read(sortingQuery.write(sorting))).toEqual(sorting);
  expect(sortingQuery.write([])).toBeNull();
  expect(sortingQuery.read('mean.sideways')).toEqual([]);
  expect(sortingQuery.read(null)).toEqual([]);
});
