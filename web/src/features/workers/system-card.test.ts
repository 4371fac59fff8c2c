// A worker's machine, from samples to what is drawn.
import { expect, test } from 'vitest';
import { agoText, spanOf, systemPoints, titleOf } from './system-card';

test('titles name the unit, and the GPU where there are several', () => {
  const key = (metric: string, labels = '{}') => ({ metric, split: '', labels });
  expect(titleOf(key('system/cpu_percent'))).toBe('CPU, % of all cores');
  expect(titleOf(key('system/gpu_memory_bytes', '{"gpu":1}'))).toBe('GPU 1 memory in use, GiB');
  expect(titleOf(key('system/else'))).toBe('system/else');
});

test('samples are minutes before the newest, bytes are GiB', () => {
  const key = { metric: 'system/memory_bytes', split: '', labels: '{}' };
  const points = systemPoints({ key, time_us: [60e6, 120e6, 300e6], value: [2 ** 30, 2 ** 31, 0] });
  expect(points.step).toEqual([-4, -3, 0]);
  expect(points.value).toEqual([1, 2, 0]);
});

test('a share is drawn against all of it, bytes against none', () => {
  expect(spanOf('system/cpu_percent', [100, 100])).toEqual([0, 105]);
  expect(spanOf('system/memory_bytes', [1, 2])[0]).toBe(0);
  expect(spanOf('system/memory_bytes', [1, 2])[1]).toBeGreaterThan(2);
});

test.each([
  [0, 'now'],
  [-0.2, '12 s ago'],
  [-2.5, '2.5 min ago'],
  [-60, '60 min ago'],
])('%d minutes read %s', (minutes, text) => expect(agoText(minutes)).toBe(text));
