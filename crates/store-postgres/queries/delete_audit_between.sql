-- delete_audit_between: deletes the entries of a piece
DELETE FROM audit WHERE number BETWEEN $1 AND $2
