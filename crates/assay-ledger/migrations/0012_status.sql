-- Version 12: counters of the servers' own status.

-- JSON: counters of the server's status, by how much each grew during the round; NULL if they were not read.
ALTER TABLE slice ADD COLUMN status TEXT;
