-- audit_after: entries that are not sealed yet
SELECT number, entry FROM audit WHERE number > $1 ORDER BY number LIMIT $2
