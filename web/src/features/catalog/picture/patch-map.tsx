// One head's map: the value of every key patch for one query patch.
import { useMemo } from 'preact/hooks';
import { curvePoints, type PictureView, share, type Value } from './picture-data';

export interface PatchMapProps {
  view: PictureView;
  row: readonly Value[]; // by key
  grid: readonly number[];
  query: number;
  label: string;
  curve: readonly number[] | null;
  point: (patch: number | null) => void;
  choose: (patch: number) => void;
}

function look(view: PictureView, value: Value): { fill: string; fillOpacity: number } {
  const at = share(view, value);
  if (at === null) return { fill: 'var(--map-none)', fillOpacity: 1 };
  return { fill: at < 0 ? 'var(--map-below)' : 'var(--map-above)', fillOpacity: Math.abs(at) };
}

// The patch under the pointer, from its place on the map.
function patchAt(event: MouseEvent, [rows, columns]: readonly number[]): number | null {
  const box = (event.currentTarget as SVGElement).getBoundingClientRect();
  if (box.width === 0) return null;
  const column = Math.floor(((event.clientX - box.left) / box.width) * columns!);
  const row = Math.floor(((event.clientY - box.top) / box.height) * rows!);
  return column < 0 || row < 0 || column >= columns! || row >= rows! ? null : row * columns! + column;
}

function squares(view: PictureView, row: readonly Value[], columns: number) {
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
  const drawn = useMemo(() => squares(view, row, columns), [view, row]);
  return (
    <svg
      class="patch-map"
      viewBox={`0 0 ${columns} ${rows}`}
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
      <rect class="patch-query" x={query % columns} y={Math.floor(query / columns)} width={1} height={1} />
    </svg>
  );
}
