-- note_session_use: sessions_by_hash, one row or none
UPDATE sessions
SET last_used_at = ?2
WHERE hash = ?1 AND last_used_at < ?2
