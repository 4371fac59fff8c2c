-- Everything Locus keeps, first version.
--
-- Ids are given by the program and are 64-bit (PostgreSQL: BIGINT for every INTEGER). Times are microseconds
-- since the Unix epoch. States and classes are the kebab-case words of the API. Points live in blobs, because
-- SQL has no place for NaN; results are text that reads back to the same double. No triggers: every rule is in
-- the program, in the transaction that writes.

CREATE TABLE migration (
  number     INTEGER PRIMARY KEY,
  applied_us INTEGER NOT NULL
) STRICT;

CREATE TABLE catalog (
  digest TEXT NOT NULL PRIMARY KEY,
  json   TEXT NOT NULL
) STRICT;

-- Stages of equal configuration (the seeds of one cell) share one row.
CREATE TABLE config (
  hash TEXT NOT NULL PRIMARY KEY,  -- SHA-256 of json
  json TEXT NOT NULL
) STRICT;

CREATE TABLE experiment (
  id             INTEGER PRIMARY KEY,
  name           TEXT    NOT NULL UNIQUE,
  owner          TEXT    NOT NULL,
  spec_json      TEXT    NOT NULL,
  revision       INTEGER NOT NULL,
  state          TEXT    NOT NULL,
  priority       INTEGER NOT NULL,
  catalog_digest TEXT    NOT NULL,
  created_us     INTEGER NOT NULL
) STRICT;

