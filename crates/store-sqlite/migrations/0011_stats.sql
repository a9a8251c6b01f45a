-- Statistics of what was settled, by the minute and by the hour in which it was due; collection 0 is all of them.
CREATE TABLE stats_minutes (
    collection INTEGER NOT NULL,
    begins_at INTEGER NOT NULL,
    -- Whoever writes has rows of its own; here it is always 0.
    writer INTEGER NOT NULL,
    -- Statistics of punctual_store::columns.
    counts BLOB NOT NULL,
    PRIMARY KEY (collection, begins_at, writer)
) STRICT, WITHOUT ROWID;

CREATE INDEX stats_minutes_by_time ON stats_minutes (begins_at);

CREATE TABLE stats_hours (
    collection INTEGER NOT NULL,
    begins_at INTEGER NOT NULL,
    counts BLOB NOT NULL,
    PRIMARY KEY (collection, begins_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX stats_hours_by_time ON stats_hours (begins_at);
