-- set_audit_anchor: the last piece that was deleted
UPDATE audit_chain SET anchor = $1, anchor_code = $2 WHERE id = 1
