// The messages of the server, as decoders; types follow from them. Written by dev/messages.mjs from
// docs/openapi.json (make docs): do not edit.
import { type Decoded, dictionary, flag, integer, list, long, message, optional, real, text,
  timestamp } from './decode';

export const AccountBounds = /* @__PURE__ */ message({ artifact_bytes: optional(long),
  device_hours: optional(long), devices: optional(long), experiments: optional(long),
  queued_trials: optional(long), urgent_devices: optional(long) });
export type AccountBounds = Decoded<typeof AccountBounds>;
export const Account = /* @__PURE__ */ message({ bounds: optional(AccountBounds), configured: flag,
  holding: real, may_be_urgent: flag, month_hours: real, name: text, queued: long, urgent_holding: real,
  used_hours: real, weight: long });
export type Account = Decoded<typeof Account>;
export const Annotation = /* @__PURE__ */ message({ name: text, note: text, tags: list(text) });
export type Annotation = Decoded<typeof Annotation>;
export const Artifact = /* @__PURE__ */ message({ attempt: long, best: flag, bytes: long, kind: text,
  pinned: flag, present: flag, role: text, sha256: text, slot: text, stage: long, step: long, trial: text });
export type Artifact = Decoded<typeof Artifact>;
export const Attempt = /* @__PURE__ */ message({ device: text, device_name: text,
  end_time: optional(timestamp), environment_json: text, failure_class: text, log_bytes: long, number: long,
  path: text, points: long, reason: text, resume_sha256: text, resume_step: long, slots: list(integer),
  start_time: timestamp, state: text, worker: text });
export type Attempt = Decoded<typeof Attempt>;
export const AuditEntry = /* @__PURE__ */ message({ address: text, detail_json: text, id: long, outcome: text,
  previous: text, principal: text, rpc: text, subject: text, time_us: long, via: text });
export type AuditEntry = Decoded<typeof AuditEntry>;
export const BestCurve = /* @__PURE__ */ message({ epochs: list(real), group: text, trial: list(long),
  value: list(real) });
export type BestCurve = Decoded<typeof BestCurve>;
export const CellLook = /* @__PURE__ */ message({ hue: integer, variant: integer });
export type CellLook = Decoded<typeof CellLook>;
export const BestRow = /* @__PURE__ */ message({ cell: integer, label: text, look: optional(CellLook),
  mean: real, metric: text, n: integer, std: real, unit: text });
export type BestRow = Decoded<typeof BestRow>;
export const BestSoFar = /* @__PURE__ */ message({ curves: list(BestCurve), metric: text, split: text });
export type BestSoFar = Decoded<typeof BestSoFar>;
export const Catalog = /* @__PURE__ */ message({ digest: text, json: text, pictures: list(text) });
export type Catalog = Decoded<typeof Catalog>;
export const CellCurve = /* @__PURE__ */ message({ cell: integer, epoch: list(real), high: list(real),
  images: list(long), label: text, look: optional(CellLook), low: list(real), mean: list(real),
  n: list(integer), seconds: list(real), std: list(real), step: list(long) });
export type CellCurve = Decoded<typeof CellCurve>;
export const CheckProblem = /* @__PURE__ */ message({ sentence: text, subject: text });
export type CheckProblem = Decoded<typeof CheckProblem>;
export const CheckReport = /* @__PURE__ */ message({ artifact_bytes: long, artifacts: long,
  database_bytes: long, ok: flag, problems: list(CheckProblem), schema_version: integer });
export type CheckReport = Decoded<typeof CheckReport>;
export const Checkpoint = /* @__PURE__ */ message({ attempt: long, best: flag, bytes: long, pinned: flag,
  present: flag, role: text, sha256: text, step: long });
export type Checkpoint = Decoded<typeof Checkpoint>;
export const ClaimMatch = /* @__PURE__ */ message({ baseline_label: text, baseline_labels: text,
  cell: integer, difference: real, difference_high: real, difference_low: real, differences: list(text),
  experiment: text, label: text, labels: text, mean: real, mean_all: real, measured_direction: text,
  n: integer, pairs: integer, sentence: text, std: real, std_all: real, top_seeds: integer, verdict: text,
  why: text });
