// Whatever a chart tells on hovering is told by keyboard too: every mark is a stop, and being there is being in focus.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import type { ComponentChild } from 'preact';
import { afterEach, expect, test, vi } from 'vitest';
import { ParallelPlot } from './parallel-plot';
import { ScatterPlot } from './scatter-plot';

afterEach(() => render(null, document.body));
const draw = (chart: ComponentChild) => act(() => render(chart, document.body));
const all = (selector: string) => [...document.querySelectorAll(selector)];

// SVG is XML: an attribute `tabIndex` would be another one, which makes nothing a stop.
async function stops(selector: string, setFocus: ReturnType<typeof vi.fn>) {
  const marks = all(selector);
  expect(marks).toHaveLength(2);
  for (const [i, mark] of marks.entries()) {
    expect(mark.getAttributeNames()).toContain('tabindex');
    expect(mark.getAttributeNames()).not.toContain('tabIndex');
    expect(mark.getAttribute('tabindex')).toBe('0');
    expect(mark.getAttribute('aria-label')).not.toBe('');
    await act(() => void mark.dispatchEvent(new FocusEvent('focus')));
    expect(setFocus).toHaveBeenLastCalledWith(i);
    await act(() => void mark.dispatchEvent(new FocusEvent('blur')));
    expect(setFocus).toHaveBeenLastCalledWith(null);
  }
}

test('a scatter plot', async () => {
  const setFocus = vi.fn();
  const point = (label: string, x: number) => ({ look: null, label, x, y: 80 + x, low: NaN, high: NaN });
  await draw(
    <ScatterPlot
      points={[point('none', 1), point('violin', 2)]}
      xName="ms"
      yName="top1"
      logX={false}
      front={null}
      focus={null}
      setFocus={setFocus}
      label="top1 by ms"
    />,
  );
  await stops('.scatter-point', setFocus);
});

test('parallel coordinates', async () => {
  const setFocus = vi.fn();
  const axis = (name: string) => ({ name, better: 'max' as const, names: null });
  await draw(
    <ParallelPlot
      axes={[axis('lr'), axis('top1')]}
      lines={[1, 2].map((value) => ({ look: null, label: `cell ${value}`, values: [value, 80 + value] }))}
      limits={new Map()}
      focus={null}
      setFocus={setFocus}
      label="cells"
    />,
  );
  await stops('.parallel-line', setFocus);
});
