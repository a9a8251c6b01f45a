-- The keys that seal, and how far sealing anew has come.

CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    -- A known text sealed with this key, so that another key of the same number is noticed; null when it is retired.
    seal BLOB
) STRICT;

CREATE TABLE resealing (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The key that everything is to be sealed with.
    key INTEGER NOT NULL,
    -- Jobs up to this one were looked at.
    after_job INTEGER NOT NULL,
    -- The last job when it began: what came later is sealed with the key already.
    until_job INTEGER NOT NULL,
    -- How many those were.
    visited_count INTEGER NOT NULL,
    done INTEGER NOT NULL
) STRICT;

-- Which jobs need a key: its number is in the bytes 2 to 5 of a sealed blob.
CREATE INDEX jobs_by_key ON jobs (substr(sealed, 2, 4)) WHERE sealed IS NOT NULL;
