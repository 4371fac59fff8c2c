// What comes in parts is read in parts once; what is removed is not read again.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, expect, test, vi } from 'vitest';
import type { Change } from './event-stream';
import { type Live, removing, stream, useLive, useLiveParts } from './live';

afterEach(() => {
  render(null, document.body);
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('the first part is shown until all is there, and is not read again', async () => {
  const told: boolean[] = [];
  let whole!: (text: string) => void;
  let live!: Live<string>;
  const load = (_: AbortSignal, begun?: (first: string) => void) => {
    told.push(begun !== undefined);
    begun?.('a');
    return new Promise<string>((tell) => (whole = tell));
  };
  const Page = () => {
    live = useLiveParts('letters', load, () => false);
    return <p>{live.data ?? 'nothing'}</p>;
  };
  const shows = (text: string) => vi.waitFor(() => expect(document.body.textContent).toBe(text));
  await act(() => render(<Page />, document.body));
  await shows('a');
  await act(() => whole('abc'));
  await shows('abc');
  await act(() => live.refresh());
  expect(document.body.textContent).toBe('abc');
  await act(() => whole('abcd'));
  await shows('abcd');
  expect(told).toEqual([true, false]);
});

test.each([
  ['not read again where its page is left', true, 1],
  ['read again after it where its page stays', false, 2],
])('what is removed is %s', async (_, leaves, reads) => {
  vi.useFakeTimers();
  let changes!: (change: Change) => void;
  vi.spyOn(stream, 'onChange').mockImplementation((listener) => {
    changes = listener;
    return () => undefined;
  });
  const load = vi.fn(() => Promise.resolve('here'));
  const Page = () => <p>{useLive('what is shown', load, () => true).data}</p>;
  await act(() => render(<Page />, document.body));
  let removed!: () => void;
  const over = removing(() => new Promise<void>((tell) => (removed = tell))).then(() => {
    if (leaves) render(null, document.body);
  });
  changes({ all: false } as Change);
  await vi.advanceTimersByTimeAsync(5000);
  expect(load).toHaveBeenCalledTimes(1);
  removed();
  await over;
  await vi.advanceTimersByTimeAsync(5000);
  expect(load).toHaveBeenCalledTimes(reads);
});
