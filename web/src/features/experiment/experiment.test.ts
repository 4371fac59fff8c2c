// What the experiment's page derives from the server's answers: CSV, explanations, series choice, filters,
// progress.
import { describe, expect, test } from 'vitest';
import { answer } from '../../../dev/mock-world.mjs';
import { ListTrialsResponse, Table } from '@/shared/api/messages';
import { seriesQuery } from '@/parts/curves/series-picker';
import { factorValue, groupingFactors, valueText } from './factors';
import { actionsOf, rerunnable } from './actions/experiment-actions';
import { joinPages } from './data';
import { chooseSeries, contractOf } from '@/parts/curves/choose-series';
import { stageParts } from './experiment-header';
import { intervalDomain } from './leaderboard/columns';
import { csvField } from '@/shared/csv';
import { leaderboardCsv } from './leaderboard/csv';
import { floorText } from './leaderboard/explanations';
import { seedsText, sweeps, varyingLabel } from './sweep/sweep-card';
import { columnName, trialProgress, trialReason, trialRetries } from './trials/columns';
import { tally } from '@/shared/ui/tally';
import { trialsCsv } from './trials/csv';
import {
  factorsQuery,
  filterTrials,
  noFilter,
  rangesQuery,
  type TrialFilter,
  valuesQuery,
} from './trials/trial-filter';

const read = (path: string, phase = 24) => answer(path, new URLSearchParams(), phase);
const table = Table(read('/experiments/fashion-mnist-priors/table', 60), '');
const list = ListTrialsResponse(read('/experiments/high-learning-rates/trials'), '');
const { trials, cells } = list;

describe('the leaderboard as CSV', () => {
  const lines = leaderboardCsv(table)
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','));
  test('has a line per row with the numbers as computed', () => {
    expect(lines).toHaveLength(1 + table.rows.length);
    const at = (name: string) => lines[0]!.indexOf(name);
    expect(Number(lines[1]![at('mean')])).toBe(table.rows[0]!.mean);
    expect(Number(lines[1]![at('p_holm')])).toBe(table.rows[0]!.p_holm);
    expect(Number(lines[1]![at('seed_3')])).toBe(
      table.rows[0]!.values.find((value) => value.seed === 3)!.value,
    );
  });
  test('writes undefined as NaN and every line with the same columns', () => {
    expect(leaderboardCsv({ ...table, rows: [{ ...table.rows[0]!, difference: NaN }] })).toContain(',NaN,');
    expect(new Set(lines.map((line) => line.length)).size).toBe(1);
  });
  test('quotes what needs it and disarms formulas', () => {
    expect(csvField('violin {curves: [a, b]}')).toBe('"violin {curves: [a, b]}"');
    expect(csvField('say "x"')).toBe('"say ""x"""');
    expect(csvField('=1+1')).toBe("'=1+1");
    expect(csvField('rope-axial')).toBe('rope-axial');
  });
});

describe('the floor of p', () => {
  const row = { ...table.rows[0]!, pairs: 5, p_floor: 0.0625, p_sign_flip: 0.0625 };
  test('five pairs cannot go below 0.0625, and the text says what six could', () => {
    expect(floorText(row)).toContain('2 / 32 = 0.0625');
    expect(floorText(row)).toContain('p < 0.05 is out of reach');
    expect(floorText(row)).toContain('at that floor');
    expect(floorText(row)).toContain('With 6 seeds the floor is 0.0313');
  });
  test('with eight pairs 0.05 is in reach and an unreached floor is not claimed', () => {
    const text = floorText({ ...row, pairs: 8, p_floor: 2 / 256, p_sign_flip: 0.2 });
    expect(text).not.toContain('out of reach');
    expect(text).not.toContain('at that floor');
    expect(text).toContain('With 9 seeds');
  });
});

test('the interval axis holds every mean, whisker and run', () => {
  const [low, high] = intervalDomain(table.rows);
  for (const row of table.rows) {
    for (const value of [row.ci_low, row.ci_high, ...row.values.map((each) => each.value)]) {
      expect(value).toBeGreaterThanOrEqual(low);
      expect(value).toBeLessThanOrEqual(high);
    }
  }
  expect(intervalDomain([{ ...table.rows[0]!, mean: NaN, ci_low: NaN, ci_high: NaN, values: [] }])).toEqual([
    0, 1,
  ]);
});

