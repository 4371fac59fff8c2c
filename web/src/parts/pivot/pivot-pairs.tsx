// Seed by seed: the rows of one column as a paired plot.
import { useRef } from 'preact/hooks';
import type { PaperTable } from '@/shared/api/messages';
import { svgOf } from '@/shared/charts/figure';
import { bySeed, type PairedItem, PairedPlot } from '@/shared/charts/paired-plot';
import { csvOf } from '@/shared/csv';
import { SelectField } from '@/shared/ui/fields';
import { FigureMenu } from '@/shared/charts/figure-menu';
import { Swatch } from '@/shared/ui/parts';
import { rowLooks } from './looks';
import { headingKey, headingText } from './words';

const most = 16; // rows drawn side by side

// The rows that have values in a column, as items of the plot.
export function pairedItems(table: PaperTable, column: number): PairedItem[] {
  const looks = rowLooks(table);
  return table.rows
    .map((heading, row) => ({
      label: headingText(heading) || 'all',
      look: looks[row]!,
      values: table.cells[row * table.columns.length + column]?.values ?? [],
    }))
    .filter((item) => item.values.length > 0);
}

export function pairedCsv(items: readonly PairedItem[]): string {
  return csvOf(
    ['seed', ...items.map((item) => item.label)],
    bySeed(items).map(({ seed, values }) => [seed, ...values.map((v) => (Number.isNaN(v) ? undefined : v))]),
  );
}

export function PivotPairs({
  table,
  chosen,
  choose,
}: {
  table: PaperTable;
  chosen: string; // a column's key; empty: none
  choose: (key: string) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const column = table.columns.findIndex((heading) => headingKey(heading) === chosen);
  const all = column < 0 ? [] : pairedItems(table, column);
  const items = all.slice(0, most);
  const heading = table.columns[column];
  const options = [
    { value: '', text: 'not shown' },
    ...table.columns.map((each) => ({
      value: headingKey(each),
      text: [...each.labels, each.metric].filter((part, i, parts) => parts.indexOf(part) === i).join(' · '),
    })),
  ];
  return (
    <div class="pivot-pairs">
      <div class="toolbar toolbar-quiet">
        <SelectField
          label="Seed by seed"
          value={column < 0 ? '' : chosen}
          options={options}
          choose={choose}
        />
        {items.length > 0 && heading && (
          <FigureMenu
            name={`paired-${heading.metric}`}
            svg={(scheme) =>
              svgOf(box.current!.querySelector('svg.figure')!, {
                title: `${heading.metric} seed by seed`,
                legend: items,
                scheme,
                yName: heading.metric,
              })
            }
            csv={() => pairedCsv(all)}
          />
        )}
      </div>
      {items.length > 0 && heading && (
        <div ref={box}>
          <PairedPlot items={items} label={`${heading.metric} of every row, a line per seed`} />
          <ol class="paired-legend">
            {items.map((item) => (
              <li key={item.label}>
                <Swatch look={item.look} /> {item.label}
              </li>
            ))}
          </ol>
          {all.length > most && (
            <p class="table-note">
              The first {most} of {all.length} rows are drawn.
            </p>
          )}
        </div>
      )}
    </div>
  );
}
