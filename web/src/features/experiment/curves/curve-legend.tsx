// The legend of the curves: which cells are shown, and what each reads under the pointer.
import type { CellCurve, Curves } from '@/shared/api/types';
import { readingAt } from '@/shared/charts/curve-data';
import { decimalsFor, meanStd, plural, shortened, undefinedMark } from '@/shared/format';
import { Swatch } from '@/shared/ui/parts';
import type { CellSelection } from '../overview';

function Entry({
  curve,
  step,
  decimals,
  cells,
}: {
  curve: CellCurve;
  step: number | null;
  decimals: number;
  cells: CellSelection;
}) {
  const shown = !cells.hidden.has(curve.cell);
  const reading = shown ? readingAt(curve, step) : null;
  const { mean, std } = reading
    ? meanStd(reading.mean, reading.std, decimals)
    : { mean: undefinedMark, std: '' };
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
        <Swatch cell={curve.cell} />
        <span class="cell-label">{shortened(curve.label, 26)}</span>
        <span class="number legend-value">
          {mean}
          {reading && reading.n > 1 && <small> ± {std}</small>}
        </span>
      </button>
    </li>
  );
}

export function CurveLegend({
  curves,
  step,
  cells,
}: {
  curves: Pick<Curves, 'cells'>;
  step: number | null;
  cells: CellSelection;
}) {
  const decimals = decimalsFor(curves.cells.map((curve) => readingAt(curve, null)?.std ?? NaN));
  return (
    <ul class="legend" aria-label="Cells: show or hide">
      {curves.cells.map((curve) => (
        <Entry key={curve.cell} curve={curve} step={step} decimals={decimals} cells={cells} />
      ))}
    </ul>
  );
}
