-- How many jobs there are and which have failed for good, at a cost that does not grow with their number.

ALTER TABLE counters ADD COLUMN job_count INTEGER NOT NULL DEFAULT 0;

UPDATE counters SET job_count = (SELECT count(*) FROM jobs);

-- 3 is the state of a faulted job.
CREATE INDEX agenda_by_fault ON agenda (ended_at) WHERE state = 3;
