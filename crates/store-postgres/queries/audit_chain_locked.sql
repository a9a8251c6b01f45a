-- audit_chain_locked: the one row, for whoever seals or deletes
SELECT key, sealed_to, anchor, anchor_code
FROM audit_chain
WHERE id = 1
FOR UPDATE
