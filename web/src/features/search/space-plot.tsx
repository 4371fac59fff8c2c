// Parallel coordinates of a search: a line per unit across its space and its value. Lines of one group are one path, so
// that thousands cost no more than a few. Every axis has a brush, moved by pointer or by keys.
import { useRef } from 'preact/hooks';
import type { Look } from '@/shared/palette';
import { cellStyle } from '@/shared/palette';
import { shortened } from '@/shared/format';
import { useWidth } from '@/shared/ui/hooks';
import {
  type Brush,
  brushed,
  marksOf,
  nearestLine,
  type SpaceAxis,
  type SpaceLine,
  stepOf,
  textAt,
  within,
} from './space';

const height = 340;
const frame = { left: 76, right: 76, top: 34, bottom: 18 };
const inner = height - frame.top - frame.bottom;
const least = 116; // pixels between axes
const most = 22; // letters of a name
const near = 0.04; // of the height

const yOf = (place: number) => height - frame.bottom - place * inner;

// A line breaks where a unit has no value.
export function linePath(line: SpaceLine, x: (axis: number) => number): string {
  let drawing = false;
  return line.places
    .map((place, a) => {
      if (!Number.isFinite(place)) {
        drawing = false;
        return '';
      }
      const piece = `${drawing ? 'L' : 'M'}${x(a).toFixed(1)} ${yOf(place).toFixed(1)}`;
      drawing = true;
      return piece;
    })
    .join('');
}

interface BrushProps {
  axis: SpaceAxis;
  index: number;
  brush: Brush;
  setBrush: (brush: Brush) => void;
}

// Where a key leads an end of the brush to; null: it is another's key.
export function movedBy(key: string, place: number, step: number): number | null {
  switch (key) {
    case 'ArrowUp':
    case 'ArrowRight':
      return Math.min(1, place + step);
    case 'ArrowDown':
    case 'ArrowLeft':
      return Math.max(0, place - step);
    case 'PageUp':
      return Math.min(1, place + 5 * step);
    case 'PageDown':
      return Math.max(0, place - 5 * step);
    case 'Home':
      return 0;
    case 'End':
      return 1;
    default:
      return null;
  }
}

function Handle({ end, at, ...props }: BrushProps & { end: 'least' | 'most'; at: number }) {
  const { axis, index, brush, setBrush } = props;
  const [low, high] = brush.get(index) ?? [0, 1];
  const place = end === 'least' ? low : high;
  const set = (to: number) =>
    setBrush(
      end === 'least'
        ? brushed(brush, index, Math.min(to, high), high)
        : brushed(brush, index, low, Math.max(to, low)),
    );
  const key = (event: KeyboardEvent) => {
    if (event.key === 'Escape' || event.key === 'Delete') return setBrush(brushed(brush, index, 0, 1));
    const to = movedBy(event.key, place, stepOf(axis));
    if (to === null) return;
    event.preventDefault();
    set(to);
  };
  const y = yOf(place);
  return (
    <path
      class={`brush-handle ${brush.has(index) ? 'brush-on' : ''}`}
      d={end === 'least' ? `M${at - 7} ${y}h14l-7 9Z` : `M${at - 7} ${y}h14l-7 -9Z`}
      role="slider"
      tabindex={0}
      data-screen-only
      aria-label={`${axis.name} at ${end}`}
      aria-orientation="vertical"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(100 * place)}
      aria-valuetext={textAt(axis, place)}
      onKeyDown={key}
    />
  );
}

// The strip along an axis on which a brush is drawn; a click without a drag takes it away.
function Strip({ at, ...props }: BrushProps & { at: number }) {
  const { index, brush, setBrush } = props;
  const from = useRef<number | null>(null);
  const placeOf = (event: PointerEvent) => {
    const box = (event.currentTarget as SVGElement).ownerSVGElement!.getBoundingClientRect();
    return Math.min(1, Math.max(0, (height - frame.bottom - (event.clientY - box.top)) / inner));
  };
  const found = brush.get(index);
  return (
    <>
      {found && (
        <rect
          class="brush-box"
          x={at - 6}
          width={12}
          y={yOf(found[1])}
          height={Math.max(2, yOf(found[0]) - yOf(found[1]))}
        />
      )}
      <rect
        class="brush-strip"
        data-screen-only
        x={at - 9}
        width={18}
        y={frame.top}
        height={inner}
        onPointerDown={(event) => {
          (event.currentTarget as Element).setPointerCapture?.(event.pointerId);
          from.current = placeOf(event);
        }}
        onPointerMove={(event) => {
          if (from.current === null) return;
          const to = placeOf(event);
          if (Math.abs(to - from.current) > 0.01) setBrush(brushed(brush, index, from.current, to));
        }}
        onPointerUp={(event) => {
          const still = from.current !== null && Math.abs(placeOf(event) - from.current) <= 0.01;
          from.current = null;
          if (still) setBrush(brushed(brush, index, 0, 1));
        }}
      />
    </>
  );
}

