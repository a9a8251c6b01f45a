-- set_audit_key: the chain's key, sealed anew
UPDATE audit_chain SET key = $1 WHERE id = 1
