-- reruns: the primary key and reruns_by_original
SELECT run_at, of_at
FROM reruns
WHERE job = ?1
    AND run_at BETWEEN ?2 AND ?3
UNION
SELECT run_at, of_at
FROM reruns
WHERE job = ?1
    AND of_at BETWEEN ?2 AND ?3
ORDER BY run_at
LIMIT ?4
