-- insert_key: its primary key
INSERT INTO keys (id, seal)
VALUES (?1, ?2)
