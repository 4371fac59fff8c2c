-- Series that another program measured, beside an experiment; nothing that is ranked, compared or claimed reads them.

CREATE TABLE foreign_import (
  experiment_id INTEGER NOT NULL REFERENCES experiment (id),
  digest        TEXT    NOT NULL,  -- SHA-256 of the series
  source        TEXT    NOT NULL,  -- for people: the file or folder
  format        TEXT    NOT NULL,  -- "tensorboard", "csv", or what a client calls it
  imported_by   TEXT    NOT NULL,  -- '': nobody was asked who they are
  imported_us   INTEGER NOT NULL,
  PRIMARY KEY (experiment_id, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE foreign_series (
  experiment_id INTEGER NOT NULL,
  digest        TEXT    NOT NULL,
  metric        TEXT    NOT NULL,
  split         TEXT    NOT NULL,
  labels        TEXT    NOT NULL,
  points        INTEGER NOT NULL,
  columns       BLOB    NOT NULL,  -- storage/sqlite/point_codec.h
  PRIMARY KEY (experiment_id, digest, metric, split, labels),
  FOREIGN KEY (experiment_id, digest) REFERENCES foreign_import (experiment_id, digest)
) STRICT;
