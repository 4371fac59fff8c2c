// What of a trained model there is to look at: steps, images, query patches.
import type { StageDetail } from '@/shared/api/messages';

export interface KeptStep {
  step: number;
  what: string; // why it is there: "output", "best", "resume"
}

// The steps whose weights can still be looked at, in order.
export function keptSteps(stages: readonly StageDetail[]): KeptStep[] {
  const found = new Map<number, string>();
  for (const stage of stages) {
    for (const checkpoint of stage.checkpoints)
      if (checkpoint.present)
        found.set(checkpoint.step, checkpoint.best ? 'best' : checkpoint.role || 'kept');
    for (const output of stage.outputs)
      found.set(output.step, output.slot === 'best-checkpoint' ? 'best' : 'end');
  }
  return [...found].map(([step, what]) => ({ step, what })).sort((a, b) => a.step - b.step);
}

// The place among `queries` that lies nearest to the patch.
export function nearestQuery(queries: readonly number[], patch: number, columns: number): number {
  const apart = (query: number) => {
    const down = Math.floor(query / columns) - Math.floor(patch / columns);
    const right = (query % columns) - (patch % columns);
    return down * down + right * right;
  };
  let best = 0;
  queries.forEach((query, i) => {
    if (apart(query) < apart(queries[best]!)) best = i;
  });
  return best;
}

// "0, 7" -> [0, 7]; null when it is no list of rows.
export function imageRows(wish: string): number[] | null {
  const parts = wish.split(',').map((part) => part.trim());
  if (parts.length > 16 || parts.some((part) => !/^\d{1,9}$/.test(part))) return null;
  return parts.map(Number);
}
