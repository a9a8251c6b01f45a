-- delete_audit_pieces: deletes the chain, whose key was lost
DELETE FROM audit_pieces WHERE number > 0
