// Learning curves on a canvas: uPlot keeps axes, scales and the pointer, curve-paint.ts draws. Drag or + and - to
// zoom, double click or 0 for the whole, arrow keys to read.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { useTheme } from '@/shared/theme';
import { count, significant } from '@/shared/format';
import { useWidth } from '@/shared/ui/hooks';
import { type CurvePlot, heightOf, nearest, stopsOf } from './curve-data';
import { type Frame, paint } from './curve-paint';
import { cellStyle, resolveColors } from '@/shared/palette';
import { padded, scaleOf } from './scales';

export type Stretch = readonly [number, number];

export interface CurveChartProps {
  plot: CurvePlot;
  focus: number | null; // the cell to bring out
  height: number;
  label: string;
  onPlace: (x: number | null) => void; // where the pointer reads
  logX?: boolean;
  logY?: boolean;
  zoom?: Stretch | null; // what is shown of the x axis; null: all
  onZoom?: (stretch: Stretch | null) => void; // without it the chart keeps its own
  wholeNumbers?: boolean; // ticks of x
  tickText?: (x: number) => string; // how they are written otherwise
  span?: Stretch; // of the y axis; without it that of the values
}

interface State extends Frame {
  x: Stretch;
  y: Stretch;
  stops: readonly number[]; // where the pointer reads
  dragging: boolean;
}

// The colors of the cells drawn, as expressions.
export const colorsOf = (plot: CurvePlot): Map<number, string> =>
  new Map(plot.strokes.map((stroke) => [stroke.cell, cellStyle(stroke.look).color]));

// What the axes span. On a logarithmic one nothing at or below zero has a place.
export function framing(
  plot: CurvePlot,
  zoom: Stretch | null,
  logX: boolean,
  logY: boolean,
): [Stretch, Stretch] {
  let [from, to] = zoom ?? plot.x ?? [0, 1];
  if (logX) {
    let least = Infinity;
    for (const { x } of plot.strokes) for (const each of x) if (each > 0 && each < least) least = each;
    if (!Number.isFinite(least)) least = 1;
    from = Math.max(from, least);
    to = Math.max(to, from * 1.001);
  }
  if (!(to > from)) [from, to] = [from - 0.5, to + 0.5];
  const height = heightOf(plot, [from, to], logY);
  return [[from, to], padded(height ?? (logY ? [0.1, 1] : [0, 1]), 0.05, logY)];
}

function axesOf(props: CurveChartProps): uPlot.Axis[] {
  const [text, grid] = resolveColors(['var(--text-faint)', 'var(--grid)']) as [string, string];
  const font = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { show: false }, gap: 6 };
  const written = (tick: number | null) =>
    tick === null
      ? ''
      : props.tickText
        ? props.tickText(tick)
        : props.wholeNumbers
          ? count(tick)
          : String(Number(tick.toPrecision(6)));
  return [
    { ...axis, size: 30, space: 70, values: (_, ticks) => ticks.map(written) },
    {
      ...axis,
      size: 52,
      space: 34,
      values: (_, ticks) =>
        ticks.map((tick) =>
          tick === null
            ? ''
            : Math.abs(tick) >= 1e5
              ? significant(tick, 2)
              : String(Number(tick.toPrecision(6))),
        ),
    },
  ];
}

function draw(u: uPlot, state: State, logX: boolean, logY: boolean): void {
  const { left, top, width, height } = u.bbox;
  const sx = scaleOf(logX)(state.x[0], state.x[1], left, left + width);
  const sy = scaleOf(logY)(state.y[0], state.y[1], top + height, top);
  paint(u.ctx, state, sx, sy, u.bbox, devicePixelRatio);
}

// The pointer's line stands at the point that is read.
function snapped(u: uPlot, { stops, dragging }: State, left: number): number {
  const place = left < 0 || dragging ? null : nearest(stops, u.posToVal(left, 'x'));
  return place === null ? left : u.valToPos(place, 'x');
}

