// The messages of proto/locus/v1 that the dashboard reads, as decoders; the TypeScript types follow from
// them.
import {
  type Decoded,
  dictionary,
  flag,
  integer,
  integers,
  list,
  message,
  optional,
  real,
  reals,
  required,
  text,
  timestamp,
} from './decode';

export const seriesKey = message({ metric: text, split: text, labels: text });

// How a cell is marked wherever it is shown; null where the server says none.
export const cellLook = optional(message({ hue: required(integer), variant: required(integer) }));

const runningStage = message({
  trial: text,
  cell_label: text,
  seed: integer,
  role: text,
  stage: integer,
  attempt: integer,
  worker: text,
  step: integer,
  steps: integer,
  phase: text,
});

export const experiment = message({
  name: text,
  owner: text,
  description: text,
  state: text,
  revision: integer,
  create_time: timestamp,
  spec_json: text,
  cells: integer,
  trials: integer,
  trials_done: integer,
  stages: dictionary(integer),
  running: list(runningStage),
  eta_seconds: integer,
  dataset: text,
  primary_metric: text,
  stages_total: integer,
  elapsed_seconds: real,
  reason: text,
  tags: list(text),
  note: text,
  best: optional(
    message({
      cell: integer,
      label: text,
      mean: real,
      std: real,
      n: integer,
      metric: text,
      unit: text,
      look: cellLook,
    }),
  ),
});

export const experimentList = message({
  experiments: list(experiment),
  next_page_token: text,
  attempts_started: integer,
});

const trialStage = message({
  role: text,
  stage: integer,
  kind: text,
  state: text,
  failure_class: text,
  reason: text,
  attempts: integer,
  identity: text,
  step: integer,
  steps: integer,
  shared: flag,
});

export const trial = message({
  name: text,
  ordinal: integer,
  cell: integer,
  cell_label: text,
  seed: integer,
  state: text,
  reason: text,
  retired: flag,
  stages: list(trialStage),
  values: required(reals),
  look: cellLook,
  tags: list(text),
  note: text,
});

const trialColumn = message({
  key: required(seriesKey),
  unit: required(text),
  direction: required(text),
  reduce: required(text),
  selects_on: required(text),
});

const trialCell = message({
  cell: required(integer),
  label: required(text),
  assignment_json: required(text),
  look: cellLook,
});

export const trialList = message({
  trials: list(trial),
  next_page_token: text,
  columns: required(list(trialColumn)),
  cells: required(list(trialCell)),
  available: required(list(seriesKey)),
});

const attempt = message({
  number: integer,
  worker: text,
  state: text,
  failure_class: text,
  reason: text,
  resume_step: integer,
  start_time: timestamp,
  end_time: timestamp,
  environment_json: text,
  points: integer,
  device: text,
  device_name: text,
  path: text,
  log_bytes: integer,
  resume_sha256: text,
  slots: list(integer),
});

const stageDetail = message({
  stage: integer,
  role: text,
  config_json: text,
  attempts: list(attempt),
  results: list(message({ key: seriesKey, reducer: text, value: real, step: integer })),
  checkpoints: list(
    message({
      attempt: integer,
      step: integer,
      sha256: text,
      best: flag,
      bytes: integer,
      pinned: flag,
      present: flag,
      role: text,
    }),
  ),
  outputs: list(message({ slot: text, sha256: text, step: integer })),
  kind: text,
  state: text,
  failure_class: text,
  explanation: text,
  identity: text,
  failures: integer,
  faults: integer,
  inputs: list(message({ slot: text, from_stage: integer, sha256: text })),
  seed: integer,
});

export const trialDetail = message({
  trial,
  stages: list(stageDetail),
  experiment: text,
  assignment_json: text,
});

const tableRow = message({
  cell: integer,
  label: text,
  assignment_json: text,
  n: integer,
  missing_seeds: list(integer),
  mean: real,
  std: real,
  ci_low: real,
  ci_high: real,
  baseline: flag,
  pairs: integer,
  difference: real,
  difference_std: real,
  difference_low: real,
  difference_high: real,
  p_sign_flip: real,
  p_floor: real,
  p_t: real,
  p_holm: real,
  parameters: integer,
  parameters_added: integer,
  ms_per_step: real,
  ms_per_step_std: real,
  values: list(message({ seed: integer, value: real, trial: text })),
  selection: real,
  baseline_label: text,
  baseline_cell: integer,
  baseline_mean: real,
  times_vary: flag,
  look: cellLook,
});

