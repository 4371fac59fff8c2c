// The pivot: its state and the address, what it asks for, what a cell says, and the page as a person uses it.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { act as perform } from '../../../dev/mock-world.mjs';
import { startRouter } from '@/shared/router';
import { PaperTable } from '@/shared/api/messages';
import { asked, open, press, serve, shows } from '@/test-world';
import { pairedCsv, pairedItems } from './pivot-pairs';
import { spans } from './pivot-table';
import {
  axesQuery,
  bodyOf,
  filtered,
  metricsQuery,
  numberQuery,
  placed,
  usualRequest,
  whereQuery,
} from './request';
import { cellSentences, commonCount } from './words';

const tableOf = (body: object, phase = 60): PaperTable =>
  PaperTable(
    perform('/paper-table', new URLSearchParams(), { experiments: ['fashion-mnist-priors'], ...body }, phase),
    '',
  );

describe('the address', () => {
  const names = ['a,b', 'c~d', 'e;f', 'g/h i', 'violin {curves: [a, b]}', '100%'];
  test('carries any axis name there and back', () => {
    expect(axesQuery.read(axesQuery.write(names))).toEqual(names);
    expect(axesQuery.write([])).toBeNull();
    expect(axesQuery.read(null)).toEqual([]);
  });
  test('carries any filter there and back', () => {
    const where = [
      { axis: 'prior', values: names },
      { axis: 'train.lr', values: ['0.003'] },
    ];
    expect(whereQuery.read(whereQuery.write(where))).toEqual(where);
    expect(whereQuery.write([{ axis: 'prior', values: [] }])).toBeNull();
  });
  test('carries metrics with their split, reducer and labels', () => {
    const metrics = [
      { metric: 'top1', split: 'test', reduce: 'best', labels: '{"resolution":42}' },
      { metric: 'loss', split: '', reduce: '', labels: '' },
    ];
    expect(metricsQuery.read(metricsQuery.write(metrics))).toEqual(metrics);
    expect(metricsQuery.write([metrics[1]!])).toBe('loss');
  });
  test('a number out of bounds is the usual one', () => {
    const query = numberQuery(0.05, 0.001, 0.5);
    expect(query.read('0.01')).toBe(0.01);
    for (const text of ['7', 'x', '', '0', null]) expect(query.read(text)).toBe(0.05);
    expect(query.write(0.05)).toBeNull();
  });
  test('what cannot be decoded is left out, not thrown', () => {
    expect(axesQuery.read('%E0%A4%A,prior')).toEqual(['prior']);
    expect(whereQuery.read(';~;prior')).toEqual([]);
  });
});

describe('the layout', () => {
  const shown = { row_axes: ['prior', 'dataset'], column_axes: [] };
  test('moving one axis keeps the others where the server had put them', () => {
    expect(placed(usualRequest, shown, 'dataset', 'columns')).toEqual({
      rows: ['prior'],
      columns: ['dataset'],
    });
    expect(placed({ rows: ['prior'], columns: ['dataset'] }, shown, 'dataset', 'rows')).toEqual({
      rows: ['prior', 'dataset'],
      columns: [],
    });
    expect(placed({ rows: ['prior'], columns: ['dataset'] }, shown, 'dataset', 'out')).toEqual({
      rows: ['prior'],
      columns: [],
    });
  });
  test('the last value taken out of a filter takes the filter away', () => {
    const where = filtered([], 'prior', 'none', true);
    expect(where).toEqual([{ axis: 'prior', values: ['none'] }]);
    expect(filtered(where, 'prior', 'none', false)).toEqual([]);
  });
  test('an export is the same call with a format', () => {
    const { format, ...rest } = bodyOf(['a'], usualRequest, 'latex');
    expect(format).toBe('latex');
    expect(rest).toEqual(bodyOf(['a'], usualRequest));
  });
  test('equal leading labels span their rows, within their group only', () => {
    const heading = (...keys: string[]) => ({ keys }) as PaperTable['rows'][number];
    expect(spans([heading('a', 'x'), heading('a', 'y'), heading('b', 'y')], 2)).toEqual([
      [2, 1],
      [0, 1],
      [1, 1],
    ]);
  });
});

