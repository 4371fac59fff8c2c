// The list: what is found, how it is grouped, which columns the address hides.
import { describe, expect, test } from 'vitest';
import { answer } from '../../../dev/mock-world.mjs';
import { ListExperimentsResponse } from '@/shared/api/messages';
import { groupRows, hiddenColumnsQuery } from '@/shared/tables/use-table';
import { matches } from '@/shared/ui/fields';
import { filterExperiments } from './data';

const all = ListExperimentsResponse(answer('/experiments', new URLSearchParams(), 24), '').experiments;

describe('finding', () => {
  test('every word must occur somewhere, in any case', () => {
    expect(matches('Violin  ADA', 'violin-sigma', 'ada')).toBe(true);
    expect(matches('violin bob', 'violin-sigma', 'ada')).toBe(false);
    expect(matches('', 'x')).toBe(true);
  });
  test('by text and state', () => {
    expect(filterExperiments(all, { text: 'learning rate', state: '' }).map((e) => e.name)).toEqual([
      'high-learning-rates',
    ]);
    expect(filterExperiments(all, { text: '', state: 'paused' })).toHaveLength(1);
  });
});

test('rows are grouped in the order of their first', () => {
  expect(groupRows(['b1', 'a1', 'b2'], (row) => row[0]!)).toEqual([
    { key: 'b', rows: ['b1', 'b2'] },
    { key: 'a', rows: ['a1'] },
  ]);
  expect(groupRows([1, 2], undefined)).toEqual([{ key: '', rows: [1, 2] }]);
});

test('hidden columns leave no trace while they are the usual ones', () => {
  const query = hiddenColumnsQuery(['took', 'cells']);
  expect(query.read(null)).toEqual(new Set(['took', 'cells']));
  expect(query.write(new Set(['cells', 'took']))).toBeNull();
  expect(query.write(new Set())).toBe('none');
  expect(query.read('none')).toEqual(new Set());
  expect(query.read(query.write(new Set(['best'])))).toEqual(new Set(['best']));
});
