// The list: what is found, how it is grouped, which columns the address hides.
import { describe, expect, test } from 'vitest';
import { answer } from '../../../dev/mock-world.mjs';
import { actionsOf, rerunnable } from '@/features/experiment/actions/experiment-actions';
import { groupingFactors } from '@/features/experiment/factors';
import { experimentList } from '@/shared/api/types';
import { groupRows, hiddenColumnsQuery } from '@/shared/tables/use-table';
import { matches } from '@/shared/ui/fields';
import { filterExperiments } from './data';

const all = experimentList(answer('/experiments', new URLSearchParams(), 24), '').experiments;

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

describe('actions', () => {
  test('fit the state', () => {
    expect(actionsOf({ state: 'active', stages: { failed: 1 } })).toEqual([
      'rerun',
      'pause',
      'cancel',
      'delete',
    ]);
    expect(actionsOf({ state: 'paused', stages: {} })).toEqual(['resume', 'cancel', 'delete']);
    expect(actionsOf({ state: 'completed', stages: { succeeded: 4 } })).toEqual(['delete']);
  });
  test('a rerun counts what failed, is held or was cancelled', () =>
    expect(rerunnable({ failed: 1, held: 2, cancelled: 3, succeeded: 9 })).toBe(6));
});

test('a leaderboard is grouped by factors that several rows share', () => {
  const row = (assignment: object) => ({ assignment_json: JSON.stringify(assignment) });
  expect(groupingFactors([row({ prior: 'a', 'train.lr': 1 }), row({ prior: 'b', 'train.lr': 1 })])).toEqual([
    'train.lr',
  ]);
  expect(groupingFactors([row({ prior: 'a' }), row({ prior: 'b' })])).toEqual([]);
});
