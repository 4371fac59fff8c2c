-- What of a chunk is seen from afar, so that a long curve is drawn without reading all of it.

-- Of a full chunk, its points summed up in blocks of 2^shift steps. Chunks sealed by former versions have none:
-- their points are read themselves.
CREATE TABLE pyramid (
  chunk_id INTEGER NOT NULL REFERENCES chunk (id),
  shift    INTEGER NOT NULL,
  blocks   BLOB    NOT NULL,
  PRIMARY KEY (chunk_id, shift)
) STRICT, WITHOUT ROWID;
