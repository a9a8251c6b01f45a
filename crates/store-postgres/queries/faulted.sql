-- faulted: agenda_by_fault, its end first, then the primary keys
SELECT
    a.job,
    a.ended_at,
    c.subscription,
    c.group_name,
    c.name,
    j.name
FROM agenda AS a
INNER JOIN jobs AS j ON j.id = a.job
INNER JOIN collections AS c ON c.id = j.collection
WHERE a.state = 3
    AND a.ended_at > $1
ORDER BY a.ended_at DESC
LIMIT $2
