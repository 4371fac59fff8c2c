-- What the whole user surface keeps: drains, logs, pins and collection, deletion.

ALTER TABLE experiment ADD COLUMN reason TEXT NOT NULL DEFAULT '';

ALTER TABLE worker ADD COLUMN drain INTEGER NOT NULL DEFAULT 0;  -- 0 none, 1 no new work, 2 stop work
ALTER TABLE worker ADD COLUMN reason TEXT NOT NULL DEFAULT '';

ALTER TABLE artifact ADD COLUMN created_us INTEGER NOT NULL DEFAULT 0;

ALTER TABLE attempt ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0;
CREATE INDEX attempt_by_worker ON attempt (worker_id, started_us);

-- What a trainer printed, in the pieces it came in; the oldest are dropped.
CREATE TABLE attempt_log (
  stage_id     INTEGER NOT NULL,
  number       INTEGER NOT NULL,
  first_offset INTEGER NOT NULL,
  text         BLOB    NOT NULL,
  PRIMARY KEY (stage_id, number, first_offset),
  FOREIGN KEY (stage_id, number) REFERENCES attempt (stage_id, number)
) STRICT;

-- Who names an artifact is asked for every one that might go.
CREATE INDEX checkpoint_by_sha ON checkpoint (sha256);
CREATE INDEX stage_output_by_sha ON stage_output (sha256);
CREATE INDEX stage_input_by_sha ON stage_input (artifact_sha256);
CREATE INDEX stage_input_by_source ON stage_input (from_stage_id);

-- What deletion must not forget: the lowest id that may be given next ('experiment', 'stage'), and how many
-- attempts are gone ('attempts').
CREATE TABLE remembered (
  name  TEXT    NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT;
