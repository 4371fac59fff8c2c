// The same scored image of several items.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { navigate, startRouter } from '@/shared/router';
import { drawn } from '@/shared/testing/drawn';
import { comparable, type Seen, SeenView } from './compare-pictures';

const seen = (place: number, labels: object = { resolution: 64 }): Seen => ({
  place,
  seed: 3,
  kept: {
    role: 'evaluate',
    document: `d${place}`,
    pictures: { 'picture-1': `a${place}`, 'picture-2': `b${place}` },
  },
  about: {
    version: 1,
    of: 'mask',
    split: 'test',
    labels: labels as Record<string, unknown>,
    classes: null,
    pictures: [
      { slot: 'picture-1', row: 0 },
      { slot: 'picture-2', row: 5 },
    ],
  },
  classes: [{ name: 'Bag', color: '#008000', iou: 10 + place }],
});

test('items that show other images, or none, are left out', () => {
  const all = [null, seen(1), seen(2, { resolution: 32 }), seen(3)];
  expect(comparable(all).map((each) => each.place)).toEqual([1, 3]);
  expect(comparable([null, null])).toEqual([]);
});

describe('the card', () => {
  let stop = () => {};
  afterEach(() => {
    render(null, document.body);
    stop();
    navigate('/');
    vi.unstubAllGlobals();
  });
  test('shows one image of all, another when asked, and the classes side by side', async () => {
    const asked: string[] = [];
    vi.stubGlobal('fetch', async (input: string) => {
      asked.push(input.split('/').pop()!);
      return new Response(new Uint8Array([1]));
    });
    stop = startRouter();
    const view = (
      <SeenView seen={[seen(0), seen(2)]} names={['none', 'gone', 'violin']} looks={[null, null, null]} />
    );
    await act(() => render(view, document.body));
    await drawn(() => expect(document.querySelectorAll('img')).toHaveLength(2));
    expect(asked.sort()).toEqual(['a0', 'a2']);
    expect([...document.querySelectorAll('figcaption')].map((each) => each.textContent!.trim())).toEqual([
      'none seed 3',
      'violin seed 3',
    ]);
    expect(document.querySelector('.class-table tbody tr')!.textContent).toBe('Bag10.012.0');

    const select = document.querySelector('select')!;
    expect([...select.options].map((each) => each.value)).toEqual(['0', '5']);
    await act(() => {
      select.value = '5';
      select.dispatchEvent(new Event('change', { bubbles: true }));
    });
    await drawn(() => expect(asked).toEqual(expect.arrayContaining(['b0', 'b2'])));
    await drawn(() => expect(document.querySelector('img')!.alt).toContain('none, image 5'));
  });
});
