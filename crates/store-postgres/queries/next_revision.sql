-- next_revision: never given again
SELECT nextval('collection_revisions')