describe('what a cell says', () => {
  const table = tableOf({ columns: ['resolution'] });
  const row = table.rows.findIndex((heading) => heading.labels[0] === 'rope-axial');
  const text = (at: PaperTable, cell: PaperTable['cells'][number]) =>
    cellSentences(cell, at.columns[0]!, at, 2).join(' ');
  test('mean, interval, difference, test with its floor, verdict and trials', () => {
    const said = text(table, table.cells[row * table.columns.length]!);
    expect(said).toMatch(/Mean 8\d\.\d\d % over 5 seeds, standard deviation/);
    expect(said).toContain('95 % interval [');
    expect(said).toContain('against learned-absolute');
    expect(said).toContain('5 pairs');
    expect(said).toContain('lowest reachable 0.0625');
    expect(said).toContain('not significant at 0.05');
    expect(said).toContain('From fashion-mnist-priors/');
  });
  test('the baseline has no difference from itself', () => {
    const base = table.rows.findIndex((heading) => heading.baseline);
    expect(text(table, table.cells[base * table.columns.length]!)).not.toContain('against');
  });
  test('missing seeds are named, and n varies', () => {
    const partial = tableOf({}, 24);
    const cell = partial.cells.find((each) => each.missing_seeds.length > 0)!;
    expect(text(partial, cell)).toContain(`Missing seeds: ${cell.missing_seeds.join(', ')}.`);
    expect(commonCount(table)).toBe(5);
    expect(commonCount({ ...table, cells: [{ ...table.cells[0]!, n: 4 }, ...table.cells] })).toBeNull();
  });
  test('a flag nobody knows is still said', () => {
    const cell = { ...table.cells[0]!, flags: ['odd-moon'] };
    expect(text(table, cell)).toContain('odd-moon.');
  });
});

test('seed by seed, the file has a line per seed and a column per row', () => {
  const items = pairedItems(tableOf({}), 0);
  const lines = pairedCsv(items).trimEnd().split('\r\n');
  expect(lines).toHaveLength(6);
  expect(lines[0]!.split(',')).toHaveLength(1 + items.length);
});

describe('the page', () => {
  let stopRouter: () => void;
  beforeEach(() => {
    stopRouter = startRouter();
    serve();
  });
  afterEach(async () => {
    await act(() => render(null, document.body));
    stopRouter();
    vi.unstubAllGlobals();
  });
  test('draws the table of the address and explains a cell on focus', async () => {
    await open('/experiments/fashion-mnist-priors?tab=paper&cols=resolution&delta=1', 'rope-axial');
    expect(asked).toContain('POST /paper-table');
    expect([...document.querySelectorAll('.pivot-table thead th')].map((th) => th.textContent)).toContain(
      '42',
    );
    expect(document.querySelectorAll('.pivot-best').length).toBe(3);
    expect(document.querySelector('.pivot-difference')).not.toBeNull();
    const cell = document.querySelector<HTMLButtonElement>('.pivot-table td .explain-term')!;
    await act(() => cell.focus());
    await shows('over');
    expect(document.querySelector('[role=tooltip]')!.textContent).toMatch(/Mean .* over \d seed/);
  });
  test('a control changes the address, and the address the table', async () => {
    await open('/experiments/fashion-mnist-priors?tab=paper', 'rope-axial');
    const place = document.querySelector<HTMLSelectElement>('select[aria-label="resolution"]')!;
    await act(() => {
      place.value = 'columns';
      place.dispatchEvent(new Event('change', { bubbles: true }));
    });
    expect(location.search).toContain('cols=resolution');
    await shows('56');
  });
  test('an export asks for the same table in its format', async () => {
    await open('/experiments/fashion-mnist-priors?tab=paper', 'rope-axial');
    await press('Export');
    const bodies: { format?: string }[] = [];
    const before = globalThis.fetch;
    vi.stubGlobal('fetch', (input: string, init?: RequestInit) => {
      bodies.push(JSON.parse(String(init?.body)));
      return before(input, init);
    });
    await press('Copy as LaTeX (booktabs)');
    await vi.waitFor(() => expect(bodies.map((body) => body.format)).toContain('latex'));
  });
});
