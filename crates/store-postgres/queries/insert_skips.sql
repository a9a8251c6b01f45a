-- insert_skips: appends skips in their order
INSERT INTO skips (job, generation, first_at, last_at, occurrence_count, reason, decided_at)
SELECT k.job, k.generation, k.first_at, k.last_at, k.occurrence_count, k.reason, k.decided_at
FROM unnest($1, $2, $3, $4, $5, $6, $7)
    WITH ORDINALITY AS k (job, generation, first_at, last_at, occurrence_count, reason, decided_at, place)
ORDER BY k.place
