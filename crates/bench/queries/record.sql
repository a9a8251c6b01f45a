-- A firing leaves a record.
INSERT INTO history (job, started_at, message)
VALUES (?1, ?2, ?3);
