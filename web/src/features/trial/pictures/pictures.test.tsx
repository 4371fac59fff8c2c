// Pictures of trained models: what may be looked at, sizes that fit, maps of both states.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, describe, expect, test } from 'vitest';
import { navigate, startRouter } from '@/shared/router';
import type { StageDetail } from '@/shared/api/messages';
import { AttentionView } from './attention-card';
import { checkpointOf, imageRows, keptSteps, layersOf, nearestQuery, partOf } from './picture-data';
import { StageField, stagesOf } from './stage-field';
import { decodeAttention, decodeTrained } from '@/parts/pictures/documents';
import { TrainedView } from './trained-card';

const head = (value: number) => [
  [value, 0, 0, 0],
  [0, value, 0, 0],
];
const heading = {
  version: 1,
  model: { id: 'vit', layers: 2, heads: 2, head_width: 8, prefix: 0, parameters: 9 },
  grid: [2, 2],
  seed: 0,
  step: 40,
  queries: [0, 3],
};
const trained = {
  ...heading,
  kind: 'trained-prior',
  priors: [{ prior: 'violin', parameters_kept: 4 }],
  layers: [
    {
      layer: 0,
      views: [
        {
          id: 'violin.scale',
          prior: 'violin',
          title: 'Factor on the logits',
          help: 'what multiplies',
          scale: 'diverging',
          low: -1,
          high: 1,
          initial: [head(1), head(-0.5)],
          trained: [head(0.2), head(0.4)],
        },
      ],
      numbers: [
        {
          id: 'violin.alpha',
          title: 'Strength',
          help: '',
          unit: '',
          rows: [''],
          initial: [[1, -0.5]],
          trained: [[0.2, 0.4]],
        },
      ],
      curves: [],
    },
  ],
};
const one = { queries: [[[0.7, 0.1, 0.1, 0.1]], [[0.4, 0.2, 0.2, 0.2]]], mean: [], prefix: null };
const attention = {
  ...heading,
  queries: [3],
  kind: 'attention',
  images: [
    {
      image: 7,
      split: 'test',
      label: 2,
      class: 'pullover',
      predicted: 5,
      pixels: { extent: [1, 1], channels: 1, values: [9] },
    },
  ],
  layers: [
    {
      layer: 0,
      images: [{ image: 7, with: one, without: { ...one, queries: [[[1, 0, 0, 0]], [[1, 0, 0, 0]]] } }],
      distance: { with: [0.5, 0.8], without: [1, 1.1] },
      position_score: [0.2, -0.1],
    },
    {
      layer: 1,
      images: [{ image: 7, with: one, without: null }],
      distance: { with: [0.5, 0.9], without: null },
      position_score: null,
    },
  ],
};

HTMLCanvasElement.prototype.getContext = () => null; // jsdom has none
let stop = () => {};
afterEach(() => {
  render(null, document.body);
  stop();
  navigate('/');
});
const show = async (vnode: preact.ComponentChild) => {
  stop = startRouter();
  await act(() => render(vnode, document.body));
};

test('steps whose blobs are gone cannot be looked at, and each step counts once', () => {
  const stage = {
    checkpoints: [
      { step: 10, present: false, best: false, role: '' },
      { step: 20, present: true, best: true, role: 'best' },
      { step: 40, present: true, best: false, role: 'output' },
    ],
    outputs: [{ slot: 'checkpoint', step: 40 }],
  } as unknown as StageDetail;
  expect(keptSteps([stage])).toEqual([
    { step: 0, what: 'initialization' },
    { step: 20, what: 'best' },
    { step: 40, what: 'end' },
  ]);
});

test('the slider runs from the initialization over snapshots and the best model to the end', () => {
  const outputs = [
    { slot: 'checkpoint', step: 40 },
    { slot: 'best-checkpoint', step: 20 },
    { slot: 'snapshot-1', step: 10 },
    { slot: 'snapshot-2', step: 20 },
    { slot: 'snapshot-3', step: 30 },
  ];
  expect(keptSteps([{ checkpoints: [], outputs } as unknown as StageDetail])).toEqual([
    { step: 0, what: 'initialization' },
    { step: 10, what: 'snapshot' },
    { step: 20, what: 'best' },
    { step: 30, what: 'snapshot' },
    { step: 40, what: 'end' },
  ]);
  expect(keptSteps([{ checkpoints: [], outputs: [] } as unknown as StageDetail])).toEqual([]);
  expect([0, 20].map(checkpointOf)).toEqual([{ checkpoint: 'initial' }, { step: 20 }]);
});

