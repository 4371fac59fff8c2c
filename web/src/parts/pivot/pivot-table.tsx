// The pivot table, drawn: best and second, significance, spread, differences, what is missing; each cell explains
// itself on hover and focus.
import { useState } from 'preact/hooks';
import type { PaperCell, PaperTable, TableHeading } from '@/shared/api/messages';
import { count, fixed, interval, signed, undefinedMark } from '@/shared/format';
import { Explain } from '@/shared/ui/explain';
import type { PivotRequest } from './request';
import { cellSentences, commonCount, headingKey, headingText } from './words';

// Runs of equal leading labels, so that groups are named once: how many rows each label spans, 0 where it is
// spanned by one above.
export function spans(headings: readonly TableHeading[], depth: number): number[][] {
  const out = headings.map(() => new Array<number>(depth).fill(1));
  for (let level = 0; level < depth - 1; level += 1) {
    let first = 0;
    for (let i = 1; i <= headings.length; i += 1) {
      const same =
        i < headings.length &&
        headings[i]!.keys.slice(0, level + 1).join('|') ===
          headings[first]!.keys.slice(0, level + 1).join('|');
      if (same) continue;
      for (let j = first; j < i; j += 1) out[j]![level] = j === first ? i - first : 0;
      first = i;
    }
  }
  return out;
}

function spreadText(cell: PaperCell, request: PivotRequest): string {
  if (cell.n < 2 || request.spread === 'none') return '';
  if (request.spread === 'interval') return ` ${interval(cell.low, cell.high, request.digits)}`;
  return ` ± ${fixed(cell.std, request.digits)}`;
}

function CellNumbers({
  cell,
  request,
  showCount,
}: {
  cell: PaperCell;
  request: PivotRequest;
  showCount: boolean;
}) {
  const flagged = cell.flags.length > 0 || cell.missing_seeds.length > 0;
  return (
    <span class={`pivot-cell ${cell.best ? 'pivot-best' : ''} ${cell.second ? 'pivot-second' : ''}`}>
      <span>
        <b class="pivot-mean">{fixed(cell.mean, request.digits)}</b>
        <small>{spreadText(cell, request)}</small>
        {cell.significant && <sup title="significant">*</sup>}
        {flagged && <sup class="pivot-flag">†</sup>}
      </span>
      {showCount && cell.n > 0 && <small class="pivot-n">n = {cell.n}</small>}
      {request.differences && !Number.isNaN(cell.difference) && (
        <small class="pivot-difference">{signed(cell.difference, request.digits)}</small>
      )}
      {request.detect > 0 && cell.seeds_needed > 0 && (
        <small class="pivot-needed">{cell.seeds_needed} seeds</small>
      )}
    </span>
  );
}

function Cell({
  table,
  row,
  column,
  request,
  showCount,
}: {
  table: PaperTable;
  row: number;
  column: number;
  request: PivotRequest;
  showCount: boolean;
}) {
  const cell = table.cells[row * table.columns.length + column];
  if (!cell) return <td class="number">{undefinedMark}</td>;
  const term = `${headingText(table.rows[row]!)}, ${headingText(table.columns[column]!)}`;
  return (
    <td class="number">
      <Explain
        term={term}
        text={() =>
          cellSentences(cell, table.columns[column]!, table, request.digits).map((sentence) => (
            <span key={sentence} class="pivot-sentence">
              {sentence}
            </span>
          ))
        }
      >
        {cell.n === 0 && cell.missing_seeds.length === 0 ? (
          undefinedMark
        ) : (
          <CellNumbers cell={cell} request={request} showCount={showCount} />
        )}
      </Explain>
    </td>
  );
}

const firstRows = 120; // a table of more is no table for a paper; the exports have all

const arrow = (direction: string) => (direction === 'max' ? ' ↑' : direction === 'min' ? ' ↓' : '');

