-- job_count_now: all collections, which know how many jobs they have
SELECT coalesce(sum(job_count), 0)::bigint
FROM collections
