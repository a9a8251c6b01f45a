-- audit_pieces: pieces after one
SELECT number, sealed_at, entries, code FROM audit_pieces WHERE number > $1 ORDER BY number LIMIT $2
