-- Version 3: no slice can be in the ledger twice, and the ledger keeps all settings, not only those that differ.

-- A system is measured once in each round of a cell. assay numbers rounds by what the ledger has, so a file that holds
-- a slice twice was altered. It is refused, because nobody can say which of the two counts.
CREATE UNIQUE INDEX slice_once ON slice (study, system, test, clients, tables, rows, block, round);

-- The effective settings of a system, as its server reports them. A later audit of the system replaces them.
CREATE TABLE setting (
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    name TEXT NOT NULL,                 -- the server's own name, or build., session., data., ...: see the audit
    value TEXT NOT NULL,                -- left out if it may be a secret
    PRIMARY KEY (study, system, name),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT, WITHOUT ROWID;
