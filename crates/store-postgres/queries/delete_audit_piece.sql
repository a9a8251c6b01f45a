-- delete_audit_piece: deletes a piece
DELETE FROM audit_pieces WHERE number = $1
