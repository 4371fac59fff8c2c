// One look per cell, from its ordinal: colour, dash and marker. Equal in every chart and table, whatever else
// is shown.
// The colours are custom properties (app/styles/tokens.css) in a light and a dark set; a test checks them for
// colour-blind readers.

export const paletteSize = 8;
const dashes: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const markers = ['circle', 'square', 'diamond', 'triangle'] as const;

export type Marker = (typeof markers)[number];

export interface CellStyle {
  color: string; // a CSS expression
  dash: readonly number[];
  marker: Marker;
}

// Past the colours, the next dash and marker: 32 cells stay apart.
export function cellStyle(cell: number): CellStyle {
  const round = Math.floor(cell / paletteSize);
  return {
    color: `var(--cell-${cell % paletteSize})`,
    dash: dashes[round % dashes.length]!,
    marker: markers[round % markers.length]!,
  };
}

export const cellClass = (cell: number) => `cell-${cell % paletteSize} marker-${cellStyle(cell).marker}`;

export type Scheme = 'light' | 'dark';

// What a CSS colour expression comes to now, or in a scheme: a canvas and a file cannot read custom properties.
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
