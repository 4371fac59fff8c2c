// The catalog: formulas, ranges, and the picture of a prior.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, describe, expect, test } from 'vitest';
import { navigate, startRouter } from '@/shared/router';
import { alibiPicture } from '../../../dev/mock-picture.mjs';
import { Formula } from './formula';
import { rangeText } from './item-page';
import { coloring, flat, moved, ownRange, share, tellingView, usualRange } from '@/parts/pictures/coloring';
import { decodePicture } from '@/parts/pictures/documents';
import { headNote, PriorPictureView } from './picture/prior-picture';
import { ThumbnailOf } from './picture/thumbnail';

const html = async (text: string) => {
  await act(() => render(<Formula text={text} />, document.body));
  return document.querySelector('.formula')!.innerHTML;
};
afterEach(() => render(null, document.body));

describe('a formula', () => {
  test('gets Greek letters, raised and lowered parts', async () => {
    expect(await html('lambda_c^|pi_c(i) - j|')).toBe(
      '<i>λ</i><sub><i>c</i></sub><sup>|<i>π</i><sub><i>c</i></sub>(<i>i</i>) − <i>j</i>|</sup>',
    );
  });
  test('keeps words upright and primes as primes', async () =>
    expect(await html("q' = mean x")).toBe('<i>q</i>′ = mean <i>x</i>'));
  test('tells membership from prose', async () => {
    expect(await html('i in S')).toBe('<i>i</i> ∈ <i>S</i>');
    expect(await html('|r| in the field of view')).toContain(' in the field');
  });
  test('markup in it stays text', async () =>
    expect(await html('<b>x_{<i>}')).toBe('&lt;<i>b</i>&gt;<i>x</i><sub>&lt;<i>i</i>&gt;</sub>'));
  test.each(['x_', '^2', 'a_{b', '((', '|', 'x^'])('%j, though unfinished, is drawn', async (text) =>
    expect(await html(text)).not.toBe(''),
  );
  test('is read aloud as written', async () => {
    await html('alpha M');
    expect(document.querySelector('.formula')!.getAttribute('aria-label')).toBe('alpha M');
  });
});

test('ranges say which ends belong to them', () => {
  const option = (part: object) =>
    rangeText({
      choices: [],
      minimum: null,
      maximum: null,
      exclusive_minimum: null,
      exclusive_maximum: null,
      ...part,
    } as unknown as Parameters<typeof rangeText>[0]);
  expect(option({ exclusive_minimum: 0, maximum: 10 })).toBe('> 0, ≤ 10');
  expect(option({ minimum: 1 })).toBe('≥ 1');
  expect(option({ choices: ['a', 'b'] })).toBe('a | b');
  expect(option({})).toBe('');
});

