// Scales, ticks and the axis of a sweep.
import { describe, expect, test } from 'vitest';
import { extent, linearScale, logScale, logTicks, padded, ticks } from './scales';
import { pairedCsv } from './paired-plot';
import { leftOf } from './parallel-plot';
import { sweepAxis } from './sweep-plot';

test('a scale without spread puts its value in the middle', () => {
  expect(linearScale(80, 84, 0, 100)(83)).toBe(75);
  expect(linearScale(80, 80, 0, 100)(80)).toBe(50);
});

test('the extent leaves out what is not finite', () => {
  expect(extent([NaN, 3, Infinity, 1])).toEqual([1, 3]);
  expect(extent([NaN])).toBeNull();
});

test('paired results are a line per seed, empty where an item lacks it', () => {
  const item = (label: string, ...values: [number, number][]) => ({
    label,
    look: null,
    values: values.map(([seed, value]) => ({ seed, value })),
  });
  expect(pairedCsv([item('a', [1, 80], [0, NaN]), item('b, c', [1, 81.5])])).toBe(
    'seed,a,"b, c"\r\n0,NaN,\r\n1,80,81.5\r\n',
  );
});

test('names of a first axis have room before it, numbers need none', () => {
  const axis = (names: string[] | null) => ({ name: 'prior', better: 'max' as const, names });
  expect(leftOf(axis(null))).toBe(leftOf(axis(['none'])));
  expect(leftOf(axis(['none', 'learned-absolute']))).toBeGreaterThan(leftOf(axis(['none'])) + 40);
  expect(leftOf(axis(['x'.repeat(80)]))).toBeLessThan(180);
});

describe('logarithmic axes', () => {
  test('give equal room to equal factors and none to what is not above zero', () => {
    const scale = logScale(1, 100, 0, 200);
    expect(scale(10)).toBeCloseTo(100, 9);
    expect(scale(0)).toBeNaN();
    expect(extent([-1, 0, 3, 7], true)).toEqual([3, 7]);
    expect(padded([1, 100], 0.5, true)).toEqual([0.1, 1000]);
  });
  test('tick at powers of ten, at 2 and 5 between few of them, evenly within one', () => {
    expect(logTicks(1, 1e6, 6)).toEqual([1, 10, 100, 1000, 1e4, 1e5, 1e6]);
    expect(logTicks(0.5, 20, 5)).toEqual([0.5, 1, 2, 5, 10, 20]);
    expect(logTicks(3, 5, 4)).toEqual([3, 3.5, 4, 4.5, 5]);
  });
});

describe('ticks', () => {
  test('are round and inside', () => {
    expect(ticks(64.2, 83.9, 5)).toEqual([65, 70, 75, 80]);
    expect(ticks(0.1, 0.32, 4)).toEqual([0.1, 0.2, 0.3]);
    expect(ticks(5, 5, 4)).toEqual([5]);
  });
});

describe('sweepAxis', () => {
  const point = (labels: string, x: number) => ({ labels, x, mean: 1, std: 0, n: 5 });
  const series = (...points: ReturnType<typeof point>[]) => [{ cell: 0, label: 'a', points, look: null }];
  test('numbers stand at their value, in order', () => {
    const axis = sweepAxis(series(point('{"resolution":112}', 112), point('{"resolution":28}', 28)));
    expect(axis.texts).toEqual(['28', '112']);
    expect(axis.position('{"resolution":112}')).toBe(112);
  });
  test('names stand side by side', () => {
    const axis = sweepAxis(series(point('{"mode":"bilinear"}', NaN), point('{"mode":"nearest"}', NaN)));
    expect(axis.numeric).toBe(false);
    expect(axis.texts).toEqual(['mode bilinear', 'mode nearest']);
    expect(axis.position('{"mode":"nearest"}')).toBe(1);
  });
});
