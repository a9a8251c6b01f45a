-- unclaimed: agenda_by_due in its order
SELECT due_at, job, target
FROM agenda
WHERE due_at IS NOT NULL
    AND due_at <= $1
    AND (
        holder IS NULL
        OR (
            holder <= (SELECT last FROM numbers WHERE name = 'lease')
            AND holder <> ALL (ARRAY(SELECT lease FROM nodes))
        )
    )
    AND job <> ALL ($3)
ORDER BY due_at, job
LIMIT $2
