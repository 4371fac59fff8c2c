// Curves and bands as strokes of a plot.
import { describe, expect, test } from 'vitest';
import { framing, zoomed } from './curve-chart';
import {
  assembleCurves,
  type CurveView,
  heightOf,
  nearest,
  placeAt,
  readingAt,
  smoothed,
  stepAt,
  stopsOf,
} from './curve-data';
import { curveSvg } from './curve-svg';
import { traceBand, traceLine } from './curve-paint';

const view: CurveView = { hidden: new Set(), band: true, runs: false };
const cell = (
  number: number,
  step: number[],
  mean: number[],
  std: number[],
  n: number[] = step.map(() => 2),
) => ({ cell: number, label: `cell ${number}`, look: { hue: number, variant: 0 }, step, mean, std, n });
const run = (cellNumber: number, seed: number, step: number[], value: number[]) => ({
  trial: seed,
  cell: cellNumber,
  seed,
  step,
  value,
  reduced: false,
});
const of = (plot: ReturnType<typeof assembleCurves>, kind: string, number: number) =>
  plot.strokes.find((stroke) => stroke.kind === kind && stroke.cell === number);

describe('assembleCurves', () => {
  test('every curve keeps the places of its own points', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [10, 30], [1, 3], [0, 0]), cell(1, [20, 30], [5, 6], [0, 0])], trials: [] },
      view,
    );
    expect(of(plot, 'mean', 0)).toMatchObject({ x: [10, 30], y: [1, 3] });
    expect(of(plot, 'mean', 1)).toMatchObject({ x: [20, 30], y: [5, 6] });
    expect(plot.x).toEqual([10, 30]);
  });
  test('the band is the one the server says, else mean ± deviation', () => {
    const plain = cell(0, [1, 2], [10, 20], [1, 2]);
    expect(of(assembleCurves({ cells: [plain], trials: [] }, view), 'band', 0)).toMatchObject({
      y: [9, 18],
      upper: [11, 22],
    });
    const told = { ...plain, low: [4, 5], high: [14, NaN] };
    expect(of(assembleCurves({ cells: [told], trials: [] }, view), 'band', 0)).toMatchObject({
      y: [4, 5],
      upper: [14, NaN],
    });
  });
  test('a single seed has a line and no band', () => {
    const plot = assembleCurves({ cells: [cell(0, [1, 2], [10, 20], [NaN, NaN], [1, 1])], trials: [] }, view);
    expect(of(plot, 'band', 0)!.upper).toEqual([NaN, NaN]);
    expect(of(plot, 'mean', 0)!.y).toEqual([10, 20]);
    expect(plot.marks).toEqual([]);
  });
  test('a mean over fewer seeds is set apart and joined to the rest', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [1, 2, 3, 4], [1, 2, 3, 4], [0, 0, 0, 0], [5, 5, 3, 3])], trials: [] },
      view,
    );
    expect(of(plot, 'mean', 0)!.y).toEqual([1, 2, NaN, NaN]);
    expect(of(plot, 'partial', 0)!.y).toEqual([NaN, 2, 3, 4]);
  });
  test('what is not finite becomes a gap and a mark', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [1, 2, 3], [1, NaN, 3], [0, NaN, 0])], trials: [run(0, 7, [1, 2], [1, -Infinity])] },
      { ...view, runs: true },
    );
    expect(of(plot, 'mean', 0)!.y).toEqual([1, NaN, 3]);
    expect(of(plot, 'run', 0)!.y).toEqual([1, NaN]);
    expect(plot.marks).toEqual([
      { cell: 0, x: 2, value: NaN },
      { cell: 0, x: 2, value: -Infinity },
    ]);
  });
  test('hidden cells leave nothing behind, not even their places', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [1], [1], [0]), cell(1, [9], [1], [0])], trials: [run(1, 0, [5], [1])] },
      { ...view, runs: true, hidden: new Set([1]) },
    );
    expect(plot.x).toEqual([1, 1]);
    expect(plot.strokes.every((stroke) => stroke.cell === 0)).toBe(true);
  });
  test('bands and single runs follow their switches', () => {
    const curves = { cells: [cell(0, [1], [1], [1])], trials: [run(0, 3, [1], [1])] };
    const kinds = (change: Partial<CurveView>) =>
      assembleCurves(curves, { ...view, ...change }).strokes.map((stroke) => stroke.kind);
    expect(kinds({ band: false })).toEqual(['mean']);
    expect(kinds({ band: false, runs: true })).toEqual(['run', 'mean']);
    expect(kinds({ smoothing: 0.5 })).toEqual(['band', 'faint', 'mean']);
  });
  test('another axis moves the points; without it they stay at their steps', () => {
    const timed = { ...cell(0, [10, 20], [1, 2], [0, 0]), seconds: [1.5, 3] };
    const plot = assembleCurves(
      { cells: [timed], trials: [run(0, 1, [10], [1])] },
      { ...view, x: 'seconds' },
    );
    expect(of(plot, 'mean', 0)!.x).toEqual([1.5, 3]);
    expect(assembleCurves({ cells: [timed], trials: [] }, { ...view, x: 'epoch' }).x).toEqual([10, 20]);
  });
});

