-- Version 4: a study keeps the definitions of its tests, so that it can be read by an assay that defines them otherwise.

-- A test that a study measures. Studies of older ledgers have none: their tests are those of workload version 1.
CREATE TABLE test (
    study TEXT NOT NULL REFERENCES study (id),
    name TEXT NOT NULL,                 -- as in cell.test
    digest TEXT NOT NULL,               -- of what it sends: tests with different digests are different work
    definition TEXT NOT NULL,           -- JSON: all that is known of it
    PRIMARY KEY (study, name)
) STRICT;
