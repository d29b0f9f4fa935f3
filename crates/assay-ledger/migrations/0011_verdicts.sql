-- Version 11: the ledger keeps what was concluded at the end of a study, so that anyone can compare it with what they
-- compute from the slices.

-- The version of assay that computed the study's rows in `verdict`; NULL if it has none.
ALTER TABLE study ADD COLUMN judged_by TEXT;

-- What was concluded about a system in a cell. Ends of intervals are of 95 % intervals, and NULL if the uncertainty is
-- unknown. Replaced when the study is measured further.
CREATE TABLE verdict (
    study TEXT NOT NULL,
    cell INTEGER NOT NULL,              -- cell.number
    system INTEGER NOT NULL,
    verdict TEXT NOT NULL,              -- faster, slower, same, uneven, undecided, failed
    qps REAL,                           -- operations per second
    qps_low REAL,
    qps_high REAL,
    rqps REAL,                          -- relative QPS; NULL for the base
    rqps_low REAL,
    rqps_high REAL,
    cpu_verdict TEXT,                   -- on cpu_ratio: slower means more CPU time
    cpu_ratio REAL,                     -- server CPU time per operation divided by that of the base
    cpu_ratio_low REAL,
    cpu_ratio_high REAL,
    PRIMARY KEY (study, cell, system),
    FOREIGN KEY (study, cell) REFERENCES cell (study, number),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT, WITHOUT ROWID;
