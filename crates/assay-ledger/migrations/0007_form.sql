-- Version 7: sysbench's options for tables.

-- JSON: how the tables were created; NULL for the usual form.
ALTER TABLE study ADD COLUMN table_form TEXT;
