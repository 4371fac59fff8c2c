-- Items that workers brought to the catalog: of each name what was announced last. What an experiment was planned with is
-- in its catalog, whatever comes later.

CREATE TABLE extension (
  name       TEXT    NOT NULL PRIMARY KEY,
  run_by     TEXT    NOT NULL,  -- "plugin" or "training"
  digest     TEXT    NOT NULL,  -- SHA-256 of the code
  items_json TEXT    NOT NULL,
  loaded_us  INTEGER NOT NULL   -- by the clock of the worker
) STRICT, WITHOUT ROWID;
