-- copy_last_revision: all collections, once
SELECT coalesce(max(revision), 0)
FROM collections
