-- faulted_count: agenda_by_fault, as far as the limit
SELECT count(*)
FROM (
    SELECT 1
    FROM agenda
    WHERE state = 3
        AND ended_at > $1
    LIMIT $2
) AS faulted
