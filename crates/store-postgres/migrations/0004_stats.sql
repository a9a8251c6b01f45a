-- Statistics of what was settled, by the minute and by the hour in which it was due; collection 0 is all of them.
CREATE TABLE stats_minutes (
    collection bigint NOT NULL,
    begins_at bigint NOT NULL,
    -- Whoever writes has rows of its own, so that nobody waits for another: a number that is drawn.
    writer bigint NOT NULL,
    -- Statistics of punctual_store::columns.
    counts bytea NOT NULL,
    PRIMARY KEY (collection, begins_at, writer)
) WITH (fillfactor = 50);

CREATE INDEX stats_minutes_by_time ON stats_minutes (begins_at);

CREATE TABLE stats_hours (
    collection bigint NOT NULL,
    begins_at bigint NOT NULL,
    counts bytea NOT NULL,
    PRIMARY KEY (collection, begins_at)
);

CREATE INDEX stats_hours_by_time ON stats_hours (begins_at);