export type ClaimMatch = Decoded<typeof ClaimMatch>;
export const ClaimSetting = /* @__PURE__ */ message({ compared: flag, from: text, here: text, name: text,
  value: text });
export type ClaimSetting = Decoded<typeof ClaimSetting>;
export const Claim = /* @__PURE__ */ message({ baseline: text, column: text, difference: real,
  difference_printed: flag, direction: text, measured: list(ClaimMatch), measured_direction: text,
  metric: text, n: integer, note: text, options: list(ClaimSetting), prior_json: text, row: text,
  setting: list(ClaimSetting), std: real, unit: text, unmeasured: text, value: real, verdict: text,
  why: text });
export type Claim = Decoded<typeof Claim>;
export const ClaimCount = /* @__PURE__ */ message({ count: integer, name: text, text });
export type ClaimCount = Decoded<typeof ClaimCount>;
export const ClaimPaper = /* @__PURE__ */ message({ arxiv: text, authors: list(text), claims: integer,
  id: text, note: text, tables: integer, title: text, year: integer });
export type ClaimPaper = Decoded<typeof ClaimPaper>;
export const ClaimSummary = /* @__PURE__ */ message({ agrees: integer, contradicts: integer,
  not_comparable: integer, numbers: integer, open_direction: integer, opposite_direction: integer,
  paper: text, same_direction: integer, settings: list(ClaimCount), table: text, undecided: integer,
  why: list(ClaimCount) });
export type ClaimSummary = Decoded<typeof ClaimSummary>;
export const ClaimTable = /* @__PURE__ */ message({ caption: text, claims: list(Claim), columns: list(text),
  note: text, paper: text, rows: list(text), setting: list(ClaimSetting), table: text, title: text });
export type ClaimTable = Decoded<typeof ClaimTable>;
export const CollectGarbageResponse = /* @__PURE__ */ message({ artifacts: integer, bytes: long,
  checkpoints: integer, dry_run: flag });
export type CollectGarbageResponse = Decoded<typeof CollectGarbageResponse>;
export const SeedValue = /* @__PURE__ */ message({ seed: long, trial: text, value: real });
export type SeedValue = Decoded<typeof SeedValue>;
export const ComparedItem = /* @__PURE__ */ message({ cell: integer, chosen_by: text, experiment: text,
  kind: text, label: text, look: optional(CellLook), mean: real, mean_all: real, name: text,
  seeds: list(long), standing: text, title: text, trials: list(integer), values: list(SeedValue) });
export type ComparedItem = Decoded<typeof ComparedItem>;
export const ComparedPart = /* @__PURE__ */ message({ path: text, values_json: list(text) });
export type ComparedPart = Decoded<typeof ComparedPart>;
export const SeriesKey = /* @__PURE__ */ message({ labels: text, metric: text, split: text });
export type SeriesKey = Decoded<typeof SeriesKey>;
export const ComparedResult = /* @__PURE__ */ message({ key: SeriesKey, mean: list(real), n: list(integer),
  reducer: text, std: list(real) });
export type ComparedResult = Decoded<typeof ComparedResult>;
export const ComparedSetting = /* @__PURE__ */ message({ parts: list(ComparedPart), path: text,
  values: list(text), values_json: list(text) });
export type ComparedSetting = Decoded<typeof ComparedSetting>;
export const PairedDifference = /* @__PURE__ */ message({ differences: list(real), high: real, item: integer,
  low: real, mean: real, n: integer, p_floor: real, p_sign_flip: real, p_t: real, seeds: list(long),
  std: real });
export type PairedDifference = Decoded<typeof PairedDifference>;
export const Comparison = /* @__PURE__ */ message({ common: list(ComparedSetting),
  differing: list(ComparedSetting), direction: text, items: list(ComparedItem), labels: text, metric: text,
  paired: list(PairedDifference), results: list(ComparedResult), split: text, top_seeds: integer, unit: text,
  warnings: list(text) });
