-- search_by_due: agenda_by_due in its order, read as far as wanted
SELECT
    j.id,
    j.collection,
    j.name_folded,
    a.state,
    a.last_failed OR coalesce(a.ordinal, 0) > 0,
    a.due_at,
    CASE WHEN $4 THEN j.document END
FROM agenda AS a
INNER JOIN jobs AS j ON j.id = a.job
WHERE a.due_at IS NOT NULL
    AND (a.due_at, a.job) > ($1, $2)
ORDER BY a.due_at, a.job
LIMIT $3
