// Protobuf's JSON mapping, read.
import { describe, expect, test } from 'vitest';
import { answer } from '../../../dev/mock-world.mjs';
import { DecodeError, flag, integer, integers, list, message, real, reals, text, timestamp } from './decode';
import { curves, decodeErrorBody, experiment, table, trialDetail, trialList, workerList } from './types';

describe('lists of numbers', () => {
  test('read words and strings, and name the item that is none', () => {
    expect(reals([1, 'NaN', '2.5'], 'x')).toEqual([1, NaN, 2.5]);
    expect(integers(['7', 8], 'x')).toEqual([7, 8]);
    expect(reals(undefined, 'x')).toEqual([]);
    expect(() => integers([1, 'two'], 'steps')).toThrow('steps[1]');
  });
});

describe('scalars', () => {
  test('int64 comes as text', () => expect(integer('1234567890123', 'x')).toBe(1234567890123));
  test('int64 beyond what a number holds is refused, not rounded', () => {
    expect(() => integer('9007199254740993', 'revision')).toThrow('revision: expected an integer');
  });
  test('a fraction is no integer', () => expect(() => integer(1.5, 'n')).toThrow(DecodeError));
  test('NaN and infinities come as words', () => {
    expect(real('NaN', 'x')).toBeNaN();
    expect(real('Infinity', 'x')).toBe(Infinity);
    expect(real('-Infinity', 'x')).toBe(-Infinity);
    expect(real('1e-3', 'x')).toBe(0.001);
  });
  test('other words are no numbers', () => {
    expect(() => real('', 'mean')).toThrow('mean');
    expect(() => real('nan', 'mean')).toThrow('mean');
    expect(() => real(null, 'mean')).not.toThrow();
  });
  test('absent fields mean their default', () => {
    expect([text(undefined, ''), flag(undefined, ''), integer(undefined, ''), real(undefined, '')]).toEqual([
      '',
      false,
      0,
      0,
    ]);
    expect(list(integer)(undefined, '')).toEqual([]);
    expect(timestamp(undefined, '')).toBeNull();
  });
  test('times', () => {
    expect(timestamp('1970-01-01T00:00:01.500Z', '')).toBe(1500);
    expect(() => timestamp('soon', 'create_time')).toThrow('create_time: expected an RFC 3339 time');
  });
});

describe('messages', () => {
  const decode = message({ rows: list(message({ n: integer })) });
  test('the error names the field', () =>
    expect(() => decode({ rows: [{ n: 1 }, { n: 'x' }] }, '')).toThrow('rows[1].n'));
  test('unknown fields do no harm', () =>
    expect(decode({ rows: [], later: 1 }, '')).toMatchObject({ rows: [] }));
  test('a list is no message', () => expect(() => decode([], 'body')).toThrow('body'));

  const read = (path: string, query = '') => answer(path, new URLSearchParams(query), 24);
  test('an experiment', () => {
    const decoded = experiment(read('/experiments/fashion-mnist-priors'), '');
    expect(decoded.trials).toBe(30);
    expect(decoded.stages['succeeded']).toBe(24);
    expect(decoded.running[0]!.steps).toBe(1000);
    expect(decoded.create_time).toBeTypeOf('number');
  });
  test('a table with undefined statistics', () => {
    const decoded = table(read('/experiments/fashion-mnist-priors/table'), '');
    const baseline = decoded.rows.find((row) => row.baseline)!;
    expect(baseline.p_sign_flip).toBeNaN();
    expect(baseline.missing_seeds).toEqual([2, 3, 4]);
  });
  test('curves with values that are not finite', () => {
    const decoded = curves(
      read('/experiments/high-learning-rates/curves', 'metric=top1&split=validation'),
      '',
    );
    expect(decoded.trials.some((curve) => curve.value.some(Number.isNaN))).toBe(true);
  });
  test('trials, a trial and workers', () => {
    expect(trialList(read('/experiments/violin-sigma/trials'), '').trials).toHaveLength(42);
    expect(
      trialDetail(read('/experiments/high-learning-rates/trials/5'), '').stages[0]!.attempts,
    ).toHaveLength(3);
    expect(workerList(read('/workers'), '').workers[1]!.slots[0]!.memory_bytes).toBe(150_000_000_000);
  });
  test('an error body', () => {
    const details = [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'EXPERIMENT_NOT_FOUND',
        domain: 'locus.v1',
        metadata: {},
      },
    ];
    expect(
      decodeErrorBody({ error: { code: 404, status: 'NOT_FOUND', message: 'no such', details } })!.details[0]!
        .reason,
    ).toBe('EXPERIMENT_NOT_FOUND');
    expect(decodeErrorBody({})).toBeNull();
  });
});
