// What public/first.js asks for before the page's code is there is what the page then reads, and is read once.
import { readFileSync } from 'node:fs';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, expect, test, vi } from 'vitest';
import { asked, open, serve } from '@/test-world';
import { navigate } from './router';

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
    ['GET /experiments/fashion-mnist-priors', 'GET /experiments/fashion-mnist-priors/table'],
  ],
  [
    '/experiments/fashion-mnist-priors?at=%7B%22resolution%22%3A42%7D',
    'Leaderboard',
    [
      'GET /experiments/fashion-mnist-priors',
      'GET /experiments/fashion-mnist-priors/table?labels=%7B%22resolution%22%3A42%7D',
    ],
  ],
  [
    '/experiments/high-learning-rates?tab=trials',
    '9 trials',
    ['GET /experiments/high-learning-rates', 'GET /experiments/high-learning-rates/trials?page_size=50'],
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
