-- insert_audit_piece: appends a piece
INSERT INTO audit_pieces (number, sealed_at, entries, code) VALUES ($1, $2, $3, $4)