export type Comparison = Decoded<typeof Comparison>;
export const RunningStage = /* @__PURE__ */ message({ attempt: long, cell_label: text, phase: text,
  role: text, seed: long, stage: long, step: long, steps: long, trial: text, worker: text });
export type RunningStage = Decoded<typeof RunningStage>;
export const Experiment = /* @__PURE__ */ message({ best: optional(BestRow), cells: integer,
  create_time: timestamp, dataset: text, description: text, elapsed_seconds: real, eta_seconds: long,
  name: text, note: text, owner: text, primary_metric: text, reason: text, revision: long,
  running: list(RunningStage), search: text, spec_json: text, stages: dictionary(integer),
  stages_total: integer, state: text, tags: list(text), trials: integer, trials_done: integer,
  trials_parked: integer, trials_waiting: integer });
export type Experiment = Decoded<typeof Experiment>;
export const CreateExperimentResponse = /* @__PURE__ */ message({ created: flag, experiment: Experiment,
  stages_done: integer, stages_to_run: integer, trials_added: integer, trials_changed: integer,
  trials_removed: integer });
export type CreateExperimentResponse = Decoded<typeof CreateExperimentResponse>;
export const Token = /* @__PURE__ */ message({ account: text, create_time: optional(timestamp),
  expire_time: optional(timestamp), id: text, principal: text, revoke_time: optional(timestamp), role: text,
  state: text, use_time: optional(timestamp) });
export type Token = Decoded<typeof Token>;
export const CreateTokenResponse = /* @__PURE__ */ message({ stored: optional(Token), token: text });
export type CreateTokenResponse = Decoded<typeof CreateTokenResponse>;
export const TrialCurve = /* @__PURE__ */ message({ cell: integer, epoch: list(real), images: list(long),
  reduced: flag, seconds: list(real), seed: long, step: list(long), trial: integer, value: list(real) });
export type TrialCurve = Decoded<typeof TrialCurve>;
export const Curves = /* @__PURE__ */ message({ available: list(SeriesKey), cells: list(CellCurve),
  labels: text, metric: text, split: text, trials: list(TrialCurve) });
export type Curves = Decoded<typeof Curves>;
export const DeleteExperimentResponse = /* @__PURE__ */ message({ artifacts: integer, attempts: long,
  bytes: long, deleted: flag, kept_for: list(text), name: text, points: long, purging: flag, stages: integer,
  stages_kept: integer, stages_unfinished: integer, trials: integer });
export type DeleteExperimentResponse = Decoded<typeof DeleteExperimentResponse>;
export const DemandGroup = /* @__PURE__ */ message({ device_seconds: real, devices: integer, exclusive: flag,
  memory_bytes: long, oldest_wait_seconds: real, queued: long, require: dictionary(text),
  revisions: dictionary(integer), without_estimate: long, workers: integer });
export type DemandGroup = Decoded<typeof DemandGroup>;
export const Demand = /* @__PURE__ */ message({ bounded: long, device_seconds: real,
  groups: list(DemandGroup), groups_left_out: integer, oldest_wait_seconds: real, queued: long,
  without_estimate: long });
export type Demand = Decoded<typeof Demand>;
export const Drawing = /* @__PURE__ */ message({ json: text, sha256: text, step: long });
export type Drawing = Decoded<typeof Drawing>;
export const Enrolled = /* @__PURE__ */ message({ authorities: text, certificate: text,
  expires: optional(timestamp), grpc_port: integer, name: text, role: text });
export type Enrolled = Decoded<typeof Enrolled>;
export const Error = /* @__PURE__ */ message({ error: message({ code: integer,
  details: list(message({ '@type': text, domain: optional(text),
  field_violations: optional(list(message({ description: text, field: text, reason: text }))),
  metadata: optional(dictionary(text)), reason: optional(text) })), message: text, status: text }) });
