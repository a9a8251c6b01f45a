-- token_count: one number
SELECT count(*)
FROM tokens
