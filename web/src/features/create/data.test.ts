import { expect, test } from 'vitest';
import { ApiError } from '@/shared/api/client';
import { problemsOf } from './data';

const lines: Record<string, number> = { 'train.lr': 6, 'model.dims': 4 };
const lineOf = (field: string) => lines[field] ?? 1;

test('every mistake the server lists stands at its line, from the top', () => {
  const violations = [
    { field: 'train.lr', description: 'lr must be a number' },
    { field: 'model.dims', description: "did you mean 'dim'?" },
  ];
  const error = new ApiError('two', 400, 'WRONG_TYPE', violations, { more_mistakes: '12' });
  expect(problemsOf(error, lineOf)).toEqual([
    { line: 4, field: 'model.dims', message: "did you mean 'dim'?" },
    { line: 6, field: 'train.lr', message: 'lr must be a number' },
    { line: 1, field: '', message: 'and 12 more mistakes, shown once these are corrected' },
  ]);
});

test('a refusal without a field stands at the top', () => {
  expect(problemsOf(new ApiError('no', 400, 'X'), lineOf)).toEqual([{ line: 1, field: '', message: 'no' }]);
});
