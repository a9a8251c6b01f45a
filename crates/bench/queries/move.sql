-- A firing moves its job.
UPDATE agenda
SET due_at = ?2, execution_count = execution_count + 1
WHERE job = ?1;
