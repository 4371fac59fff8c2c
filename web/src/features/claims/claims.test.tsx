// The papers' claims: the grid of a table, the page alone and beside an experiment, the card of an experiment.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startRouter } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import { asked, open, serve, shows } from '@/test-world';
import { claimsMessage } from '../../../dev/mock-claims.mjs';
import { gridOf, priorNames, priorOf } from '@/parts/claims/data';
import type { Claim, ClaimTable } from '@/shared/api/messages';

const tables = (query: Record<string, string>) =>
  claimsMessage(new URLSearchParams(query)).tables as unknown as ClaimTable[];

describe('a printed table', () => {
  test('is a grid in printed order, with as many decimals as the longest number of a column', () => {
    const [guidance] = tables({ paper: 'active-spatial-guidance' });
    const grid = gridOf(guidance!);
    expect(grid.rows).toEqual(['Guidance', 'RoPE', 'No-PE']);
    expect(grid.at('RoPE', 'Top-1 Acc. (%)')!.value).toBe(68.09);
    expect(grid.at('RoPE', 'nowhere')).toBeUndefined();
    expect(grid.decimals.get('Top-1 Acc. (%)')).toBe(2);
  });
  test('names the method where it varies', () => {
    expect(gridOf(tables({ paper: 'active-spatial-guidance' })[0]!).priorOn).toBe('row');
    expect(gridOf(tables({ paper: 'violin' })[0]!).priorOn).toBe('column');
  });
  test('leaves out rows without a number', () => {
    const [table] = tables({ paper: 'violin' });
    expect(gridOf({ ...table!, rows: [...table!.rows, 'DeiT-H'] }).rows).toEqual(['DeiT-T']);
  });
});

describe('priors', () => {
  test('are ids with the options that are stated', () =>
    expect(
      priorNames('["learned-absolute",{"violin":{"alpha":false,"curves":["hilbert","snake"]}}]'),
    ).toEqual([
      { id: 'learned-absolute', options: '' },
      { id: 'violin', options: 'alpha: false; curves: hilbert, snake' },
    ]));
  test('are absent where Locus has none', () => expect(priorNames('')).toEqual([]));
  test('of a line are one only when every number agrees', () => {
    const of = (prior_json: string) => ({ prior_json }) as Claim;
    expect(priorOf([of('["none"]'), of('["none"]')])).toBe('["none"]');
    expect(priorOf([of('["none"]'), of('')])).toBe('');
    expect(priorOf([])).toBe('');
  });
});

