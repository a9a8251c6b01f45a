-- search_resting: agenda_resting in its order, read as far as wanted
SELECT
    j.id,
    j.collection,
    j.name_folded,
    a.state,
    a.last_failed OR coalesce(a.ordinal, 0) > 0,
    a.due_at,
    CASE WHEN ?3 THEN j.document END
FROM agenda AS a
CROSS JOIN jobs AS j ON j.id = a.job
WHERE a.due_at IS NULL
    AND a.job > ?1
ORDER BY a.job
LIMIT ?2
