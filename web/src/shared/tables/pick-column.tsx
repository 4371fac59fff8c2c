// A column of check boxes: rows picked for something else, such as a comparison.
import type { ColumnDef } from '@tanstack/table-core';

export const pickedMost = 16; // what the server compares at once

export interface Picking {
  picked: ReadonlySet<number>;
  setPicked: (picked: ReadonlySet<number>) => void;
  most?: number; // at once; any number without it
}

// The box of a row is called `Pick NAME`.
export function pickColumn<T>(
  numberOf: (row: T) => number,
  nameOf: (row: T) => string,
  { picked, setPicked, most = Infinity }: Picking,
): ColumnDef<T, any> {
  const toggle = (number: number) => {
    const next = new Set(picked);
    if (!next.delete(number)) next.add(number);
    setPicked(next);
  };
  return {
    id: 'pick',
    enableSorting: false,
    header: () => <span class="off-screen">Pick</span>,
    meta: { class: 'column-pick', title: 'pick', fixed: true },
    cell: ({ row: { original: row } }) => {
      const on = picked.has(numberOf(row));
      return (
        <input
          type="checkbox"
          class="pick"
          aria-label={`Pick ${nameOf(row)}`}
          checked={on}
          disabled={!on && picked.size >= most}
          onChange={() => toggle(numberOf(row))}
        />
      );
    },
  };
}