export type Error = Decoded<typeof Error>;
export const Event = /* @__PURE__ */ message({ id: long, json: text, kind: text, subject: text,
  time: optional(timestamp) });
export type Event = Decoded<typeof Event>;
export const StageExplanation = /* @__PURE__ */ message({ expected_time: optional(timestamp),
  failure_class: text, kind: text, remedy: text, role: text, sentence: text, stage: long, state: text });
export type StageExplanation = Decoded<typeof StageExplanation>;
export const Explanation = /* @__PURE__ */ message({ sentence: text, stages: list(StageExplanation),
  state: text, subject: text });
export type Explanation = Decoded<typeof Explanation>;
export const Extension = /* @__PURE__ */ message({ by: text, digest: text, items: list(text), name: text });
export type Extension = Decoded<typeof Extension>;
export const FactorImportance = /* @__PURE__ */ message({ high: real, low: real, path: text, share: real });
export type FactorImportance = Decoded<typeof FactorImportance>;
export const ForeignSeries = /* @__PURE__ */ message({ key: optional(SeriesKey), points: long, reduced: flag,
  step: list(long), time_us: list(long), value: list(real) });
export type ForeignSeries = Decoded<typeof ForeignSeries>;
export const ForeignImport = /* @__PURE__ */ message({ digest: text, existing: flag, format: text,
  imported_by: text, imported_time: optional(timestamp), series: list(ForeignSeries), source: text });
export type ForeignImport = Decoded<typeof ForeignImport>;
export const HeldData = /* @__PURE__ */ message({ datasets: list(text), missing: dictionary(text) });
export type HeldData = Decoded<typeof HeldData>;
export const Identity = /* @__PURE__ */ message({ account: text, asked: flag, name: text, role: text,
  via: text });
export type Identity = Decoded<typeof Identity>;
export const Importance = /* @__PURE__ */ message({ factors: list(FactorImportance), metric: text, note: text,
  split: text, unexplained: real, units: integer });
export type Importance = Decoded<typeof Importance>;
export const Invitation = /* @__PURE__ */ message({ expires: optional(timestamp), name: text, role: text,
  token: text });
export type Invitation = Decoded<typeof Invitation>;
export const IssuedCertificate = /* @__PURE__ */ message({ expires: optional(timestamp),
  issued: optional(timestamp), labels: dictionary(text), name: text, revoked: optional(timestamp), role: text,
  serial: text });
export type IssuedCertificate = Decoded<typeof IssuedCertificate>;
export const ListAccountsResponse = /* @__PURE__ */ message({ accounts: list(Account) });
export type ListAccountsResponse = Decoded<typeof ListAccountsResponse>;
export const ListArtifactsResponse = /* @__PURE__ */ message({ artifacts: list(Artifact),
  next_page_token: text });
export type ListArtifactsResponse = Decoded<typeof ListArtifactsResponse>;
export const ListAuditResponse = /* @__PURE__ */ message({ entries: list(AuditEntry), first: long,
  first_previous: text, last: long, last_digest: text });
export type ListAuditResponse = Decoded<typeof ListAuditResponse>;
export const ListCertificatesResponse = /* @__PURE__ */ message({ certificates: list(IssuedCertificate) });
export type ListCertificatesResponse = Decoded<typeof ListCertificatesResponse>;
export const ListClaimsResponse = /* @__PURE__ */ message({ papers: list(ClaimPaper),
  summaries: list(ClaimSummary), tables: list(ClaimTable) });
export type ListClaimsResponse = Decoded<typeof ListClaimsResponse>;
export const SearchDecision = /* @__PURE__ */ message({ generation: long, json: text, kind: text,
  number: long, phase: text, principal: text, rule: text, rule_revision: integer, text,
  time: optional(timestamp), trials: list(long) });
