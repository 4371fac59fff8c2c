// Scales, ticks and the axis of a sweep.
import { describe, expect, test } from 'vitest';
import { extent, linearScale, ticks } from './dot-plot';
import { sweepAxis } from './sweep-plot';

test('a scale without spread puts its value in the middle', () => {
  expect(linearScale(80, 84, 0, 100)(83)).toBe(75);
  expect(linearScale(80, 80, 0, 100)(80)).toBe(50);
});

test('the extent leaves out what is not finite', () => {
  expect(extent([NaN, 3, Infinity, 1])).toEqual([1, 3]);
  expect(extent([NaN])).toBeNull();
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
  const series = (...points: ReturnType<typeof point>[]) => [{ cell: 0, label: 'a', points }];
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
