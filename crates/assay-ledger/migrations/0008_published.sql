-- Version 8: figures of published results.

-- JSON: names and values of the figures that were published with the rate; NULL for a slice that assay measured.
ALTER TABLE slice ADD COLUMN published TEXT;
