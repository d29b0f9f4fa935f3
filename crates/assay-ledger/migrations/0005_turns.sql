-- Version 5: systems alternate in turns shorter than a slice.

-- JSON: [[units, ns, warm units, warm ns], ...] of each turn, in order. A unit is a query, or an event of a test whose
-- operations are rows; ns is the wall time of the measured part, or for such a test the sum of the events' latencies;
-- warm ns is wall time. [] in older ledgers: one turn, and all counters are those of its measured part.
ALTER TABLE slice ADD COLUMN turns TEXT NOT NULL DEFAULT '[]';

-- Measured part of a turn, milliseconds. Slices of older ledgers have one turn.
ALTER TABLE cell ADD COLUMN turn_ms INTEGER NOT NULL DEFAULT 0;
UPDATE cell SET turn_ms = slice_ms;

-- JSON: the number of good rounds that each cell of the block should get, in the order of `cells`. NULL in older ledgers:
-- `rounds` for all of them. `rounds` is now the largest.
ALTER TABLE block ADD COLUMN cell_rounds TEXT;

-- JSON: the limits of a gate, {"margins": [one for each cell], "allow_undecided"}. NULL if the study is no gate.
ALTER TABLE study ADD COLUMN gate TEXT;

-- Warm part of a turn, microseconds, in place of warm_ms; NULL before it is chosen, together with turn_ms, and in older
-- ledgers.
ALTER TABLE cell ADD COLUMN warm_us INTEGER;

-- JSON: what an examination of the machine found before the run. NULL if there was none.
ALTER TABLE run ADD COLUMN doctor TEXT;
