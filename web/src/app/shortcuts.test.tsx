// Shortcuts: what keys ask for, where they are left alone, and the list of them.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, expect, test } from 'vitest';
import { navigate } from '@/shared/router';
import { Reader, Shortcuts } from './shortcuts';

const press = (key: string, target: EventTarget = document.body) =>
  act(
    () => void target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })),
  );

afterEach(async () => {
  await act(() => render(null, document.body));
  document.body.innerHTML = '';
});

test('a key after g goes to a page, another key in between does not', () => {
  const reader = new Reader();
  expect(reader.read('g', 0)).toBeNull();
  expect(reader.read('w', 100)).toMatchObject({ does: 'Go to Workers' });
  expect(reader.read('w', 200)).toBeNull();
  reader.read('g', 300);
  expect(reader.read('x', 400)).toBeNull();
  expect(reader.read('w', 500)).toBeNull();
});

test('who waits long between two keys has begun anew', () => {
  const reader = new Reader();
  reader.read('g', 0);
  expect(reader.read('w', 5000)).toBeNull();
});

test('? shows the keys, and every page of the bar is among them', async () => {
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
    this.open = true;
  };
  await act(() => render(<Shortcuts />, document.body));
  await press('?');
  const told = document.querySelector('.shortcuts')!.textContent;
  for (const page of ['Experiments', 'Workers', 'Catalog', 'Claims']) expect(told).toContain(`Go to ${page}`);
  expect(told).toContain('Find on this page');
});

test('keys choose tabs and pages, but not while one types', async () => {
  navigate('/experiments');
  await act(() =>
    render(
      <>
        <Shortcuts />
        <input />
        <button role="tab">a</button>
        <button role="tab" onClick={() => navigate('/chosen')}>
          b
        </button>
      </>,
      document.body,
    ),
  );
  await press('2');
  expect(location.pathname).toBe('/chosen');
  await press('g');
  await press('c');
  expect(location.pathname).toBe('/catalog');
  const field = document.querySelector('input')!;
  await press('n', field);
  expect(location.pathname).toBe('/catalog');
  await press('n');
  expect(location.pathname).toBe('/new');
});
