-- The keys that seal, how far sealing anew has come, and more of what nodes tell one another.

CREATE TABLE keys (
    id bigint PRIMARY KEY,
    -- A known text sealed with this key, so that another key of the same number is noticed; null when it is retired.
    seal bytea
);

CREATE TABLE resealing (
    id smallint PRIMARY KEY CHECK (id = 1),
    -- The key that everything is to be sealed with.
    key bigint NOT NULL,
    -- Jobs up to this one were looked at.
    after_job bigint NOT NULL,
    -- The last job when it began: what came later is sealed with the key already.
    until_job bigint NOT NULL,
    -- How many those were.
    visited_count bigint NOT NULL,
    done boolean NOT NULL
);

-- Which jobs need a key: its number is in the bytes 2 to 5 of a sealed blob.
CREATE INDEX jobs_by_key ON jobs (substring(sealed FROM 2 FOR 4)) WHERE sealed IS NOT NULL;

INSERT INTO numbers (name, last)
VALUES
    -- The key that seals; 0 until the first node says so. Whoever writes something sealed holds it shared, and whoever has another
    -- key seal holds it alone: so nothing is written that another key has sealed.
    ('sealing_key', 0),
    -- How often another key began to seal, or one was retired.
    ('key_changes', 0);

ALTER TABLE nodes
    -- The keys that the node has: a new one seals when all nodes have it.
    ADD COLUMN keys_known bigint[] NOT NULL DEFAULT '{}',
    -- Somebody wants it to fire nothing.
    ADD COLUMN drained boolean NOT NULL DEFAULT false,
    -- Its clock is a virtual one: no other node may fire beside it.
    ADD COLUMN virtual boolean NOT NULL DEFAULT false,
    -- Why it does not fire; empty if it does.
    ADD COLUMN problem text NOT NULL DEFAULT '',
    -- When it raised its beat, by the clock of this server. To be shown; nothing is decided by it.
    ADD COLUMN beaten_at timestamptz NOT NULL DEFAULT now();
