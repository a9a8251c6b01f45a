-- ended_locked: the primary key, locked in the order of the jobs; the whole condition again
SELECT
    a.job,
    a.trace_count
FROM unnest($1) AS u (job)
INNER JOIN agenda AS a ON a.job = u.job
WHERE a.ended_at IS NOT NULL
    AND a.ended_at < $2
    AND a.due_at IS NULL
    AND (
        a.holder IS NULL
        OR (
            a.holder <= (SELECT last FROM numbers WHERE name = 'lease')
            AND a.holder <> ALL (ARRAY(SELECT lease FROM nodes))
        )
    )
ORDER BY a.job
FOR UPDATE OF a
