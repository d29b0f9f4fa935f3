-- The ledger, version 1: everything that assay was asked to measure, and everything that it measured.
--
-- In all tables, `study` is study.id and `system` is system.number within the study. `*_ms` columns of moments are
-- milliseconds since the Unix epoch, `*_ns` are nanoseconds, `*_kb` are KiB. Kinds are stored as the words that reports
-- use. Rows are added and never changed, with these exceptions: the calibration sets cell.events, cell.turn_ms,
-- cell.warm_us and cell.priority, the end of a study sets study.finished, study.judged_by and its verdicts, a later
-- audit of a study replaces the earlier one, and the user names studies.
--
-- A file is a ledger only if its schema is this text to the letter. A change of this text is a new version.

-- One comparison, as it was requested.
CREATE TABLE study (
    id TEXT PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    request TEXT NOT NULL,              -- JSON: what the user asked for; null for published results
    plan TEXT NOT NULL,                 -- JSON: what follows from the request (`Study` in assay-model)
    preset TEXT AS (plan ->> '$.preset'),          -- smoke, quick, standard, published
    test_set TEXT AS (plan ->> '$.set'),           -- number of microbenchmarks in the published selection
    experiment TEXT AS (plan ->> '$.experiment'),  -- interleaved, sequential, stepwise, counted
    bisect TEXT AS (plan -> '$.bisect'),           -- the search that it is a part of
    watch TEXT AS (plan -> '$.watch'),             -- the watch that it belongs to
    is_foreign INTEGER NOT NULL DEFAULT 0 CHECK (is_foreign IN (0, 1)),  -- whether it came from elsewhere
    finished INTEGER NOT NULL DEFAULT 0 CHECK (finished IN (0, 1)),
    judged_by TEXT                      -- the version of assay that computed the verdicts; NULL if there are none
) STRICT;

-- The name that the user gave to a study, which can stand for its id. It is set, replaced and removed at any time.
CREATE TABLE name (
    study TEXT PRIMARY KEY REFERENCES study (id),
    name TEXT NOT NULL UNIQUE           -- no other study has it as its id
) STRICT;

-- A test that a study measures.
CREATE TABLE test (
    study TEXT NOT NULL REFERENCES study (id),
    name TEXT NOT NULL,                 -- as in cell.test
    digest TEXT NOT NULL,               -- of the work: tests with different digests are different work
    definition TEXT NOT NULL,           -- JSON: the whole definition
    PRIMARY KEY (study, name)
) STRICT;

-- A system that takes part. JSON columns hold everything; the columns generated from them are for queries.
CREATE TABLE system (
    study TEXT NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL CHECK (number >= 0),  -- from 0 without gaps; the base first
    name TEXT NOT NULL,                 -- as in every report
    is_base INTEGER NOT NULL CHECK (is_base IN (0, 1)),
    is_twin INTEGER NOT NULL CHECK (is_twin IN (0, 1)),
    spec TEXT NOT NULL,                 -- JSON: product, origin, engine, overrides as asked for
    artifact TEXT NOT NULL,             -- JSON: "kind" is prefix (binaries on this machine), running (a server that
                                        -- was running already) or reported (somebody's published results)
    options TEXT NOT NULL,              -- JSON: options as rendered for this version, in order
    product TEXT AS (artifact ->> '$.product'),
    version TEXT AS (artifact ->> '$.version'),
    engine TEXT AS (spec ->> '$.engine'),
    sha256 TEXT AS (artifact ->> '$.sha256'),  -- of a prefix
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
    warm_ms INTEGER NOT NULL,           -- planned length of the warm part of a turn
    warm_us INTEGER,                    -- warm part of a turn, microseconds; NULL before it is chosen
    turn_ms INTEGER NOT NULL,           -- measured part of a turn
    slice_ms INTEGER NOT NULL,          -- length of the measured part; for writes the planned length
    events INTEGER,                     -- events of a write slice; NULL for reads and before the calibration
    placement TEXT NOT NULL,            -- one-cpu, connections-on-one-cpu, pairs, free
    priority TEXT NOT NULL,             -- of clients and servers in turns: realtime, normal
    PRIMARY KEY (study, number),
    UNIQUE (study, test, clients, tables, rows)
) STRICT;

-- A period in which a study was measured: the first one, and another for each time it was resumed.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id),
    started_ms INTEGER NOT NULL,        -- it ends with the last row written before the next run
    assay_version TEXT NOT NULL,
    host TEXT NOT NULL,                 -- JSON: the machine, and what an examination of it found before
    shard TEXT                          -- JSON: the shard that it measured, and the node; NULL if it was a whole study
) STRICT;
CREATE INDEX run_by_study ON run (study);

