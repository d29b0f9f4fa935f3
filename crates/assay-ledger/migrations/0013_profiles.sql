-- Version 13: profiles of servers.

-- Where a system spent its time in a cell, sampled apart from the slices.
CREATE TABLE profile (
    study TEXT NOT NULL,
    cell INTEGER NOT NULL,              -- cell.number
    system INTEGER NOT NULL,
    profile TEXT NOT NULL,              -- JSON: call trees of samples and of waits
    PRIMARY KEY (study, cell, system),
    FOREIGN KEY (study, cell) REFERENCES cell (study, number),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;
