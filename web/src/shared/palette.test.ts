// Cell colors: stable, apart for color-blind readers, visible in both themes.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { apart, cellStyle, type Look, paletteSize, withAlpha } from './palette';

const css = readFileSync('src/app/styles/tokens.css', 'utf8');
const token = (name: string, theme: 0 | 1) =>
  new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(css)![theme + 1]!;
type Rgb = [number, number, number];

const linear = (hex: string) =>
  [1, 3, 5]
    .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as Rgb;
const luminance = ([r, g, b]: Rgb) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
const contrast = (a: string, b: string) => {
  const [low, high] = [luminance(linear(a)), luminance(linear(b))].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
};
const times = (m: number[], v: Rgb) =>
  [0, 3, 6].map((row) =>
    Math.min(1, Math.max(0, m[row]! * v[0] + m[row + 1]! * v[1] + m[row + 2]! * v[2])),
  ) as Rgb;

// Machado, Oliveira, Fernandes 2009, severity 1.
const vision: Record<string, number[]> = {
  full: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
};

function oklab([r, g, b]: Rgb): Rgb {
  const [l, m, s] = [
    0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b,
    0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
    0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b,
  ].map(Math.cbrt) as Rgb;
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('in the %s theme', (_, theme) => {
  const colors = Array.from({ length: paletteSize }, (_unused, i) => token(`cell-${i}`, theme));
  test('every color stands out from the surface', () => {
    for (const color of colors) expect(contrast(color, token('surface', theme))).toBeGreaterThanOrEqual(2.9);
  });
  test.each(Object.keys(vision))('any two differ with %s', (kind) => {
    const seen = colors.map((color) => oklab(times(vision[kind]!, linear(color))));
    for (let i = 0; i < seen.length; i += 1) {
      for (let j = 0; j < i; j += 1)
        expect(
          Math.hypot(...seen[i]!.map((v, k) => v - seen[j]![k]!)),
          `cells ${j} and ${i}`,
        ).toBeGreaterThan(0.075);
    }
  });
  test.each(['text', 'text-soft', 'text-faint', 'accent', 'bad', 'warn', 'good'])(
    '%s reads on every ground',
    (name) => {
      for (const ground of ['surface', 'page', 'sunken', 'hover', 'raised'])
        expect(contrast(token(name, theme), token(ground, theme))).toBeGreaterThanOrEqual(4.5);
    },
  );
});

test.each(['good', 'running', 'bad', 'warn', 'idle'])('the pill of tone %s reads in both themes', (tone) => {
  for (const theme of [0, 1] as const)
    expect(contrast(token(tone, theme), token(`${tone}-soft`, theme))).toBeGreaterThanOrEqual(4.5);
});

const styleKey = (look: Look) => JSON.stringify(cellStyle(look));

test('the priors of the catalog look different, and so do ten cells of each', () => {
  const looks = Array.from({ length: 21 }, (_, hue) =>
    Array.from({ length: 10 }, (_unused, variant) => ({ hue, variant })),
  ).flat();
  expect(new Set(looks.map(styleKey)).size).toBe(looks.length);
});

test('ten lines of one prior, and five of two that share a color, have dashes of their own', () => {
  const lineKey = (look: Look) => `${cellStyle(look).color} ${cellStyle(look).dash.join()}`;
  const cells = (hue: number, count: number) =>
    Array.from({ length: count }, (_, variant) => lineKey({ hue, variant }));
  for (let hue = 0; hue < 21; hue += 1) expect(new Set(cells(hue, 10)).size).toBe(10);
  for (let hue = 1; hue < 11; hue += 1)
    expect(new Set([...cells(hue, 5), ...cells(hue + 10, 5)]).size).toBe(10);
});

test('the cells of one prior share its color, in any experiment', () => {
  const colors = [0, 1, 2, 9].map((variant) => cellStyle({ hue: 16, variant }).color);
  expect(new Set(colors).size).toBe(1);
  expect(cellStyle({ hue: 0, variant: 0 }).color).not.toBe(cellStyle({ hue: 11, variant: 0 }).color);
});

test('cells that count on from one prior stay apart', () => {
  const looks = Array.from({ length: 60 }, (_, i) => ({ hue: 16 + i, variant: 0 }));
  expect(new Set(looks.map(styleKey)).size).toBe(60);
});

test('what would look the same in one figure is set apart, in its color', () => {
  const violin = { hue: 16, variant: 0 };
  const looks = apart([violin, violin, null, { hue: 16, variant: 1 }, { hue: 6, variant: 0 }]);
  expect(looks[0]).toEqual(violin);
  expect(new Set(looks.filter((look) => look !== null).map(styleKey)).size).toBe(4);
  expect(cellStyle(looks[1]!).color).toBe(cellStyle(violin).color);
});

test('transparency keeps the color', () => {
  expect(withAlpha('rgb(27, 127, 214)', 0.13)).toBe('rgba(27, 127, 214, 0.13)');
  expect(withAlpha('rgba(27, 127, 214, 0.5)', 0.13)).toBe('rgba(27, 127, 214, 0.13)');
  expect(withAlpha('gray', 0.13)).toBe('gray');
});