-- A block as it was planned when it began.
CREATE TABLE block (
    study TEXT NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL CHECK (number >= 0),  -- from 0
    run INTEGER NOT NULL REFERENCES run (id),     -- in which it began
    cells TEXT NOT NULL,                -- JSON: numbers of the cells that take part, in order
    cell_rounds TEXT NOT NULL,          -- JSON: number of good rounds that each of them should get
    expected INTEGER NOT NULL CHECK (expected >= 1),  -- blocks that were expected to fit, this one included
    PRIMARY KEY (study, number)
) STRICT;

-- A server process that took part, with its own fresh copy of the data.
CREATE TABLE instance (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    run INTEGER NOT NULL REFERENCES run (id),
    block INTEGER NOT NULL,
    start_from TEXT NOT NULL,           -- fresh, aged
    started_ms INTEGER NOT NULL,        -- when it answered its first query
    start_took_ms INTEGER NOT NULL,     -- start to first answered query, milliseconds
    tables INTEGER NOT NULL,            -- tables and rows name the data set
    rows INTEGER NOT NULL,
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;
CREATE INDEX instance_by_system ON instance (study, system);

-- The content of a system's tables when instances started from them.
CREATE TABLE content (
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    tables INTEGER NOT NULL,            -- tables and rows name the data set
    rows INTEGER NOT NULL,              -- per table, when loaded
    start_from TEXT NOT NULL,           -- fresh, aged
    counted INTEGER NOT NULL,           -- number of rows in all tables
    checksum TEXT NOT NULL,             -- of all columns of all rows, independent of their order
    PRIMARY KEY (study, system, tables, rows, start_from),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;

-- The effective settings of a system, as its server reports them. A later audit of the system replaces them.
CREATE TABLE setting (
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    name TEXT NOT NULL,                 -- the server's own name, or build., session., data., ...: see the audit
    value TEXT NOT NULL,                -- left out if it may be a secret
    PRIMARY KEY (study, system, name),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT, WITHOUT ROWID;

-- A setting that differs between the systems.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id),
    setting TEXT NOT NULL,
    "values" TEXT NOT NULL,             -- JSON: value by system, null if it has no such setting
    class TEXT NOT NULL,                -- expected, harmless, suspicious
    why TEXT NOT NULL,
    is_asked INTEGER NOT NULL CHECK (is_asked IN (0, 1)), -- whether a user asked for the difference
    statements TEXT NOT NULL            -- JSON: statements of a user's test with other plans, by place
) STRICT;

-- Something worth reporting that is not a measurement: errors, restarts, trouble.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id),
    when_ms INTEGER NOT NULL,
    system INTEGER,                     -- NULL if it concerns none or all
    what TEXT NOT NULL,                 -- JSON: "kind" and the fields of the kind
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;

-- What the counters of slices are. Many slices have the same ones, so their names are kept once. A new counter is a
-- new name. A counter that was not read has none.
--
-- `client_`: the client threads. `connection_`: the server's threads or processes that served the measured connections.
-- `background_`: everything else in the server's process tree, such as purge, flush, log writers and vacuum. Of these
-- three, `cpu_ns` is CPU time by the scheduler, and `runq_ns` is time on the run queue; `user_ns` and `sys_ns` are parts
-- of the CPU time, and `disk_wait_ns` is time waiting for disks, all three at the resolution of the tick.
-- `server_`: system calls of the server's process tree (`calls`), and bytes from and to block devices.
-- `host_`: the machine. `busy_ns` is CPU time of all CPUs, neither idle nor waiting, `steal_ns` what the hypervisor
-- took, `other_ns` the busy time of other processes, and `throttled_ns` how long threads of real-time priority had to
-- wait. `host_device_`: the block device that holds the data.
-- `status.`: counters of the server's status under the server's own names, by how much each grew during the round.
CREATE TABLE counter_names (
    study TEXT NOT NULL REFERENCES study (id),
    number INTEGER NOT NULL CHECK (number >= 0),  -- from 0
    names TEXT NOT NULL,                -- JSON: a list
    PRIMARY KEY (study, number)
) STRICT, WITHOUT ROWID;

