-- Accounts that share the machines: what an administrator gave them, what they have used, and how urgent work is. What
-- earlier schemas hold is normal work, and nobody has a share.

CREATE TABLE account (
  name           TEXT    NOT NULL PRIMARY KEY,
  weight         INTEGER NOT NULL,
  may_be_urgent  INTEGER NOT NULL,
  devices        INTEGER NOT NULL,  -- this and the next: bounds; -1: none
  urgent_devices INTEGER NOT NULL,
  device_hours   INTEGER NOT NULL,
  queued_trials  INTEGER NOT NULL,
  experiments    INTEGER NOT NULL,
  artifact_bytes INTEGER NOT NULL,
  created_us     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Of every account that was charged, whether it has a row above or not.
CREATE TABLE account_usage (
  account TEXT    NOT NULL PRIMARY KEY,
  used    INTEGER NOT NULL,  -- device-microseconds, less what decayed until at_us
  at_us   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE account_day (
  account TEXT    NOT NULL REFERENCES account_usage (account),
  day     INTEGER NOT NULL,  -- since 1970, UTC
  used    INTEGER NOT NULL,  -- device-microseconds
  PRIMARY KEY (account, day)
) STRICT, WITHOUT ROWID;

ALTER TABLE experiment ADD COLUMN class TEXT NOT NULL DEFAULT 'normal';  -- urgent, normal, scavenge
ALTER TABLE experiment ADD COLUMN placement TEXT NOT NULL DEFAULT '';    -- JSON: labels that a worker must have; '': none
ALTER TABLE worker ADD COLUMN labels_json TEXT NOT NULL DEFAULT '';      -- granted and announced; '': none
ALTER TABLE attempt ADD COLUMN class TEXT NOT NULL DEFAULT 'normal';     -- as granted
ALTER TABLE attempt ADD COLUMN accounts TEXT NOT NULL DEFAULT '[]';      -- JSON: charged in equal parts
