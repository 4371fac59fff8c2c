// Workers: their order, and how much of what one ran is shown.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, expect, test } from 'vitest';
import type { Worker } from '@/shared/api/messages';
import { open, serve } from '@/test-world';
import { inOrder } from './workers-page';

afterEach(async () => {
  await act(() => render(null, document.body));
});

test('those that are gone come last, longest gone at the end', () => {
  const worker = (name: string, state: string, seen = 0) => ({ name, state, seen_time: seen }) as Worker;
  const workers = [
    worker('a', 'offline', 1),
    worker('b', 'offline', 9),
    worker('d', 'active'),
    worker('c', 'active'),
    worker('e', 'draining'),
  ];
  expect(inOrder(workers).map((each) => each.name)).toEqual(['c', 'd', 'e', 'b', 'a']);
});

test('a long history shows its first attempts, and more when asked', async () => {
  serve();
  await open('/workers/workstation', 'The first 20 of 45');
  const rows = () => document.querySelectorAll('.worker-attempts tbody tr').length;
  expect(rows()).toBe(20);
  const more = [...document.querySelectorAll('button')].find((each) => each.textContent === '20 more')!;
  await act(() => more.click());
  expect(rows()).toBe(40);
  expect(document.body.textContent).toContain('5 more');
});

test('a worker shows the code of users that it runs, and where another loaded newer', async () => {
  serve();
  const text = await open('/workers/workstation', 'brings');
  expect(text).toContain('own-prior@abababababab,');
  expect(text).toContain('own-training@cdcdcdcdcdcd (older code)');
});
