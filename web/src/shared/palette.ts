// How cells look: color by prior, dash and marker by the rest. The server says which (CellLook), so that a prior is the
// same in every chart, table and page.
// The colors are custom properties (app/styles/tokens.css) in a light and a dark set; a test checks them for
// color-blind readers.

export const paletteSize = 11;
// Told apart by eye in this order: whole, even, dotted, with one dot, with two; then the same, longer or shorter.
const dashes: readonly (readonly number[])[] = [
  [],
  [8, 4],
  [2, 3],
  [9, 3, 2, 3],
  [14, 3, 2, 3, 2, 3],
  [18, 4],
  [4, 2],
  [1.5, 6],
  [5, 3, 1.5, 3],
  [20, 3, 5, 3],
];
const markers = ['circle', 'square', 'diamond', 'triangle', 'wedge', 'cross', 'ring'] as const;

export type Marker = (typeof markers)[number];

export interface Look {
  hue: number;
  variant: number;
}

export interface CellStyle {
  color: string; // a CSS expression
  dash: readonly number[];
  marker: Marker;
}

// The first hue has a neutral color of its own, the others take turns.
const turns = paletteSize - 1;
const colorOf = (hue: number) => (hue === 0 ? 0 : 1 + ((hue - 1) % turns));
const roundOf = (hue: number) => (hue === 0 ? 0 : Math.floor((hue - 1) / turns));

// Ten dashes and seven markers make 70 pairs, and neighbors differ in both. Two hues of the catalog share a color: each
// has half of the pairs to itself, and begins with another dash.
const pairs = dashes.length * markers.length;
function mark({ hue, variant }: Look): number {
  const round = roundOf(hue);
  return (variant + (pairs / 2) * (round % 2) + Math.floor(round / 2)) % pairs;
}

export function cellStyle(look: Look | null): CellStyle {
  if (!look) return { color: 'var(--text-faint)', dash: [], marker: 'circle' };
  const place = mark(look);
  return {
    color: `var(--cell-${colorOf(look.hue)})`,
    dash: dashes[place % dashes.length]!,
    marker: markers[place % markers.length]!,
  };
}

export const cellClass = (look: Look | null) =>
  look ? `cell-${colorOf(look.hue)} marker-${cellStyle(look).marker}` : 'cell-none';

// What one figure shows, so that no two look the same: where looks repeat (one cell twice, rows over several
// experiments), the later ones get the next dash and marker of their color.
export function apart<T extends Look | null>(looks: readonly T[]): T[] {
  const taken = new Set<string>();
  return looks.map((look) => {
    if (!look) return look;
    for (let more = 0; more < pairs; more += 1) {
      const next = { ...look, variant: look.variant + more };
      const key = `${colorOf(next.hue)} ${mark(next)}`;
      if (taken.has(key)) continue;
      taken.add(key);
      return next;
    }
    return look;
  });
}

export type Scheme = 'light' | 'dark';

// What a CSS color expression comes to now, or in a scheme: a canvas and a file cannot read custom properties.
export function resolveColors(expressions: readonly string[], scheme?: Scheme): string[] {
  const probe = document.createElement('span');
  probe.hidden = true;
  if (scheme) probe.style.colorScheme = scheme;
  document.body.append(probe);
  const resolved = expressions.map((expression) => {
    probe.style.color = '';
    probe.style.color = expression;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return resolved;
}

// "rgb(27, 127, 214)", as resolveColors gives it, with transparency.
export function withAlpha(rgb: string, alpha: number): string {
  const channels = rgb.match(/[\d.]+/g)?.slice(0, 3) ?? [];
  return channels.length === 3 ? `rgba(${channels.join(', ')}, ${alpha})` : rgb;
}
