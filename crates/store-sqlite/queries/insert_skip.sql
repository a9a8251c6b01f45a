-- insert_skip: one row
INSERT INTO skips (job, generation, first_at, last_at, occurrence_count, reason, decided_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