function columnTitle(heading: TableHeading): string {
  const unit = heading.unit === '' ? '' : ` (${heading.unit})`;
  return `${heading.metric}, ${heading.split}${unit}${arrow(heading.direction)}`;
}

function Head({ table, columns }: { table: PaperTable; columns: readonly number[] }) {
  const shown = columns.map((column) => table.columns[column]!);
  const depth = Math.max(0, ...shown.map((heading) => heading.labels.length));
  const axes = table.row_axes.length > 0 ? table.row_axes : [''];
  const spanned = spans(shown, Math.max(1, depth));
  const levels = Array.from({ length: depth }, (_, level) => level);
  const metricSaid = table.column_axes.includes('metric');
  return (
    <thead>
      {levels.map((level) => (
        <tr key={level}>
          {level === 0 &&
            axes.map((axis) => (
              <th key={axis} scope="col" rowSpan={depth + (metricSaid ? 0 : 1)} class="pivot-heading-axis">
                {axis}
              </th>
            ))}
          {shown.map((heading, i) =>
            spanned[i]![level]! === 0 ? null : (
              <th
                key={columns[i]}
                scope={spanned[i]![level]! > 1 ? 'colgroup' : 'col'}
                colSpan={spanned[i]![level]!}
                class="number"
              >
                {heading.labels[level]}
              </th>
            ),
          )}
        </tr>
      ))}
      {(!metricSaid || depth === 0) && (
        <tr>
          {depth === 0 &&
            axes.map((axis) => (
              <th key={axis} scope="col" class="pivot-heading-axis">
                {axis}
              </th>
            ))}
          {shown.map((heading, i) => (
            <th key={columns[i]} scope="col" class="number pivot-metric">
              {columnTitle(heading)}
            </th>
          ))}
        </tr>
      )}
    </thead>
  );
}

export function PivotTable({
  table,
  request,
  hidden,
  caption,
}: {
  table: PaperTable;
  request: PivotRequest;
  hidden: ReadonlySet<string>;
  caption: string;
}) {
  const columns = table.columns.map((_, i) => i).filter((i) => !hidden.has(headingKey(table.columns[i]!)));
  const [all, setAll] = useState(false);
  const rows = all ? table.rows : table.rows.slice(0, firstRows);
  const depth = Math.max(1, table.row_axes.length);
  const spanned = spans(rows, depth);
  const begins = (row: number) => row > 0 && depth > 1 && spanned[row]![0]! > 0; // a group
  const showCount = commonCount(table) === null;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class="table pivot-table">
        <caption class="off-screen">{caption}</caption>
        <Head table={table} columns={columns} />
        <tbody>
          {rows.map((heading, row) => (
            <tr
              key={heading.keys.join('|')}
              class={`${heading.baseline ? 'row-baseline' : ''} ${begins(row) ? 'pivot-group' : ''}`}
            >
              {Array.from({ length: depth }, (_, level) =>
                spanned[row]![level] === 0 ? null : (
                  <th
                    key={level}
                    scope={spanned[row]![level]! > 1 ? 'rowgroup' : 'row'}
                    rowSpan={spanned[row]![level]!}
                  >
                    {heading.labels[level] ?? 'all'}
                    {heading.baseline && level === depth - 1 && (
                      <span class="tag" title="The others are compared with this row">
                        baseline
                      </span>
                    )}
                  </th>
                ),
              )}
              {columns.map((column) => (
                <Cell
                  key={column}
                  table={table}
                  row={row}
                  column={column}
                  request={request}
                  showCount={showCount}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.rows.length < table.rows_total && (
        <p class="quiet" role="status">
          The first {count(table.rows.length)} of {count(table.rows_total)} rows; the others are on their way.
        </p>
      )}
      {rows.length < table.rows.length && (
        <button type="button" class="button button-small" onClick={() => setAll(true)}>
          Show all {count(table.rows.length)} rows
        </button>
      )}
    </div>
  );
}
