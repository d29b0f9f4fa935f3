-- What cannot be spoilt: no slice counts twice; and what every setting was, not only those that differ.

-- One measurement of a system in a cell's round. Every assay numbers its rounds by what the ledger has, so a file that
-- holds one twice was altered: it is refused, for nobody can say which of the two counts.
CREATE UNIQUE INDEX slice_once ON slice (study, system, test, clients, tables, rows, block, round);

-- The effective settings of a system, as its server says them. A later audit of the system replaces them.
CREATE TABLE setting (
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    name TEXT NOT NULL,                 -- the server's own; build., session., data., ...: see the audit
    value TEXT NOT NULL,                -- left out where it may be a secret
    PRIMARY KEY (study, system, name),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT, WITHOUT ROWID;
