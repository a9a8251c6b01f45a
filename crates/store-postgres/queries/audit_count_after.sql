-- audit_count_after: the primary key, how many entries are not sealed yet
SELECT count(*)
FROM (
    SELECT 1
    FROM audit
    WHERE number > $1
    LIMIT $2
) AS unsealed
