-- due_count: agenda_by_due, covering, in its order, and the collection of each by its key
SELECT
    (?4 = '' OR c.subscription_folded = ?4)
    AND (?5 = '' OR c.group_folded = ?5)
    AND (?6 = '' OR c.name_folded = ?6)
FROM agenda AS a
CROSS JOIN jobs AS j ON j.id = a.job
CROSS JOIN collections AS c ON c.id = j.collection
WHERE a.due_at >= ?1
    AND a.due_at < ?2
ORDER BY a.due_at, a.job
LIMIT ?3
