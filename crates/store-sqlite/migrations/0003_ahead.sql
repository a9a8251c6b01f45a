-- Occurrences later than past_at that were started while the clock was ahead, in stretches that follow one
-- another: the ticks of the first and of the last of each, 8 bytes each, big endian; null where there are none.
ALTER TABLE agenda ADD COLUMN ahead BLOB;
