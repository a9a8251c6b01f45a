-- insert_key: its primary key, one row or none if another node was first
INSERT INTO keys (id, seal)
VALUES ($1, $2)
ON CONFLICT DO NOTHING
