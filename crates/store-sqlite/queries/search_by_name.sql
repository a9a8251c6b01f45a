-- search_by_name: jobs_by_folded in its order, read as far as wanted
SELECT
    j.id,
    j.collection,
    j.name_folded,
    a.state,
    a.last_failed OR coalesce(a.ordinal, 0) > 0,
    a.due_at,
    CASE WHEN ?4 THEN j.document END
FROM jobs AS j
CROSS JOIN agenda AS a ON a.job = j.id
WHERE (j.name_folded, j.id) > (?1, ?2)
ORDER BY j.name_folded, j.id
LIMIT ?3
