-- copy_set_revision: the next number is the one behind it
SELECT setval('collection_revisions', $1)
