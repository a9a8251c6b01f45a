-- sweep_skips: skips_by_job, at most $2 rows
DELETE FROM skips
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM skips
    WHERE job = $1
    ORDER BY first_at, id
    LIMIT $2
))
