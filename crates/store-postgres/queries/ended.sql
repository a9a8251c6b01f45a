-- ended: agenda_by_end in its order, jobs_by_name
SELECT
    a.job,
    j.collection
FROM agenda AS a
INNER JOIN jobs AS j ON j.id = a.job
WHERE a.ended_at IS NOT NULL
    AND a.ended_at < $1
    AND a.due_at IS NULL
    AND (
        a.holder IS NULL
        OR (
            a.holder <= (SELECT last FROM numbers WHERE name = 'lease')
            AND a.holder <> ALL (ARRAY(SELECT lease FROM nodes))
        )
    )
ORDER BY a.ended_at, a.job
LIMIT $2