const sweepSeries = message({
  cell: integer,
  label: text,
  points: list(message({ labels: text, x: real, mean: real, std: real, n: integer })),
  look: cellLook,
});

export const table = message({
  experiment: text,
  metric: text,
  split: text,
  labels: text,
  unit: text,
  direction: text,
  baseline: text,
  rows: list(tableRow),
  label_sets: list(text),
  sweep: list(sweepSeries),
  warnings: list(text),
  seeds: integer,
  correction: text,
  matched: text,
  rows_total: integer,
  reduce: text,
  selects_on: text,
  available: list(seriesKey),
});

export const curves = message({
  metric: text,
  split: text,
  labels: text,
  cells: list(
    message({
      cell: integer,
      label: text,
      step: integers,
      mean: reals,
      std: reals,
      n: integers,
      low: reals,
      high: reals,
      epoch: reals,
      images: integers,
      seconds: reals,
      look: cellLook,
    }),
  ),
  trials: list(
    message({
      trial: integer,
      cell: integer,
      seed: integer,
      step: integers,
      value: reals,
      reduced: flag,
      epoch: reals,
      images: integers,
      seconds: reals,
    }),
  ),
  available: list(seriesKey),
});

export const worker = message({
  name: text,
  host: text,
  version: text,
  state: text,
  slots: list(message({ device: text, index: integer, threads: integer, name: text, memory_bytes: integer })),
  seen_time: timestamp,
  running: list(
    message({
      stage: integer,
      attempt: integer,
      title: text,
      step: integer,
      steps: integer,
      phase: text,
      slots: list(integer),
      start_time: timestamp,
    }),
  ),
  catalog_digest: text,
  reason: text,
  slots_busy: integer,
  failed: integer,
  succeeded: integer,
});

export const workerList = message({ workers: list(worker) });

export const workerDetail = message({
  worker,
  attempts: list(
    message({
      stage: integer,
      attempt: integer,
      title: text,
      kind: text,
      state: text,
      failure_class: text,
      reason: text,
      start_time: timestamp,
      end_time: timestamp,
    }),
  ),
  system: list(message({ key: seriesKey, time_us: integers, value: reals })),
});

export const server = message({
  version: text,
  protocol_version: integer,
  attempts_started: integer,
  http_address: text,
  grpc_address: text,
  state: text,
  reason: text,
  disk_free_bytes: integer,
  database_bytes: integer,
  uptime_seconds: real,
  catalog_digest: text,
});

export const changes = message({
  cursor: integer,
  events: list(message({ id: integer, time: timestamp, subject: text, kind: text, json: text })),
  truncated: flag,
});

const errorBody = message({
  error: optional(
    message({
      code: integer,
      status: text,
      message: text,
      details: list(
        message({
          '@type': text,
          reason: text,
          domain: text,
          metadata: dictionary(text),
          field_violations: list(message({ field: text, description: text })),
        }),
      ),
    }),
  ),
});
export const decodeErrorBody = (value: unknown) => errorBody(value, 'error').error;

export type SeriesKey = Decoded<typeof seriesKey>;
export type CellLook = Decoded<typeof cellLook>;
export type Experiment = Decoded<typeof experiment>;
export type RunningStage = Experiment['running'][number];
export type Trial = Decoded<typeof trial>;
export type TrialColumn = Decoded<typeof trialColumn>;
export type TrialCell = Decoded<typeof trialCell>;
export type TrialList = Decoded<typeof trialList>;
export type TrialStage = Trial['stages'][number];
export type TrialDetail = Decoded<typeof trialDetail>;
export type StageDetail = TrialDetail['stages'][number];
export type Attempt = StageDetail['attempts'][number];
export type Table = Decoded<typeof table>;
export type TableRow = Table['rows'][number];
export type SweepSeries = Table['sweep'][number];
export type Curves = Decoded<typeof curves>;
export type CellCurve = Curves['cells'][number];
export type TrialCurve = Curves['trials'][number];
export type Worker = Decoded<typeof worker>;
export type WorkerAttempt = Decoded<typeof workerDetail>['attempts'][number];
export type SystemSeries = Decoded<typeof workerDetail>['system'][number];
export type Server = Decoded<typeof server>;
export type Changes = Decoded<typeof changes>;
export type Event = Changes['events'][number];