describe('the page', () => {
  let stop: () => void;
  beforeEach(() => {
    stop = startRouter();
  });
  afterEach(async () => {
    await act(() => render(null, document.body));
    stop();
    vi.unstubAllGlobals();
  });

  test('shows a paper as printed, with its setting and links to the catalog', async () => {
    serve();
    const text = await open('/claims?paper=violin', 'Table 16');
    expect(text).toContain('imagenet-1k');
    expect(text).toContain('The running text speaks of three scales');
    expect(text).toContain('Printed +0.2; the numbers give +0.1.');
    expect(document.querySelector('a[href="/catalog?item=prior%2Fviolin"]')).not.toBeNull();
    expect(document.querySelector('.claim-sentences')).toBeNull();
  });
  test('beside an experiment says what was measured and what else differs', async () => {
    serve();
    await open(
      '/claims?experiment=fashion-mnist-priors',
      'paper +4.17 over RoPE; here -2.00 (95 % -2.40 to -1.60), n = 5',
    );
    const item = document.querySelector('.claim-sentences li')!;
    expect(item.textContent).toContain('Guidance · Top-1 Acc. (%)');
    // the table's setting says it of the dataset already
    expect(item.querySelector('small')!.textContent).toBe('guidance.lambda: 300 in the paper, 100 here');
    expect([...document.querySelectorAll('.claim-differs dt')].map((each) => each.textContent)).toEqual([
      'dataset',
      'model',
      'epochs',
    ]);
  });
  test('opens with what the experiment says of each paper, and of each table of the one that is shown', async () => {
    serve();
    await open('/claims?experiment=fashion-mnist-priors', 'What it says of the papers');
    const cells = (id: string) =>
      [...document.querySelectorAll(`[aria-labelledby="${id}"] tbody tr`)].map((row) =>
        [...row.children].map((each) => each.textContent),
      );
    expect(cells('claim-counts')).toEqual([
      [
        'active-spatial-guidance',
        '3',
        '0',
        '0',
        '0',
        '0',
        '1',
        '0',
        '3: 2 no cell of these priors and task, 1 another setting',
      ],
      ['violin', '2', '0', '0', '0', '0', '0', '0', '2: 2 no cell of these priors and task'],
    ]);
    expect(cells('claim-counts-active-spatial-guidance')).toEqual([
      [
        'Table 2',
        '3',
        '0',
        '0',
        '0',
        '0',
        '1',
        '0',
        '3: 2 no cell of these priors and task, 1 another setting',
      ],
    ]);
    expect(document.querySelector('[aria-labelledby="claim-counts"] .table-note')!.textContent).toContain(
      'Another setting: dataset 1, model 1, epochs 1.',
    );
    const link = document.querySelector<HTMLAnchorElement>('.claim-counts a')!;
    expect(link.getAttribute('href')).toBe(hrefs.claims('fashion-mnist-priors', 'active-spatial-guidance'));
  });
  test('tells options of the code from those of the print, and what ± is', async () => {
    serve();
    const text = await open(
      '/claims?paper=active-spatial-guidance',
      '± is the standard deviation, as printed.',
    );
    expect(text).toContain('rope-axial.flavordinov3 from code');
    expect(document.querySelector('#claim-counts')).toBeNull();
  });
  test('leaves out tables without a match until they are asked for', async () => {
    serve();
    await open('/claims?paper=violin&experiment=fashion-mnist-priors', 'Nothing to set beside');
    const box = document.querySelector<HTMLInputElement>('.switch input')!;
    await act(() => box.click());
    await shows('Table 16');
    expect(location.search).toContain('all=1');
    expect(document.body.textContent).toContain('No cell of fashion-mnist-priors has the priors');
  });
  test('folds more sentences away than one reads', async () => {
    serve((path, body) => {
      if (path !== '/claims') return body;
      const {
        tables: found,
        papers,
        summaries,
      } = body as Record<string, unknown[]> & { tables: ClaimTable[] };
      const many = Array.from({ length: 13 }, (_, i) => ({ ...found[0]!.claims[0]!, row: `Row ${i}` }));
      return {
        tables: [{ ...found[0]!, rows: many.map((each) => each.row), claims: many }],
        papers,
        summaries,
      };
    });
    await open('/claims?experiment=fashion-mnist-priors', '13 sentences');
    expect(document.querySelector<HTMLDetailsElement>('details.claim-all')!.open).toBe(false);
  });
  test('without any paper says so', async () => {
    serve((path, body) => (path === '/claims' ? { tables: [], papers: [], summaries: [] } : body));
    await open('/claims', 'No claims here');
  });
  test('an experiment that is gone shows the server’s sentence', async () => {
    serve((path, body) => (path === '/claims' && asked.at(-1)!.includes('experiment=gone') ? null : body));
    await open('/claims?experiment=gone', 'there is no /claims');
  });
});

describe('on an experiment’s page', () => {
  afterEach(async () => {
    await act(() => render(null, document.body));
    vi.unstubAllGlobals();
  });
  test('a card leads to the papers that its cells are about', async () => {
    serve();
    await open('/experiments/fashion-mnist-priors', 'What papers claim');
    const link = document.querySelector<HTMLAnchorElement>('.claim-papers a')!;
    expect(link.getAttribute('href')).toBe(hrefs.claims('fashion-mnist-priors', 'active-spatial-guidance'));
    expect(document.querySelector('.claim-papers')!.textContent).toContain('1 number in 1 table');
  });
  test('there is no card when they are about none', async () => {
    serve();
    await open('/experiments/violin-sigma', 'Leaderboard');
    await vi.waitFor(() => expect(asked.some((each) => each.includes('/claims?'))).toBe(true));
    expect(document.body.textContent).not.toContain('What papers claim');
  });
});
