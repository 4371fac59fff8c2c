// Parallel coordinates: a line per row across factors and metrics. Values between two marks on an axis can be required,
// and what does not meet them steps back.
import { useRef } from 'preact/hooks';
import { parameters, shortened, significant } from '@/shared/format';
import { useWidth } from '@/shared/ui/hooks';
import { cellStyle, type Look } from '@/shared/palette';
import { extent, linearScale, padded, ticks } from './scales';

export interface ParallelAxis {
  name: string;
  better: 'min' | 'max'; // which end is asked for
  names: readonly string[] | null; // in order, for values that are no numbers: a value is its place
}

export interface ParallelLine {
  look: Look | null;
  label: string;
  values: readonly number[]; // by axis; NaN without
}

// An axis of a column of texts: numbers when every one reads as such, else names in the order they come.
export function axisOf(name: string, texts: readonly string[]): { axis: ParallelAxis; values: number[] } {
  const numbers = texts.map((text) => (text.trim() === '' ? NaN : Number(text)));
  if (texts.length > 0 && numbers.every(Number.isFinite))
    return { axis: { name, better: 'max', names: null }, values: numbers };
  const names = [...new Set(texts)];
  return { axis: { name, better: 'max', names }, values: texts.map((text) => names.indexOf(text)) };
}

export type Limits = ReadonlyMap<number, readonly [number, number]>; // by axis

export const meets = (line: ParallelLine, limits: Limits): boolean =>
  [...limits].every(([axis, [low, high]]) => {
    const value = line.values[axis]!;
    return value >= low && value <= high;
  });

const room = { least: 320, most: 1200, name: 14 }; // pixels of height; what a name needs
const frame = { left: 60, right: 60, top: 34, bottom: 18 };
const most = 24; // letters of a name
const letter = 6.2; // pixels

// Names of the first axis stand before it, where no line crosses them.
export const leftOf = (first: ParallelAxis | undefined): number =>
  Math.max(
    frame.left,
    12 + letter * Math.max(0, ...(first?.names ?? []).map((name) => Math.min(most, name.length))),
  );

function Axis({
  axis,
  at,
  before,
  height,
  scale,
  range,
}: {
  axis: ParallelAxis;
  at: number;
  before: boolean; // where its ticks are written
  height: number;
  scale: (value: number) => number;
  range: readonly [number, number];
}) {
  const apart = Math.max(1, Math.ceil(room.name / Math.abs(scale(1) - scale(0)))); // so that names stay readable
  const marks = axis.names
    ? axis.names.map((_, i) => i).filter((i) => i % apart === 0)
    : ticks(range[0], range[1], 5);
  const written = (tick: number) =>
    axis.names ? axis.names[tick]! : Math.abs(tick) >= 10_000 ? parameters(tick) : String(tick);
  return (
    <g>
      <line class="parallel-axis" x1={at} x2={at} y1={frame.top} y2={height - frame.bottom} />
      <text class="tick axis-name" x={at} y={14} text-anchor="middle">
        {axis.name}
      </text>
      {marks.map((tick) => (
        <text
          key={tick}
          class="tick"
          x={at + (before ? -6 : 5)}
          y={scale(tick) + 3.5}
          text-anchor={before ? 'end' : 'start'}
        >
          {shortened(written(tick), most)}
        </text>
      ))}
    </g>
  );
}

export function ParallelPlot({
  axes,
  lines,
  limits,
  focus,
  setFocus,
  label,
}: {
  axes: readonly ParallelAxis[];
  lines: readonly ParallelLine[];
  limits: Limits;
  focus: number | null;
  setFocus: (index: number | null) => void;
  label: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const seen = useWidth(box, 720);
  const left = leftOf(axes[0]);
  const width = Math.max(seen, left + 110 * axes.length - frame.left);
  const names = Math.max(...axes.map((axis) => axis.names?.length ?? 0), 0);
  const height = Math.min(room.most, Math.max(room.least, 1.2 * room.name * names));
  const x = linearScale(0, Math.max(1, axes.length - 1), left, width - frame.right);
  const scales = axes.map((axis, a) => {
    const range = padded(
      extent(axis.names ? axis.names.map((_, i) => i) : lines.map((line) => line.values[a]!)) ?? [0, 1],
      0.06,
    );
    return { range, scale: linearScale(range[0], range[1], height - frame.bottom, frame.top) };
  });
  const path = (line: ParallelLine) => {
    let drawing = false;
    return line.values
      .map((value, a) => {
        if (!Number.isFinite(value)) {
          drawing = false;
          return '';
        }
        const piece = `${drawing ? 'L' : 'M'}${x(a).toFixed(1)} ${scales[a]!.scale(value).toFixed(1)}`;
        drawing = true;
        return piece;
      })
      .join('');
  };
  const said = (line: ParallelLine) =>
    `${line.label}: ${axes.map((axis, a) => `${axis.name} ${axis.names ? (axis.names[line.values[a]!] ?? '—') : significant(line.values[a]!, 4)}`).join(', ')}`;
  return (
    <div ref={box} class="parallel-plot table-scroll" tabIndex={0} role="region" aria-label={label}>
      <svg class="figure" width={width} height={height} role="group" aria-label={label}>
        {lines.map((line, i) => {
          const style = cellStyle(line.look);
          const out = !meets(line, limits) || (focus !== null && focus !== i);
          return (
            <g
              key={i}
              class={`parallel-line ${out ? 'dimmed' : ''}`}
              style={{ color: style.color }}
              tabindex={0}
              role="img"
              aria-label={said(line)}
              onMouseEnter={() => setFocus(i)}
              onMouseLeave={() => setFocus(null)}
              onFocus={() => setFocus(i)}
              onBlur={() => setFocus(null)}
            >
              <path d={path(line)} stroke-dasharray={style.dash.join(' ')} />
              <title>{said(line)}</title>
            </g>
          );
        })}
        {axes.map((axis, a) => (
          <Axis key={axis.name} axis={axis} at={x(a)} before={a === 0} height={height} {...scales[a]!} />
        ))}
      </svg>
    </div>
  );
}
