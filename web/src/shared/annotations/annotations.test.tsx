// Tags and notes: what is sent, and how they are shown, changed and filtered by.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { asked, open, press, serve, shows, type } from '@/test-world';
import { changesOf, tagsOf } from './data';

beforeEach(() => serve());
afterEach(() => {
  void act(() => render(null, document.body));
  vi.unstubAllGlobals();
});

test('typed tags are words, each once', () => {
  expect(tagsOf(' paper, baseline  paper\nx ')).toEqual(['paper', 'baseline', 'x']);
  expect(tagsOf('  ')).toEqual([]);
});

test('only what differs is sent', () => {
  const before = { tags: ['a', 'b'], note: 'x' };
  expect(changesOf(before, { tags: ['b', 'c'], note: 'x' })).toEqual({ add_tags: ['c'], remove_tags: ['a'] });
  expect(changesOf(before, { tags: ['a', 'b'], note: '' })).toEqual({
    add_tags: [],
    remove_tags: [],
    note: '',
  });
});

const tagged = { tags: ['outlier', 'paper'], note: 'two\nlines' };

test('an experiment shows its tags and note and saves what is changed', async () => {
  serve((path, body) =>
    path === '/experiments/fashion-mnist-priors' ? { ...(body as object), ...tagged } : body,
  );
  expect(await open('/experiments/fashion-mnist-priors', 'outlier')).toContain('two');
  await press('Edit tags and note');
  const field = document.querySelector<HTMLInputElement>('dialog input')!;
  expect(field.value).toBe('outlier paper');
  await type(field, 'paper checked');
  await press('Save');
  await vi.waitFor(() => expect(asked).toContain('POST /experiments/fashion-mnist-priors:annotate'));
  await vi.waitFor(() => expect(document.querySelector('dialog')).toBeNull());
});

test('a refusal stays in the dialog', async () => {
  serve((path, body) => (path.endsWith(':annotate') ? { refused: '"A" is no tag' } : body));
  await open('/experiments/fashion-mnist-priors', 'fashion-mnist-priors');
  await press('Add tags or a note');
  await type(document.querySelector<HTMLInputElement>('dialog input')!, 'A');
  await press('Save');
  await shows('is no tag');
});

test('the list of experiments is narrowed to a tag', async () => {
  serve((path, body) => {
    if (path !== '/experiments') return body;
    const page = body as { experiments: { name: string }[] };
    return {
      ...page,
      experiments: page.experiments.map((each, i) => ({ ...each, tags: i === 0 ? ['paper'] : [] })),
    };
  });
  await open('/experiments', 'paper');
  const rows = () => document.querySelectorAll('table.experiments tbody tr').length;
  const all = rows();
  const select = document.querySelector<HTMLSelectElement>('select[aria-label="Tag"]')!;
  await act(() => {
    select.value = 'paper';
    select.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await vi.waitFor(() => expect(rows()).toBeLessThan(all));
  expect(location.search).toContain('tag=paper');
});
