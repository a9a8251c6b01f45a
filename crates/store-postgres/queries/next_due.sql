-- next_due: agenda_by_due in its order, twice: of this node's share, and of that of others
SELECT
    (
        SELECT due_at
        FROM agenda
        WHERE due_at IS NOT NULL
            AND (due_at, job) > ($1, $2)
            AND (
                holder IS NULL
                OR (
                    holder <= (SELECT last FROM numbers WHERE name = 'lease')
                    AND holder <> ALL (ARRAY(SELECT lease FROM nodes))
                )
            )
            AND (job % $3 = $4 OR job = ANY ($7))
            AND target <> ALL ($5)
            AND job <> ALL ($6)
        ORDER BY due_at, job
        LIMIT 1
    ) AS own,
    (
        SELECT due_at
        FROM agenda
        WHERE $3 > 1
            AND due_at IS NOT NULL
            AND (
                holder IS NULL
                OR (
                    holder <= (SELECT last FROM numbers WHERE name = 'lease')
                    AND holder <> ALL (ARRAY(SELECT lease FROM nodes))
                )
            )
            AND job % $3 <> $4
            AND target <> ALL ($5)
            AND job <> ALL ($6)
        ORDER BY due_at, job
        LIMIT 1
    ) AS other
