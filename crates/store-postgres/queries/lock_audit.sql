-- lock_audit: waits for all who are writing entries; behind it no lower number appears any more
LOCK TABLE audit IN SHARE MODE
