-- What a scheduler writes at the least: a narrow row for each job with an index by its due time, and a
-- record for each firing with an index by its job.
CREATE TABLE agenda (
    job INTEGER PRIMARY KEY,
    due_at INTEGER NOT NULL,
    execution_count INTEGER NOT NULL,
    rest BLOB NOT NULL
) STRICT;

CREATE INDEX agenda_by_due ON agenda (due_at, job);

CREATE TABLE history (
    sequence INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    message TEXT NOT NULL
) STRICT;

CREATE INDEX history_by_job ON history (job, started_at);
