-- What it takes to go on with an interrupted study, to measure on several data sets, and to ask for
-- the same again.

ALTER TABLE study ADD COLUMN experiment TEXT NOT NULL DEFAULT 'interleaved';  -- or sequential
ALTER TABLE study ADD COLUMN id_key TEXT NOT NULL DEFAULT 'primary';          -- or secondary
ALTER TABLE study ADD COLUMN statements TEXT NOT NULL DEFAULT 'prepared';     -- or text
ALTER TABLE study ADD COLUMN recipe TEXT NOT NULL DEFAULT '';                 -- the study file, TOML

-- The data set of an instance: NULL, before this version, means that of the study's only one.
ALTER TABLE instance ADD COLUMN tables INTEGER;
ALTER TABLE instance ADD COLUMN rows INTEGER;

-- A stretch of time during which a study was measured: the first, and one for each resumption.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id),
    started_ms INTEGER NOT NULL         -- its end is the last row written before the next run
) STRICT;
INSERT INTO run (study, started_ms) SELECT id, started_ms FROM study;

-- A block as it was planned when it began.
CREATE TABLE block (
    study TEXT NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL CHECK (number >= 0),  -- from 0
    rounds INTEGER NOT NULL,            -- good rounds wanted of every cell
    cells TEXT NOT NULL,                -- JSON: numbers of the cells that take part, in order
    PRIMARY KEY (study, number)
) STRICT;

-- What a system's tables held when instances started from them.
CREATE TABLE content (
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    tables INTEGER NOT NULL,            -- tables and rows name the data set
    rows INTEGER NOT NULL,              -- per table, when loaded
    start_from TEXT NOT NULL,           -- fresh, aged
    counted INTEGER NOT NULL,           -- rows found in all tables
    checksum TEXT NOT NULL,             -- of all columns of all rows, whatever their order
    PRIMARY KEY (study, system, tables, rows, start_from),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;
