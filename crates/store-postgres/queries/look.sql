-- look: the few nodes, and what else a node must know within a second
SELECT
    n.lease,
    n.beat,
    n.fires,
    (SELECT last FROM numbers WHERE name = 'token_changes'),
    (SELECT min_version FROM schema_version WHERE id = 1),
    (SELECT last FROM numbers WHERE name = 'sealing_key'),
    (SELECT last FROM numbers WHERE name = 'key_changes'),
    n.keys_known,
    n.drained,
    n.virtual,
    n.url
FROM nodes AS n
ORDER BY n.lease
