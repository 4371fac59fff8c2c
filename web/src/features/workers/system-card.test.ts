// A worker's machine, from samples to what is drawn.
import { expect, test } from 'vitest';
import { systemPoints, titleOf } from './system-card';

test('titles name the unit, and the GPU where there are several', () => {
  const key = (metric: string, labels = '{}') => ({ metric, split: '', labels });
  expect(titleOf(key('system/cpu_percent'))).toBe('CPU, % of all cores');
  expect(titleOf(key('system/gpu_memory_bytes', '{"gpu":1}'))).toBe('GPU 1 memory, GiB');
  expect(titleOf(key('system/else'))).toBe('system/else');
});

test('samples are minutes before the newest, bytes are GiB', () => {
  const key = { metric: 'system/memory_bytes', split: '', labels: '{}' };
  const points = systemPoints({ key, time_us: [60e6, 120e6, 300e6], value: [2 ** 30, 2 ** 31, 0] });
  expect(points.step).toEqual([-4, -3, 0]);
  expect(points.value).toEqual([1, 2, 0]);
});