describe('a picture', () => {
  const picture = decodePicture(alibiPicture(4, 2));
  test('of every prior that the server hands out can be drawn', () => {
    const folder = join(dirname(fileURLToPath(import.meta.url)), '../../../../engine/pictures');
    const files = readdirSync(folder);
    expect(files.length).toBeGreaterThan(15);
    for (const file of files) {
      const drawn = decodePicture(JSON.parse(readFileSync(join(folder, file), 'utf8')));
      expect(`${drawn.prior}.json`).toBe(file);
      expect(drawn.views.length).toBeGreaterThan(0);
    }
  });
  test('of wrong size is refused', () => {
    expect(() => decodePicture({ ...alibiPicture(4, 2), grid: [4, 5] })).toThrow('20 rows of 20 values');
    expect(() => decodePicture({ ...alibiPicture(4, 2), grid: [4] })).toThrow('rows and columns');
  });
  test('the fixture is the published formula', () => {
    // slopes 2^-4 and 2^-8 for two heads; patches 0 and 5 are a diagonal apart
    expect(picture.views[1]!.values[0]![0]![5]).toBeCloseTo(-Math.SQRT2 / 16, 4);
    expect(picture.views[1]!.values[1]![0]![3]).toBeCloseTo(-3 / 256, 5);
    const row = picture.views[0]!.values[0]![0]!;
    expect(row.reduce((sum: number, each) => sum + each!, 0)).toBeCloseTo(1, 3);
  });
  test('values are placed between the ends, and nothing beyond them', () => {
    expect(share({ scale: 'sequential', low: 0, high: 2 }, 1)).toBe(0.5);
    expect(share({ scale: 'sequential', low: 0, high: 2 }, 5)).toBe(1);
    expect(share({ scale: 'diverging', low: -4, high: 2 }, -2)).toBe(-0.5);
    expect(share({ scale: 'sequential', low: 1, high: 1 }, 1)).toBe(0);
    expect(share({ scale: 'sequential', low: 0, high: 1 }, null)).toBeNull();
  });
  test('a range is the one that shows most', () => {
    const usual = (low: number, high: number, ...values: number[][]) =>
      usualRange({ low, high, values: values.map((row) => [row]) });
    expect(ownRange([[5, 5.02]])).toEqual([5, 5.02]);
    expect(ownRange([[null, null]])).toEqual([0, 0]);
    expect(usual(0, 5.02, [1, 1.01], [5, 5.02])).toBe('own'); // heads far apart
    expect(usual(0, 0.0293, [0.0265, 0.0293], [0.027, 0.0291])).toBe('spread'); // far from the low end
    expect(usual(0, 1, [0, 1], [0.5, 0.51])).toBe('shared');
    expect(usual(0, 1, [0.5, 0.5], [0.5, 0.5001])).toBe('shared'); // rounding
  });
  test('what is below zero is never the color of nothing, whatever the range', () => {
    const view = { id: '', title: '', help: '', scale: 'diverging', low: -0.77, high: 0.77, heads: [] };
    const values = [[[-0.54, -0.51]], [[0.75, 0.77]], [[-0.1, 0.2]]];
    for (const range of ['own', 'spread', 'shared'] as const)
      for (const [head, rows] of values.entries())
        for (const value of rows[0]!) {
          const at = share(coloring({ ...view, values }, head, range), value)!;
          expect(Math.sign(at)).toBe(Math.sign(value));
          expect(Math.abs(at)).toBeGreaterThan(0.1);
        }
    const alone = coloring({ ...view, values: [[[-0.54, -0.54]]] }, 0, 'own');
    expect(share(alone, -0.54)).toBe(-1);
  });
  test('that shows nothing begins with a view that does, or says so', async () => {
    const one = picture.views[1]!;
    const even = {
      ...one,
      id: 'even',
      values: one.values.map((head) => head.map((row) => row.map(() => 1 / 16))),
    };
    expect(flat(even)).toBe(true);
    expect(tellingView({ ...picture, views: [even, one] })!.id).toBe(one.id);
    await act(() => render(<PriorPictureView picture={{ ...picture, views: [even] }} />, document.body));
    expect(document.querySelector('.map-same')!.textContent).toContain('1 / 16');
    expect(document.querySelectorAll('.patch-map')).toHaveLength(1);
  });
  test('names its axes', async () => {
    await act(() => render(<PriorPictureView picture={picture} />, document.body));
    const names = [...document.querySelectorAll('.map-axis')[0]!.querySelectorAll('text')];
    expect(names.map((each) => each.textContent)).toEqual(['1', 'column', '4', '1', 'row', '4']);
  });
  test('at a glance is a square for each head', async () => {
    await act(() => render(<ThumbnailOf picture={picture} />, document.body));
    expect(document.querySelectorAll('.thumbnail .patch-map')).toHaveLength(2);
    expect(document.querySelectorAll('.thumbnail .patch-map:first-child g rect')).toHaveLength(16);
  });
  test('a head is numbered once', () => {
    expect(headNote('head 0')).toBe('');
    expect(headNote('slope 0.25')).toBe('slope 0.25');
  });
  test('arrow keys stay on the grid', () => {
    expect(moved(5, 'ArrowRight', [4, 4])).toBe(6);
    expect(moved(3, 'ArrowRight', [4, 4])).toBe(3);
    expect(moved(5, 'ArrowUp', [4, 4])).toBe(1);
    expect(moved(5, 'Enter', [4, 4])).toBeNull();
  });
  test('the keyboard moves the patch, a click holds it, both in the address', async () => {
    navigate('/catalog');
    const stop = startRouter();
    await act(() => render(<PriorPictureView picture={picture} />, document.body));
    const maps = document.querySelector<HTMLElement>('.maps')!;
    expect(document.querySelectorAll('.patch-map')).toHaveLength(2);
    await act(() => {
      maps.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    });
    expect(location.search).toBe('?patch=10');
    expect(document.querySelector('.map-reading')!.textContent).toContain('row 3, column 3');
    expect(document.querySelector('.patch-map')!.getAttribute('aria-label')).toContain('row 3, column 3');
    stop();
  });
});
