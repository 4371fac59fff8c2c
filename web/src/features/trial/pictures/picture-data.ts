// The documents of trained models (docs/formats/picture.md): what the priors became, and where the model looks.
import {
  type Decoded,
  type Decoder,
  DecodeError,
  integer,
  list,
  message,
  optional,
  real,
  text,
} from '@/shared/api/decode';
import type { StageDetail } from '@/shared/api/types';

const rows = list(list(optional(real))); // [query][key]; null: never attended
const maps = list(rows); // by head

const view = message({
  id: text,
  prior: text,
  title: text,
  help: text,
  scale: text,
  low: real,
  high: real,
  initial: maps,
  trained: optional(maps),
});

const table = list(list(optional(real))); // [row][head]

const numbers = message({
  id: text,
  title: text,
  help: text,
  unit: text,
  rows: list(text),
  initial: table,
  trained: optional(table),
});

const trainedLayer = message({
  layer: integer,
  views: list(view),
  numbers: list(numbers),
  curves: list(message({ name: text, path: list(integer) })),
});

const model = message({ layers: integer, heads: integer, head_width: integer, prefix: integer });

const trained = message({
  kind: text,
  model,
  priors: list(message({ prior: text, parameters_kept: integer })),
  grid: list(integer),
  step: integer,
  seed: integer,
  queries: list(integer),
  layers: list(trainedLayer),
});

export type TrainedPrior = Decoded<typeof trained>;
export type TrainedLayer = TrainedPrior['layers'][number];
export type TrainedView = TrainedLayer['views'][number];
export type HeadNumbers = TrainedLayer['numbers'][number];

const attended = message({ queries: maps, mean: maps, prefix: optional(maps) });

const attentionLayer = message({
  layer: integer,
  images: list(message({ image: integer, with: attended, without: optional(attended) })),
  distance: message({ with: list(optional(real)), without: optional(list(optional(real))) }),
  position_score: optional(list(optional(real))),
});

const image = message({
  image: integer,
  split: text,
  label: integer,
  class: text,
  predicted: optional(integer),
  pixels: message({ extent: list(integer), channels: integer, values: list(integer) }),
});

const attention = message({
  kind: text,
  model,
  grid: list(integer),
  step: integer,
  queries: list(integer),
  images: list(image),
  layers: list(attentionLayer),
});

export type Attention = Decoded<typeof attention>;
export type AttentionLayer = Attention['layers'][number];
export type LookedAt = Attention['images'][number];

function checkMaps(
  where: string,
  heads: readonly (readonly (readonly unknown[])[])[],
  keys: number,
  rowsMost: number,
) {
  for (const head of heads)
    if (head.length !== rowsMost || head.some((row) => row.length !== keys))
      throw new DecodeError(where, `${rowsMost} rows of ${keys} values`, head.length);
}

// Refuses documents whose sizes do not fit: half a picture would mislead.
export const decodeTrained = (value: unknown): TrainedPrior => {
  const document = (trained as Decoder<TrainedPrior>)(value, 'picture');
  const patches = document.grid.reduce((product, each) => product * each, 1);
  for (const layer of document.layers)
    for (const one of layer.views) {
      checkMaps(one.id, one.initial, patches, document.queries.length);
      if (one.trained) checkMaps(one.id, one.trained, patches, document.queries.length);
    }
  return document;
};

export const decodeAttention = (value: unknown): Attention => {
  const document = (attention as Decoder<Attention>)(value, 'picture');
  const patches = document.grid.reduce((product, each) => product * each, 1);
  for (const layer of document.layers)
    for (const one of layer.images) {
      checkMaps('attention', one.with.queries, patches, document.queries.length);
      if (one.without) checkMaps('attention', one.without.queries, patches, document.queries.length);
    }
  return document;
};

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
