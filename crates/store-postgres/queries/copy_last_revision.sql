-- copy_last_revision: the last number that was given, null if none was
SELECT pg_sequence_last_value('collection_revisions'::regclass)
