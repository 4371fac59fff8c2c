-- Searches: their logs, append-only, whose fold is all there is to know of them; and how far each trial wants its
-- stages to go. What earlier schemas hold goes to the end.

CREATE TABLE search (
  experiment_id INTEGER PRIMARY KEY REFERENCES experiment (id),
  generation    INTEGER NOT NULL,  -- grows when a replacement changes the rules
  decided       INTEGER NOT NULL,  -- number of the last decision
  state         TEXT    NOT NULL,  -- running, ended
  reason        TEXT    NOT NULL   -- for people: why it ended
) STRICT;

CREATE TABLE decision (
  experiment_id INTEGER NOT NULL REFERENCES search (experiment_id),
  number        INTEGER NOT NULL,  -- from 1, without gap
  generation    INTEGER NOT NULL,
  phase         INTEGER NOT NULL,  -- place among the phases; 0 without
  kind          TEXT    NOT NULL,  -- begin, observe, propose, advance, stop, choose, end, override
  json          TEXT    NOT NULL,  -- canonical: whom it concerns, and what
  rule          TEXT    NOT NULL,
  rule_revision INTEGER NOT NULL,
  principal     TEXT    NOT NULL,  -- of propose and override by somebody; empty: the server
  request_id    TEXT    NOT NULL,  -- of a client's propose; empty otherwise
  time_us       INTEGER NOT NULL,
  PRIMARY KEY (experiment_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX decision_by_request ON decision (request_id) WHERE request_id <> '';

-- In optimizer steps; 0: to the end; -1: no further, and nothing kept.
ALTER TABLE trial_stage ADD COLUMN until_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN until_step INTEGER NOT NULL DEFAULT 0;  -- as granted
