// The messages of what a person asks for: plans, actions, explanations, logs, comparisons. Decoders, as in
// types.ts.
import { type Decoded, flag, integer, list, message, real, text, timestamp } from './decode';
import { cellLook, experiment, seriesKey } from './types';

export const plan = message({
  name: text,
  cells: integer,
  trials: integer,
  stages_total: integer,
  stages_done: integer,
  stages_running: integer,
  stages_to_run: integer,
  cell_list: list(
    message({
      label: text,
      assignment_json: text,
      trials: integer,
      stages_done: integer,
      stages_to_run: integer,
    }),
  ),
  warnings: list(text),
  exists: flag,
  trials_added: integer,
  trials_removed: integer,
  kinds: list(message({ kind: text, total: integer, done: integer, to_run: integer })),
  trials_changed: integer,
});

export const createResponse = message({
  experiment,
  created: flag,
  trials_added: integer,
  trials_removed: integer,
  stages_done: integer,
  stages_to_run: integer,
  trials_changed: integer,
});

export const rerunResponse = message({ experiment, stages: integer, trials: list(text) });

export const deleteResponse = message({
  name: text,
  deleted: flag,
  trials: integer,
  stages: integer,
  stages_kept: integer,
  stages_unfinished: integer,
  attempts: integer,
  points: integer,
  artifacts: integer,
  bytes: integer,
  kept_for: list(text),
});

export const explanation = message({
  subject: text,
  state: text,
  sentence: text,
  stages: list(
    message({
      stage: integer,
      role: text,
      kind: text,
      state: text,
      failure_class: text,
      sentence: text,
      remedy: text,
      expected_time: timestamp,
    }),
  ),
});

export const logPart = message({
  stage: integer,
  attempt: integer,
  offset: integer,
  next_offset: integer,
  total: integer,
  text: text,
  ended: flag,
  state: text,
});

const setting = message({
  path: text,
  values_json: list(text),
  values: list(text),
  parts: list(message({ path: text, values_json: list(text) })),
});

export const comparison = message({
  items: list(
    message({
      name: text,
      kind: text,
      experiment: text,
      cell: integer,
      label: text,
      trials: list(integer),
      seeds: list(integer),
      values: list(message({ seed: integer, value: real, trial: text })),
      title: text,
      look: cellLook,
    }),
  ),
  differing: list(setting),
  common: list(setting),
  results: list(
    message({ key: seriesKey, reducer: text, n: list(integer), mean: list(real), std: list(real) }),
  ),
  metric: text,
  split: text,
  labels: text,
  direction: text,
  unit: text,
  paired: list(
    message({
      item: integer,
      n: integer,
      mean: real,
      std: real,
      low: real,
      high: real,
      p_sign_flip: real,
      p_floor: real,
      p_t: real,
      seeds: list(integer),
      differences: list(real),
    }),
  ),
  warnings: list(text),
});

export const catalogMessage = message({ digest: text, json: text, pictures: list(text) });
export const pictureMessage = message({ json: text });
export const seriesList = message({ series: list(seriesKey) });
export const points = message({
  step: list(integer),
  epoch: list(real),
  images: list(integer),
  time_us: list(integer),
  value: list(real),
  reduced: flag,
});

export type Plan = Decoded<typeof plan>;
export type DeleteResponse = Decoded<typeof deleteResponse>;
export type Explanation = Decoded<typeof explanation>;
export type LogPart = Decoded<typeof logPart>;
export type Comparison = Decoded<typeof comparison>;
export type ComparedItem = Comparison['items'][number];
export type ComparedSetting = Comparison['differing'][number];
export type PairedDifference = Comparison['paired'][number];
export type Points = Decoded<typeof points>;
