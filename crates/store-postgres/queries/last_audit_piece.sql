-- last_audit_piece: the end of the chain
SELECT number, code FROM audit_pieces ORDER BY number DESC LIMIT 1
