-- Who has signed in on the web page: sessions, by the hash of their secret.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    -- The SHA-256 of the secret.
    hash BLOB NOT NULL,
    -- The id of a token, or what an issuer calls somebody.
    caller TEXT NOT NULL,
    -- The issuer; empty with a token.
    issuer TEXT NOT NULL,
    -- A document of punctual_store::codec.
    holder BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX sessions_by_hash ON sessions (hash);

CREATE INDEX sessions_by_caller ON sessions (caller, issuer, last_used_at);
