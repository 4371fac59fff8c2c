// Pictures of scored images: which outputs they are, what they show, their classes, and how both pages draw them.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { navigate, startRouter } from '@/shared/router';
import { drawn } from '@/shared/testing/drawn';
import type { StageDetail } from '@/shared/api/messages';
import { classScores, decodeAbout, keptPictures, pictureOf, sameImages } from '@/parts/pictures/scored';
import { keptSteps } from './picture-data';
import { ScoredCards } from './scored-card';

const document_ = {
  version: 1,
  of: 'mask',
  split: 'test',
  labels: { resolution: 64 },
  classes: [
    { name: 'T-shirt/top', color: '#800000' },
    { name: 'Bag', color: '#008000' },
  ],
  pictures: [
    { slot: 'picture-1', row: 0 },
    { slot: 'picture-2', row: 40 },
  ],
};
const iou = (labels: object, value: number, metric = 'iou') => ({
  key: { metric, split: 'test', labels: JSON.stringify(labels) },
  reducer: 'last',
  step: 9,
  value,
});
const stage = (role: string, outputs: readonly { slot: string; sha256: string; step: number }[]) =>
  ({
    role,
    outputs,
    checkpoints: [],
    results: [
      iou({ resolution: 64 }, 31, 'miou'),
      iou({ class: 'Bag', resolution: 64 }, 42.25),
      iou({ class: 'Bag', resolution: 128 }, 11),
      iou({ class: 'Bag', resolution: 64, view: 'mirrored' }, 12),
    ],
  }) as unknown as StageDetail;
const trained = stage('train', [{ slot: 'checkpoint', sha256: 'c', step: 9 }]);
const evaluated = stage('evaluate', [
  { slot: 'picture-1', sha256: 'p1', step: 9 },
  { slot: 'picture-2', sha256: 'p2', step: 9 },
  { slot: 'pictures', sha256: 'doc', step: 9 },
]);

describe('what a trial has kept', () => {
  const [kept, ...more] = keptPictures([trained, evaluated, stage('measure', [])]);
  test('is one set for each evaluation with pictures', () => {
    expect(more).toEqual([]);
    expect(kept).toEqual({
      role: 'evaluate',
      document: 'doc',
      pictures: { 'picture-1': 'p1', 'picture-2': 'p2' },
    });
  });
  test('is found by the image, not by the order', () => {
    expect(pictureOf(kept!, decodeAbout(document_), 40)).toBe('p2');
    expect(pictureOf(kept!, decodeAbout(document_), 1)).toBeUndefined();
  });
  test('is no model to look into', () =>
    expect(keptSteps([trained, evaluated])).toEqual([
      { step: 0, what: 'initialization' },
      { step: 9, what: 'end' },
    ]));
});

test('images are the same where split and view are', () => {
  const about = decodeAbout(document_);
  expect(sameImages(about, decodeAbout({ ...document_, pictures: [] }))).toBe(true);
  expect(sameImages(about, decodeAbout({ ...document_, split: 'validation' }))).toBe(false);
  expect(sameImages(about, decodeAbout({ ...document_, labels: { resolution: 32 } }))).toBe(false);
});

test('classes keep their order and have the IoU of the view that is shown', () =>
  expect(classScores(decodeAbout(document_), evaluated.results)).toEqual([
    { name: 'T-shirt/top', color: '#800000', iou: NaN },
    { name: 'Bag', color: '#008000', iou: 42.25 },
  ]));

test('depths have no classes', () =>
  expect(classScores(decodeAbout({ ...document_, of: 'depth', classes: null }), evaluated.results)).toEqual(
    [],
  ));

describe('the card', () => {
  let stop = () => {};
  afterEach(() => {
    render(null, document.body);
    stop();
    navigate('/');
    vi.unstubAllGlobals();
  });
  const show = async () => {
    stop = startRouter();
    await act(() => render(<ScoredCards stages={[trained, evaluated]} />, document.body));
    await drawn(() => expect(document.querySelectorAll('img')).toHaveLength(2));
  };
  test('has every picture, its panels, colors and the IoU of each class', async () => {
    const asked: string[] = [];
    vi.stubGlobal('fetch', async (input: string) => {
      asked.push(input);
      return input.endsWith('/doc')
        ? Response.json(document_)
        : new Response(new Uint8Array([137, 80, 78, 71]));
    });
    await show();
    const images = [...document.querySelectorAll('img')];
    expect(images.map((each) => each.alt)).toEqual([
      'Image 0: input, prediction, target, error',
      'Image 40: input, prediction, target, error',
    ]);
    expect(images[0]!.src).toBe('data:image/png;base64,iVBORw==');
    expect(asked).toEqual(expect.arrayContaining(['/api/v1/artifacts/p1', '/api/v1/artifacts/p2']));
    const rows = [...document.querySelectorAll('.class-table tbody tr')].map((row) => row.textContent);
    expect(rows).toEqual(['T-shirt/top—', 'Bag42.3']);
    const swatch = document.querySelector<HTMLElement>('.class-swatch')!;
    expect(swatch.style.backgroundColor).toBe('rgb(128, 0, 0)');
    expect(document.body.textContent).toContain('2 images of the test split');
  });
});
