// What public/first.js asks for before the page's code is there is what the page then reads, and is read once.
import { readFileSync } from 'node:fs';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, expect, test, vi } from 'vitest';
import { asked, open, serve, shows } from '@/test-world';
import { navigate } from '@/shared/router';
import { begin } from './routes';

const script = readFileSync('public/first.js', 'utf8');
const runFirst = () => new Function(script)();

afterEach(async () => {
  await act(() => render(null, document.body));
  delete window.locusAhead;
  delete document.documentElement.dataset['theme'];
  localStorage.clear();
  vi.unstubAllGlobals();
});

test.each([
  ['/experiments', 'learned-absolute + violin', ['GET /experiments?page_size=50']],
  [
    '/experiments/fashion-mnist-priors',
    '+0.74',
    ['GET /experiments/fashion-mnist-priors', 'GET /experiments/fashion-mnist-priors/table?first_rows=50'],
  ],
  [
    '/experiments/fashion-mnist-priors?at=%7B%22resolution%22%3A42%7D',
    'Leaderboard',
    [
      'GET /experiments/fashion-mnist-priors',
      'GET /experiments/fashion-mnist-priors/table?labels=%7B%22resolution%22%3A42%7D&first_rows=50',
    ],
  ],
  [
    '/experiments/high-learning-rates?tab=trials',
    '9 trials',
    ['GET /experiments/high-learning-rates', 'GET /experiments/high-learning-rates/trials?page_size=50'],
  ],
  [
    '/experiments/high-learning-rates?tab=trials&values=top1%2Fvalidation%2F%7B%7D%7Cms_per_step%2Ftrain%2F%7B%7D',
    '9 trials',
    [
      'GET /experiments/high-learning-rates',
      'GET /experiments/high-learning-rates/trials?page_size=50' +
        '&metrics=top1%2Fvalidation%2F%7B%7D&metrics=ms_per_step%2Ftrain%2F%7B%7D',
    ],
  ],
  ['/experiments/violin-sigma?tab=specification', 'Canonical form', ['GET /experiments/violin-sigma']],
  ['/workers', 'workstation', []],
])('%s', async (path, text, expected) => {
  serve();
  navigate(path);
  runFirst();
  expect(asked).toEqual(expected);
  await open(path, text);
  for (const each of expected) expect(asked.filter((one) => one === each)).toHaveLength(1);
  expect(Object.keys(window.locusAhead ?? {})).toEqual([]);
});

test('a long leaderboard is shown from its first rows on, and says so until all are there', async () => {
  let whole!: () => void;
  const held = new Promise<void>((tell) => (whole = tell));
  serve((path, body) => (path.endsWith('/table') ? { ...(body as object), rows_total: 7 } : body));
  const mock = globalThis.fetch;
  vi.stubGlobal('fetch', async (input: string, init?: RequestInit) => {
    if (!input.endsWith('/table')) return mock(input, init);
    await held;
    const all = (await (await mock(input, init)).json()) as { rows: { cell: number }[] };
    return Response.json({
      ...all,
      rows: [...all.rows, { ...all.rows[0]!, cell: 99, label: 'the seventh' }],
    });
  });
  navigate('/experiments/fashion-mnist-priors');
  runFirst();
  const before = await open('/experiments/fashion-mnist-priors', 'The first 6 of 7 rows');
  expect(before).not.toContain('Copy CSV'); // of a part nobody wants one
  whole();
  await shows('the seventh');
  expect(document.body.textContent).toContain('Copy CSV');
  expect(document.body.textContent).not.toContain('of 7 rows');
});

test('the pivot table is asked for before the page is drawn, and once', async () => {
  serve();
  const path = '/experiments/fashion-mnist-priors';
  navigate(`${path}?tab=paper&cols=prior`);
  await begin(path);
  expect(asked).toEqual(['POST /paper-table']);
  await open(`${path}?tab=paper&cols=prior`, 'baseline');
  expect(asked.filter((one) => one === 'POST /paper-table')).toHaveLength(1);
});

test('an answer that failed ahead is the page’s failure', async () => {
  navigate('/experiments');
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
  runFirst();
  await open('/experiments', 'The server does not answer');
});

test('the chosen theme is there before the first paint', () => {
  serve();
  localStorage.setItem('locus.theme', 'dark');
  runFirst();
  expect(document.documentElement.dataset['theme']).toBe('dark');
});
