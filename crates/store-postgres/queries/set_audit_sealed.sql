-- set_audit_sealed: up to where entries are sealed
UPDATE audit_chain SET sealed_to = $1 WHERE id = 1
