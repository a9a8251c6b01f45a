-- Which schema there is. Run at every start; the row is locked by whoever migrates.
CREATE TABLE IF NOT EXISTS schema_version (
    id smallint PRIMARY KEY CHECK (id = 1),
    version integer NOT NULL,
    -- Nodes that know less than this may neither start nor fire.
    min_version integer NOT NULL
);

INSERT INTO schema_version (id, version, min_version)
VALUES (1, 0, 0)
ON CONFLICT (id) DO NOTHING;
