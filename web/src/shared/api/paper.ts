// The paper table (proto/locus/v1/analysis_service.proto): decoders, as in types.ts.
import { type Decoded, flag, integer, integers, list, message, real, text } from './decode';
import { cellLook } from './types';

const heading = message({
  keys: list(text),
  labels: list(text),
  baseline: flag,
  metric: text,
  split: text,
  unit: text,
  direction: text,
  reduce: text,
  look: cellLook,
});

const cell = message({
  n: integer,
  mean: real,
  std: real,
  low: real,
  high: real,
  values: list(message({ seed: integer, value: real, trial: text })),
  missing_seeds: integers,
  failed_seeds: integers,
  pairs: integer,
  difference: real,
  difference_std: real,
  difference_low: real,
  difference_high: real,
  p: real,
  p_floor: real,
  p_adjusted: real,
  best: flag,
  second: flag,
  significant: flag,
  seeds_needed: integer,
  flags: list(text),
  trials: list(text),
  test: text,
});

export const paperTable = message({
  row_axes: list(text),
  column_axes: list(text),
  rows: list(heading),
  columns: list(heading),
  cells: list(cell),
  summaries: list(
    message({
      row: integer,
      metric: text,
      columns: integer,
      mean: real,
      iqm: real,
      iqm_low: real,
      iqm_high: real,
      mean_rank: real,
      columns_total: integer,
    }),
  ),
  baseline: text,
  test: text,
  correction: text,
  level: real,
  alpha: real,
  matched: text,
  warnings: list(text),
  notes: list(text),
  rendered: text,
  axes: list(message({ name: text, kind: text, keys: list(text), labels: list(text) })),
  rows_total: integer,
});

export type PaperTable = Decoded<typeof paperTable>;
export type PaperCell = PaperTable['cells'][number];
export type PaperHeading = PaperTable['rows'][number];
export type PaperAxis = PaperTable['axes'][number];
