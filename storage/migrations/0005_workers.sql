-- What a worker says of itself beyond its slots, and since when it is known.

ALTER TABLE worker ADD COLUMN instance TEXT NOT NULL DEFAULT '';     -- of its work folder and boot; empty: it says none
ALTER TABLE worker ADD COLUMN since_us INTEGER NOT NULL DEFAULT 0;   -- when its present session registered
ALTER TABLE worker ADD COLUMN data_json TEXT NOT NULL DEFAULT '';    -- datasets it holds and lacks; empty: it says none
ALTER TABLE worker ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;  -- 1: left out of lists until it comes back
