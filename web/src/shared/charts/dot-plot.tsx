// Dots with whiskers, as SVG: one interval in a table row, or a whole sweep over settings.
import { cellStyle, type Look, type Marker } from '@/shared/palette';
import { linearScale } from './scales';

// A plus sign as an outline.
function crossAt(x: number, y: number, size: number): string {
  const [far, near] = [size, size / 3];
  const corner = [[-near, -far], [near, -far], [near, -near], [far, -near], [far, near], [near, near], [near, far],
    [-near, far], [-near, near], [-far, near], [-far, -near], [-near, -near]]; // prettier-ignore
  return corner.map(([dx, dy]) => `${x + dx!},${y + dy!}`).join(' ');
}

export function MarkerShape({ x, y, size, shape }: { x: number; y: number; size: number; shape: Marker }) {
  if (shape === 'circle') return <circle cx={x} cy={y} r={size} />;
  if (shape === 'ring') return <circle class="marker-hollow" cx={x} cy={y} r={size} />;
  const points = {
    square: `${x - size},${y - size} ${x + size},${y - size} ${x + size},${y + size} ${x - size},${y + size}`,
    diamond: `${x},${y - size * 1.3} ${x + size * 1.3},${y} ${x},${y + size * 1.3} ${x - size * 1.3},${y}`,
    wedge: `${x},${y + size * 1.2} ${x + size * 1.2},${y - size} ${x - size * 1.2},${y - size}`,
    cross: crossAt(x, y, size * 1.25),
    triangle: `${x},${y - size * 1.2} ${x + size * 1.2},${y + size} ${x - size * 1.2},${y + size}`,
  };
  return <polygon points={points[shape]} />;
}

export interface IntervalProps {
  look: Look | null;
  mean: number;
  low: number;
  high: number;
  values: readonly number[]; // single runs
  domain: readonly [number, number];
  reference: number; // the baseline's mean, NaN for none
  label: string;
}

const width = 148;
const height = 26;
const inset = 7;

// Mean, 95 % interval and single runs on the axis that all rows share.
export function Interval({ look, mean, low, high, values, domain, reference, label }: IntervalProps) {
  const x = linearScale(domain[0], domain[1], inset, width - inset);
  const style = cellStyle(look);
  const middle = height / 2;
  return (
    <svg
      class="interval"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
    >
      <line class="interval-axis" x1={0} x2={width} y1={middle} y2={middle} />
      {Number.isFinite(reference) && (
        <line class="interval-reference" x1={x(reference)} x2={x(reference)} y1={0} y2={height} />
      )}
      <g style={{ color: style.color }}>
        {values.filter(Number.isFinite).map((value, i) => (
          <line key={i} class="interval-run" x1={x(value)} x2={x(value)} y1={middle + 5} y2={middle + 10} />
        ))}
        {Number.isFinite(low) && Number.isFinite(high) && (
          <path
            class="interval-whisker"
            d={`M${x(low)} ${middle}H${x(high)}M${x(low)} ${middle - 4}v8M${x(high)} ${middle - 4}v8`}
          />
        )}
        {Number.isFinite(mean) && (
          <g class="interval-dot">
            <MarkerShape x={x(mean)} y={middle} size={4} shape={style.marker} />
          </g>
        )}
      </g>
    </svg>
  );
}
