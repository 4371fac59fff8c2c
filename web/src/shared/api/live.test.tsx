// What comes in parts is read in parts once.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, expect, test, vi } from 'vitest';
import { type Live, useLiveParts } from './live';

afterEach(() => render(null, document.body));

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
