// What a comparison derives: items in the address, names, settings as text, pairs, curves.
import { describe, expect, test } from 'vitest';
import { answer } from '../../../dev/mock-world.mjs';
import { Comparison, Curves } from '@/shared/api/messages';
import { axisNames, bySeed, segments } from '@/shared/charts/paired-plot';
import { mergeRoles, settingText } from './compare-settings';
import { itemCurves, itemLooks, itemNames, itemsQuery } from './data';

const compare = (...items: string[]) =>
  Comparison(answer('/compare', new URLSearchParams(items.map((item) => ['items', item])), 60), '');
const name = 'fashion-mnist-priors';

describe('items in the address', () => {
  test('come back as they went, once each, 16 at most', () => {
    expect(itemsQuery.read('a/1,a/cells/0,a/1')).toEqual(['a/1', 'a/cells/0']);
    expect(itemsQuery.write(['a/1', 'a/cells/0'])).toBe('a/1,a/cells/0');
    expect(itemsQuery.write([])).toBeNull();
    expect(itemsQuery.read(Array.from({ length: 40 }, (_, i) => `a/${i}`).join())).toHaveLength(16);
  });
  test('are called as the server calls them', () => {
    const { items } = compare(`${name}/1`, 'violin-sigma/0');
    expect(itemNames(items.map((item, i) => ({ ...item, title: `item ${i}` })))).toEqual([
      'item 0',
      'item 1',
    ]);
    expect(itemNames(items)).toEqual([
      `learned-absolute, seed 0 · ${name}/1`,
      'learned-absolute, seed 0 · violin-sigma/0',
    ]);
  });
});

test.each([
  ['', '—'],
  ['"none"', 'none'],
  ['["a","b"]', 'a, b'],
  ['[{"id":"violin","options":{"sigma":0.1}},{"id":"none","options":{}}]', 'violin {sigma: 0.1}, none'],
  ['0.003', '0.003'],
  ['not json', 'not json'],
])('the setting %s reads %s', (json, text) => expect(settingText(json)).toBe(text));

describe('pairs', () => {
  const items = [
    { label: 'a', look: null, values: [{ seed: 1, value: 5 }, { seed: 0, value: 4 }] },
    { label: 'b', look: null, values: [{ seed: 1, value: 6 }] },
    { label: 'c', look: null, values: [{ seed: 0, value: 7 }, { seed: 1, value: 8 }] },
  ]; // prettier-ignore
  test('are formed by seed; a missing value is a gap', () =>
    expect(bySeed(items)).toEqual([
      { seed: 0, values: [4, NaN, 7] },
      { seed: 1, values: [5, 6, 8] },
    ]));
  test('a line skips the gap and joins what is there', () => {
    expect(segments([4, NaN, 7])).toEqual([[0, 2]]);
    expect(segments([5, 6, 8])).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(segments([NaN, 1])).toEqual([]);
  });
});

test('cells and trials become curves in the color of their place', () => {
  const found = new Map([
    [name, Curves(answer(`/experiments/${name}/curves`, new URLSearchParams({ metric: 'top1' }), 60), '')],
  ]);
  const { items } = compare(`${name}/cells/2`, `${name}/7`);
  const drawn = itemCurves(items, found);
  expect(drawn.cells.map((curve) => curve.cell)).toEqual([0, 1]);
  expect(drawn.cells[0]!.mean).toEqual(found.get(name)!.cells[2]!.mean);
  const run = found.get(name)!.trials.find((each) => each.trial === 7)!;
  expect(drawn.cells[1]).toMatchObject({ step: run.step, mean: run.value });
  expect(new Set(drawn.trials.map((each) => each.cell))).toEqual(new Set([0]));
});

describe('names under the plot', () => {
  const labels = ['learned-absolute, lr=0.001', 'learned-absolute, lr=0.003', 'none'];
  test('are level where there is room, by prior and by what tells them apart', () =>
    expect(axisNames(labels, 170)).toMatchObject({
      texts: ['learned-a…lute, lr=0.001', 'learned-a…lute, lr=0.003', 'none'],
      aslant: false,
    }));
  test('are aslant and whole enough to tell where there is none', () => {
    const { texts, aslant, room } = axisNames(labels, 30);
    expect(aslant).toBe(true);
    expect(new Set(texts).size).toBe(3);
    expect(room).toBeGreaterThan(axisNames(labels, 170).room);
  });
});

test('equal looks are set apart, others kept', () => {
  const { items } = compare(`${name}/1`, `${name}/7`, `${name}/2`);
  expect(items[0]!.look).toEqual(items[1]!.look);
  const looks = itemLooks(items);
  expect(looks[0]).toEqual(items[0]!.look);
  expect(looks[2]).toEqual(items[2]!.look);
  expect(looks[1]).toMatchObject({ hue: items[0]!.look!.hue });
  expect(looks[1]).not.toEqual(looks[0]);
});

test('equal settings are apart from those that differ', () => {
  const { differing, common } = compare(`${name}/cells/1`, `${name}/cells/2`);
  expect(differing.map((each) => each.path)).toEqual(['evaluate.priors', 'train.priors']);
  expect(common.map((each) => each.path)).toContain('train.recipe.options.lr');
});

test('what several stages have alike is one line', () => {
  const setting = (path: string, ...values_json: string[]) => ({ path, values_json, values: [], parts: [] });
  expect(
    mergeRoles([
      setting('train.recipe.lr', '1', '2'),
      setting('evaluate.recipe.lr', '1', '2'),
      setting('train.kind', '"a"'),
      setting('evaluate.kind', '"b"'),
    ]),
  ).toEqual([
    { path: 'recipe.lr', roles: ['train', 'evaluate'], values: ['1', '2'] },
    { path: 'kind', roles: ['train'], values: ['"a"'] },
    { path: 'kind', roles: ['evaluate'], values: ['"b"'] },
  ]);
});