describe('the series shown first', () => {
  const contract = contractOf(
    '{"metric":{"name":"top1","selects_on":"validation","reports":"test"}}',
    'top1',
  );
  const key = (metric: string, split: string, labels = '{}') => ({ metric, split, labels });
  test('is the metric where it selects', () =>
    expect(chooseSeries(null, contract, [key('loss', 'train'), key('top1', 'validation')])).toEqual(
      key('top1', 'validation'),
    ));
  test('is the curve while training rather than the one point at the end', () => {
    const during = key('top1', 'validation', '{"images":1000}');
    expect(chooseSeries(null, contract, [key('top1', 'validation'), during])).toEqual(during);
    const swept = key('top1', 'validation', '{"resolution":42}');
    expect(chooseSeries(null, contract, [swept, key('top1', 'validation')])).toEqual(
      key('top1', 'validation'),
    );
  });
  test('falls back to another split, then to the loss, then to what there is', () => {
    expect(chooseSeries(null, contract, [key('loss', 'train'), key('top1', 'train')])).toEqual(
      key('top1', 'train'),
    );
    expect(chooseSeries(null, contract, [key('lr', ''), key('loss', 'train')])).toEqual(key('loss', 'train'));
    expect(chooseSeries(null, contract, [key('lr', '')])).toEqual(key('lr', ''));
    expect(chooseSeries(null, contract, [])).toEqual(key('top1', 'validation'));
  });
  test('is the one in the address if there is one', () => {
    const asked = key('top1', 'test', '{"path":"a/b"}');
    expect(seriesQuery.read(seriesQuery.write(asked))).toEqual(asked);
    expect(seriesQuery.read('loss/train')).toEqual(key('loss', 'train'));
    expect(seriesQuery.read(null)).toBeNull();
  });
  test('a broken specification still gives a contract', () =>
    expect(contractOf('{', '')).toEqual({ metric: 'top1', reports: 'test', selectsOn: 'validation' }));
});

describe('trials', () => {
  const shown = (filter: Partial<TrialFilter>) =>
    filterTrials(trials, cells, { ...noFilter, ...filter }).map((trial) => trial.ordinal);
  test('filter by state and cell together', () => {
    expect(shown({ state: 'failed' })).toEqual([5, 7, 8]);
    expect(shown({ state: 'failed', cell: 2 })).toEqual([5, 8]);
    expect(shown({})).toHaveLength(9);
    expect(shown({ text: 'NaN rope' })).toHaveLength(2);
  });
  test('filter by a factor value and by results, which a trial without one never meets', () => {
    expect(shown({ factors: new Map([['prior', 'rope-axial']]) })).toEqual([2, 5, 8]);
    const values = trials.filter((trial) => !Number.isNaN(trial.values[0])).map((trial) => trial.values[0]!);
    expect(values).toHaveLength(6);
    const middle = [...values].sort((a, b) => a - b)[3]!;
    expect(shown({ ranges: new Map([[0, { least: middle, most: Infinity }]]) })).toHaveLength(3);
    expect(shown({ ranges: new Map([[0, { least: -Infinity, most: 1e9 }]]) })).toHaveLength(6);
  });
  test('say in the address what of them is shown', () => {
    const factors = new Map([['prior', 'violin {curves: [a, b], k: x|y}'], ['train.lr', '0.003']]); // prettier-ignore
    expect(factorsQuery.read(factorsQuery.write(factors))).toEqual(factors);
    const ranges = new Map([[0, { least: 80, most: Infinity }], [1, { least: -1e-7, most: 12.5 }]]); // prettier-ignore
    expect(rangesQuery.write(ranges)).toBe('0:80..,1:-1e-7..12.5');
    expect(rangesQuery.read(rangesQuery.write(ranges))).toEqual(ranges);
    expect(rangesQuery.read('0:..,x,1:a..b')).toEqual(new Map());
    expect(factorsQuery.write(new Map())).toBeNull();
    expect(valuesQuery.read('top1/test/{}|top1/test/{}|loss/test/{}')).toEqual([
      'top1/test/{}',
      'loss/test/{}',
    ]);
  });
  test('count what was tried again, not every stage', () => {
    expect(trialRetries(trials[0]!)).toBe(0);
    expect(trials[0]!.stages.reduce((sum, stage) => sum + stage.attempts, 0)).toBe(2);
    expect(trialRetries(trials[5]!)).toBe(2);
    const parkedTwice = { ...trials[0]!.stages[0]!, attempts: 3, retries: 0 };
    expect(trialRetries({ ...trials[0]!, stages: [parkedTwice] })).toBe(0);
  });
  test('are a file with every number as computed', () => {
    const lines = trialsCsv(trials, list).trimEnd().split('\r\n');
    expect(lines[0]).toBe('trial,cell,seed,prior,"top1/test/{""resolution"":28}",state,retries,reason');
    expect(lines).toHaveLength(10);
    expect(lines[1]).toBe(`0,none,0,none,${trials[0]!.values[0]},succeeded,0,`);
    expect(lines[6]).toContain(',NaN,failed,2,');
  });
  test('of several pages are one list, their cells once', () => {
    const page = (from: number, to: number) => ({ ...list, trials: trials.slice(from, to) });
    const joined = joinPages([page(0, 4), page(4, 9)]);
    expect(joined.trials).toEqual(trials);
    expect(joined.cells).toEqual(cells);
    expect(joined.columns).toEqual(list.columns);
  });
  test('have a column per result, told apart by what differs', () => {
    const column = (metric: string, split: string, labels = '{}') => ({
      key: { metric, split, labels },
      unit: '',
      direction: 'max',
      reduce: 'last',
      selects_on: '',
    });
    const columns = [
      column('top1', 'test', '{"resolution":28}'),
      column('top1', 'validation'),
      column('loss', 'test'),
    ];
    expect(columns.map((each) => columnName(each, columns))).toEqual([
      'top1 · test · resolution 28',
      'top1 · validation',
      'loss',
    ]);
  });
  test('are counted by state', () =>
    expect([...tally(trials.map((trial) => trial.state))]).toEqual([
      ['succeeded', 6],
      ['failed', 3],
    ]));
  test('progress is over all stages; a failed one counts by its steps', () => {
    expect(trialProgress(trials[0]!)).toBe(1);
    expect(trialProgress(trials[5]!)).toBeCloseTo(0.15);
    expect(trialProgress({ ...trials[0]!, stages: [] })).toBe(0);
  });
  test('a failure gives its reason', () =>
    expect(trialReason(trials[5]!)).toBe('diverged: loss was NaN at step 240'));
});

