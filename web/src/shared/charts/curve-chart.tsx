// Learning curves on a canvas (uPlot): bands, lines, marks for values that are not finite; drag to zoom,
// arrow keys to read.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { useTheme } from '@/app/theme';
import type { CurvePlot, PlotSeries } from './curve-data';
import { useWidth } from '@/shared/ui/hooks';
import { count } from '@/shared/format';
import { cellStyle, resolveColors, withAlpha } from './palette';

export interface CurveChartProps {
  plot: CurvePlot;
  focus: number | null; // the cell to bring out
  height: number;
  label: string;
  onStep: (step: number | null) => void;
}

interface Drawing {
  plot: CurvePlot;
  focus: number | null;
  colors: ReadonlyMap<number, string>;
}

const widths: Record<PlotSeries['kind'], number> = { low: 0, high: 0, run: 1, partial: 1.6, mean: 2 };

function seriesOptions(series: PlotSeries, drawing: { current: Drawing }): uPlot.Series {
  const style = cellStyle(series.cell);
  const dash = series.kind === 'partial' ? [2, 4] : [...style.dash];
  return {
    label: series.label,
    scale: 'y',
    width: widths[series.kind],
    dash,
    points: series.kind === 'mean' ? { size: 5 } : { show: false },
    stroke: () => {
      const { focus, colors } = drawing.current;
      const base = colors.get(series.cell) ?? 'gray';
      const dimmed = focus !== null && focus !== series.cell;
      if (series.kind === 'run') return withAlpha(base, dimmed ? 0.1 : 0.45);
      return dimmed ? withAlpha(base, 0.22) : base;
    },
  };
}

function bandOptions(series: readonly PlotSeries[], drawing: { current: Drawing }): uPlot.Band[] {
  return series.flatMap((each, i) =>
    each.kind !== 'high'
      ? []
      : [
          {
            series: [i + 1, i + 2] as [number, number],
            fill: () => {
              const { focus, colors } = drawing.current;
              const dimmed = focus !== null && focus !== each.cell;
              return withAlpha(
                colors.get(each.cell) ?? 'gray',
                dimmed ? 0.03 : focus === each.cell ? 0.24 : 0.13,
              );
            },
          },
        ],
  );
}

// Crosses at the edge where the value would be: NaN and minus infinity at the bottom, infinity at the top.
function drawMarks(u: uPlot, drawing: Drawing): void {
  const { ctx, bbox } = u;
  const size = 4 * devicePixelRatio;
  ctx.save();
  ctx.lineWidth = 1.8 * devicePixelRatio;
  for (const mark of drawing.plot.marks) {
    const x = u.valToPos(mark.step, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const y = mark.value === Infinity ? bbox.top + 2 * size : bbox.top + bbox.height - 2 * size;
    ctx.strokeStyle = drawing.colors.get(mark.cell) ?? 'gray';
    ctx.beginPath();
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
    ctx.stroke();
  }
  ctx.restore();
}

function chartOptions(
  props: CurveChartProps,
  width: number,
  drawing: { current: Drawing },
  onStep: { current: CurveChartProps['onStep'] },
): uPlot.Options {
  const [text, grid] = resolveColors(['var(--text-faint)', 'var(--grid)']) as [string, string];
  const font = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { show: false }, gap: 6 };
  return {
    width,
    height: props.height,
    padding: [8, 22, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, uni: 12 },
      points: { width: 2, size: (_, i) => (props.plot.series[i - 1]?.kind === 'mean' ? 7 : 0) },
    },
    scales: { x: { time: false } },
    axes: [
      { ...axis, size: 30, space: 70, values: (_, ticks) => ticks.map((tick) => count(tick)) },
      { ...axis, size: 46, space: 34 },
    ],
    series: [{}, ...props.plot.series.map((series) => seriesOptions(series, drawing))],
    bands: bandOptions(props.plot.series, drawing),
    hooks: {
      draw: [(u) => drawMarks(u, drawing.current)],
      setCursor: [
        (u) =>
          onStep.current(u.cursor.idx == null ? null : (drawing.current.plot.steps[u.cursor.idx] ?? null)),
      ],
    },
  };
}

const dataOf = (plot: CurvePlot) =>
  [plot.steps, ...plot.series.map((series) => series.values)] as unknown as uPlot.AlignedData;
const shapeOf = (plot: CurvePlot) =>
  plot.series.map((series) => `${series.kind}${series.cell}${series.label}`).join('|');
const cellsOf = (plot: CurvePlot) => [...new Set(plot.series.map((series) => series.cell))];

function moveCursor(u: uPlot | null, event: KeyboardEvent): void {
  const steps = u?.data[0];
  const direction = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (!u || !steps || steps.length === 0 || direction === 0) return;
  event.preventDefault();
  const from = u.cursor.idx ?? (direction > 0 ? -1 : steps.length);
  const to = Math.min(steps.length - 1, Math.max(0, from + direction));
  u.setCursor({ left: u.valToPos(steps[to]!, 'x'), top: 10 });
}

export function CurveChart(props: CurveChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const { shown } = useTheme();
  const width = useWidth(box, 0);
  const drawing = useRef<Drawing>({ plot: props.plot, focus: null, colors: new Map() });
  const onStep = useRef(props.onStep);
  onStep.current = props.onStep;
  const shape = shapeOf(props.plot);

  // A new set of series, another theme or a first width: a new chart, at the zoom of the old one.
  useLayoutEffect(() => {
    if (!box.current || width === 0) return;
    const cells = cellsOf(props.plot);
    const colors = resolveColors(cells.map((cell) => cellStyle(cell).color));
    drawing.current = {
      plot: props.plot,
      focus: props.focus,
      colors: new Map(cells.map((cell, i) => [cell, colors[i]!])),
    };
    const created = new uPlot(chartOptions(props, width, drawing, onStep), dataOf(props.plot), box.current);
    chart.current = created;
    return () => {
      created.destroy();
      chart.current = null;
    };
  }, [shape, shown, width === 0]);

  useEffect(() => {
    if (width > 0) chart.current?.setSize({ width, height: props.height });
  }, [width, props.height]);

  useEffect(() => {
    const u = chart.current;
    if (!u || drawing.current.plot === props.plot) return;
    drawing.current = { ...drawing.current, plot: props.plot };
    const old = u.data[0];
    const whole =
      old.length === 0 || (u.scales['x']!.min! <= old[0]! && u.scales['x']!.max! >= old[old.length - 1]!);
    u.setData(dataOf(props.plot), whole);
    if (!whole) u.redraw();
  }, [props.plot]);

  useEffect(() => {
    drawing.current = { ...drawing.current, focus: props.focus };
    chart.current?.redraw(false);
  }, [props.focus]);

  return (
    <div
      ref={box}
      class="curve-chart"
      style={{ height: `${props.height}px` }}
      tabIndex={0}
      role="img"
      aria-label={props.label}
      onKeyDown={(event) => moveCursor(chart.current, event)}
    />
  );
}
