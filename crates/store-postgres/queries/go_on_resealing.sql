-- go_on_resealing: the one row, unless another key seals meanwhile or another node has done this piece
UPDATE resealing
SET after_job = $3,
    visited_count = visited_count + $4,
    done = $5
WHERE id = 1
    AND key = $1
    AND after_job = $2
    AND NOT done
