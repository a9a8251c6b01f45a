-- insert_audit: appends entries in their order
INSERT INTO audit (entry)
SELECT e.entry
FROM unnest($1) WITH ORDINALITY AS e (entry, place)
ORDER BY e.place
