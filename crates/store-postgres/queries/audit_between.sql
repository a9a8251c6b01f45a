-- audit_between: entries from one to another
SELECT number, entry FROM audit WHERE number BETWEEN $1 AND $2 ORDER BY number
