// The figure of a metric over resolution: a curve for each cell through every setting that it was evaluated at.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, expect, test } from 'vitest';
import type { SweepSeries } from '@/shared/api/messages';
import { roomy, SweepPlot } from './sweep-plot';

afterEach(() => render(null, document.body));

// The fifteen sizes of the guidance paper's table 5.
const sizes = [160, 176, 192, 208, 224, 256, 272, 288, 320, 336, 352, 368, 384, 400, 416];
const sweepOf = (cell: number, label: string, mean: (size: number) => number): SweepSeries => ({
  cell,
  label,
  look: null,
  points: [...sizes]
    .reverse()
    .map((size) => ({ labels: `{"resolution":${size}}`, x: size, mean: mean(size), std: 0.5, n: 4 })),
});
const none = sweepOf(0, 'none', (size) => 80 - Math.abs(size - 224) / 10);
const guidance = sweepOf(1, 'guidance', (size) => 82 - Math.abs(size - 256) / 20);

const draw = (series: SweepSeries[]) =>
  act(() =>
    render(
      <SweepPlot series={series} focus={null} height={260} axis="resolution" label="top1 by resolution" />,
      document.body,
    ),
  );
const all = (selector: string) => [...document.querySelectorAll(selector)];

test('each cell is one curve through all fifteen resolutions, from small to large', async () => {
  await draw([none, guidance]);
  const curves = all('path.sweep-line');
  expect(curves).toHaveLength(2);
  for (const curve of curves) expect(curve.getAttribute('d')!.match(/[ML]/g)).toHaveLength(sizes.length);
  expect(all('.sweep-point')).toHaveLength(2 * sizes.length);
  const places = all('.sweep-tick line').map((tick) => Number(tick.getAttribute('x1')));
  expect(places).toHaveLength(sizes.length);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect((places[5]! - places[4]!) / (places[1]! - places[0]!)).toBeCloseTo(2, 6); // 224 to 256, 160 to 176
});

test('the figure and its axis are named', async () => {
  await draw([none]);
  expect(all('svg[role=img]')[0]!.getAttribute('aria-label')).toBe('top1 by resolution');
  expect(all('.axis-name').map((text) => text.textContent)).toEqual(['resolution']);
  expect(all('.sweep-point title')[0]!.textContent).toContain('none, resolution 416');
});

test('a size that was not evaluated leaves a curve without a point there', async () => {
  const partial = { ...guidance, points: guidance.points.filter((point) => point.x !== 224) };
  await draw([none, partial]);
  const lengths = all('path.sweep-line').map((curve) => curve.getAttribute('d')!.match(/[ML]/g)!.length);
  expect(lengths).toEqual([15, 14]);
});

test('numbers on the axis never run into each other', async () => {
  await draw([none]);
  const shown = all('.sweep-tick text').map((text) => Number(text.textContent));
  expect(shown[0]).toBe(160);
  expect(shown.length).toBeGreaterThan(5);
  expect(shown.length).toBeLessThan(sizes.length); // at 360 pixels
  expect(roomy([0, 10, 30, 60], ['160', '176', '192', '208'])).toEqual([true, false, true, true]);
  expect(roomy([0, 100], ['28', '42'])).toEqual([true, true]);
});