describe('smoothing', () => {
  test('of even points it is the debiased moving average', () => {
    const [a, b, c] = smoothed([0, 1, 2], [1, 2, 4], 0.5);
    expect(a).toBe(1);
    expect(b).toBeCloseTo((0.5 * 1 + 2) / 1.5, 12);
    expect(c).toBeCloseTo((0.25 * 1 + 0.5 * 2 + 4) / 1.75, 12);
  });
  test('a constant stays what it is, from the first point on', () => {
    expect(smoothed([0, 5, 6, 100], [3, 3, 3, 3], 0.9).every((y) => Math.abs(y - 3) < 1e-12)).toBe(true);
  });
  test('a gap stays a gap and what follows goes on', () => {
    const [a, b, c] = smoothed([0, 1, 2], [1, NaN, 1], 0.9);
    expect([a, b, c]).toEqual([1, NaN, 1]);
  });
  test('after a long way the past counts less than after a short one', () => {
    const near = smoothed([0, 1, 2, 3], [0, 0, 0, 1], 0.9)[3]!;
    const far = smoothed([0, 1, 2, 30], [0, 0, 0, 1], 0.9)[3]!;
    expect(far).toBeGreaterThan(near);
  });
  test('the raw line is still there, faint', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [1, 2], [0, 8], [0, 0])], trials: [] },
      { ...view, smoothing: 0.8 },
    );
    expect(of(plot, 'faint', 0)!.y).toEqual([0, 8]);
    expect(of(plot, 'mean', 0)!.y[1]).toBeLessThan(8);
  });
});

describe('what the axes span', () => {
  const plot = assembleCurves(
    { cells: [cell(0, [0, 10, 20, 30], [5, 1, 100, 2], [0, 0, 0, 0])], trials: [] },
    { ...view, band: false },
  );
  test('the height is that of the stretch shown and of the lines that lead out of it', () => {
    expect(heightOf(plot, [0, 30], false)).toEqual([1, 100]);
    expect(heightOf(plot, [0, 8], false)).toEqual([1.8, 5]); // where the line leaves, not where it goes
    expect(heightOf(plot, [12, 18], false)![0]).toBeCloseTo(20.8); // no point within: the line that crosses
    expect(heightOf(plot, [40, 50], false)).toEqual([2, 2]);
  });
  test('a logarithmic axis leaves out what has no place on it', () => {
    const [x, y] = framing(plot, null, true, true);
    expect(x).toEqual([10, 30]);
    expect(y[0]).toBeGreaterThan(0.5);
    expect(y[1]).toBeGreaterThan(100);
  });
  test('zooming keeps the place under the pointer and ends at the whole', () => {
    expect(zoomed([0, 100], [0, 100], 0.5, 40)).toEqual([20, 70]);
    expect(zoomed([20, 70], [0, 100], 2, 40)).toBeNull();
  });
  test('a place on another axis is the step in proportion', () => {
    const curves = [{ ...cell(0, [0, 100], [1, 1], [0, 0]), seconds: [0, 50] }];
    expect(stepAt(curves, 'seconds', 25)).toBe(50);
    expect(stepAt(curves, 'seconds', 999)).toBe(100);
    expect(stepAt(curves, 'step', 12.4)).toBe(12);
  });
});

