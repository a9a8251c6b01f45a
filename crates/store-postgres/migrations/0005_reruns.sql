-- Which past occurrence a run repeats, as long as there is history of it.

CREATE TABLE reruns (
    job bigint NOT NULL,
    -- The instant that identifies the run.
    run_at bigint NOT NULL,
    -- When the occurrence was due.
    of_at bigint NOT NULL,
    PRIMARY KEY (job, run_at)
);

CREATE INDEX reruns_by_original ON reruns (job, of_at);

CREATE INDEX reruns_by_run ON reruns (run_at);
