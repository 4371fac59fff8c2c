// What of a trained model there is to look at: steps, images, query patches.
import type { StageDetail } from '@/shared/api/messages';

export interface KeptStep {
  step: number; // 0: the initialization
  what: string; // why it is there: "snapshot", "best", "end", "resume"
}

const slots: Readonly<Record<string, string>> = { checkpoint: 'end', 'best-checkpoint': 'best' };

// The models that can be looked at, in order of their steps. None before training has kept one: the initialization
// alone is the catalog's to show.
export function keptSteps(stages: readonly StageDetail[]): KeptStep[] {
  const found = new Map<number, string>();
  for (const stage of stages) {
    for (const checkpoint of stage.checkpoints)
      if (checkpoint.present)
        found.set(checkpoint.step, checkpoint.best ? 'best' : checkpoint.role || 'kept');
    // Of one step: the end before the best before a snapshot.
    const told = stage.outputs
      .filter(({ slot }) => !slot.startsWith('picture')) // of scored images
      .map(({ slot, step }) => ({ step, what: slots[slot] ?? 'snapshot' }));
    for (const what of ['snapshot', 'best', 'end'])
      for (const each of told) if (each.what === what) found.set(each.step, what);
  }
  if (found.size > 0 && !found.has(0)) found.set(0, 'initialization');
  return [...found].map(([step, what]) => ({ step, what })).sort((a, b) => a.step - b.step);
}

// How a request names the model of a step.
export const checkpointOf = (step: number) => (step === 0 ? { checkpoint: 'initial' } : { step });

// How a request names a stage of the network, the first where it does not.
export const stageOf = (stage: number): { stage?: string } => (stage === 0 ? {} : { stage: String(stage) });

// And one layer of it, counted over the network. Which one is the first of a later stage only the answer says: all of them
// are asked for then.
export const partOf = ({ stage, layer }: { stage: number; layer: number | null }) => ({
  ...stageOf(stage),
  ...(layer === null && stage > 0 ? {} : { layers: String(layer ?? 0) }),
});

// The layers of a stage, counted over the network.
export function layersOf(stages: readonly number[], stage: number): number[] {
  const before = stages.slice(0, stage).reduce((sum, each) => sum + each, 0);
  return Array.from({ length: stages[stage] ?? 0 }, (_, layer) => before + layer);
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
