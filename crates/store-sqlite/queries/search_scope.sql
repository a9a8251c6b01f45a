-- search_scope: collections_by_name, jobs_by_name, no more than may be looked at
SELECT
    j.id,
    j.collection,
    j.name_folded,
    a.state,
    a.last_failed OR coalesce(a.ordinal, 0) > 0,
    a.due_at,
    CASE WHEN ?5 THEN j.document END
FROM collections AS c
CROSS JOIN jobs AS j ON j.collection = c.id
CROSS JOIN agenda AS a ON a.job = j.id
WHERE c.subscription_folded = ?1
    AND (?2 IS NULL OR c.group_folded = ?2)
    AND (?3 IS NULL OR c.name_folded = ?3)
LIMIT ?4
