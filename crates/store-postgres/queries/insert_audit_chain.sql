-- insert_audit_chain: one row, or none if another node was first
INSERT INTO audit_chain (id, key, sealed_to, anchor, anchor_code)
VALUES (1, $1, 0, 0, '')
ON CONFLICT (id) DO NOTHING
