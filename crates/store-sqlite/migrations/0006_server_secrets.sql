-- Secrets of the server itself, such as the key that it signs tokens with, by name.

CREATE TABLE server_secrets (
    name TEXT PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;
