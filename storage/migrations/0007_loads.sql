-- What past stages had to do, so that the time of stages like them can be told (core/experiment/load.h): a few texts
-- that many stages share. They stay when the stages go.

CREATE TABLE load (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE
) STRICT;

ALTER TABLE stage ADD COLUMN load_id INTEGER NOT NULL DEFAULT 0;

CREATE TEMP TABLE stage_load (stage_id INTEGER PRIMARY KEY, text TEXT NOT NULL);
INSERT INTO stage_load
  SELECT s.id,
         s.kind || char(10) || COALESCE(json_extract(c.json, '$.dataset'), '')
                || char(10) || COALESCE(json_extract(c.json, '$.model'), '')
                || char(10) || CASE s.kind WHEN 'train' THEN COALESCE(json_extract(c.json, '$.recipe.options.batch'), '')
                               ELSE COALESCE(json_remove(json_extract(c.json, '$.stage'), '$.options.images'), '') END
  FROM stage s JOIN config c ON c.hash = s.config_hash;
INSERT INTO load (text) SELECT DISTINCT text FROM stage_load;
UPDATE stage SET load_id = (SELECT l.id FROM stage_load f JOIN load l ON l.text = f.text WHERE f.stage_id = stage.id);
DROP TABLE stage_load;

CREATE INDEX stage_by_load ON stage (load_id) WHERE state = 'succeeded';
