// A number of each head by layer: filled with the priors, hollow without.
import { extent, linearScale, padded, ticks } from '@/shared/charts/scales';
import { significant } from '@/shared/format';

export interface HeadSeries {
  label: string;
  hollow: boolean;
  layers: readonly { layer: number; values: readonly (number | null)[] }[];
}

const width = 560;
const height = 200;
const left = 46;
const bottom = 30;
const top = 10;

const nameOf = (of: HeadSeries, layer: number, head: number, value: number, unit: string) =>
  `${of.label}, layer ${layer + 1}, head ${head + 1}: ${significant(value, 3)} ${unit}`;

export function HeadChart({
  title,
  unit,
  series,
}: {
  title: string;
  unit: string;
  series: readonly HeadSeries[];
}) {
  const all = series
    .flatMap((one) => one.layers.flatMap(({ values }) => values))
    .filter((value) => value !== null);
  const layers = [...new Set(series.flatMap((one) => one.layers.map(({ layer }) => layer)))].sort(
    (a, b) => a - b,
  );
  const found = extent(all);
  if (!found || layers.length === 0) return null;
  const [low, high] = padded(found, 0.08);
  const y = linearScale(low, high, height - bottom, top);
  const slot = (width - left - 8) / layers.length;
  const x = (layer: number, of: number) =>
    left + (layers.indexOf(layer) + 0.5) * slot + (of - (series.length - 1) / 2) * Math.min(18, slot / 3);
  return (
    <figure class="head-chart">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${title} of each head by layer`}>
        {ticks(low, high, 4).map((tick) => (
          <g key={tick}>
            <line class="head-grid" x1={left} x2={width - 8} y1={y(tick)} y2={y(tick)} />
            <text class="head-tick" x={left - 6} y={y(tick) + 4} text-anchor="end">
              {significant(tick, 3)}
            </text>
          </g>
        ))}
        {layers.map((layer) => (
          <text
            key={layer}
            class="head-tick"
            x={x(layer, (series.length - 1) / 2)}
            y={height - 10}
            text-anchor="middle"
          >
            {layer + 1}
          </text>
        ))}
        {series.map((one, of) =>
          one.layers.flatMap(({ layer, values }) =>
            values.map((value, head) =>
              value === null ? null : (
                <circle
                  key={`${of} ${layer} ${head}`}
                  class={one.hollow ? 'head-dot head-dot-hollow' : 'head-dot'}
                  cx={x(layer, of)}
                  cy={y(value)}
                  r={4}
                >
                  <title>{nameOf(one, layer, head, value, unit)}</title>
                </circle>
              ),
            ),
          ),
        )}
      </svg>
      <figcaption>
        <b>{title}</b> {unit !== '' && `in ${unit} `}by layer, a dot for each head
        {series.length > 1 && ': filled with the prior, hollow without it'}.
      </figcaption>
    </figure>
  );
}
