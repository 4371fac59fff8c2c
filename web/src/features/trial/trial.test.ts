// A trial's log is read by its tail and then by what follows; its points are a curve.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { print } from '../../../dev/described.mjs';
import { logReader } from './data';
import { pointsCsv } from './points-card';
import { haltedAs } from './trial-page';
import { plotOf } from '@/shared/charts/curve-data';

afterEach(() => void vi.unstubAllGlobals());

// A log that grows between readings; answers at most `most` bytes a part, as the server does.
function growingLog(most: number) {
  const log = { text: '', ended: false, offsets: [] as number[] };
  vi.stubGlobal('fetch', async (input: string) => {
    const asked = Number(new URL(input, 'http://localhost').searchParams.get('offset'));
    log.offsets.push(asked);
    const offset = asked < 0 ? Math.max(0, log.text.length + asked) : Math.min(asked, log.text.length);
    const text = log.text.slice(offset, offset + most);
    const next = offset + text.length;
    const ended = log.ended && next === log.text.length;
    const said = { stage: 7, attempt: 1, offset, next_offset: next, total: log.text.length };
    const body = { ...said, text, ended, state: 'running' };
    return Response.json(print({ $ref: '/ReadLogResponse' }, body, 'log'));
  });
  return log;
}

describe('a log', () => {
  const signal = new AbortController().signal;
  test('is read from its tail and followed without reading anything twice', async () => {
    const log = growingLog(1000);
    const read = logReader(7, 1);
    log.text = 'first\n';
    expect(await read(signal)).toMatchObject({ text: 'first\n', ended: false });
    log.text += 'second\n';
    log.ended = true;
    expect(await read(signal)).toMatchObject({ text: 'first\nsecond\n', ended: true, total: 13 });
    expect(log.offsets).toEqual([-65536, 6]);
  });
  test('comes in parts until it is whole', async () => {
    const log = growingLog(4);
    log.text = 'abcdefghij';
    expect((await logReader(7, 1)(signal)).text).toBe('abcdefghij');
    expect(log.offsets).toEqual([-65536, 4, 8]);
  });
  test('an empty one is no error', async () => {
    growingLog(4);
    expect(await logReader(7, 1)(signal)).toMatchObject({ text: '', total: 0 });
  });
});

test('points are taken away with everything known of them', () =>
  expect(
    pointsCsv({
      step: [1, 2],
      value: [2, NaN],
      epoch: [0.5, 1],
      images: [32, 64],
      time_us: [7, 8],
      reduced: false,
    }),
  ).toBe('step,epoch,images,time_us,value\r\n1,0.5,32,7,2\r\n2,1,64,8,NaN\r\n'));

test('points become a curve; what is not finite becomes a mark', () => {
  const points = { step: [1, 2, 3], value: [2, NaN, 1], epoch: [], images: [], time_us: [], reduced: false };
  const plot = plotOf(points, 3, 'loss');
  expect(plot.strokes).toMatchObject([{ kind: 'mean', cell: 3, x: [1, 2, 3], y: [2, NaN, 1] }]);
  expect(plot.marks).toEqual([{ cell: 3, x: 2, value: NaN }]);
});

test('a training that a search holds is told from one that goes on', () => {
  const trial = (state: string, train: string) =>
    ({ state, stages: [{ role: 'train', state: train }] }) as unknown as Parameters<typeof haltedAs>[0];
  expect(haltedAs(trial('parked', 'parked'), 'train')).toBe('parked');
  expect(haltedAs(trial('stopped', 'parked'), 'train')).toBe('stopped');
  expect(haltedAs(trial('running', 'running'), 'train')).toBe('');
  expect(haltedAs(trial('parked', 'parked'), 'evaluate')).toBe('');
});
