// The curves as a vector file: the strokes of the canvas as paths, with axes and a legend.
import { count } from '@/shared/format';
import { colorsOf, framing, type Stretch } from './curve-chart';
import type { CurvePlot } from './curve-data';
import { lookOf, markHeight, type Pen, traceBand, traceLine } from './curve-paint';
import { escapeXml, legendHeight, legendSvg, svgFile, verticalName } from './figure';
import { resolveColors, type Scheme } from '@/shared/palette';
import { scaleOf, ticksOf } from './scales';

export interface CurveFigure {
  plot: CurvePlot;
  title: string;
  xName: string;
  yName: string;
  zoom: Stretch | null;
  logX: boolean;
  logY: boolean;
  scheme: Scheme;
}

const size = { width: 640, height: 360 };
const box = { left: 70, top: 12, width: 554, height: 296 };

class PathPen implements Pen {
  path = '';
  moveTo = (x: number, y: number) => this.add('M', x, y);
  lineTo = (x: number, y: number) => this.add('L', x, y);
  private add(letter: string, x: number, y: number): void {
    this.path += `${letter}${x.toFixed(2)} ${y.toFixed(2)}`;
  }
}

const tickText = (tick: number) => (tick >= 10_000 ? count(tick) : String(Number(tick.toPrecision(6))));

export function curveSvg(figure: CurveFigure): string {
  const { plot, logX, logY, scheme } = figure;
  const [x, y] = framing(plot, figure.zoom, logX, logY);
  const bottom = box.top + box.height;
  const sx = scaleOf(logX)(x[0], x[1], box.left, box.left + box.width);
  const sy = scaleOf(logY)(y[0], y[1], bottom, box.top);
  const expressions = colorsOf(plot);
  const cells = [...expressions.keys()];
  const resolved = resolveColors([...expressions.values(), 'var(--text-soft)', 'var(--grid)'], scheme);
  const colors = new Map(cells.map((cell, i) => [cell, resolved[i]!]));
  const [text, grid] = resolved.slice(cells.length) as [string, string];
  const axes = [
    ...ticksOf(logY)(y[0], y[1], 6).map(
      (tick) =>
        `<path d="M${box.left} ${sy(tick).toFixed(2)}h${box.width}" stroke="${grid}"/>` +
        `<text x="${box.left - 8}" y="${(sy(tick) + 4).toFixed(2)}" text-anchor="end" fill="${text}">${tickText(tick)}</text>`,
    ),
    ...ticksOf(logX)(x[0], x[1], 7).map(
      (tick) =>
        `<text x="${sx(tick).toFixed(2)}" y="${bottom + 16}" text-anchor="middle" fill="${text}">${tickText(tick)}</text>`,
    ),
    `<text x="${box.left + box.width / 2}" y="${bottom + 34}" text-anchor="middle" fill="${text}">${escapeXml(figure.xName)}</text>`,
    verticalName(figure.yName, 14, box.top + box.height / 2, text),
  ];
  const strokes = plot.strokes.map((stroke) => {
    const look = lookOf(stroke, colors, null);
    const pen = new PathPen();
    if (stroke.kind === 'band') {
      traceBand(pen, stroke, sx, sy, bottom);
      return pen.path && `<path d="${pen.path}Z" fill="${look.color}"/>`;
    }
    traceLine(pen, stroke, sx, sy);
    const dash = look.dash.length > 0 ? ` stroke-dasharray="${look.dash.join(' ')}"` : '';
    return (
      pen.path &&
      `<path d="${pen.path}" fill="none" stroke="${look.color}" stroke-width="${look.width}"${dash}/>`
    );
  });
  const marks = plot.marks
    .filter((mark) => mark.x >= x[0] && mark.x <= x[1])
    .map((mark) => {
      const at = `${(sx(mark.x) - 4).toFixed(2)} ${(markHeight(mark.value, box, 4) - 4).toFixed(2)}`;
      return `<path d="M${at}l8 8m0 -8l-8 8" stroke="${colors.get(mark.cell)}" stroke-width="1.800"/>`;
    });
  const legend = cells
    .sort((a, b) => a - b)
    .flatMap(
      (cell) =>
        plot.strokes.find(
          (each) => each.cell === cell && (each.kind === 'mean' || each.kind === 'foreign'),
        ) ?? [],
    );
  const area = `x="${box.left}" y="${box.top}" width="${box.width}" height="${box.height}"`;
  const clip = `<clipPath id="box"><rect ${area}/></clipPath>`;
  return svgFile(
    `${clip}${axes.join('')}<g clip-path="url(#box)">${strokes.join('')}${marks.join('')}</g>` +
      legendSvg(legend, size.height, scheme),
    { width: size.width, height: size.height + legendHeight(legend) + 8 },
    figure.title,
    scheme,
  );
}