export type SearchDecision = Decoded<typeof SearchDecision>;
export const ListDecisionsResponse = /* @__PURE__ */ message({ decisions: list(SearchDecision), more: flag });
export type ListDecisionsResponse = Decoded<typeof ListDecisionsResponse>;
export const ListExperimentsResponse = /* @__PURE__ */ message({ attempts_started: long,
  experiments: list(Experiment), next_page_token: text });
export type ListExperimentsResponse = Decoded<typeof ListExperimentsResponse>;
export const ListForeignSeriesResponse = /* @__PURE__ */ message({ imports: list(ForeignImport) });
export type ListForeignSeriesResponse = Decoded<typeof ListForeignSeriesResponse>;
export const ListSeriesResponse = /* @__PURE__ */ message({ series: list(SeriesKey) });
export type ListSeriesResponse = Decoded<typeof ListSeriesResponse>;
export const ListTokensResponse = /* @__PURE__ */ message({ tokens: list(Token) });
export type ListTokensResponse = Decoded<typeof ListTokensResponse>;
export const TrialCell = /* @__PURE__ */ message({ assignment_json: text, cell: integer, label: text,
  look: optional(CellLook) });
export type TrialCell = Decoded<typeof TrialCell>;
export const TrialColumn = /* @__PURE__ */ message({ direction: text, key: SeriesKey, reduce: text,
  selects_on: text, unit: text });
export type TrialColumn = Decoded<typeof TrialColumn>;
export const TrialStage = /* @__PURE__ */ message({ attempts: long, failure_class: text, identity: text,
  kind: text, reason: text, retries: long, role: text, shared: flag, stage: long, state: text, step: long,
  steps: long });
export type TrialStage = Decoded<typeof TrialStage>;
export const Trial = /* @__PURE__ */ message({ cell: integer, cell_label: text, look: optional(CellLook),
  name: text, note: text, ordinal: integer, reason: text, retired: flag, seed: long, stages: list(TrialStage),
  state: text, tags: list(text), values: list(real) });
export type Trial = Decoded<typeof Trial>;
export const ListTrialsResponse = /* @__PURE__ */ message({ available: list(SeriesKey),
  cells: list(TrialCell), columns: list(TrialColumn), next_page_token: text, trials: list(Trial) });
export type ListTrialsResponse = Decoded<typeof ListTrialsResponse>;
export const WorkerExtension = /* @__PURE__ */ message({ current: flag, digest: text, name: text });
export type WorkerExtension = Decoded<typeof WorkerExtension>;
export const RunningAttempt = /* @__PURE__ */ message({ attempt: long, phase: text, slots: list(integer),
  stage: long, start_time: optional(timestamp), step: long, steps: long, title: text });
export type RunningAttempt = Decoded<typeof RunningAttempt>;
export const Slot = /* @__PURE__ */ message({ device: text, index: integer, memory_bytes: long, name: text,
  threads: integer });
export type Slot = Decoded<typeof Slot>;
export const Worker = /* @__PURE__ */ message({ catalog_digest: text, data: optional(HeldData),
  drain_time: optional(timestamp), end_time: optional(timestamp), extensions: list(WorkerExtension),
  failed: integer, forgotten: flag, host: text, labels: dictionary(text), name: text, reason: text,
  running: list(RunningAttempt), seen_time: timestamp, since_time: optional(timestamp), slots: list(Slot),
  slots_busy: integer, state: text, succeeded: integer, untrusted_labels: dictionary(text), version: text });
export type Worker = Decoded<typeof Worker>;
export const ListWorkersResponse = /* @__PURE__ */ message({ forgotten: integer, workers: list(Worker) });
export type ListWorkersResponse = Decoded<typeof ListWorkersResponse>;
export const LocateArtifactResponse = /* @__PURE__ */ message({ bytes: long, lifetime_seconds: integer,
  url: text });
