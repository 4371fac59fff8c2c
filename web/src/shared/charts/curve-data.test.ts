// Curves and bands as columns of a plot.
import { describe, expect, test } from 'vitest';
import { assembleCurves, type CurveView, readingAt } from './curve-data';

const view: CurveView = { hidden: new Set(), band: true, runs: false, late: false };
const cell = (
  number: number,
  step: number[],
  mean: number[],
  std: number[],
  n: number[] = step.map(() => 2),
) => ({ cell: number, label: `cell ${number}`, step, mean, std, n });
const run = (cellNumber: number, seed: number, step: number[], value: number[]) => ({
  trial: seed,
  cell: cellNumber,
  seed,
  step,
  value,
  reduced: false,
});
const of = (plot: ReturnType<typeof assembleCurves>, kind: string, number: number) =>
  plot.series.find((series) => series.kind === kind && series.cell === number)?.values;

describe('assembleCurves', () => {
  test('cells of different steps share one axis; a missing step does not break a line', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [10, 30], [1, 3], [0, 0]), cell(1, [20, 30], [5, 6], [0, 0])], trials: [] },
      view,
    );
    expect(plot.steps).toEqual([10, 20, 30]);
    expect(of(plot, 'mean', 0)).toEqual([1, undefined, 3]);
    expect(of(plot, 'mean', 1)).toEqual([undefined, 5, 6]);
  });
  test('the band is mean ± deviation, its upper edge directly before its lower', () => {
    const plot = assembleCurves({ cells: [cell(0, [1, 2], [10, 20], [1, 2])], trials: [] }, view);
    const high = plot.series.findIndex((series) => series.kind === 'high');
    expect(plot.series[high]!.values).toEqual([11, 22]);
    expect(plot.series[high + 1]).toMatchObject({ kind: 'low', values: [9, 18] });
  });
  test('a single seed has a line and no band', () => {
    const plot = assembleCurves({ cells: [cell(0, [1, 2], [10, 20], [NaN, NaN], [1, 1])], trials: [] }, view);
    expect(of(plot, 'high', 0)).toEqual([null, null]);
    expect(of(plot, 'mean', 0)).toEqual([10, 20]);
    expect(plot.marks).toEqual([]);
  });
  test('a mean over fewer seeds is set apart and joined to the rest', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [1, 2, 3, 4], [1, 2, 3, 4], [0, 0, 0, 0], [5, 5, 3, 3])], trials: [] },
      view,
    );
    expect(of(plot, 'mean', 0)).toEqual([1, 2, null, null]);
    expect(of(plot, 'partial', 0)).toEqual([null, 2, 3, 4]);
  });
  test('what is not finite becomes a hole and a mark', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [1, 2, 3], [1, NaN, 3], [0, NaN, 0])], trials: [run(0, 7, [1, 2], [1, -Infinity])] },
      { ...view, runs: true },
    );
    expect(of(plot, 'mean', 0)).toEqual([1, null, 3]);
    expect(of(plot, 'run', 0)).toEqual([1, null, undefined]);
    expect(plot.marks).toEqual([
      { cell: 0, step: 2, value: NaN },
      { cell: 0, step: 2, value: -Infinity },
    ]);
  });
  test('hidden cells leave nothing behind, not even their steps', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [1], [1], [0]), cell(1, [9], [1], [0])], trials: [run(1, 0, [5], [1])] },
      { ...view, runs: true, hidden: new Set([1]) },
    );
    expect(plot.steps).toEqual([1]);
    expect(plot.series.every((series) => series.cell === 0)).toBe(true);
  });
  test('bands and single runs follow their switches', () => {
    const curves = { cells: [cell(0, [1], [1], [1])], trials: [run(0, 3, [1], [1])] };
    expect(assembleCurves(curves, { ...view, band: false }).series.map((series) => series.kind)).toEqual([
      'mean',
    ]);
    expect(
      assembleCurves(curves, { ...view, band: false, runs: true }).series.map((series) => series.label),
    ).toEqual(['seed 3', 'cell 0']);
  });
  test('the last half is that of the longest curve', () => {
    const plot = assembleCurves(
      { cells: [cell(0, [10, 20, 30, 40], [1, 2, 3, 4], [0, 0, 0, 0]), cell(1, [10], [9], [0])], trials: [] },
      { ...view, late: true },
    );
    expect(plot.steps).toEqual([20, 30, 40]);
    expect(of(plot, 'mean', 1)).toEqual([undefined, undefined, undefined]);
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
  test('without a step it reads the last point', () =>
    expect(readingAt(curve, null)).toEqual({ step: 30, mean: 3, std: 0.3, n: 2 }));
  test('an empty curve reads nothing', () => expect(readingAt(cell(0, [], [], []), null)).toBeNull());
});
