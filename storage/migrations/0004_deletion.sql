-- What deleting an experiment in pieces needs: a mark that it is going, and an index behind every foreign key, without
-- which each row that goes has all of the table read that might refer to it.

ALTER TABLE experiment ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;  -- 1: no read shows it any more, its rows go

CREATE INDEX stage_by_config ON stage (config_hash);
CREATE INDEX trial_by_cell ON trial (experiment_id, cell);
