-- Version 2: an interrupted study can be resumed, a study can have several data sets, and the ledger keeps the study
-- file that repeats a study.

ALTER TABLE study ADD COLUMN experiment TEXT NOT NULL DEFAULT 'interleaved';  -- or sequential
ALTER TABLE study ADD COLUMN id_key TEXT NOT NULL DEFAULT 'primary';          -- or secondary
ALTER TABLE study ADD COLUMN statements TEXT NOT NULL DEFAULT 'prepared';     -- or text
ALTER TABLE study ADD COLUMN recipe TEXT NOT NULL DEFAULT '';                 -- the study file, TOML

-- The data set of an instance. NULL, in rows from before this version, means the only data set of the study.
ALTER TABLE instance ADD COLUMN tables INTEGER;
ALTER TABLE instance ADD COLUMN rows INTEGER;

-- A period in which a study was measured: the first one, and another for each time it was resumed.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id),
    started_ms INTEGER NOT NULL         -- it ends with the last row written before the next run
) STRICT;
INSERT INTO run (study, started_ms) SELECT id, started_ms FROM study;

-- A block as it was planned when it began.
CREATE TABLE block (
    study TEXT NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL CHECK (number >= 0),  -- from 0
    rounds INTEGER NOT NULL,            -- number of good rounds that every cell should get
    cells TEXT NOT NULL,                -- JSON: numbers of the cells that take part, in order
    PRIMARY KEY (study, number)
) STRICT;

-- The content of a system's tables when instances started from them.
CREATE TABLE content (
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    tables INTEGER NOT NULL,            -- tables and rows name the data set
    rows INTEGER NOT NULL,              -- per table, when loaded
    start_from TEXT NOT NULL,           -- fresh, aged
    counted INTEGER NOT NULL,           -- number of rows in all tables
    checksum TEXT NOT NULL,             -- of all columns of all rows, independent of their order
    PRIMARY KEY (study, system, tables, rows, start_from),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;
