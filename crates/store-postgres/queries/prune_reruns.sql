-- prune_reruns: reruns_by_run, so many rows by their place
DELETE FROM reruns
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM reruns
    WHERE run_at < $1
    ORDER BY run_at
    LIMIT $2
))