-- One uninterrupted measurement of one system in one cell: the evidence. Ids are in the order of measurement.
CREATE TABLE slice (
    id INTEGER PRIMARY KEY,
    study TEXT NOT NULL,
    system INTEGER NOT NULL,
    test TEXT NOT NULL,                 -- test, clients, tables, rows: as in cell
    clients INTEGER NOT NULL,
    tables INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    run INTEGER NOT NULL REFERENCES run (id),
    block INTEGER NOT NULL,             -- number of the set of fresh instances, from 0
    round INTEGER NOT NULL,             -- in block and cell, from 0: slices of a round are a pair
    position INTEGER NOT NULL,          -- in the round, from 0: the systems' turns
    started_ms INTEGER NOT NULL,
    written_ms INTEGER NOT NULL,        -- when this row was written
    outcome TEXT NOT NULL CHECK (outcome IN ('good', 'troubled', 'failed', 'unanswered')),
    failure TEXT CHECK ((failure IS NULL) = (outcome IN ('good', 'troubled'))),  -- why it failed, or what was not answered
    trouble TEXT NOT NULL,              -- JSON: a list of "steal", "other-process", "clock-jump", "throttled"

    -- The work of the clients.
    events INTEGER NOT NULL,            -- completed
    read INTEGER NOT NULL,              -- statements that returned a result set; queries are
    write INTEGER NOT NULL,             -- statements that changed a row;       read + write + other
    other INTEGER NOT NULL,             -- statements that did neither
    rows_received INTEGER NOT NULL,
    bytes_sent INTEGER NOT NULL,        -- headers of the protocol included
    bytes_received INTEGER NOT NULL,
    errors TEXT NOT NULL,               -- JSON: [[server error code, retried events], ...]
    turns TEXT NOT NULL,                -- JSON: [[units, ns, warm units, warm ns], ...] of each turn, in order. A unit is
                                        -- a query, or an event of a test whose operations are rows; ns is the wall time
                                        -- of the measured part, or for such a test the sum of the events' latencies;
                                        -- warm ns is wall time. [] if there was one turn
    step TEXT,                          -- JSON: what the clients of a step of the Insert Benchmark did; NULL otherwise
    published TEXT,                     -- JSON: figures that were published with the rate; NULL if assay measured it
    elapsed_ns INTEGER NOT NULL,        -- wall time of the measured part
    event_ns_sum INTEGER NOT NULL,      -- latencies of all events together
    latency_hdr BLOB NOT NULL,          -- event latencies, nanoseconds: HDR histogram, V2 encoding

    -- What others counted meanwhile.
    counter_names INTEGER NOT NULL,     -- counter_names.number
    counters TEXT NOT NULL,             -- JSON: the value of each of these counters, in the order of their names

    FOREIGN KEY (study, system) REFERENCES system (study, number),
    FOREIGN KEY (study, counter_names) REFERENCES counter_names (study, number),
    FOREIGN KEY (study, test, clients, tables, rows)
        REFERENCES cell (study, test, clients, tables, rows)
) STRICT;
CREATE INDEX slice_by_study ON slice (study);
-- A system is measured once in each round of a cell. assay numbers rounds by what the ledger has, so a file that holds
-- a slice twice was altered. It is refused, because nobody can say which of the two counts.
CREATE UNIQUE INDEX slice_once ON slice (study, system, test, clients, tables, rows, block, round);

-- Counts of one thing during a slice, in equal steps of its measured part.
CREATE TABLE series (
    slice INTEGER NOT NULL REFERENCES slice (id),
    name TEXT NOT NULL,                 -- what is counted
    step_ms INTEGER NOT NULL,           -- length of a step, milliseconds
    counts TEXT NOT NULL,               -- JSON: the count of each step, from the first
    PRIMARY KEY (slice, name)
) STRICT, WITHOUT ROWID;

-- A file made during a slice, such as a profile.
CREATE TABLE attachment (
    slice INTEGER NOT NULL REFERENCES slice (id),
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,           -- such as text/plain
    bytes BLOB NOT NULL,
    PRIMARY KEY (slice, name)
) STRICT;

-- What was concluded about a system in a cell at the end of the study, so that anyone can compare it with what follows
-- from the slices. Ends of intervals are of 95% intervals, and NULL if the uncertainty is unknown. Replaced when the
-- study is measured further.
CREATE TABLE verdict (
    study TEXT NOT NULL,
    cell INTEGER NOT NULL,              -- cell.number
    system INTEGER NOT NULL,
    verdict TEXT NOT NULL,              -- faster, slower, same, uneven, undecided, failed
    qps REAL,                           -- operations per second
    qps_low REAL,
    qps_high REAL,
    rqps REAL,                          -- relative QPS; NULL for the base
    rqps_low REAL,
    rqps_high REAL,
    cpu_verdict TEXT,                   -- on cpu_ratio: slower means more CPU time
    cpu_ratio REAL,                     -- server CPU time per operation divided by that of the base
    cpu_ratio_low REAL,
    cpu_ratio_high REAL,
    PRIMARY KEY (study, cell, system),
    FOREIGN KEY (study, cell) REFERENCES cell (study, number),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT, WITHOUT ROWID;

-- What was found out about a system in a cell apart from the slices.
CREATE TABLE document (
    study TEXT NOT NULL,
    cell INTEGER NOT NULL,              -- cell.number
    system INTEGER NOT NULL,
    name TEXT NOT NULL,                 -- profile: call trees of samples and of waits; count: instructions
    document TEXT NOT NULL,             -- JSON
    written_ms INTEGER NOT NULL,        -- when this row was written
    PRIMARY KEY (study, cell, system, name),
    FOREIGN KEY (study, cell) REFERENCES cell (study, number),
    FOREIGN KEY (study, system) REFERENCES system (study, number)
) STRICT;
