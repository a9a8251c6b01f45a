-- prune_history: history_by_end, at most $2 rows
DELETE FROM history
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM history
    WHERE ended_at < $1
    ORDER BY ended_at
    LIMIT $2
))
