-- insert_counters: one row, or none if another node was first
INSERT INTO counters (id, key_check)
VALUES (1, $1)
ON CONFLICT (id) DO NOTHING
