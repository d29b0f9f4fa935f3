-- Statistics of the planner of Postgres 9.6 or later, in the form of `pg_dump --statistics-only`.
-- psql -XAtq -f FILE DATABASE > stats.sql, as the owner of the tables: others see statistics of readable columns only.
SET client_encoding = 'UTF8';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SET bytea_output = 'hex';
SET extra_float_digits = 3;
SET standard_conforming_strings = on;
SELECT concat('SELECT * FROM pg_catalog.pg_restore_relation_stats(''schemaname'', ', quote_literal(n.nspname),
    ', ''relname'', ', quote_literal(c.relname), ', ''relpages'', ''', c.relpages, '''::integer',
    ', ''reltuples'', ''', CASE WHEN c.relpages = 0 AND c.reltuples = 0 THEN -1 ELSE c.reltuples END, '''::real',
    ', ''relallvisible'', ''', c.relallvisible, '''::integer);')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm', 'p', 'i', 'I') AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
ORDER BY 1;
SELECT concat('SELECT * FROM pg_catalog.pg_restore_attribute_stats(''schemaname'', ', quote_literal(s.schemaname),
    ', ''relname'', ', quote_literal(s.tablename), ', ''attname'', ', quote_literal(s.attname),
    ', ''inherited'', ''', s.inherited, '''::boolean, ''null_frac'', ''', s.null_frac, '''::real',
    ', ''avg_width'', ''', s.avg_width, '''::integer, ''n_distinct'', ''', s.n_distinct, '''::real',
    ', ''most_common_vals'', ' || quote_literal(s.most_common_vals::text) || '::text',
    ', ''most_common_freqs'', ' || quote_literal(s.most_common_freqs::text) || '::real[]',
    ', ''histogram_bounds'', ' || quote_literal(s.histogram_bounds::text) || '::text',
    ', ''correlation'', ' || quote_literal(s.correlation::text) || '::real',
    ', ''most_common_elems'', ' || quote_literal(s.most_common_elems::text) || '::text',
    ', ''most_common_elem_freqs'', ' || quote_literal(s.most_common_elem_freqs::text) || '::real[]',
    ', ''elem_count_histogram'', ' || quote_literal(s.elem_count_histogram::text) || '::real[]', ');')
FROM pg_catalog.pg_stats s
WHERE s.schemaname <> 'information_schema' AND left(s.schemaname, 3) <> 'pg_'
ORDER BY s.schemaname, s.tablename, s.attname, s.inherited;
