-- Who may call: tokens, by the hash of their secret.

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    -- The SHA-256 of the secret.
    hash BLOB NOT NULL,
    -- A document of punctual_store::codec.
    grants BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX tokens_by_name ON tokens (name_folded);

CREATE UNIQUE INDEX tokens_by_hash ON tokens (hash);
