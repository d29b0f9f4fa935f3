-- Version 6: the Insert Benchmark.

-- JSON: what the clients of a step of the Insert Benchmark did; NULL for all other tests.
ALTER TABLE slice ADD COLUMN step TEXT;
