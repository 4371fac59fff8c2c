// Paired results: one line per seed across the items compared, so that a difference is seen seed by seed.
import { useRef } from 'preact/hooks';
import { csvOf } from '@/shared/csv';
import { significant } from '@/shared/format';
import { useWidth } from '@/shared/ui/hooks';
import { MarkerShape } from './dot-plot';
import { cellStyle, type Look } from './palette';
import { extent, linearScale, ticks } from './scales';

export interface PairedItem {
  label: string;
  look: Look | null;
  values: readonly { seed: number; value: number }[];
}

const frame = { left: 48, right: 16, top: 12, bottom: 30 };
const height = 260;

// The seeds any item has, each with its value per item (NaN where it has none).
export function bySeed(items: readonly PairedItem[]): { seed: number; values: number[] }[] {
  const seeds = [...new Set(items.flatMap((item) => item.values.map((each) => each.seed)))];
  return seeds
    .sort((a, b) => a - b)
    .map((seed) => ({
      seed,
      values: items.map((item) => item.values.find((each) => each.seed === seed)?.value ?? NaN),
    }));
}

// Lines between neighbours that both have a value.
export function segments(values: readonly number[]): [number, number][] {
  const places = values.flatMap((value, i) => (Number.isFinite(value) ? [i] : []));
  return places.slice(1).map((place, i) => [places[i]!, place]);
}

// A line per seed, a column per item; empty where an item has no such seed.
export function pairedCsv(items: readonly PairedItem[]): string {
  return csvOf(
    ['seed', ...items.map((item) => item.label)],
    bySeed(items).map(({ seed, values }) => [
      seed,
      ...values.map((value, i) => (items[i]!.values.some((each) => each.seed === seed) ? value : undefined)),
    ]),
  );
}

export function PairedPlot({ items, label }: { items: readonly PairedItem[]; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 480);
  const seeds = bySeed(items);
  const range = extent(seeds.flatMap((each) => each.values));
  if (!range) return null;
  const slack = 0.08 * (range[1] - range[0] || 1);
  const [low, high] = [range[0] - slack, range[1] + slack];
  const inset = Math.min(90, (width - frame.left - frame.right) / (2 * items.length));
  const x = linearScale(0, items.length - 1, frame.left + inset, width - frame.right - inset);
  const y = linearScale(low, high, height - frame.bottom, frame.top);
  return (
    <div ref={box} class="paired-plot" style={{ height: `${height}px` }}>
      <svg class="figure" width={width} height={height} role="img" aria-label={label}>
        {ticks(low, high, 5).map((tick) => (
          <g key={tick}>
            <line class="grid-line" x1={frame.left} x2={width - frame.right} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={frame.left - 8} y={y(tick) + 3.5} text-anchor="end">
              {tick}
            </text>
          </g>
        ))}
        {seeds.map(({ seed, values }) => (
          <g key={seed} class="paired-seed">
            {segments(values).map(([a, b]) => (
              <line key={a} x1={x(a)} y1={y(values[a]!)} x2={x(b)} y2={y(values[b]!)} />
            ))}
            <title>{`seed ${seed}: ${values.map((value) => significant(value, 4)).join(' → ')}`}</title>
          </g>
        ))}
        {items.map((item, i) => (
          <g key={i} class="paired-item" style={{ color: cellStyle(item.look).color }}>
            {item.values
              .filter((each) => Number.isFinite(each.value))
              .map((each) => (
                <g key={each.seed}>
                  <MarkerShape x={x(i)} y={y(each.value)} size={4} shape={cellStyle(item.look).marker} />
                  <title>{`${item.label}, seed ${each.seed}: ${significant(each.value, 4)}`}</title>
                </g>
              ))}
            <text class="tick paired-name" x={x(i)} y={height - 10} text-anchor="middle">
              {i + 1}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
