-- audit_count_after: how many entries are not sealed yet
SELECT COUNT(*) FROM (SELECT 1 FROM audit WHERE number > ?1 LIMIT ?2)
