-- A job.
INSERT INTO agenda (job, due_at, execution_count, rest)
VALUES (?1, ?2, 0, zeroblob(120));
