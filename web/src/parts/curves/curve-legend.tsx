// The legend of the curves: which cells are shown, and what each reads under the pointer.
import { type CellPart, readingAt, type XAxis } from '@/shared/charts/curve-data';
import {
  count,
  decimalsFor,
  interval,
  meanStd,
  plural,
  shortenedApart,
  undefinedMark,
} from '@/shared/format';
import { LineSample, Swatch } from '@/shared/ui/parts';
import type { CellSelection } from './cell-selection';
import type { Band } from './curve-view';

interface At {
  place: number | null; // under the pointer
  axis?: XAxis;
  band?: Band;
}

function Entry({
  curve,
  name,
  decimals,
  cells,
  ...at
}: At & {
  curve: CellPart;
  name: string;
  decimals: number;
  cells: CellSelection;
}) {
  const shown = !cells.hidden.has(curve.cell);
  const reading = shown ? readingAt(curve, at.place, at.axis) : null;
  const { mean, std } = reading
    ? meanStd(reading.mean, reading.std, decimals)
    : { mean: undefinedMark, std: '' };
  // Where it has no point at the step under the pointer, its nearest before, and which that is.
  const elsewhere = reading !== null && at.place !== null && at.axis !== 'seconds' && reading.x !== at.place;
  const detail = reading
    ? `${curve.label}: mean over ${plural(reading.n, 'seed')} at step ${reading.step}`
    : `${curve.label}: hidden or without points`;
  return (
    <li>
      <button
        type="button"
        class={`legend-entry ${shown ? '' : 'legend-off'}`}
        aria-pressed={shown}
        title={detail}
        onClick={() => cells.toggle(curve.cell)}
        onMouseEnter={() => shown && cells.setFocus(curve.cell)}
        onMouseLeave={() => cells.setFocus(null)}
        onFocus={() => shown && cells.setFocus(curve.cell)}
        onBlur={() => cells.setFocus(null)}
      >
        <Swatch look={curve.look} />
        <LineSample look={curve.look} />
        <span class="cell-label">{name}</span>
        <span class="number legend-value">
          {elsewhere && <small>at {count(reading.step)}: </small>}
          {mean}
          {reading && reading.n > 1 && (
            <small>
              {at.band === 'interval' ? ` ${interval(reading.low, reading.high, decimals)}` : ` ± ${std}`}
            </small>
          )}
        </span>
      </button>
    </li>
  );
}

export function CurveLegend({
  curves,
  cells,
  ...at
}: At & {
  curves: { cells: readonly CellPart[] };
  cells: CellSelection;
}) {
  const decimals = decimalsFor(curves.cells.map((curve) => readingAt(curve, null)?.std ?? NaN));
  const names = shortenedApart(
    curves.cells.map((curve) => curve.label),
    26,
  );
  return (
    <ul class="legend" aria-label="Cells: show or hide">
      {curves.cells.map((curve, i) => (
        <Entry key={curve.cell} curve={curve} name={names[i]!} {...at} decimals={decimals} cells={cells} />
      ))}
    </ul>
  );
}
