-- What is known of an experiment and its stages when they are planned, and was read out of their texts until now: the
-- limit on a stage's time, and what a stage asks of a worker. Many stages ask the same; those of earlier schemas are
-- given what their configurations say, once, here. 0: nothing is asked.

ALTER TABLE experiment ADD COLUMN stage_seconds INTEGER NOT NULL DEFAULT 0;  -- 0: no limit
UPDATE experiment SET stage_seconds = json_extract(spec_json, '$.limits.stage_seconds')
  WHERE CASE WHEN json_valid(spec_json) THEN json_type(spec_json, '$.limits.stage_seconds') = 'integer' ELSE 0 END;

CREATE TABLE requirement (
  id           INTEGER PRIMARY KEY,
  revisions    TEXT    NOT NULL,  -- JSON: {"prior/violin": 1}
  exclusive    INTEGER NOT NULL,  -- nothing else may run on the device meanwhile
  memory_bytes INTEGER NOT NULL,  -- estimated that a training needs; 0: not known
  UNIQUE (revisions, exclusive, memory_bytes)
) STRICT;

ALTER TABLE stage ADD COLUMN requirement_id INTEGER NOT NULL DEFAULT 0;

CREATE TEMP TABLE asked (hash TEXT PRIMARY KEY, revisions TEXT NOT NULL, exclusive INTEGER NOT NULL);
INSERT INTO asked
  SELECT hash, COALESCE(json_extract(json, '$.revisions'), '{}'), COALESCE(json_extract(json, '$.exclusive'), 0)
  FROM config;
DELETE FROM asked WHERE revisions = '{}' AND exclusive = 0;
INSERT INTO requirement (revisions, exclusive, memory_bytes) SELECT DISTINCT revisions, exclusive, 0 FROM asked;
UPDATE stage SET requirement_id = COALESCE(
  (SELECT r.id FROM asked a JOIN requirement r ON r.revisions = a.revisions AND r.exclusive = a.exclusive
   WHERE a.hash = stage.config_hash), 0);
DROP TABLE asked;