function optionsOf(
  props: CurveChartProps,
  width: number,
  state: { current: State },
  latest: { current: { onPlace: CurveChartProps['onPlace']; zoomTo: (stretch: Stretch | null) => void } },
): uPlot.Options {
  const { logX = false, logY = false } = props;
  const distr = (log: boolean) => (log ? 3 : 1) as uPlot.Scale.Distr;
  return {
    width,
    height: props.height,
    padding: [8, 22, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, uni: 12, setScale: false },
      points: { show: false },
      move: (u, left, top) => [snapped(u, state.current, left), top],
    },
    scales: {
      x: { time: false, distr: distr(logX), range: () => [...state.current.x] as [number, number] },
      y: { distr: distr(logY), range: () => [...state.current.y] as [number, number] },
    },
    axes: axesOf(props),
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: {
      draw: [(u) => draw(u, state.current, logX, logY)],
      setCursor: [
        ({ cursor: { left = -1 }, posToVal }) =>
          latest.current.onPlace(left < 0 ? null : nearest(state.current.stops, posToVal(left, 'x'))),
      ],
      setSelect: [
        (u) => {
          const { left, width: wide } = u.select;
          if (wide < 3) return;
          latest.current.zoomTo([u.posToVal(left, 'x'), u.posToVal(left + wide, 'x')]);
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      ready: [
        (u) => {
          u.over.addEventListener('dblclick', () => latest.current.zoomTo(null));
          // A stretch is dragged from where the pointer is, not from the nearest point.
          u.over.addEventListener('pointerdown', () => (state.current.dragging = true));
          for (const end of ['pointerup', 'pointercancel', 'pointerleave'])
            u.over.addEventListener(end, () => (state.current.dragging = false));
        },
      ],
    },
  };
}

const dataOf = (state: State) => [[...state.x], [...state.y]] as uPlot.AlignedData;

// Where the pointer and the arrow keys stop: the points in sight.
const stopsWithin = (plot: CurvePlot, [from, to]: Stretch) =>
  stopsOf(plot).filter((x) => x >= from && x <= to);

function moveCursor(u: uPlot, stops: readonly number[], direction: number, [from, to]: Stretch): void {
  if (stops.length === 0) return;
  const { left = -1 } = u.cursor;
  const here = left < 0 ? (direction > 0 ? -Infinity : Infinity) : u.posToVal(left, 'x');
  const slack = (to - from) * 1e-9;
  const next =
    direction > 0
      ? (stops.find((x) => x > here + slack) ?? stops[stops.length - 1]!)
      : ([...stops].reverse().find((x) => x < here - slack) ?? stops[0]!);
  u.setCursor({ left: u.valToPos(next, 'x'), top: 10 });
}

// The stretch that + and - lead to, around the pointer or the middle.
export function zoomed([from, to]: Stretch, whole: Stretch, factor: number, around: number): Stretch | null {
  const low = Math.max(whole[0], around - (around - from) * factor);
  const high = Math.min(whole[1], around + (to - around) * factor);
  return low <= whole[0] && high >= whole[1] ? null : [low, high];
}

export function CurveChart(props: CurveChartProps) {
  const { plot, focus, height, logX = false, logY = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const { shown } = useTheme();
  const width = useWidth(box, 0);
  const [own, setOwn] = useState<Stretch | null>(null);
  const zoom = props.zoom === undefined ? own : props.zoom;
  const zoomTo = props.onZoom ?? setOwn;
  const [x, tight] = useMemo(() => framing(plot, zoom, logX, logY), [plot, zoom?.[0], zoom?.[1], logX, logY]);
  const y = props.span ?? tight;
  const stops = useMemo(() => stopsWithin(plot, x), [plot, x[0], x[1]]);
  const state = useRef<State>({ plot, focus, colors: new Map(), x, y, stops, dragging: false });
  const latest = useRef({ onPlace: props.onPlace, zoomTo });
  latest.current = { onPlace: props.onPlace, zoomTo };
  const expressions = colorsOf(plot);

  // Another theme, axis or a first width: a new chart.
  useLayoutEffect(() => {
    if (!box.current || width === 0) return;
    const created = new uPlot(optionsOf(props, width, state, latest), dataOf(state.current), box.current);
    chart.current = created;
    return () => {
      created.destroy();
      chart.current = null;
    };
  }, [shown, logX, logY, width === 0, props.wholeNumbers]);

  const colors = [...expressions].join();
  useLayoutEffect(() => {
    const resolved = resolveColors([...expressions.values()]);
    state.current.colors = new Map([...expressions.keys()].map((cell, i) => [cell, resolved[i]!]));
  }, [shown, colors]);

  useLayoutEffect(() => {
    state.current = { ...state.current, plot, focus, x, y, stops };
    chart.current?.setData(dataOf(state.current), true);
  }, [plot, focus, x[0], x[1], y[0], y[1], shown, logX, logY, width === 0]);

  useEffect(() => {
    const u = chart.current;
    if (u && width > 0 && (u.width !== width || u.height !== height)) u.setSize({ width, height });
  }, [width, height]);

  const key = (event: KeyboardEvent) => {
    const u = chart.current;
    const direction = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const factor = event.key === '+' || event.key === '=' ? 0.5 : event.key === '-' ? 2 : 0;
    if (!u || (direction === 0 && factor === 0 && event.key !== '0')) return;
    event.preventDefault();
    if (direction !== 0) moveCursor(u, state.current.stops, direction, x);
    else if (event.key === '0') zoomTo(null);
    else {
      const { left = -1 } = u.cursor;
      const around = left < 0 ? (x[0] + x[1]) / 2 : u.posToVal(left, 'x');
      const whole: Stretch = props.onZoom && zoom ? [0, Infinity] : (plot.x ?? x);
      zoomTo(zoomed(x, whole, factor, around));
    }
  };

  return (
    <div
      ref={box}
      class="curve-chart"
      style={{ height: `${height}px` }}
      tabIndex={0}
      role="img"
      aria-label={`${props.label} Arrow keys read, + and - zoom, 0 shows the whole.`}
      onKeyDown={key}
    />
  );
}
