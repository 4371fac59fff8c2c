// Paired results: one line per seed across the items compared, so that a difference is seen seed by seed.
import { useRef } from 'preact/hooks';
import { csvOf } from '@/shared/csv';
import { shortenedApart, significant } from '@/shared/format';
import { useWidth } from '@/shared/ui/hooks';
import { MarkerShape } from './dot-plot';
import { cellStyle, type Look } from '@/shared/palette';
import { extent, linearScale, ticks } from './scales';

export interface PairedItem {
  label: string;
  look: Look | null;
  values: readonly { seed: number; value: number }[];
}

const frame = { left: 48, right: 16, top: 12 };
const height = 230; // without the names
const letter = 6.2; // pixels of a letter of a name
const least = 10; // letters: names with less room lie aslant
const most = 24;

export interface AxisNames {
  texts: string[];
  aslant: boolean;
  room: number; // pixels under the plot
}

// The items' names under their columns, each in `wide` pixels: level where they can be read so, else aslant.
export function axisNames(labels: readonly string[], wide: number): AxisNames {
  const letters = Math.floor(wide / letter);
  const longest = Math.max(0, ...labels.map((label) => label.length));
  if (letters >= Math.min(least, longest))
    return { texts: shortenedApart(labels, Math.min(most, letters)), aslant: false, room: 30 };
  const texts = shortenedApart(labels, most);
  const length = Math.max(...texts.map((text) => text.length)) * letter;
  return { texts, aslant: true, room: 22 + Math.ceil(0.6 * Math.min(length, most * letter)) };
}

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

// Lines between neighbors that both have a value.
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
  const slot = (width - frame.left - frame.right) / items.length;
  const inset = Math.min(90, slot / 2);
  const names = axisNames(
    items.map((item) => item.label),
    slot - 8,
  );
  const first = names.aslant ? 0.8 * letter * names.texts[0]!.length : 0; // it leans to the left
  const x = linearScale(
    0,
    items.length - 1,
    Math.max(frame.left + inset, first),
    width - frame.right - inset,
  );
  const bottom = height - 8;
  const y = linearScale(low, high, bottom, frame.top);
  const whole = bottom + names.room;
  return (
    <div ref={box} class="paired-plot" style={{ height: `${whole}px` }}>
      <svg class="figure" width={width} height={whole} role="img" aria-label={label}>
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
            <text
              class="tick paired-name"
              transform={`translate(${x(i)} ${bottom + 20})${names.aslant ? ' rotate(-36)' : ''}`}
              text-anchor={names.aslant ? 'end' : 'middle'}
            >
              {names.texts[i]}
              <title>{item.label}</title>
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
