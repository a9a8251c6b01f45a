-- note_token_uses: the primary key, in its order
UPDATE tokens AS t
SET last_used_at = u.used_at
FROM unnest($1, $2) AS u (id, used_at)
WHERE t.id = u.id
    AND (t.last_used_at IS NULL OR t.last_used_at < u.used_at)
