// Smoke test of every route: it loads, draws what the API says, and stands in decently when there is nothing
// or no server.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { hrefs } from '@/shared/hrefs';
import { find, routes } from './routes';
import { open, serve } from '@/test-world';
import { startRouter } from '@/shared/router';

// The pages' code, translated here on first import: on a busy machine that alone outlasts a test's patience, and says
// nothing of the pages.
beforeAll(() => Promise.all(routes.map((route) => route.load())).then(() => {}), 60_000);

let complaints: ReturnType<typeof vi.spyOn>;
let stopRouter: () => void;
beforeEach(() => {
  complaints = vi.spyOn(console, 'error');
  stopRouter = startRouter();
  sessionStorage.clear();
});
afterEach(async () => {
  await act(() => render(null, document.body));
  stopRouter();
  vi.unstubAllGlobals();
});

// Where each route leads in the test, and what must be read there.
const visits: Record<string, [string, readonly string[]]> = {
  '/experiments': [
    '/experiments',
    ['fashion-mnist-priors', 'violin-sigma', '12 / 30', '3 stages failed', 'paused', 'rope-axial'],
  ],
  '/experiments/:name': [
    '/experiments/fashion-mnist-priors',
    [
      'Leaderboard',
      'learned-absolute + violin',
      '83.10',
      '+0.74',
      '[−0.88, 2.36]',
      'at floor',
      '2/5',
      'Learning curves',
      'By resolution',
      '6 of 6 cells miss seeds',
    ],
  ],
  '/experiments/:name/trials/:ordinal': [
    '/experiments/high-learning-rates/trials/5',
    [
      'diverged: loss was NaN at step 240',
      'Attempts',
      'workstation',
      'recipe.options.lr',
      'Lower train.lr',
      'step 25 loss 2.3000',
      'Points',
      'fused',
    ],
  ],
  '/experiments/:name/search': [
    '/experiments/tuned-priors/search',
    [
      'Search',
      'Phases and choices',
      'epoch 9',
      '8 advanced',
      'train.lr',
      'What matters',
      '1 of 2 put it first',
      'final waits for tune',
      '8 of 16 go on to epoch 9',
      'rule halve, revision 1',
    ],
  ],
  '/compare': [
    '/compare?of=fashion-mnist-priors/cells/1,fashion-mnist-priors/cells/4',
    ['Paired difference', 'learned-absolute + violin', 'reference', 'Show 4 equal settings', 'All results'],
  ],
  '/paper-table': [
    '/paper-table?of=fashion-mnist-priors,violin-sigma&cols=experiment',
    ['Pivot table', 'rope-axial', 'violin-sigma', '83.10', 'n varies', 'cells miss seeds'],
  ],
  '/new': ['/new', ['New experiment', 'Valid', 'Done already', 'What it can name', 'guidance']],
  '/workers': [
    '/workers',
    ['workstation', '2 cpu slots', '1 cuda slot', 'NVIDIA H200', 'silent', 'fashion-mnist-priors/12'],
  ],
  '/workers/:name': [
    '/workers/workstation',
    ['workstation', 'What it ran', 'diverged: loss was NaN at step 240', '41 s', 'Drain'],
  ],
  '/catalog': [
    '/catalog',
    ['Catalog', 'Priors', 'alibi-2d', 'Decay masks along space-filling curves', 'Datasets', 'Recipes'],
  ],
  '/claims': [
    '/claims?experiment=fashion-mnist-priors',
    ['Claims', 'Table 2', '72.26 ± 0.70', 'paper +4.17 over RoPE', 'here fashion-mnist', '80.90 here'],
  ],
  '/sign-in': ['/sign-in', ['This server asks nobody who they are']],
};