export type LocateArtifactResponse = Decoded<typeof LocateArtifactResponse>;
export const Output = /* @__PURE__ */ message({ sha256: text, slot: text, step: long });
export type Output = Decoded<typeof Output>;
export const PaperCell = /* @__PURE__ */ message({ best: flag, chosen_by: text, difference: real,
  difference_high: real, difference_low: real, difference_std: real, failed_seeds: list(long),
  flags: list(text), high: real, low: real, mean: real, mean_all: real, missing_seeds: list(long), n: integer,
  p: real, p_adjusted: real, p_floor: real, pairs: integer, second: flag, seeds_needed: integer,
  significant: flag, std: real, std_all: real, test: text, trials: list(text), values: list(SeedValue) });
export type PaperCell = Decoded<typeof PaperCell>;
export const PaperSummary = /* @__PURE__ */ message({ columns: integer, columns_total: integer, iqm: real,
  iqm_high: real, iqm_low: real, mean: real, mean_rank: real, metric: text, row: integer });
export type PaperSummary = Decoded<typeof PaperSummary>;
export const TableAxis = /* @__PURE__ */ message({ keys: list(text), kind: text, labels: list(text),
  name: text });
export type TableAxis = Decoded<typeof TableAxis>;
export const TableHeading = /* @__PURE__ */ message({ baseline: flag, direction: text, keys: list(text),
  labels: list(text), look: optional(CellLook), metric: text, reduce: text, split: text, top_seeds: integer,
  unit: text });
export type TableHeading = Decoded<typeof TableHeading>;
export const PaperTable = /* @__PURE__ */ message({ alpha: real, axes: list(TableAxis), baseline: text,
  cells: list(PaperCell), column_axes: list(text), columns: list(TableHeading), correction: text, level: real,
  matched: text, notes: list(text), rendered: text, row_axes: list(text), rows: list(TableHeading),
  rows_total: integer, summaries: list(PaperSummary), test: text, warnings: list(text) });
export type PaperTable = Decoded<typeof PaperTable>;
export const Picture = /* @__PURE__ */ message({ json: text, prior: text });
export type Picture = Decoded<typeof Picture>;
export const PlanHistory = /* @__PURE__ */ message({ basis: text, device: text, kind: text, runs: integer,
  stages: integer });
export type PlanHistory = Decoded<typeof PlanHistory>;
export const PlanCell = /* @__PURE__ */ message({ assignment_json: text, compute_seconds: optional(real),
  data_bytes: long, flops: optional(long), history: list(PlanHistory), label: text,
  memory_bytes: optional(long), parameters: optional(long), prior_parameters: optional(long),
  stages_done: integer, stages_to_run: integer, stages_without_history: integer, training_parameters: long,
  trials: integer, uncounted_priors: list(text) });
export type PlanCell = Decoded<typeof PlanCell>;
export const PlanRange = /* @__PURE__ */ message({ least: long, most: long });
export type PlanRange = Decoded<typeof PlanRange>;
export const PlanKind = /* @__PURE__ */ message({ compute_seconds: optional(real), done: integer, kind: text,
  stages_without_history: integer, to_run: integer, total: integer });
export type PlanKind = Decoded<typeof PlanKind>;
export const PlanRung = /* @__PURE__ */ message({ least: long, most: long, rung: long });
export type PlanRung = Decoded<typeof PlanRung>;
export const PlanBracket = /* @__PURE__ */ message({ rungs: list(PlanRung) });
export type PlanBracket = Decoded<typeof PlanBracket>;
export const PlanSearch = /* @__PURE__ */ message({ advance: text, brackets: list(PlanBracket), decides: flag,
  groups: integer, least_epochs: real, least_trainings: long, most_epochs: real, most_trainings: long,
  parked: long, parked_bytes: optional(long), proposals: integer, propose: text, repeats: integer,
  resource: text, shared: flag, unit: text, units: integer });
export type PlanSearch = Decoded<typeof PlanSearch>;
export const PlanPhase = /* @__PURE__ */ message({ candidates: integer, cells: integer, chooses: list(text),
  deferred: flag, groups: integer, name: text, search: optional(PlanSearch), stages_to_run: integer,
  trials: integer, uses: list(text) });
