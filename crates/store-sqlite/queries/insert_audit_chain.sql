-- insert_audit_chain: a new chain
INSERT INTO audit_chain (id, key, sealed_to, anchor, anchor_code) VALUES (1, ?1, 0, 0, x'')
ON CONFLICT (id) DO UPDATE SET key = ?1, sealed_to = 0, anchor = 0, anchor_code = x''
