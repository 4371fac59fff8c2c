// Points in the plane with whiskers, and the front of those that nothing beats; SVG, each point reachable by keyboard.
import { useRef } from 'preact/hooks';
import { parameters, significant } from '@/shared/format';
import { useWidth } from '@/shared/ui/hooks';
import { MarkerShape } from './dot-plot';
import { cellStyle, type Look } from '@/shared/palette';
import { type Directions, frontCorners, paretoFront } from './pareto';
import { extent, padded, scaleOf, ticks, ticksOf } from './scales';

export interface ScatterPoint {
  look: Look | null;
  label: string;
  x: number;
  y: number;
  low: number; // of y; NaN without
  high: number;
}

export interface ScatterPlotProps {
  points: readonly ScatterPoint[];
  xName: string;
  yName: string;
  logX: boolean;
  front: Directions | null; // drawn when given
  focus: number | null; // index of a point
  setFocus: (index: number | null) => void;
  label: string;
}

const height = 360;
const frame = { left: 56, right: 18, top: 12, bottom: 46 };

const tickText = (tick: number) =>
  Math.abs(tick) >= 10_000 ? parameters(tick) : String(Number(tick.toPrecision(6)));

export const pointText = (point: ScatterPoint, xName: string, yName: string) =>
  `${point.label}: ${yName} ${significant(point.y, 4)}, ${xName} ${significant(point.x, 4)}`;

export function ScatterPlot(props: ScatterPlotProps) {
  const { points, logX, front, focus, setFocus } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 640);
  const usable = points.filter(
    (point) => Number.isFinite(point.y) && (logX ? point.x > 0 : Number.isFinite(point.x)),
  );
  const across = extent(
    usable.map((point) => point.x),
    logX,
  );
  const along = extent(usable.flatMap((point) => [point.y, point.low, point.high]));
  if (!across || !along)
    return (
      <p class="chart-empty">
        No row has both {props.xName} and {props.yName} yet.
      </p>
    );
  const [left, right] = padded(across, 0.05, logX);
  const [low, high] = padded(along, 0.07);
  const x = scaleOf(logX)(left, right, frame.left, width - frame.right);
  const y = scaleOf(false)(low, high, height - frame.bottom, frame.top);
  const best = front ? paretoFront(usable, front) : [];
  const corners = frontCorners(usable, best);
  const onFront = new Set(best);
  return (
    <div ref={box} class="scatter-plot" style={{ height: `${height}px` }}>
      <svg class="figure" width={width} height={height} role="group" aria-label={props.label}>
        {ticks(low, high, 6).map((tick) => (
          <g key={tick}>
            <line class="grid-line" x1={frame.left} x2={width - frame.right} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={frame.left - 8} y={y(tick) + 3.5} text-anchor="end">
              {tickText(tick)}
            </text>
          </g>
        ))}
        {ticksOf(logX)(left, right, Math.max(3, width / 110)).map((tick) => (
          <text key={tick} class="tick" x={x(tick)} y={height - frame.bottom + 16} text-anchor="middle">
            {tickText(tick)}
          </text>
        ))}
        <text
          class="tick axis-name"
          x={(frame.left + width - frame.right) / 2}
          y={height - 10}
          text-anchor="middle"
        >
          {props.xName}
        </text>
        {corners.length > 1 && (
          <path
            class="front-line"
            d={corners
              .map((at, i) => `${i === 0 ? 'M' : 'L'}${x(at.x).toFixed(1)} ${y(at.y).toFixed(1)}`)
              .join('')}
          />
        )}
        {usable.map((point, i) => {
          const index = points.indexOf(point);
          const style = cellStyle(point.look);
          const dimmed = focus !== null && focus !== index;
          return (
            <g
              key={index}
              class={`scatter-point ${dimmed ? 'dimmed' : ''}`}
              style={{ color: style.color }}
              tabindex={0}
              role="img"
              aria-label={`${pointText(point, props.xName, props.yName)}${onFront.has(i) ? ', on the front' : ''}`}
              onMouseEnter={() => setFocus(index)}
              onMouseLeave={() => setFocus(null)}
              onFocus={() => setFocus(index)}
              onBlur={() => setFocus(null)}
            >
              {Number.isFinite(point.low) && Number.isFinite(point.high) && (
                <line x1={x(point.x)} x2={x(point.x)} y1={y(point.low)} y2={y(point.high)} />
              )}
              <MarkerShape
                x={x(point.x)}
                y={y(point.y)}
                size={onFront.has(i) ? 5.5 : 4}
                shape={style.marker}
              />
              <title>{pointText(point, props.xName, props.yName)}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}