describe('paths', () => {
  const pen = () => {
    const said: string[] = [];
    return {
      said,
      moveTo: (x: number, y: number) => said.push(`M${x},${y}`),
      lineTo: (x: number, y: number) => said.push(`L${x},${y}`),
    };
  };
  const same = (value: number) => value;
  test('a line breaks at a gap, and a point alone is seen', () => {
    const to = pen();
    traceLine(
      to,
      { kind: 'mean', cell: 0, look: null, label: '', x: [0, 1, 2, 3, 4], y: [1, 2, NaN, 4, NaN] },
      same,
      same,
    );
    expect(to.said).toEqual(['M0,1', 'L1,2', 'M3,4', 'L5,4']);
  });
  test('a band is a closed outline for every stretch', () => {
    const to = pen();
    traceBand(
      to,
      {
        kind: 'band',
        cell: 0,
        look: null,
        label: '',
        x: [0, 1, 2, 3],
        y: [1, 1, NaN, 1],
        upper: [2, 2, 2, 2],
      },
      same,
      same,
      0,
    );
    expect(to.said).toEqual(['M0,2', 'L1,2', 'L1,1', 'L0,1']);
  });
  test('the file is a vector with a path per stroke, a cross per mark and the names', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [1, 2, 3], [1, NaN, 3], [0.1, 0, 0.1])], trials: [] },
      view,
    );
    const figure = {
      plot,
      title: 'a < b',
      xName: 'step',
      yName: 'loss (nats)',
      zoom: null,
      logX: false,
      logY: false,
    };
    const svg = curveSvg({ ...figure, scheme: 'light' });
    const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml');
    expect(parsed.querySelector('parsererror')).toBeNull();
    expect(parsed.querySelector('title')!.textContent).toBe('a < b');
    expect(svg).toContain('cell 0');
    expect(svg).toContain('loss (nats)');
    expect(svg).toContain('l8 8m0 -8l-8 8');
    expect(svg).not.toContain('NaN');
    expect(svg).not.toContain('<image');
  });
});

describe('the pointer', () => {
  test('reads at the nearest point of any line drawn', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [10, 30], [1, 3], [0, 0]), cell(1, [10, 376], [5, 6], [0, 0])], trials: [] },
      view,
    );
    expect(stopsOf(plot)).toEqual([10, 30, 376]);
    expect([0, 21, 360, 999].map((x) => nearest(stopsOf(plot), x))).toEqual([10, 30, 376, 376]);
    expect(nearest([], 3)).toBeNull();
  });
  test('and a line without a point there says where its own is', () => {
    const curve = cell(0, [10, 30], [1, 3], [0, 0]);
    expect(readingAt(curve, 30)).toMatchObject({ x: 30, step: 30 });
    expect(readingAt(curve, 376)).toMatchObject({ x: 30, step: 30, mean: 3 });
  });
});

describe('a stretch zoomed into', () => {
  const timed = { ...cell(0, [10, 20, 30], [1, 2, 3], [0, 0, 0]), seconds: [1, 2, 5] };
  test('has its place on every axis, between points in proportion', () => {
    expect(placeAt([timed], 'seconds', 25)).toBe(3.5);
    expect(placeAt([timed], 'step', 25)).toBe(25);
    expect(stepAt([timed], 'seconds', 3.5)).toBe(25);
  });
});

describe('readingAt', () => {
  const curve = cell(0, [10, 20, 30], [1, 2, 3], [0.1, 0.2, 0.3]);
  test.each([
    [9, undefined],
    [10, 1],
    [19, 1],
    [20, 2],
    [1000, 3],
  ])('at step %d it reads %s', (step, mean) => expect(readingAt(curve, step)?.mean).toBe(mean));
  test('without a place it reads the last point', () =>
    expect(readingAt(curve, null)).toMatchObject({ step: 30, mean: 3, std: 0.3, n: 2 }));
  test('on another axis it reads by that', () =>
    expect(readingAt({ ...curve, epoch: [0.1, 0.2, 0.3] }, 0.25, 'epoch')?.mean).toBe(2));
  test('an empty curve reads nothing', () => expect(readingAt(cell(0, [], [], []), null)).toBeNull());
});
