-- note_session_uses: sessions_by_hash, in its order
UPDATE sessions AS s
SET last_used_at = u.used_at
FROM unnest($1, $2) AS u (hash, used_at)
WHERE s.hash = u.hash
    AND s.last_used_at < u.used_at
