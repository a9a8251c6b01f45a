-- due_count: agenda_by_due, so many of its rows, and the collection of each by its key
SELECT count(*)
FROM (
    SELECT job
    FROM agenda
    WHERE due_at IS NOT NULL
        AND due_at >= $1
        AND due_at < $2
    ORDER BY due_at, job
    LIMIT $3
) AS d
JOIN LATERAL (SELECT collection FROM jobs WHERE id = d.job OFFSET 0) AS j ON true
JOIN LATERAL (
    SELECT 1
    FROM collections
    WHERE id = j.collection
        AND ($4 = '' OR subscription_folded = $4)
        AND ($5 = '' OR group_folded = $5)
        AND ($6 = '' OR name_folded = $6)
    OFFSET 0
) AS c ON true
