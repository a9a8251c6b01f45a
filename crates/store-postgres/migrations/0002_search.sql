-- Jobs across collections by name, and jobs without an entry by id, for lists of all jobs.
CREATE INDEX jobs_by_folded ON jobs (name_folded, id);

-- Written so that no other query takes it for its own.
CREATE INDEX agenda_resting ON agenda (job) WHERE (due_at IS NULL)::integer = 1;
