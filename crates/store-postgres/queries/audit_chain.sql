-- audit_chain: the chain's key and ends
SELECT key, sealed_to, anchor, anchor_code FROM audit_chain WHERE id = 1
