-- set_capped: the primary key, one row or none
UPDATE agenda
SET capped_generation = generation
WHERE job = $1
