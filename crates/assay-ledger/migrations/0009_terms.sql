-- Version 9: named terms.

-- The terms that servers are started on; NULL for published results. Earlier studies all had the same.
ALTER TABLE study ADD COLUMN terms TEXT DEFAULT 'lean';
UPDATE study SET terms = NULL
    WHERE id IN (SELECT study FROM system WHERE artifact ->> '$.kind' = 'reported');
