-- Who did what, and the chain that shows if an entry was changed or taken away.

CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    -- A document of punctual_store::codec.
    entry BLOB NOT NULL
) STRICT;

CREATE TABLE audit_pieces (
    number INTEGER PRIMARY KEY,
    sealed_at INTEGER NOT NULL,
    -- For each entry its number and its code.
    entries BLOB NOT NULL,
    code BLOB NOT NULL
) STRICT;

CREATE TABLE audit_chain (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- Sealed.
    key BLOB NOT NULL,
    -- Entries up to this one are in a piece.
    sealed_to INTEGER NOT NULL,
    -- The last piece that was deleted.
    anchor INTEGER NOT NULL,
    anchor_code BLOB NOT NULL
) STRICT;
