// Which columns a table shows.
import type { Table } from '@tanstack/table-core';
import { Popover } from '@/shared/ui/popover';
import { Switch } from '@/shared/ui/parts';

export function ColumnPicker<T>({
  table,
  hidden,
  set,
}: {
  table: Table<T>;
  hidden: ReadonlySet<string>;
  set: (hidden: ReadonlySet<string>) => void;
}) {
  const columns = table.getAllLeafColumns().filter((column) => !column.columnDef.meta?.fixed);
  const toggle = (id: string, shown: boolean) => {
    const next = new Set(hidden);
    if (shown) next.delete(id);
    else next.add(id);
    set(next);
  };
  return (
    <Popover label="Columns" icon="columns">
      {() => (
        <fieldset class="picker">
          <legend class="off-screen">Columns shown</legend>
          {columns.map((column) => (
            <Switch
              key={column.id}
              label={column.columnDef.meta?.title ?? column.columnDef.meta?.label ?? column.id}
              on={!hidden.has(column.id)}
              set={(on) => toggle(column.id, on)}
            />
          ))}
        </fieldset>
      )}
    </Popover>
  );
}
