-- insert_counters: one row
INSERT INTO counters (id, sequence, revision, key_check)
VALUES (1, 0, 0, ?1)
