// What the server prints, read: nothing is put in the place of what is not there.
import { describe, expect, test } from 'vitest';
import { answer } from '../../../dev/mock-world.mjs';
import {
  DecodeError,
  dictionary,
  flag,
  integer,
  list,
  long,
  message,
  optional,
  real,
  text,
  timestamp,
  withDefault,
} from './decode';
import { Curves, Error as Refusal, Experiment, ListTrialsResponse, ListWorkersResponse } from './messages';
import { Table, TrialDetail } from './messages';

describe('lists of numbers', () => {
  test('read words and int64, and name the item that is none', () => {
    expect(list(real)([1, 'NaN', 2.5], 'x')).toEqual([1, NaN, 2.5]);
    expect(list(long)(['7', '-8'], 'x')).toEqual([7, -8]);
    expect(() => list(integer)([1, 'two'], 'steps')).toThrow('steps[1]');
  });
});

describe('scalars', () => {
  test('int64 comes as text, int32 as a number', () => {
    expect(long('1234567890123', 'x')).toBe(1234567890123);
    expect(integer(7, 'x')).toBe(7);
    expect(() => long(7, 'revision')).toThrow('revision: expected an integer as text, found 7');
    expect(() => integer('7', 'cells')).toThrow('cells: expected an integer, found "7"');
  });
  test('int64 beyond what a number holds is refused, not rounded', () => {
    expect(() => long('9007199254740993', 'revision')).toThrow('revision: expected an integer');
  });
  test('a fraction is no integer', () => expect(() => integer(1.5, 'n')).toThrow(DecodeError));
  test('NaN and infinities come as words', () => {
    expect(real('NaN', 'x')).toBeNaN();
    expect(real('Infinity', 'x')).toBe(Infinity);
    expect(real('-Infinity', 'x')).toBe(-Infinity);
  });
  test.each(['', 'nan', '1e-3', null])('%s is no number', (word) =>
    expect(() => real(word, 'mean')).toThrow('mean: expected a number'),
  );
  test('times', () => {
    expect(timestamp('1970-01-01T00:00:01.500Z', '')).toBe(1500);
    expect(() => timestamp('soon', 'create_time')).toThrow('create_time: expected an RFC 3339 time');
  });
});

describe('what is not there', () => {
  test.each([
    ['text', text],
    ['flag', flag],
    ['integer', integer],
    ['int64', long],
    ['number', real],
    ['time', timestamp],
    ['list', list(text)],
    ['dictionary', dictionary(text)],
    ['message', message({})],
  ])('%s is refused by its name, with no default', (_, decode) =>
    expect(() => message({ field: decode })({}, '')).toThrow(/^field: expected .*, found nothing$/),
  );
  test('is null where it may be left out', () => expect(optional(timestamp)(undefined, '')).toBeNull());
  test('is what a document says it is', () => expect(withDefault(text, '–')(undefined, '')).toBe('–'));
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
    const decoded = Experiment(read('/experiments/fashion-mnist-priors'), '');
    expect(decoded.trials).toBe(30);
    expect(decoded.stages['succeeded']).toBe(24);
    expect(decoded.running[0]!.steps).toBe(1000);
    expect(decoded.create_time).toBeTypeOf('number');
  });
  test('a table with undefined statistics', () => {
    const decoded = Table(read('/experiments/fashion-mnist-priors/table'), '');
    const baseline = decoded.rows.find((row) => row.baseline)!;
    expect(baseline.p_sign_flip).toBeNaN();
    expect(baseline.missing_seeds).toEqual([2, 3, 4]);
  });
  test('curves with values that are not finite', () => {
    const decoded = Curves(
      read('/experiments/high-learning-rates/curves', 'metric=top1&split=validation'),
      '',
    );
    expect(decoded.trials.some((curve) => curve.value.some(Number.isNaN))).toBe(true);
  });
  test('trials, a trial and workers', () => {
    expect(ListTrialsResponse(read('/experiments/violin-sigma/trials'), '').trials).toHaveLength(42);
    expect(
      TrialDetail(read('/experiments/high-learning-rates/trials/5'), '').stages[0]!.attempts,
    ).toHaveLength(3);
    expect(ListWorkersResponse(read('/workers'), '').workers[1]!.slots[0]!.memory_bytes).toBe(
      150_000_000_000,
    );
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
      Refusal({ error: { code: 404, status: 'NOT_FOUND', message: 'no such', details } }, '').error
        .details[0]!.reason,
    ).toBe('EXPERIMENT_NOT_FOUND');
    expect(() => Refusal({}, '')).toThrow('error: expected a message');
  });
});
