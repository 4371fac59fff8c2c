// What a figure can be taken away as.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FigureMenu } from './figure-menu';

const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"><title>é</title></svg>';
const saved: { name: string; blob: Blob }[] = [];

beforeEach(() => {
  let last: Blob | undefined;
  vi.stubGlobal(
    'URL',
    class extends URL {
      static override createObjectURL = (blob: Blob) => ((last = blob), 'blob:x');
      static override revokeObjectURL = () => {};
    },
  );
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    saved.push({ name: this.download, blob: last! });
  });
});
afterEach(async () => {
  await act(() => render(null, document.body));
  saved.length = 0;
  vi.unstubAllGlobals();
});

async function choose(label: string) {
  await act(() =>
    render(
      <FigureMenu name="figure" svg={(scheme) => `${svg}<!--${scheme}-->`} csv={() => 'a,b'} />,
      document.body,
    ),
  );
  await act(() => document.querySelector<HTMLButtonElement>('.popover button')!.click());
  const item = [...document.querySelectorAll<HTMLButtonElement>('.menu-item')].find(
    (each) => each.textContent === label,
  );
  await act(() => item!.click());
}

test.each([
  ['SVG, light', 'figure.svg', 'image/svg+xml'],
  ['SVG, dark', 'figure-dark.svg', 'image/svg+xml'],
  ['Data as CSV', 'figure.csv', 'text/csv'],
])('%s is a file of its own', async (label, name, type) => {
  await choose(label);
  expect(saved).toEqual([{ name, blob: expect.objectContaining({ type }) }]);
});

test('PNG is the vector file drawn three times its size', async () => {
  const drawn: unknown[] = [];
  vi.stubGlobal(
    'Image',
    class {
      src = '';
      naturalWidth = 10;
      naturalHeight = 20;
      decode = () => Promise.resolve();
    },
  );
  const context = {
    drawImage: (image: { src: string }, ...box: number[]) => drawn.push(decodeURIComponent(image.src), box),
  };
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(context as never);
  vi.spyOn(HTMLCanvasElement.prototype, 'toBlob').mockImplementation((tell, type) =>
    tell(new Blob([], { type: type! })),
  );
  await choose('PNG, dark');
  await vi.waitFor(() => expect(saved).toHaveLength(1));
  expect(saved[0]).toEqual({ name: 'figure-dark.png', blob: expect.objectContaining({ type: 'image/png' }) });
  expect(drawn).toEqual([`data:image/svg+xml;charset=utf-8,${svg}<!--dark-->`, [0, 0, 30, 60]]);
});