function Axis({ at, first, ...props }: BrushProps & { at: number; first: boolean }) {
  const { axis } = props;
  return (
    <g>
      <line class="parallel-axis" x1={at} x2={at} y1={frame.top} y2={height - frame.bottom} />
      <text class="tick axis-name" x={at} y={14} text-anchor="middle">
        {shortened(axis.name, most)}
      </text>
      {marksOf(axis).map(({ place, text }) => (
        <text
          key={text}
          class="tick"
          x={at + (first ? -11 : 11)}
          y={yOf(place) + 3.5}
          text-anchor={first ? 'end' : 'start'}
        >
          {shortened(text, 10)}
        </text>
      ))}
      <Strip at={at} {...props} />
      <Handle at={at} end="most" {...props} />
      <Handle at={at} end="least" {...props} />
    </g>
  );
}

export function SpacePlot(props: {
  axes: readonly SpaceAxis[];
  lines: readonly SpaceLine[];
  looks: readonly (Look | null)[]; // by group
  brush: Brush;
  setBrush: (brush: Brush) => void;
  focus: number | null; // a unit
  setFocus: (unit: number | null) => void;
  label: string;
}) {
  const { axes, lines, looks, brush, setBrush, focus, setFocus, label } = props;
  const box = useRef<HTMLDivElement>(null);
  const seen = useWidth(box, 720);
  const width = Math.max(seen, frame.left + frame.right + least * (axes.length - 1));
  const gap = (width - frame.left - frame.right) / Math.max(1, axes.length - 1);
  const x = (axis: number) => frame.left + gap * axis;
  const joined = (some: readonly SpaceLine[]) => some.map((line) => linePath(line, x)).join('');
  const left = lines.filter((line) => within(line, brush));
  const out = lines.filter((line) => !within(line, brush));
  const found = focus === null ? undefined : lines.find((line) => line.unit === focus);
  const move = (event: MouseEvent) => {
    const frameBox = (event.currentTarget as Element).getBoundingClientRect();
    const at = {
      x: (event.clientX - frameBox.left - frame.left) / gap,
      y: (height - frame.bottom - (event.clientY - frameBox.top)) / inner,
    };
    const line = axes.length > 1 ? nearestLine(left, axes.length, at, near) : -1;
    setFocus(line < 0 ? null : left[line]!.unit);
  };
  return (
    <div ref={box} class="space-plot table-scroll" tabIndex={0} role="region" aria-label={label}>
      <svg
        class="figure"
        width={width}
        height={height}
        role="group"
        aria-label={label}
        onMouseMove={move}
        onMouseLeave={() => setFocus(null)}
      >
        {out.length > 0 && <path class="space-lines space-out" d={joined(out)} />}
        {looks.map((look, group) => {
          const own = left.filter((line) => line.group === group);
          const { color, dash } = cellStyle(look);
          return own.length > 0 ? (
            <path
              key={group}
              class={`space-lines ${found ? 'dimmed' : ''}`}
              style={{ color }}
              stroke-dasharray={dash.join(' ')}
              d={joined(own)}
            />
          ) : null;
        })}
        {found && (
          <path
            class="space-lines space-focus"
            style={{ color: cellStyle(looks[found.group] ?? null).color }}
            d={linePath(found, x)}
          />
        )}
        {axes.map((axis, a) => (
          <Axis key={a} axis={axis} index={a} at={x(a)} first={a === 0} brush={brush} setBrush={setBrush} />
        ))}
      </svg>
    </div>
  );
}
