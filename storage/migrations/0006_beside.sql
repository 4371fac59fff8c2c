-- What is kept beside the work: tags and notes, what machines did, what people were told. It goes with what it is
-- about.

CREATE TABLE annotation (
  experiment_id INTEGER NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
  trial         INTEGER NOT NULL,  -- ordinal; -1: the experiment
  tags          TEXT    NOT NULL,  -- JSON array of texts, sorted
  note          TEXT    NOT NULL,
  PRIMARY KEY (experiment_id, trial)
) STRICT, WITHOUT ROWID;

-- Thinned as they come: so many of an attempt, the last hour of a worker. The text is a JSON object from series
-- ("METRIC LABELS") to number.
CREATE TABLE attempt_sample (
  stage_id INTEGER NOT NULL,
  number   INTEGER NOT NULL,
  time_us  INTEGER NOT NULL,
  step     INTEGER NOT NULL,
  json     TEXT    NOT NULL,
  PRIMARY KEY (stage_id, number, time_us),
  FOREIGN KEY (stage_id, number) REFERENCES attempt (stage_id, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE worker_sample (
  worker_id INTEGER NOT NULL REFERENCES worker (id) ON DELETE CASCADE,
  time_us   INTEGER NOT NULL,
  json      TEXT    NOT NULL,
  PRIMARY KEY (worker_id, time_us)
) STRICT, WITHOUT ROWID;

-- The state of an experiment as last noticed. Row 0 says since when anybody is to be told.
CREATE TABLE alert (
  experiment_id INTEGER PRIMARY KEY,
  state         TEXT    NOT NULL,
  outcome       INTEGER NOT NULL,  -- 0 nothing to tell, 1 pending, 2 sent, 3 failed
  detail        TEXT    NOT NULL,
  time_us       INTEGER NOT NULL
) STRICT;
