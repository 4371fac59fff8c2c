-- Drains that a person set for later.

ALTER TABLE worker ADD COLUMN drain_from_us INTEGER NOT NULL DEFAULT 0;  -- wall clock; 0: a drain holds at once
