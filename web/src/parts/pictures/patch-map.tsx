// One head's map: the value of every key patch for one query patch.
import { useMemo } from 'preact/hooks';
import { type Coloring, curvePoints, share, type Value } from './coloring';

export interface PatchMapProps {
  view: Coloring;
  row: readonly Value[]; // by key
  grid: readonly number[];
  query: number;
  label: string;
  curve: readonly number[] | null;
  point: (patch: number | null) => void;
  choose: (patch: number) => void;
}

// The color of a value: a token and how much of it.
export function look(view: Coloring, value: Value): { fill: string; fillOpacity: number } {
  const at = share(view, value);
  if (at === null) return { fill: 'var(--map-none)', fillOpacity: 1 };
  return { fill: at < 0 ? 'var(--map-below)' : 'var(--map-above)', fillOpacity: Math.abs(at) };
}

// Room for the names of the axes, in patches.
const room = (grid: readonly number[]) => 0.11 * Math.max(...grid);

// The patch under the pointer, from its place on the map.
function patchAt(event: MouseEvent, grid: readonly number[]): number | null {
  const box = (event.currentTarget as SVGElement).getBoundingClientRect();
  if (box.width === 0) return null;
  const [rows, columns] = grid as [number, number];
  const left = room(grid);
  const column = Math.floor(((event.clientX - box.left) / box.width) * (columns + left) - left);
  const row = Math.floor(((event.clientY - box.top) / box.height) * (rows + left));
  return column < 0 || row < 0 || column >= columns || row >= rows ? null : row * columns + column;
}

// First and last of each axis, and what it counts.
function Axes({ grid }: { grid: readonly number[] }) {
  const [rows, columns] = grid as [number, number];
  const size = 0.046 * Math.max(rows, columns);
  const below = rows + 1.35 * size;
  const beside = -0.6 * size;
  const name = { 'font-size': size, 'text-anchor': 'middle' } as const;
  return (
    <g class="map-axis" aria-hidden="true">
      <text x={0.5} y={below} {...name}>
        1
      </text>
      <text x={columns / 2} y={below} {...name}>
        column
      </text>
      <text x={columns - 0.5} y={below} {...name}>
        {columns}
      </text>
      <text x={beside} y={0.5 + size / 3} font-size={size} text-anchor="end">
        1
      </text>
      <text transform={`translate(${beside} ${rows / 2}) rotate(-90)`} {...name}>
        row
      </text>
      <text x={beside} y={rows - 0.5 + size / 3} font-size={size} text-anchor="end">
        {rows}
      </text>
    </g>
  );
}

export function squares(view: Coloring, row: readonly Value[], columns: number) {
  return (
    <g>
      {row.map((value, key) => (
        <rect
          key={key}
          x={key % columns}
          y={Math.floor(key / columns)}
          width={1}
          height={1}
          style={look(view, value)}
        />
      ))}
    </g>
  );
}

export function PatchMap({ view, row, grid, query, label, curve, point, choose }: PatchMapProps) {
  const [rows, columns] = grid as [number, number];
  const drawn = useMemo(() => squares(view, row, columns), [view.scale, view.low, view.high, row]);
  const left = room(grid);
  return (
    <svg
      class="patch-map"
      viewBox={`${-left} 0 ${columns + left} ${rows + left}`}
      role="img"
      aria-label={label}
      onPointerMove={(event) => point(patchAt(event, grid))}
      onPointerLeave={() => point(null)}
      onClick={(event) => {
        const patch = patchAt(event, grid);
        if (patch !== null) choose(patch);
      }}
    >
      <rect class="patch-ground" width={columns} height={rows} />
      {drawn}
      {curve && <polyline class="patch-curve" points={curvePoints(curve, columns)} />}
      <Axes grid={grid} />
      <rect class="patch-query" x={query % columns} y={Math.floor(query / columns)} width={1} height={1} />
    </svg>
  );
}
