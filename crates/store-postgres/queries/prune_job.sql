-- prune_job: history_by_start, at most $2 rows
DELETE FROM history
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM history
    WHERE job = $1
    ORDER BY started_at, sequence
    LIMIT $2
))
