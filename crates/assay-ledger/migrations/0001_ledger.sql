-- The ledger: everything that assay was asked to measure, and everything that it measured.
--
-- In all tables, `study` is study.id and `system` is system.number within the study. `*_ms` columns of moments are
-- milliseconds since the Unix epoch, `*_ns` are nanoseconds, `*_kb` are KiB. Kinds are stored as the words that reports
-- use. Rows are added and never changed, with these exceptions: cell.events is set by the calibration, study.finished
-- and study.elapsed_s are set at the end, and a later audit of a study replaces the earlier one.
--
-- Script 0004 replaces the tables host, system and slice, and describes their columns.

-- One comparison, as it was requested.
CREATE TABLE study (
    id TEXT PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    preset TEXT NOT NULL,               -- smoke, quick, standard, published
    test_set TEXT NOT NULL,             -- number of microbenchmarks in the published selection
    seed TEXT NOT NULL,                 -- unsigned 64-bit decimal, too large for INTEGER
    threshold REAL NOT NULL,            -- smallest relative change of practical interest
    budget_s REAL NOT NULL,             -- time that it may take, seconds
    blocks INTEGER NOT NULL,            -- maximum number of blocks
    rounds INTEGER NOT NULL,            -- maximum number of rounds of every cell per block
    setups TEXT NOT NULL,               -- JSON: [{"clients", "tables", "rows"}, ...]
    workload_version INTEGER NOT NULL,  -- slices of different workload versions are different work
    assay_version TEXT NOT NULL,
    finished INTEGER NOT NULL DEFAULT 0 CHECK (finished IN (0, 1)),
    elapsed_s REAL                      -- time that it took, seconds; NULL until finished
) STRICT;

-- The machine of a study.
CREATE TABLE host (
    study TEXT PRIMARY KEY REFERENCES study (id),
    cpu TEXT NOT NULL,
    cpus INTEGER NOT NULL,
    memory_kb INTEGER NOT NULL,
    kernel TEXT NOT NULL,
    os TEXT NOT NULL,
    hypervisor TEXT,
    filesystem TEXT NOT NULL,
    counts_disk_wait INTEGER NOT NULL,  -- 0: the disk_wait_ns of slices are unknown, not zero
    counts_device INTEGER NOT NULL      -- 0: the host_device_* of slices are unknown, not zero
) STRICT;

-- A system that takes part.
CREATE TABLE system (
    study TEXT NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL CHECK (number >= 0),
    name TEXT NOT NULL,
    is_base INTEGER NOT NULL CHECK (is_base IN (0, 1)),
    is_twin INTEGER NOT NULL CHECK (is_twin IN (0, 1)),
    spec TEXT NOT NULL,
    prefix TEXT NOT NULL,
    options TEXT NOT NULL,
    product TEXT AS (prefix ->> '$.product'),
    version TEXT AS (prefix ->> '$.version'),
    engine TEXT AS (spec ->> '$.engine'),
    sha256 TEXT AS (prefix ->> '$.sha256'),
    PRIMARY KEY (study, number)
) STRICT;

-- The plan: one microbenchmark under one setup, measured on every system.
CREATE TABLE cell (
    study TEXT NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL CHECK (number >= 0),  -- order in which cells run, from 0
    test TEXT NOT NULL,                 -- published name, such as read-only_range=10000
    clients INTEGER NOT NULL,
    tables INTEGER NOT NULL,
    rows INTEGER NOT NULL,              -- per table
    warm_ms INTEGER NOT NULL,           -- length of the warm-up of a slice, which is discarded
    slice_ms INTEGER NOT NULL,          -- length of the measured part; for writes the planned length
    events INTEGER,                     -- events of a write slice; NULL for reads and before the calibration
    placement TEXT NOT NULL,            -- one-cpu, connections-on-one-cpu, free
    PRIMARY KEY (study, number),
    UNIQUE (study, test, clients, tables, rows)
) STRICT;

-- A server process that took part, with its own fresh copy of the data.
CREATE TABLE instance (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    block INTEGER NOT NULL,
    start_from TEXT NOT NULL,           -- fresh, aged
    started_ms INTEGER NOT NULL,        -- when it answered its first query
    start_took_ms INTEGER NOT NULL,     -- start to first answered query, milliseconds
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;

-- One uninterrupted measurement of one system in one cell.
CREATE TABLE slice (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    test TEXT NOT NULL,
    clients INTEGER NOT NULL,
    tables INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    block INTEGER NOT NULL,
    round INTEGER NOT NULL,
    position INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    written_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('good', 'troubled', 'failed')),
    failure TEXT CHECK ((failure IS NULL) = (outcome <> 'failed')),
    trouble TEXT NOT NULL,
    events INTEGER NOT NULL,
    read INTEGER NOT NULL,
    write INTEGER NOT NULL,
    other INTEGER NOT NULL,
    rows_received INTEGER NOT NULL,
    bytes_sent INTEGER NOT NULL,
    bytes_received INTEGER NOT NULL,
    errors TEXT NOT NULL,
    elapsed_ns INTEGER NOT NULL,
    event_ns_sum INTEGER NOT NULL,
    latency_hdr BLOB NOT NULL,
    client_cpu_ns INTEGER NOT NULL,
    client_user_ns INTEGER NOT NULL,
    client_sys_ns INTEGER NOT NULL,
    client_runq_ns INTEGER NOT NULL,
    client_disk_wait_ns INTEGER NOT NULL,
    client_context_switches INTEGER NOT NULL,
    connection_cpu_ns INTEGER NOT NULL,
    connection_user_ns INTEGER NOT NULL,
    connection_sys_ns INTEGER NOT NULL,
    connection_runq_ns INTEGER NOT NULL,
    connection_disk_wait_ns INTEGER NOT NULL,
    connection_context_switches INTEGER NOT NULL,
    background_cpu_ns INTEGER NOT NULL,
    background_user_ns INTEGER NOT NULL,
    background_sys_ns INTEGER NOT NULL,
    background_runq_ns INTEGER NOT NULL,
    background_disk_wait_ns INTEGER NOT NULL,
    background_context_switches INTEGER NOT NULL,
    server_read_calls INTEGER NOT NULL,
    server_read_bytes INTEGER NOT NULL,
    server_write_calls INTEGER NOT NULL,
    server_write_bytes INTEGER NOT NULL,
    host_busy_ns INTEGER NOT NULL,
    host_steal_ns INTEGER NOT NULL,
    host_other_ns INTEGER NOT NULL,
    host_context_switches INTEGER NOT NULL,
    host_device_reads INTEGER NOT NULL,
    host_device_read_kb INTEGER NOT NULL,
    host_device_writes INTEGER NOT NULL,
    host_device_write_kb INTEGER NOT NULL,
    FOREIGN KEY (study, system) REFERENCES system (study, number),
    FOREIGN KEY (study, test, clients, tables, rows)
        REFERENCES cell (study, test, clients, tables, rows)
) STRICT;
CREATE INDEX slice_by_study ON slice (study);

-- Something worth reporting that is not a measurement: errors, restarts, trouble.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id),
    when_ms INTEGER NOT NULL,
    system INTEGER,                     -- NULL if it concerns none or all
    what TEXT NOT NULL,
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;

-- A setting that differs between the systems.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id),
    setting TEXT NOT NULL,
    "values" TEXT NOT NULL,             -- JSON: value by system, null if it has no such setting
    class TEXT NOT NULL,                -- expected, harmless, suspicious
    why TEXT NOT NULL
) STRICT;
