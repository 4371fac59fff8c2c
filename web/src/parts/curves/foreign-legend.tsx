// Series of other programs beside the curves: which there are, and what each reads.
import type { ListForeignSeriesResponse } from '@/shared/api/messages';
import { foreignCell, type ForeignCurve } from '@/shared/charts/curve-data';
import { foreignDash } from '@/shared/charts/curve-paint';
import { count, significant, undefinedMark } from '@/shared/format';

export const foreignCurves = (answer: ListForeignSeriesResponse | undefined): ForeignCurve[] =>
  (answer?.imports ?? []).flatMap((run) =>
    run.series.map(({ step, value }) => ({ source: run.source, step, value })),
  );

// The last value at or before a step; without one, the last.
export function foreignReading(
  { step, value }: ForeignCurve,
  place: number | null,
): { step: number; value: number } | null {
  let i = step.length - 1;
  if (place !== null) while (i >= 0 && step[i]! > place) i -= 1;
  return i < 0 ? null : { step: step[i]!, value: value[i]! };
}

export function ForeignLegend({ curves, place }: { curves: readonly ForeignCurve[]; place: number | null }) {
  if (curves.length === 0) return null;
  return (
    <ul class="legend" aria-label="Foreign series">
      {curves.map((curve, i) => {
        const reading = foreignReading(curve, place);
        return (
          <li key={i} class="legend-entry">
            <svg class="line-sample" width={28} height={8} aria-hidden="true">
              <line x1={0} x2={28} y1={4} y2={4} stroke-dasharray={foreignDash(foreignCell(i)).join(' ')} />
            </svg>
            <span class="cell-label">foreign: {curve.source}</span>
            <span class="number legend-value">
              {reading ? significant(reading.value, 5) : undefinedMark}
              {reading && <small> at {count(reading.step)}</small>}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