export type PlanPhase = Decoded<typeof PlanPhase>;
export const Plan = /* @__PURE__ */ message({ cell_list: list(PlanCell), cells: integer,
  compute_seconds: optional(real), exists: flag, flops: optional(PlanRange), free_slots: integer,
  history: list(PlanHistory), kinds: list(PlanKind), memory_bytes: optional(PlanRange), name: text,
  parameters: optional(PlanRange), phases: list(PlanPhase), prior_parameters: optional(PlanRange),
  search: optional(PlanSearch), stages_done: integer, stages_running: integer, stages_to_run: integer,
  stages_total: integer, stages_without_history: integer, trials: integer, trials_added: integer,
  trials_changed: integer, trials_deferred: integer, trials_removed: integer, wall_seconds: optional(real),
  warnings: list(text) });
export type Plan = Decoded<typeof Plan>;
export const ProposedUnit = /* @__PURE__ */ message({ cell: long, repeated_before: flag,
  trials: list(long) });
export type ProposedUnit = Decoded<typeof ProposedUnit>;
export const ProposeResponse = /* @__PURE__ */ message({ decision: long, units: list(ProposedUnit) });
export type ProposeResponse = Decoded<typeof ProposeResponse>;
export const QuerySeriesResponse = /* @__PURE__ */ message({ epoch: list(real), images: list(long),
  reduced: flag, step: list(long), time_us: list(long), value: list(real) });
export type QuerySeriesResponse = Decoded<typeof QuerySeriesResponse>;
export const ReadLogResponse = /* @__PURE__ */ message({ attempt: long, ended: flag, next_offset: long,
  offset: long, stage: long, state: text, text, total: long });
export type ReadLogResponse = Decoded<typeof ReadLogResponse>;
export const RerunExperimentResponse = /* @__PURE__ */ message({ experiment: Experiment, stages: integer,
  trials: list(text) });
export type RerunExperimentResponse = Decoded<typeof RerunExperimentResponse>;
export const Result = /* @__PURE__ */ message({ key: SeriesKey, reducer: text, step: long, value: real });
export type Result = Decoded<typeof Result>;
export const SearchRung = /* @__PURE__ */ message({ advanced: integer, failed: integer, rung: long,
  sent: integer, stopped: integer, there: integer });
export type SearchRung = Decoded<typeof SearchRung>;
export const SearchBracket = /* @__PURE__ */ message({ rungs: list(SearchRung) });
export type SearchBracket = Decoded<typeof SearchBracket>;
export const SearchBudgetLine = /* @__PURE__ */ message({ limit: real, name: text, spent: real });
export type SearchBudgetLine = Decoded<typeof SearchBudgetLine>;
export const SearchChoice = /* @__PURE__ */ message({ agreed: integer, group: text, group_json: text,
  image_error: optional(real), margin: optional(real), note: text, seeds: integer, value: optional(real),
  values_json: text });
export type SearchChoice = Decoded<typeof SearchChoice>;
export const SearchDimension = /* @__PURE__ */ message({ choices: list(text), high: real, kind: text,
  low: real, path: text });
export type SearchDimension = Decoded<typeof SearchDimension>;
export const SearchScore = /* @__PURE__ */ message({ rung: long, value: optional(real) });
export type SearchScore = Decoded<typeof SearchScore>;
export const SearchUnit = /* @__PURE__ */ message({ bracket: integer, cell: long, cells: list(long),
  group: integer, label: text, proposal: long, reason: text, rung: integer, scores: list(SearchScore),
  state: text, trials: list(long), values_json: text });
export type SearchUnit = Decoded<typeof SearchUnit>;
export const SearchPhase = /* @__PURE__ */ message({ advance: text, brackets: list(SearchBracket),
  budget: list(SearchBudgetLine), choices: list(SearchChoice), direction: text, groups: list(text),
  metric: text, name: text, proposals: integer, propose: text, proposed: integer, reason: text,
  resource: text, shared: flag, space: list(SearchDimension), split: text, state: text, unit: text,
  units: list(SearchUnit) });
