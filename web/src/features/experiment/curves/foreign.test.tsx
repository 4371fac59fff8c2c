// Series of other programs: beside the curves, marked for what they are, and nowhere else on the page.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { assembleCurves, foreignCell, withForeign } from '@/shared/charts/curve-data';
import { foreignDash, lookOf } from '@/shared/charts/curve-paint';
import { foreignReading } from '@/parts/curves/foreign-legend';
import { asked, open, serve, shows } from '@/test-world';

afterEach(async () => {
  await act(() => render(null, document.body));
});

const own = { cell: 0, look: null, label: 'none', step: [10, 20], mean: [1, 2], std: [0, 0], n: [1, 1] };
const whole = { hidden: new Set<number>(), band: false, runs: false };
const plot = assembleCurves({ cells: [own], trials: [] }, whole);
const peer = { source: 'runs/peer', step: [5, 40], value: [3, NaN] };

describe('foreign curves', () => {
  test('are drawn dashed in front, and no cell is theirs', () => {
    const both = withForeign(plot, [peer, peer]);
    const strokes = both.strokes.filter((stroke) => stroke.kind === 'foreign');
    expect(strokes.map((stroke) => stroke.label)).toEqual(['foreign: runs/peer', 'foreign: runs/peer']);
    expect(strokes.every((stroke) => stroke.cell < 0)).toBe(true);
    expect(both.x).toEqual([5, 40]);
    expect(both.marks).toContainEqual({ cell: foreignCell(1), x: 40, value: NaN });
    const dashes = strokes.map((stroke) => lookOf(stroke, new Map(), null).dash);
    expect(dashes.every((dash) => dash.length > 0)).toBe(true);
    expect(dashes[0]).not.toEqual(dashes[1]);
    expect(foreignDash(foreignCell(7))).toEqual(foreignDash(foreignCell(2)));
  });
  test('are drawn against steps alone', () => {
    expect(withForeign(plot, [peer], 'seconds')).toBe(plot);
    expect(withForeign(plot, [{ ...peer, step: [], value: [] }])).toBe(plot);
  });
  test('read their last value at or before a step', () => {
    expect(foreignReading(peer, 39)).toEqual({ step: 5, value: 3 });
    expect(foreignReading(peer, 4)).toBeNull();
    expect(foreignReading(peer, null)).toEqual({ step: 40, value: NaN });
  });
});

test('the page shows them with the curves of their series and in no table', async () => {
  serve();
  await open('/experiments/fashion-mnist-priors', 'Experiments'); // the page itself is loaded when it is wanted
  await shows('Learning curves', 15_000);
  await vi.waitFor(() => expect(document.querySelector('[aria-label="Foreign series"]')).not.toBeNull(), {
    timeout: 15_000,
  });
  const legend = document.querySelector('[aria-label="Foreign series"]')!;
  expect(legend.textContent).toContain('foreign: runs/peer');
  expect(legend.textContent).toContain('99.125');
  for (const table of document.querySelectorAll('table')) expect(table.textContent).not.toContain('99.125');
  expect(document.body.textContent).toContain('never ranked or compared');
}, 60_000);

test('where nothing was imported no points are asked for', async () => {
  serve((path, body) => (path.endsWith('/foreign') ? { imports: [] } : body));
  await open('/experiments/fashion-mnist-priors', 'Experiments'); // the page itself is loaded when it is wanted
  await shows('Learning curves', 15_000);
  await vi.waitFor(() => expect(asked.some((each) => each.includes('/curves?'))).toBe(true), {
    timeout: 15_000,
  });
  expect(asked.filter((each) => each.includes('/foreign?metric'))).toEqual([]);
  expect(document.querySelector('[aria-label="Foreign series"]')).toBeNull();
}, 60_000);
