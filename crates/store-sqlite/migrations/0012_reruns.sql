-- Which past occurrence a run repeats, as long as there is history of it.

CREATE TABLE reruns (
    job INTEGER NOT NULL,
    -- The instant that identifies the run.
    run_at INTEGER NOT NULL,
    -- When the occurrence was due.
    of_at INTEGER NOT NULL,
    PRIMARY KEY (job, run_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX reruns_by_original ON reruns (job, of_at);

CREATE INDEX reruns_by_run ON reruns (run_at);
