// The documents of pictures (docs/formats/picture.md): what a prior does before any content, what training made of the
// priors, and where a trained model looks. The engine computed all of it.
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

const maps = list(list(list(optional(real)))); // [head][query][key]; null: never attended
const grid = list(integer); // rows, columns
const curves = list(message({ name: text, path: list(integer) }));

// What every view says of itself.
const titled = { id: text, title: text, help: text };
const ranged = { ...titled, scale: text, low: real, high: real }; // "sequential" or "diverging"

const picture = message({
  version: integer,
  prior: text,
  revision: integer,
  setting: text,
  grid,
  parameters_added: optional(integer),
  views: list(message({ ...ranged, heads: list(text), values: maps })), // a label per head
  curves,
});

const table = list(list(optional(real))); // [row][head]
const model = message({
  layers: integer,
  stages: optional(list(integer)), // layers of each stage of the network; null in what was drawn before there were any
  heads: integer,
  head_width: integer,
  prefix: integer,
});

const trained = message({
  kind: text,
  model,
  priors: list(message({ prior: text, parameters_kept: integer })),
  grid,
  step: integer,
  seed: integer,
  queries: list(integer),
  layers: list(
    message({
      layer: integer,
      views: list(message({ ...ranged, prior: text, initial: maps, trained: optional(maps) })),
      numbers: list(
        message({ ...titled, unit: text, rows: list(text), initial: table, trained: optional(table) }),
      ),
      curves,
    }),
  ),
});

const attended = message({ queries: maps, mean: maps, prefix: optional(maps) });

const attention = message({
  kind: text,
  model,
  grid,
  step: integer,
  queries: list(integer),
  images: list(
    message({
      image: integer,
      split: text,
      label: integer,
      class: text,
      predicted: optional(integer),
      pixels: message({ extent: list(integer), channels: integer, values: list(integer) }),
    }),
  ),
  layers: list(
    message({
      layer: integer,
      images: list(message({ image: integer, with: attended, without: optional(attended) })),
      distance: message({ with: list(optional(real)), without: optional(list(optional(real))) }),
      position_score: optional(list(optional(real))),
    }),
  ),
});

export type Picture = Decoded<typeof picture>;
export type PictureView = Picture['views'][number];
export type TrainedPrior = Decoded<typeof trained>;
export type TrainedLayer = TrainedPrior['layers'][number];
export type TrainedView = TrainedLayer['views'][number];
export type HeadNumbers = TrainedLayer['numbers'][number];
export type Attention = Decoded<typeof attention>;
export type AttentionLayer = Attention['layers'][number];
export type LookedAt = Attention['images'][number];

type Maps = Decoded<typeof maps>;

// How many patches the grid has.
function patchesOf(extent: readonly number[]): number {
  const patches = extent.reduce((product, each) => product * each, 1);
  if (extent.length !== 2 || !(patches > 0))
    throw new DecodeError('picture.grid', 'rows and columns', extent);
  return patches;
}

// Refuses maps whose sizes do not fit: half a picture would mislead.
function check(where: string, heads: Maps | null, queries: number, patches: number): void {
  for (const head of heads ?? [])
    if (head.length !== queries || head.some((row) => row.length !== patches))
      throw new DecodeError(`picture.${where}`, `${queries} rows of ${patches} values`, head.length);
}

export function decodePicture(value: unknown): Picture {
  const document = (picture as Decoder<Picture>)(value, 'picture');
  const patches = patchesOf(document.grid);
  for (const { id, values } of document.views) check(`views.${id}`, values, patches, patches);
  return document;
}

export function decodeTrained(value: unknown): TrainedPrior {
  const document = (trained as Decoder<TrainedPrior>)(value, 'picture');
  const patches = patchesOf(document.grid);
  for (const { id, initial, trained: after } of document.layers.flatMap((layer) => layer.views))
    for (const each of [initial, after]) check(`views.${id}`, each, document.queries.length, patches);
  return document;
}

export function decodeAttention(value: unknown): Attention {
  const document = (attention as Decoder<Attention>)(value, 'picture');
  const patches = patchesOf(document.grid);
  for (const { with: shown, without } of document.layers.flatMap((layer) => layer.images))
    for (const each of [shown.queries, without?.queries ?? null])
      check('attention', each, document.queries.length, patches);
  return document;
}
