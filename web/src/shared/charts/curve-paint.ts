// Strokes onto a canvas, or into the paths of a picture: one geometry for both.
import type { CurvePlot, Stroke } from './curve-data';
import { cellStyle, withAlpha } from '@/shared/palette';
import type { Scale } from './scales';

export interface Pen {
  moveTo: (x: number, y: number) => void;
  lineTo: (x: number, y: number) => void;
}

export interface Look {
  color: string;
  width: number;
  dash: readonly number[];
}

const widths: Record<Stroke['kind'], number> = {
  band: 0,
  run: 1,
  faint: 1,
  partial: 1.6,
  mean: 2,
  foreign: 1.6,
};
const alphas: Record<Stroke['kind'], number> = {
  band: 0.13,
  run: 0.45,
  faint: 0.35,
  partial: 1,
  mean: 1,
  foreign: 1,
};

// Foreign series share the color of what is no cell; each has dashes of its own.
const foreignDashes: readonly (readonly number[])[] = [
  [6, 3],
  [2, 2],
  [10, 3, 2, 3],
  [14, 4],
  [4, 6],
];
export const foreignDash = (cell: number) => foreignDashes[(-1 - cell) % foreignDashes.length]!;

// How a stroke is drawn; what is not in focus steps back.
export function lookOf(stroke: Stroke, colors: ReadonlyMap<number, string>, focus: number | null): Look {
  const base = colors.get(stroke.cell) ?? 'rgb(128, 128, 128)';
  const dimmed = focus !== null && focus !== stroke.cell;
  const lifted = stroke.kind === 'band' && focus === stroke.cell ? 1.8 : 1;
  const alpha = alphas[stroke.kind] * (dimmed ? 0.22 : lifted);
  const { dash } = cellStyle(stroke.look);
  return {
    color: alpha < 1 ? withAlpha(base, alpha) : base,
    width: widths[stroke.kind],
    dash:
      stroke.kind === 'partial'
        ? [2, 4]
        : stroke.kind === 'foreign'
          ? foreignDash(stroke.cell)
          : stroke.kind === 'mean'
            ? dash
            : [],
  };
}

// The line of a stroke; it breaks where a value has no place. A point between two breaks becomes a short dash.
export function traceLine(pen: Pen, stroke: Stroke, sx: Scale, sy: Scale): void {
  const { x, y } = stroke;
  let drawing = false;
  for (let i = 0; i < x.length; i += 1) {
    const [px, py] = [sx(x[i]!), sy(y[i]!)];
    if (Number.isNaN(px) || Number.isNaN(py)) {
      drawing = false;
      continue;
    }
    if (drawing) pen.lineTo(px, py);
    else pen.moveTo(px, py);
    const alone = !drawing && !(Number.isFinite(y[i + 1]) && i + 1 < x.length);
    if (alone) pen.lineTo(px + 2, py);
    drawing = true;
  }
}

// The outline of a band, a closed figure for each stretch without a break. An edge that has no place on a logarithmic
// axis lies on `floor`.
export function traceBand(pen: Pen, stroke: Stroke, sx: Scale, sy: Scale, floor: number): void {
  const { x, y, upper = [] } = stroke;
  const place = (value: number) => {
    const at = sy(value);
    return Number.isNaN(at) ? floor : at;
  };
  let first = 0;
  const close = (end: number) => {
    for (let i = first; i < end; i += 1)
      if (i === first) pen.moveTo(sx(x[i]!), place(upper[i]!));
      else pen.lineTo(sx(x[i]!), place(upper[i]!));
    for (let i = end - 1; i >= first; i -= 1) pen.lineTo(sx(x[i]!), place(y[i]!));
  };
  for (let i = 0; i <= x.length; i += 1) {
    const whole =
      i < x.length && Number.isFinite(y[i]) && Number.isFinite(upper[i]) && !Number.isNaN(sx(x[i]!));
    if (whole) continue;
    if (i - first > 1) close(i);
    first = i + 1;
  }
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

// Where the cross of a mark stands: NaN and minus infinity at the bottom, infinity at the top.
export const markHeight = (value: number, box: Box, size: number) =>
  value === Infinity ? box.top + 2 * size : box.top + box.height - 2 * size;

export interface Frame {
  plot: CurvePlot;
  focus: number | null;
  colors: ReadonlyMap<number, string>;
}

function paintMarks(ctx: CanvasRenderingContext2D, frame: Frame, sx: Scale, box: Box, ratio: number): void {
  const size = 4 * ratio;
  ctx.setLineDash([]);
  ctx.lineWidth = 1.8 * ratio;
  for (const mark of frame.plot.marks) {
    const x = sx(mark.x);
    if (!(x >= box.left && x <= box.left + box.width)) continue;
    const y = markHeight(mark.value, box, size);
    ctx.strokeStyle = frame.colors.get(mark.cell) ?? 'gray';
    ctx.beginPath();
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
    ctx.stroke();
  }
}

export function paint(
  ctx: CanvasRenderingContext2D,
  frame: Frame,
  sx: Scale,
  sy: Scale,
  box: Box,
  ratio: number,
): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  ctx.lineJoin = 'round';
  for (const stroke of frame.plot.strokes) {
    const look = lookOf(stroke, frame.colors, frame.focus);
    ctx.beginPath();
    if (stroke.kind === 'band') {
      traceBand(ctx, stroke, sx, sy, box.top + box.height);
      ctx.fillStyle = look.color;
      ctx.fill();
      continue;
    }
    traceLine(ctx, stroke, sx, sy);
    ctx.strokeStyle = look.color;
    ctx.lineWidth = look.width * ratio;
    ctx.setLineDash(look.dash.map((each) => each * ratio));
    ctx.stroke();
  }
  paintMarks(ctx, frame, sx, box, ratio);
  ctx.restore();
}