test('waiting stages are the empty rest of the bar', () => {
  expect(
    stageParts({ succeeded: 4, queued: 9, blocked: 3, failed: 1 })
      .filter((part) => part.value > 0)
      .map((part) => part.label),
  ).toEqual(['succeeded', 'failed']);
});

test('the sweep is named after the label that varies', () => {
  expect(varyingLabel(['{"k":1,"resolution":28}', '{"k":1,"resolution":42}'])).toBe('resolution');
  expect(varyingLabel(['{"resolution":28}'])).toBe('resolution');
  expect(varyingLabel([])).toBe('setting');
});

test.each([
  ['none', 'none'],
  [0.003, '0.003'],
  [[], 'none'],
  [[{ violin: { curves: ['a', 'b'], sigma: 0.1 } }], 'violin {curves: [a, b], sigma: 0.1}'],
  [[{ 'learned-absolute': {} }, { violin: {} }], 'learned-absolute + violin'],
  [{ 'rope-axial': {} }, 'rope-axial'],
  [[28, 42], '28 + 42'],
  [{ $chosen: 'tune' }, 'chosen in tune'],
])('a factor of value %j reads %s', (value, text) => expect(valueText(value)).toBe(text));

test('a factor that a cell does not name has no value', () => {
  expect(factorValue('{"prior":"none"}', 'train.lr')).toBe('');
  expect(factorValue('broken', 'prior')).toBe('');
});

describe('the sweep', () => {
  const series = (...ns: number[]) => [
    { cell: 0, label: 'a', look: null, points: ns.map((n) => ({ labels: '{}', x: 28, mean: 1, std: 0, n })) },
  ];
  test('counts the seeds that are in its means', () => {
    expect(seedsText(series(3, 3), 3)).toBe('3 seeds');
    expect(seedsText(series(1, 2, 0), 3)).toBe('1 to 2 of 3 seeds');
    expect(seedsText(series(2, 2), 3)).toBe('2 of 3 seeds');
    expect(seedsText(series(), 3)).toBe('3 seeds');
  });
  test('is one of several settings', () => {
    expect(sweeps({ label_sets: ['{"resolution":28}'] })).toBe(false);
    expect(sweeps({ label_sets: ['{"resolution":28}', '{"resolution":42}'] })).toBe(true);
  });
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
