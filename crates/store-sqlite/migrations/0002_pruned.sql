-- What was let go of, so that counters are compared with a history only where that is whole.

-- Records that ended before this may be gone; null where none is. What was pruned before there was this
-- column ended before all that is left.
ALTER TABLE counters ADD COLUMN pruned_before INTEGER;

UPDATE counters SET pruned_before = (SELECT min(ended_at) FROM history);

-- The generation of the job when the oldest of too many records went; 0 if none did.
ALTER TABLE agenda ADD COLUMN capped_generation INTEGER NOT NULL DEFAULT 0;
