-- last_job: the highest id that was ever given, one row or none
SELECT seq
FROM sqlite_sequence
WHERE name = 'jobs'
