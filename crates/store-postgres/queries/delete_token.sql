-- delete_token: the primary key, one row or none
DELETE FROM tokens
WHERE id = $1
