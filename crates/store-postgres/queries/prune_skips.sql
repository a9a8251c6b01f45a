-- prune_skips: skips_by_decision, at most $2 rows
DELETE FROM skips
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM skips
    WHERE decided_at < $1
    ORDER BY decided_at
    LIMIT $2
))
