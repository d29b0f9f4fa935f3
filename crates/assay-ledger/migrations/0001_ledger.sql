-- The ledger: everything assay was asked to measure and everything it measured.
--
-- For all tables: `study` is study.id, `system` is system.number within the study, `*_ms` columns
-- that name a moment are milliseconds since the Unix epoch, `*_ns` are nanoseconds, `*_kb` are KiB.
-- Kinds are stored as the words that reports use. Rows are added, never changed, but for
-- cell.events, filled in once calibrated, study.finished and study.elapsed_s, filled in at the end,
-- and the audit of a study, which a later audit of the same study replaces.

-- One comparison: what was asked.
CREATE TABLE study (
    id TEXT PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    preset TEXT NOT NULL,               -- smoke, quick, standard, published
    test_set TEXT NOT NULL,             -- how many microbenchmarks the published selection has
    seed TEXT NOT NULL,                 -- unsigned 64-bit decimal, too large for INTEGER
    threshold REAL NOT NULL,            -- smallest relative change of practical interest
    budget_s REAL NOT NULL,             -- time it may take, seconds
    blocks INTEGER NOT NULL,            -- blocks measured at most
    rounds INTEGER NOT NULL,            -- rounds of every cell per block at most
    setups TEXT NOT NULL,               -- JSON: [{"clients", "tables", "rows"}, ...]
    workload_version INTEGER NOT NULL,  -- slices of different workload versions are different work
    assay_version TEXT NOT NULL,
    finished INTEGER NOT NULL DEFAULT 0 CHECK (finished IN (0, 1)),
    elapsed_s REAL                      -- time it took, seconds; NULL until finished
) STRICT;

-- The machine of a study.
CREATE TABLE host (
    study TEXT PRIMARY KEY REFERENCES study (id),
    cpu TEXT NOT NULL,                  -- processor model
    cpus INTEGER NOT NULL,              -- online CPUs
    memory_kb INTEGER NOT NULL,
    kernel TEXT NOT NULL,
    os TEXT NOT NULL,
    hypervisor TEXT,                    -- NULL on bare metal
    filesystem TEXT NOT NULL,           -- type of the file system that holds the data directories
    counts_disk_wait INTEGER NOT NULL,  -- 0: the disk_wait_ns of slices are unknown, not zero
    counts_device INTEGER NOT NULL      -- 0: the host_device_* of slices are unknown, not zero
) STRICT;

