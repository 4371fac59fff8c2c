// A sweep as a plot: mean and deviation per cell against the one setting that varies, cells set apart
// sideways so none hides another.
import { useRef } from 'preact/hooks';
import type { SweepSeries } from '@/shared/api/messages';
import { labelText, significant } from '@/shared/format';
import { useWidth } from '@/shared/ui/hooks';
import { MarkerShape } from './dot-plot';
import { cellStyle } from '@/shared/palette';
import { extent, linearScale, ticks } from './scales';

export interface SweepPlotProps {
  series: readonly SweepSeries[];
  focus: number | null;
  height: number;
  label: string;
  axis: string; // name of what varies
}

export interface SweepAxis {
  keys: string[]; // the label sets, in order
  position: (labels: string) => number; // on the axis' own scale
  texts: string[];
  numeric: boolean;
}

// The varying label as a number line when it is one, else evenly spaced names.
export function sweepAxis(series: readonly SweepSeries[]): SweepAxis {
  const xs = new Map<string, number>();
  for (const each of series) for (const point of each.points) xs.set(point.labels, point.x);
  const numeric = [...xs.values()].every(Number.isFinite);
  const keys = [...xs.keys()];
  if (numeric) keys.sort((a, b) => xs.get(a)! - xs.get(b)!);
  const order = new Map(keys.map((key, i) => [key, i]));
  return {
    keys,
    numeric,
    position: (labels) => (numeric ? xs.get(labels)! : order.get(labels)!),
    texts: keys.map((key) => (numeric ? String(xs.get(key)) : labelText(key))),
  };
}

const glyph = 6.5; // pixels of a character of a tick, at most
// Which texts, centered at these places from left to right, have room beside those drawn before them.
export function roomy(places: readonly number[], texts: readonly string[]): boolean[] {
  let end = -Infinity;
  return places.map((place, i) => {
    const half = (glyph * texts[i]!.length) / 2;
    if (place - half < end + glyph) return false;
    end = place + half;
    return true;
  });
}

const frame = { left: 44, right: 14, top: 10, bottom: 38 };
// Pixels between neighboring cells: apart when few, never as wide as the settings are.
const apartOf = (cells: number) => Math.min(5, 44 / Math.max(1, cells - 1));

interface Geometry {
  x: (labels: string, rank: number) => number;
  y: (value: number) => number;
  yTicks: number[];
}

function geometry(props: SweepPlotProps, axis: SweepAxis, width: number): Geometry | null {
  const points = props.series.flatMap((each) => each.points);
  const range = extent(points.flatMap((p) => [p.mean, p.mean - p.std, p.mean + p.std]));
  if (!range) return null;
  const slack = 0.06 * (range[1] - range[0] || 1);
  const [low, high] = [range[0] - slack, range[1] + slack];
  const positions = axis.keys.map(axis.position);
  const apart = apartOf(props.series.length);
  const spread = (apart * (props.series.length - 1)) / 2 + 8;
  const place = linearScale(
    Math.min(...positions),
    Math.max(...positions),
    frame.left + spread,
    width - frame.right - spread,
  );
  return {
    x: (labels, rank) => place(axis.position(labels)) + apart * (rank - (props.series.length - 1) / 2),
    y: linearScale(low, high, props.height - frame.bottom, frame.top),
    yTicks: ticks(low, high, 5),
  };
}

function pointText(label: string, p: SweepSeries['points'][number]): string {
  const value = `${significant(p.mean, 4)} ± ${significant(p.std, 2)}`;
  return `${label}, ${labelText(p.labels)}: ${value}, n = ${p.n}`;
}

function Line({
  series,
  rank,
  at,
  dimmed,
}: {
  series: SweepSeries;
  rank: number;
  at: Geometry;
  dimmed: boolean;
}) {
  const style = cellStyle(series.look);
  const points = series.points.filter((point) => Number.isFinite(point.mean));
  const path = points
    .map((p, i) => `${i === 0 ? 'M' : 'L'}${at.x(p.labels, rank).toFixed(1)} ${at.y(p.mean).toFixed(1)}`)
    .join('');
  return (
    <g style={{ color: style.color }} class={dimmed ? 'dimmed' : ''}>
      <path class="sweep-line" d={path} stroke-dasharray={style.dash.join(' ')} />
      {points.map((p) => (
        <g key={p.labels} class="sweep-point">
          {Number.isFinite(p.std) && (
            <line
              x1={at.x(p.labels, rank)}
              x2={at.x(p.labels, rank)}
              y1={at.y(p.mean - p.std)}
              y2={at.y(p.mean + p.std)}
            />
          )}
          <MarkerShape x={at.x(p.labels, rank)} y={at.y(p.mean)} size={3.5} shape={style.marker} />
          <title>{pointText(series.label, p)}</title>
        </g>
      ))}
    </g>
  );
}

export function SweepPlot(props: SweepPlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 360);
  const axis = sweepAxis(props.series);
  const at = geometry(props, axis, width);
  const base = props.height - frame.bottom;
  const middle = (props.series.length - 1) / 2;
  const places = at ? axis.keys.map((key) => at.x(key, middle)) : [];
  const room = roomy(places, axis.texts);
  return (
    <div ref={box} class="sweep-plot" style={{ height: `${props.height}px` }}>
      {at && (
        <svg class="figure" width={width} height={props.height} role="img" aria-label={props.label}>
          {at.yTicks.map((tick) => (
            <g key={tick}>
              <line
                class="grid-line"
                x1={frame.left}
                x2={width - frame.right}
                y1={at.y(tick)}
                y2={at.y(tick)}
              />
              <text class="tick" x={frame.left - 8} y={at.y(tick) + 3.5} text-anchor="end">
                {tick}
              </text>
            </g>
          ))}
          {axis.keys.map((key, i) => (
            <g key={key} class="sweep-tick">
              <line class="grid-line" x1={places[i]} x2={places[i]} y1={base} y2={base + 4} />
              {room[i] && (
                <text class="tick" x={places[i]} y={base + 16} text-anchor="middle">
                  {axis.texts[i]}
                </text>
              )}
            </g>
          ))}
          <text
            class="tick axis-name"
            x={(frame.left + width - frame.right) / 2}
            y={base + 33}
            text-anchor="middle"
          >
            {props.axis}
          </text>
          {props.series.map((series, rank) => (
            <Line
              key={series.cell}
              series={series}
              rank={rank}
              at={at}
              dimmed={props.focus !== null && props.focus !== series.cell}
            />
          ))}
        </svg>
      )}
    </div>
  );
}
