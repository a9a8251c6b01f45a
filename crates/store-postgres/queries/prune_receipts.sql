-- prune_receipts: receipts_by_time, at most $1 rows
DELETE FROM receipts
WHERE key = ANY (ARRAY(
    SELECT key
    FROM receipts
    WHERE made_at < now() - interval '10 minutes'
    ORDER BY made_at
    LIMIT $1
))
