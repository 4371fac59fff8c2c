-- Who may call: principals, what they show, and the record of what they did. Of secrets only hashes are kept.

CREATE TABLE principal (
  name       TEXT    NOT NULL PRIMARY KEY,
  account    TEXT    NOT NULL,  -- the owner of what it creates
  created_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
  id          TEXT    NOT NULL PRIMARY KEY,
  secret_hash TEXT    NOT NULL,  -- SHA-256, hex
  principal   TEXT    NOT NULL REFERENCES principal (name),
  role        TEXT    NOT NULL,
  created_us  INTEGER NOT NULL,
  expires_us  INTEGER NOT NULL,
  revoked_us  INTEGER NOT NULL,  -- 0: it is not
  used_us     INTEGER NOT NULL   -- last, cut to the hour; 0: never
) STRICT, WITHOUT ROWID;
CREATE INDEX token_by_principal ON token (principal);

CREATE TABLE session (
  hash       TEXT    NOT NULL PRIMARY KEY,
  token_id   TEXT    NOT NULL REFERENCES token (id),
  address    TEXT    NOT NULL,
  created_us INTEGER NOT NULL,
  used_us    INTEGER NOT NULL,
  expires_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_token ON session (token_id);

CREATE TABLE invitation (
  hash        TEXT    NOT NULL PRIMARY KEY,
  name        TEXT    NOT NULL,  -- of the principal that its certificate is for
  account     TEXT    NOT NULL,
  labels_json TEXT    NOT NULL,
  role        TEXT    NOT NULL,
  made_by     TEXT    NOT NULL,
  created_us  INTEGER NOT NULL,
  expires_us  INTEGER NOT NULL,
  used_us     INTEGER NOT NULL   -- 0: it is not
) STRICT, WITHOUT ROWID;

CREATE TABLE certificate (
  serial      TEXT    NOT NULL PRIMARY KEY,  -- hex
  principal   TEXT    NOT NULL REFERENCES principal (name),
  role        TEXT    NOT NULL,
  labels_json TEXT    NOT NULL,
  issued_us   INTEGER NOT NULL,
  expires_us  INTEGER NOT NULL,
  revoked_us  INTEGER NOT NULL   -- 0: it is not
) STRICT, WITHOUT ROWID;
CREATE INDEX certificate_by_principal ON certificate (principal);

CREATE TABLE audit (
  id          INTEGER PRIMARY KEY,  -- from 1, without gap
  time_us     INTEGER NOT NULL,
  principal   TEXT    NOT NULL,
  via         TEXT    NOT NULL,
  address     TEXT    NOT NULL,
  rpc         TEXT    NOT NULL,
  subject     TEXT    NOT NULL,
  outcome     TEXT    NOT NULL,
  detail_json TEXT    NOT NULL,
  previous    TEXT    NOT NULL   -- digest of the row before it
) STRICT;

-- One row: where the chain of the audit begins and ends.
CREATE TABLE audit_chain (
  one            INTEGER PRIMARY KEY CHECK (one = 1),
  first          INTEGER NOT NULL,
  first_previous TEXT    NOT NULL,
  last           INTEGER NOT NULL,
  last_digest    TEXT    NOT NULL
) STRICT;
INSERT INTO audit_chain VALUES (1, 1, '0000000000000000000000000000000000000000000000000000000000000000', 0, '');
