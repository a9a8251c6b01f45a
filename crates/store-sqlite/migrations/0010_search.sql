-- Jobs across collections by name, and jobs without an entry by id, for lists of all jobs.
CREATE INDEX jobs_by_folded ON jobs (name_folded, id, collection);

CREATE INDEX agenda_resting ON agenda (job) WHERE due_at IS NULL;
