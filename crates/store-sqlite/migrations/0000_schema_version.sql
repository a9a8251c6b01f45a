-- Which migrations were applied. Run at every start.
CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;
