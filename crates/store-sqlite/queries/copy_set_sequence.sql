-- copy_set_sequence: the row of one of the few tables, or none if nothing was ever inserted
UPDATE sqlite_sequence
SET seq = max(seq, ?2)
WHERE name = ?1
