-- audit_piece_code: the code of a piece
SELECT code FROM audit_pieces WHERE number = $1