-- A system taking part. JSON columns hold the whole; columns generated from them are for queries.
CREATE TABLE system (
    study TEXT NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL CHECK (number >= 0),  -- from 0 without gaps; the base first
    name TEXT NOT NULL,                 -- as in every report
    is_base INTEGER NOT NULL CHECK (is_base IN (0, 1)),
    is_twin INTEGER NOT NULL CHECK (is_twin IN (0, 1)),
    spec TEXT NOT NULL,                 -- JSON: product, origin, engine, overrides as asked for
    prefix TEXT NOT NULL,               -- JSON: the binaries: where from, checksums, layout
    options TEXT NOT NULL,              -- JSON: options as rendered for this version, in order
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
    warm_ms INTEGER NOT NULL,           -- length of the part of a slice that is thrown away
    slice_ms INTEGER NOT NULL,          -- length of the measured part; for writes what is aimed at
    events INTEGER,                     -- of a write slice; NULL for reads and until calibrated
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

-- One system, one cell, one uninterrupted measurement: the evidence. Ids are in the order measured.
CREATE TABLE slice (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    test TEXT NOT NULL,                 -- test, clients, tables, rows: as in cell
    clients INTEGER NOT NULL,
    tables INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    block INTEGER NOT NULL,             -- which set of fresh instances, from 0
    round INTEGER NOT NULL,             -- in block and cell, from 0: slices of a round are a pair
    position INTEGER NOT NULL,          -- in the round, from 0: the systems' turns
    started_ms INTEGER NOT NULL,
    written_ms INTEGER NOT NULL,        -- when this row was written
    outcome TEXT NOT NULL CHECK (outcome IN ('good', 'troubled', 'failed')),
    failure TEXT CHECK ((failure IS NULL) = (outcome <> 'failed')),  -- why it failed
    trouble TEXT NOT NULL,              -- JSON: [] or of "steal", "other-process", "clock-jump"

    -- What the clients did and saw.
    events INTEGER NOT NULL,            -- completed events
    read INTEGER NOT NULL,              -- statements that returned a result set; queries are
    write INTEGER NOT NULL,             -- statements that changed a row;       read + write + other
    other INTEGER NOT NULL,             -- statements that did neither
    rows_received INTEGER NOT NULL,
    bytes_sent INTEGER NOT NULL,        -- headers of the protocol included
    bytes_received INTEGER NOT NULL,
    errors TEXT NOT NULL,               -- JSON: [[server error code, retried events], ...]
    elapsed_ns INTEGER NOT NULL,        -- wall time of the measured part
    event_ns_sum INTEGER NOT NULL,      -- latencies of all events together
    latency_hdr BLOB NOT NULL,          -- event latencies, nanoseconds: HDR histogram, V2 encoding

    -- The client threads. In this and the next two: cpu_ns is CPU time by the scheduler; user_ns
    -- and sys_ns are its parts and disk_wait_ns the wait for disks, at the tick's resolution;
    -- runq_ns is the wait for a CPU.
    client_cpu_ns INTEGER NOT NULL,
    client_user_ns INTEGER NOT NULL,
    client_sys_ns INTEGER NOT NULL,
    client_runq_ns INTEGER NOT NULL,
    client_disk_wait_ns INTEGER NOT NULL,
    client_context_switches INTEGER NOT NULL,

    -- The server's threads or processes that served the measured connections.
    connection_cpu_ns INTEGER NOT NULL,
    connection_user_ns INTEGER NOT NULL,
    connection_sys_ns INTEGER NOT NULL,
    connection_runq_ns INTEGER NOT NULL,
    connection_disk_wait_ns INTEGER NOT NULL,
    connection_context_switches INTEGER NOT NULL,

    -- Everything else in the server's process tree: purge, flush, log writers, vacuum.
    background_cpu_ns INTEGER NOT NULL,
    background_user_ns INTEGER NOT NULL,
    background_sys_ns INTEGER NOT NULL,
    background_runq_ns INTEGER NOT NULL,
    background_disk_wait_ns INTEGER NOT NULL,
    background_context_switches INTEGER NOT NULL,

    -- Input and output of the server's process tree.
    server_read_calls INTEGER NOT NULL,   -- read system calls
    server_read_bytes INTEGER NOT NULL,   -- bytes fetched from block devices
    server_write_calls INTEGER NOT NULL,  -- write system calls
    server_write_bytes INTEGER NOT NULL,  -- bytes sent towards block devices

    -- The machine.
    host_busy_ns INTEGER NOT NULL,        -- CPU time of all CPUs, neither idle nor waiting
    host_steal_ns INTEGER NOT NULL,       -- taken by the hypervisor
    host_other_ns INTEGER NOT NULL,       -- busy time of neither assay nor server
    host_context_switches INTEGER NOT NULL,
    host_device_reads INTEGER NOT NULL,   -- of the block device that holds the data
    host_device_read_kb INTEGER NOT NULL,
    host_device_writes INTEGER NOT NULL,
    host_device_write_kb INTEGER NOT NULL,

    FOREIGN KEY (study, system) REFERENCES system (study, number),
    FOREIGN KEY (study, test, clients, tables, rows)
        REFERENCES cell (study, test, clients, tables, rows)
) STRICT;
CREATE INDEX slice_by_study ON slice (study);

-- Something worth telling that is not a measurement: errors, restarts, trouble.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id),
    when_ms INTEGER NOT NULL,
    system INTEGER,                     -- NULL when it concerns none or all
    what TEXT NOT NULL,
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;

-- A setting that differs between the systems.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id),
    setting TEXT NOT NULL,
    "values" TEXT NOT NULL,             -- JSON: value by system, null where it has no such setting
    class TEXT NOT NULL,                -- expected, harmless, suspicious
    why TEXT NOT NULL
) STRICT;