CREATE TABLE cell (
  experiment_id   INTEGER NOT NULL REFERENCES experiment (id),
  ordinal         INTEGER NOT NULL,
  row_key         TEXT    NOT NULL,
  label           TEXT    NOT NULL,
  assignment_json TEXT    NOT NULL,
  PRIMARY KEY (experiment_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial (
  experiment_id INTEGER NOT NULL,
  ordinal       INTEGER NOT NULL,
  cell          INTEGER NOT NULL,
  seed          INTEGER NOT NULL,
  retired       INTEGER NOT NULL,
  PRIMARY KEY (experiment_id, ordinal),
  FOREIGN KEY (experiment_id, cell) REFERENCES cell (experiment_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Global: its identity is a hash, and trials of any experiment share it.
CREATE TABLE stage (
  id             INTEGER PRIMARY KEY,
  identity       TEXT    NOT NULL UNIQUE,
  kind           TEXT    NOT NULL,
  config_hash    TEXT    NOT NULL REFERENCES config (hash),
  seed           INTEGER NOT NULL,
  state          TEXT    NOT NULL,
  failure_class  TEXT    NOT NULL,
  reason         TEXT    NOT NULL,
  attempt        INTEGER NOT NULL,  -- newest attempt number: the fencing token
  failures       INTEGER NOT NULL,
  faults         INTEGER NOT NULL,
  retry_delay_us INTEGER NOT NULL
) STRICT;
CREATE INDEX stage_unfinished ON stage (id) WHERE state IN ('blocked', 'queued', 'running');

CREATE TABLE stage_input (
  stage_id        INTEGER NOT NULL REFERENCES stage (id),
  slot            TEXT    NOT NULL,
  from_stage_id   INTEGER REFERENCES stage (id),  -- null: given as an artifact
  artifact_sha256 TEXT    NOT NULL,
  PRIMARY KEY (stage_id, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifact (
  sha256 TEXT    NOT NULL PRIMARY KEY,
  kind   TEXT    NOT NULL,
  uri    TEXT    NOT NULL,
  bytes  INTEGER NOT NULL,
  pinned INTEGER NOT NULL
) STRICT;

CREATE TABLE stage_output (
  stage_id INTEGER NOT NULL REFERENCES stage (id),
  slot     TEXT    NOT NULL,
  sha256   TEXT    NOT NULL REFERENCES artifact (sha256),
  step     INTEGER NOT NULL,
  PRIMARY KEY (stage_id, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial_stage (
  experiment_id INTEGER NOT NULL,
  trial         INTEGER NOT NULL,
  role          TEXT    NOT NULL,
  position      INTEGER NOT NULL,  -- order of the specification within the trial
  stage_id      INTEGER NOT NULL REFERENCES stage (id),
  PRIMARY KEY (experiment_id, trial, role),
  FOREIGN KEY (experiment_id, trial) REFERENCES trial (experiment_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX trial_stage_by_stage ON trial_stage (stage_id);

CREATE TABLE worker (
  id             INTEGER PRIMARY KEY,
  name           TEXT    NOT NULL UNIQUE,
  session        TEXT    NOT NULL,
  host           TEXT    NOT NULL,
  version        TEXT    NOT NULL,
  slots_json     TEXT    NOT NULL,
  catalog_digest TEXT    NOT NULL,
  state          TEXT    NOT NULL,
  seen_us        INTEGER NOT NULL
) STRICT;

CREATE TABLE attempt (
  stage_id         INTEGER NOT NULL REFERENCES stage (id),
  number           INTEGER NOT NULL,
  worker_id        INTEGER NOT NULL REFERENCES worker (id),
  session          TEXT    NOT NULL,
  slots            TEXT    NOT NULL,  -- JSON array of indexes into the worker's slots
  state            TEXT    NOT NULL,
  failure_class    TEXT    NOT NULL,
  reason           TEXT    NOT NULL,
  resume_step      INTEGER NOT NULL,
  resume_sha256    TEXT    NOT NULL,
  acked_seq        INTEGER NOT NULL,  -- points up to here are in point_log or chunk
  sealed_seq       INTEGER NOT NULL,  -- points up to here are in chunk
  started_us       INTEGER NOT NULL,
  ended_us         INTEGER NOT NULL,
  environment_json TEXT    NOT NULL,
  PRIMARY KEY (stage_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_by_state ON attempt (state, stage_id);

CREATE TABLE checkpoint (
  stage_id INTEGER NOT NULL,
  number   INTEGER NOT NULL,
  step     INTEGER NOT NULL,
  sha256   TEXT    NOT NULL REFERENCES artifact (sha256),
  is_best  INTEGER NOT NULL,
  PRIMARY KEY (stage_id, number, step),
  FOREIGN KEY (stage_id, number) REFERENCES attempt (stage_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE series (
  id       INTEGER PRIMARY KEY,
  stage_id INTEGER NOT NULL REFERENCES stage (id),
  metric   TEXT    NOT NULL,
  split    TEXT    NOT NULL,
  labels   TEXT    NOT NULL,  -- canonical JSON
  UNIQUE (stage_id, metric, split, labels)
) STRICT;

-- A batch as acknowledged, all series mixed. Sealed into chunks when an attempt has enough, and when it ends.
CREATE TABLE point_log (
  id        INTEGER PRIMARY KEY,
  stage_id  INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  count     INTEGER NOT NULL,
  columns   BLOB    NOT NULL,
  FOREIGN KEY (stage_id, number) REFERENCES attempt (stage_id, number)
) STRICT;
CREATE INDEX point_log_by_attempt ON point_log (stage_id, number, first_seq);

-- Points of one series and attempt, in the order they came.
CREATE TABLE chunk (
  id         INTEGER PRIMARY KEY,
  series_id  INTEGER NOT NULL REFERENCES series (id),
  number     INTEGER NOT NULL,
  first_seq  INTEGER NOT NULL,
  first_step INTEGER NOT NULL,  -- lowest and
  last_step  INTEGER NOT NULL,  -- highest step within
  count      INTEGER NOT NULL,
  columns    BLOB    NOT NULL
) STRICT;
CREATE INDEX chunk_by_series ON chunk (series_id, number, first_seq, count);

CREATE TABLE result (
  stage_id INTEGER NOT NULL REFERENCES stage (id),
  metric   TEXT    NOT NULL,
  split    TEXT    NOT NULL,
  labels   TEXT    NOT NULL,
  reducer  TEXT    NOT NULL,
  value    TEXT    NOT NULL,  -- shortest text that reads back to the same double; NaN, Infinity, -Infinity
  step     INTEGER NOT NULL,
  PRIMARY KEY (stage_id, metric, split, labels, reducer)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  id      INTEGER PRIMARY KEY,  -- grows by commit order
  time_us INTEGER NOT NULL,
  subject TEXT    NOT NULL,
  kind    TEXT    NOT NULL,
  json    TEXT    NOT NULL
) STRICT;

CREATE TABLE idempotency (
  request_id TEXT    NOT NULL PRIMARY KEY,
  experiment TEXT    NOT NULL,  -- name
  time_us    INTEGER NOT NULL
) STRICT;
