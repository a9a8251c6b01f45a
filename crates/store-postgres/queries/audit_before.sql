-- audit_before: entries before one, the latest first
SELECT number, entry FROM audit WHERE number < $1 ORDER BY number DESC LIMIT $2