describe('every route', () => {
  test('is visited here', () => expect(Object.keys(visits)).toEqual(routes.map((route) => route.path)));
  test.each(Object.entries(visits))('%s draws what the API says', async (_, [path, texts]) => {
    serve();
    const shown = await open(path, texts[0]!);
    await vi.waitFor(() => texts.forEach((text) => expect(document.body.textContent).toContain(text)), {
      timeout: 3000,
    });
    expect(shown).not.toContain('This page broke');
    expect(complaints).not.toHaveBeenCalled();
  });
  test.each(Object.entries(visits))('%s says so when the server is away', async (_, [path]) => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
    await open(path, 'The server does not answer');
    expect(document.querySelector('[role="alert"] button')!.textContent).toBe('Try again');
    expect(complaints).not.toHaveBeenCalled();
  });
});

describe('special cases', () => {
  test('an unknown page', async () => {
    serve();
    expect(await open('/nowhere', 'No such page')).toContain('/nowhere');
  });
  test('an unknown experiment shows the server’s sentence', async () => {
    serve();
    expect(await open('/experiments/missing', 'Not found')).toContain('there is no /experiments/missing');
  });
  test('no experiments yet', async () => {
    serve((path, body) =>
      path === '/experiments' ? { experiments: [], next_page_token: '', attempts_started: '0' } : body,
    );
    expect(await open('/experiments', 'No experiments yet')).toContain('locus submit');
  });
  test('names are text, never markup', async () => {
    const hostile = '<img src=x onerror=alert(1)>';
    serve((path, body) => {
      if (path !== '/workers') return body;
      const { workers, ...rest } = body as { workers: object[] };
      return { ...rest, workers: [{ ...workers[0], name: hostile }] };
    });
    await open('/workers', hostile);
    expect(document.querySelector('img[src="x"]')).toBeNull();
  });
  test('an answer of another shape is named, not swallowed', async () => {
    serve((path, body) => (path === '/workers' ? { ...(body as object), workers: 5 } : body));
    expect(await open('/workers', 'cannot be read')).toContain('workers: expected a list');
  });
  test.each([
    ['active', false],
    ['failed', true],
  ])('that an %s experiment has no result is a warning: %s', async (state, warned) => {
    serve((path, body) => {
      if (path === '/experiments/fashion-mnist-priors') return { ...(body as object), state };
      if (!path.endsWith('/table')) return body;
      const table = body as { rows: object[] };
      return { ...table, rows: table.rows.map((row) => ({ ...row, n: 0 })), warnings: ['nothing is there'] };
    });
    const text = await open(
      '/experiments/fashion-mnist-priors',
      warned ? 'No trial has a result' : 'No trial has finished yet',
    );
    expect(text.includes('nothing is there')).toBe(warned);
  });
  test('trials are filtered from the address', async () => {
    serve();
    await open('/experiments/high-learning-rates?tab=trials&state=failed', '3 of 9 trials');
    expect(document.querySelectorAll('table.trials tbody tr:not(.spacer)')).toHaveLength(3);
  });
  test('the tab goes into the address and the title names the experiment', async () => {
    serve();
    await open('/experiments/violin-sigma', 'Leaderboard');
    await act(() => document.getElementById('tab-specification')!.click());
    await vi.waitFor(() => expect(document.body.textContent).toContain('"replicates"'));
    expect(location.search).toBe('?tab=specification');
    expect(document.title).toBe('violin-sigma · Locus');
  });
});

describe('the table of routes', () => {
  test('paths are unique', () => expect(new Set(routes.map((route) => route.path)).size).toBe(routes.length));
  test('every link helper leads to a route', () => {
    expect(find(hrefs.experiments())?.route.path).toBe('/experiments');
    expect(find(hrefs.experiment('x'))?.params).toEqual({ name: 'x' });
    expect(find(hrefs.trial('x', 7))?.params).toEqual({ name: 'x', ordinal: '7' });
    expect(find(hrefs.search('x'))?.params).toEqual({ name: 'x' });
    expect(find(hrefs.workers())?.route.path).toBe('/workers');
    expect(find('/nowhere')).toBeNull();
  });
});