test('a model at its initialization has one state to show', async () => {
  const alone = decodeTrained({
    ...trained,
    step: 0,
    layers: trained.layers.map((layer) => ({
      ...layer,
      views: layer.views.map((view) => ({ ...view, trained: null })),
      numbers: [],
    })),
  });
  await show(<TrainedView document={alone} />);
  const said = document.body.textContent;
  expect(said).toContain('at initialization');
  for (const absent of ['step 0', 'Trained']) expect(said).not.toContain(absent);
});

test('a patch without a row of its own is shown by the nearest that has one', () => {
  expect(nearestQuery([0, 3, 12, 15], 14, 4)).toBe(3);
  expect(nearestQuery([5], 0, 4)).toBe(0);
});

test.each([
  ['0, 7', [0, 7]],
  ['3', [3]],
  ['', null],
  ['1,', null],
  ['-1', null],
  ['a', null],
])('images %j are %j', (wish, rows) => expect(imageRows(wish)).toEqual(rows));

describe('a network of several stages', () => {
  const choices = () => [...document.querySelectorAll('option')].map(({ textContent }) => textContent);
  test('has layers in each, counted over the network', () => {
    expect([0, 1, 2].map((stage) => layersOf([2, 1], stage))).toEqual([[0, 1], [2], []]);
  });
  test('is asked for one layer, or for a later stage whose first layer nobody knows yet', () => {
    expect(partOf({ stage: 0, layer: null })).toEqual({ layers: '0' });
    expect(partOf({ stage: 1, layer: null })).toEqual({ stage: '1' });
    expect(partOf({ stage: 1, layer: 2 })).toEqual({ stage: '1', layers: '2' });
  });
  test('lets people choose a stage', async () => {
    const chosen: number[] = [];
    await show(<StageField stages={[2, 1]} stage={0} choose={(stage) => chosen.push(stage)} />);
    expect(choices()).toEqual(['1 of 2, 2 layers', '2 of 2, 1 layer']);
    const select = document.querySelector('select')!;
    select.value = '1';
    await act(() => void select.dispatchEvent(new Event('change', { bubbles: true })));
    expect(chosen).toEqual([1]);
  });
  test('of one alone has nothing to choose, nor has a picture from before there were stages', async () => {
    expect(stagesOf(decodeTrained(trained).model)).toEqual([2]);
    const staged = decodeTrained({ ...trained, model: { ...heading.model, stages: [1, 1] } });
    expect(stagesOf(staged.model)).toEqual([1, 1]);
    await show(<StageField stages={[2]} stage={0} choose={() => {}} />);
    expect(document.querySelector('select')).toBeNull();
  });
});

test('documents of wrong size are refused', () => {
  expect(() => decodeTrained({ ...trained, queries: [0] })).toThrow('1 rows of 4 values');
  expect(() => decodeAttention({ ...attention, grid: [3, 3] })).toThrow('1 rows of 9 values');
});

describe('a trained prior', () => {
  test('has a map of each head before and after, and its numbers', async () => {
    await show(<TrainedView document={decodeTrained(trained)} />);
    expect(document.querySelectorAll('.patch-map').length).toBe(4);
    expect(document.querySelector('.head-numbers')!.textContent).toContain(
      '-0.500 → 0.400'.replace('-', '−'),
    );
  });
  test('can be shown as trained alone', async () => {
    navigate('/?state=trained');
    await show(<TrainedView document={decodeTrained(trained)} />);
    expect(document.querySelectorAll('.patch-map').length).toBe(2);
  });
});

describe('attention', () => {
  const drawn = decodeAttention(attention);
  test('is shown by layer and head beside the image, with the distance of every head', async () => {
    await show(<AttentionView document={drawn} choose={() => {}} />);
    expect(document.querySelectorAll('.patch-map').length).toBe(4);
    expect(document.querySelector('.looked-at')!.textContent).toBe('pullover · taken for 5');
    expect(document.querySelectorAll('.head-chart')[0]!.querySelectorAll('circle').length).toBe(6);
    expect(document.querySelectorAll('.head-chart')[0]!.querySelectorAll('.head-dot-hollow').length).toBe(2);
    expect(document.querySelectorAll('.head-chart')[1]!.querySelectorAll('circle').length).toBe(2);
  });
  test('without the prior says where there was none', async () => {
    navigate('/?without=true');
    await show(<AttentionView document={drawn} choose={() => {}} />);
    const off = document.querySelector<HTMLInputElement>('.switch input')!;
    if (!off.checked) await act(() => off.click());
    expect(document.querySelectorAll('.patch-map').length).toBe(2);
    expect(document.body.textContent).toContain('Layer 2: no prior takes part');
  });
});