export type SearchPhase = Decoded<typeof SearchPhase>;
export const Search = /* @__PURE__ */ message({ decided: long, experiment: text, generation: long,
  next: list(text), phases: list(SearchPhase), reason: text, state: text });
export type Search = Decoded<typeof Search>;
export const Server = /* @__PURE__ */ message({ attempts_started: long, catalog_digest: text,
  database_bytes: long, disk_free_bytes: long, grpc_address: text, http_address: text,
  protocol_version: integer, purging: flag, reason: text, state: text, uptime_seconds: real, version: text });
export type Server = Decoded<typeof Server>;
export const StageInputView = /* @__PURE__ */ message({ from_stage: long, sha256: text, slot: text });
export type StageInputView = Decoded<typeof StageInputView>;
export const StageDetail = /* @__PURE__ */ message({ attempts: list(Attempt), checkpoints: list(Checkpoint),
  config_json: text, explanation: text, failure_class: text, failures: integer, faults: integer,
  identity: text, inputs: list(StageInputView), kind: text, outputs: list(Output), results: list(Result),
  role: text, seed: long, stage: long, state: text });
export type StageDetail = Decoded<typeof StageDetail>;
export const SweepPoint = /* @__PURE__ */ message({ labels: text, mean: real, n: integer, std: real,
  x: real });
export type SweepPoint = Decoded<typeof SweepPoint>;
export const SweepSeries = /* @__PURE__ */ message({ cell: integer, label: text, look: optional(CellLook),
  points: list(SweepPoint) });
export type SweepSeries = Decoded<typeof SweepSeries>;
export const SystemSeries = /* @__PURE__ */ message({ key: SeriesKey, time_us: list(long),
  value: list(real) });
export type SystemSeries = Decoded<typeof SystemSeries>;
export const TableRow = /* @__PURE__ */ message({ assignment_json: text, baseline: flag,
  baseline_cell: integer, baseline_label: text, baseline_mean: real, cell: integer, chosen_by: text,
  ci_high: real, ci_low: real, difference: real, difference_high: real, difference_low: real,
  difference_std: real, label: text, look: optional(CellLook), mean: real, mean_all: real,
  missing_seeds: list(long), ms_per_step: real, ms_per_step_std: real, n: integer, p_floor: real,
  p_holm: real, p_sign_flip: real, p_t: real, pairs: integer, parameters: long, parameters_added: long,
  selection: real, standing: text, std: real, std_all: real, times_vary: flag, values: list(SeedValue) });
export type TableRow = Decoded<typeof TableRow>;
export const Table = /* @__PURE__ */ message({ available: list(SeriesKey), baseline: text, chose: flag,
  chosen: flag, correction: text, direction: text, experiment: text, label_sets: list(text), labels: text,
  matched: text, metric: text, phase: text, phases: list(text), reduce: text, rows: list(TableRow),
  rows_total: integer, seeds: integer, selects_on: text, split: text, sweep: list(SweepSeries),
  top_seeds: integer, unit: text, warnings: list(text) });
export type Table = Decoded<typeof Table>;
export const TrialDetail = /* @__PURE__ */ message({ assignment_json: text, experiment: text,
  stages: list(StageDetail), trial: Trial });
export type TrialDetail = Decoded<typeof TrialDetail>;
export const WatchEventsResponse = /* @__PURE__ */ message({ cursor: long, events: list(Event),
  truncated: flag });
export type WatchEventsResponse = Decoded<typeof WatchEventsResponse>;
export const WorkerAttempt = /* @__PURE__ */ message({ attempt: long, end_time: optional(timestamp),
  failure_class: text, kind: text, reason: text, stage: long, start_time: timestamp, state: text,
  title: text });
export type WorkerAttempt = Decoded<typeof WorkerAttempt>;
export const WorkerDetail = /* @__PURE__ */ message({ attempts: list(WorkerAttempt),
  system: list(SystemSeries), worker: Worker });
export type WorkerDetail = Decoded<typeof WorkerDetail>;
