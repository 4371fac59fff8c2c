// Figures as files: an SVG of the page with its looks written into it, so that it reads the same anywhere; light
// unless asked otherwise.
import { cellStyle, type Look, resolveColors, type Scheme } from '@/shared/palette';

const namespace = 'http://www.w3.org/2000/svg';
const written = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-opacity',
  'opacity',
  'font-size',
  'font-weight',
  'text-anchor',
  'paint-order',
  'stroke-linejoin',
] as const;
export const figureFont = 'Helvetica, Arial, "Liberation Sans", sans-serif';

export interface LegendEntry {
  look: Look | null;
  label: string;
}

export const escapeXml = (text: string) =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

const rowHeight = 16;
export const legendHeight = (entries: readonly LegendEntry[]) =>
  entries.length === 0 ? 0 : 10 + rowHeight * entries.length;

const shapes: Record<string, string> = {
  circle: '<circle cx="18" cy="-4" r="4"/>',
  square: '<path d="M14 -8h8v8h-8Z"/>',
  diamond: '<path d="M18 -9.200 23.200 -4 18 1.200 12.800 -4Z"/>',
  triangle: '<path d="M18 -9 22.500 0h-9Z"/>',
  ring: '<circle cx="18" cy="-4" r="3.500" fill="none" stroke-width="1.800"/>',
  wedge: '<path d="M18 1 22.500 -8h-9Z"/>',
  cross: '<path d="M16.500 -9h3v3.500h3.500v3h-3.500v3.500h-3v-3.500h-3.500v-3h3.500Z"/>',
};

// Which mark is whose, a line each; under the figure, where a file has no page around it.
export function legendSvg(entries: readonly LegendEntry[], top: number, scheme: Scheme): string {
  const colors = resolveColors(
    [...entries.map((entry) => cellStyle(entry.look).color), 'var(--text)'],
    scheme,
  );
  const text = colors[entries.length]!;
  return entries
    .map((entry, i) => {
      const { dash, marker } = cellStyle(entry.look);
      const y = top + 10 + rowHeight * i + 8;
      return (
        `<g transform="translate(0 ${y})" fill="${colors[i]}" stroke="${colors[i]}">` +
        `<path d="M8 -4h20" stroke-width="1.600"${dash.length > 0 ? ` stroke-dasharray="${dash.join(' ')}"` : ''}/>` +
        `${shapes[marker]}` +
        `<text x="36" y="0" fill="${text}" stroke="none">${escapeXml(entry.label)}</text></g>`
      );
    })
    .join('');
}

// A whole file around what is drawn.
export function svgFile(
  body: string,
  size: { width: number; height: number },
  title: string,
  scheme: Scheme,
): string {
  const [surface] = resolveColors(['var(--surface)'], scheme);
  const { width, height } = size;
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n` +
    `<svg xmlns="${namespace}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" ` +
    `font-family="${escapeXml(figureFont)}" font-size="11"><title>${escapeXml(title)}</title>` +
    `<rect width="${width}" height="${height}" fill="${surface}"/>${body}</svg>\n`
  );
}

// Writes the computed looks of every element into attributes, and forgets classes.
function settle(node: Element): void {
  const style = getComputedStyle(node);
  for (const name of written) {
    const value = style.getPropertyValue(name);
    if (value !== '' && value !== 'none' && value !== '1') node.setAttribute(name, value);
    else if (value === 'none' && (name === 'fill' || name === 'stroke')) node.setAttribute(name, 'none');
  }
  for (const child of [...node.children]) settle(child);
  for (const name of ['class', 'style', 'tabindex', 'role', 'aria-label']) node.removeAttribute(name);
}

export interface FigureText {
  title: string;
  legend: readonly LegendEntry[];
  scheme?: Scheme;
  yName?: string; // of the vertical axis: on the page it stands above the figure
}

// A name along a vertical axis.
export const verticalName = (name: string, x: number, y: number, color: string) =>
  `<text transform="translate(${x} ${y}) rotate(-90)" text-anchor="middle" fill="${color}">${escapeXml(name)}</text>`;

const nameRoom = 18; // pixels left of the figure

// The figure as a file of its own, in the scheme asked for.
export function svgOf(figure: SVGSVGElement, { title, legend, scheme = 'light', yName }: FigureText): string {
  const width = Number(figure.getAttribute('width'));
  const height = Number(figure.getAttribute('height'));
  const host = document.createElement('div');
  host.className = 'off-screen';
  host.style.colorScheme = scheme;
  const copy = figure.cloneNode(true) as SVGSVGElement;
  copy.querySelectorAll('[data-screen-only]').forEach((node) => node.remove());
  host.append(copy);
  (figure.parentElement ?? document.body).append(host);
  [...copy.children].forEach(settle);
  const serializer = new XMLSerializer();
  const body = [...copy.childNodes]
    .map((node) => serializer.serializeToString(node).replaceAll(` xmlns="${namespace}"`, ''))
    .join('');
  host.remove();
  const [text] = resolveColors(['var(--text-soft)'], scheme);
  const room = yName ? nameRoom : 0;
  const drawn = yName
    ? `${verticalName(yName, 12, height / 2, text!)}<g transform="translate(${room} 0)">${body}</g>`
    : body;
  return svgFile(
    `${drawn}${legendSvg(legend, height, scheme)}`,
    { width: width + room, height: height + legendHeight(legend) + 8 },
    title,
    scheme,
  );
}
