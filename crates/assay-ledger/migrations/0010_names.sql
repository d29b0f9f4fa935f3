-- Version 10: names of studies.

-- The name that the user gave to a study, which can stand for its id. It is set, replaced and removed at any time.
CREATE TABLE name (
    study TEXT PRIMARY KEY REFERENCES study (id),
    name TEXT NOT NULL UNIQUE           -- no other study has it as its id
) STRICT;
