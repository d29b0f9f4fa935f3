-- Version 4: evidence does not depend on how it was obtained. A study keeps the definitions of its tests, so another
-- assay can read it. A system is binaries, a running server, or results that somebody reported. A counter that was not
-- read is NULL, not zero. Events have kinds. The machine belongs to a run. A slice may have series and attachments.

-- Views that users have added may refer to dropped tables or columns. They are left alone.
PRAGMA legacy_alter_table = ON;

-- A test that a study measures. Studies of older ledgers have none: their tests are those of workload version 1.
CREATE TABLE test (
    study TEXT NOT NULL REFERENCES study (id),
    name TEXT NOT NULL,                 -- as in cell.test
    digest TEXT NOT NULL,               -- of the work: tests with different digests are different work
    definition TEXT NOT NULL,           -- JSON: the whole definition
    PRIMARY KEY (study, name)
) STRICT;

-- Every study has a run; rows name the run in which they were written.
INSERT INTO run (study, started_ms)
    SELECT id, started_ms FROM study WHERE id NOT IN (SELECT study FROM run);
CREATE INDEX run_by_study ON run (study);
ALTER TABLE run ADD COLUMN assay_version TEXT NOT NULL DEFAULT '';  -- unknown for later runs of older ledgers
UPDATE run SET assay_version = (SELECT assay_version FROM study WHERE study.id = run.study)
    WHERE id IN (SELECT min(id) FROM run GROUP BY study);

-- One uninterrupted measurement of one system in one cell: the evidence. Ids are in the order of measurement.
CREATE TABLE slice_4 (
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
    outcome TEXT NOT NULL CHECK (outcome IN ('good', 'troubled', 'failed')),
    failure TEXT CHECK ((failure IS NULL) = (outcome <> 'failed')),  -- why it failed
    trouble TEXT NOT NULL,              -- JSON: a list of "steal", "other-process", "clock-jump"

    -- The work of the clients.
    events INTEGER NOT NULL,            -- completed
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

    -- If a group below was not read, all of its columns are NULL.

    -- The client threads. In this and the next two groups, cpu_ns is CPU time by the scheduler, and runq_ns is time on
    -- the run queue. user_ns and sys_ns are parts of the CPU time, and disk_wait_ns is time waiting for disks, all
    -- three at the resolution of the tick. disk_wait_ns is NULL if the kernel does not account it.
    client_cpu_ns INTEGER,
    client_user_ns INTEGER,
    client_sys_ns INTEGER,
    client_runq_ns INTEGER,
    client_disk_wait_ns INTEGER,
    client_context_switches INTEGER,

    -- The server's threads or processes that served the measured connections.
    connection_cpu_ns INTEGER,
    connection_user_ns INTEGER,
    connection_sys_ns INTEGER,
    connection_runq_ns INTEGER,
    connection_disk_wait_ns INTEGER,
    connection_context_switches INTEGER,

    -- Everything else in the server's process tree: purge, flush, log writers, vacuum.
    background_cpu_ns INTEGER,
    background_user_ns INTEGER,
    background_sys_ns INTEGER,
    background_runq_ns INTEGER,
    background_disk_wait_ns INTEGER,
    background_context_switches INTEGER,

    -- Input and output of the server's process tree.
    server_read_calls INTEGER,          -- read system calls
    server_read_bytes INTEGER,          -- bytes fetched from block devices
    server_write_calls INTEGER,         -- write system calls
    server_write_bytes INTEGER,         -- bytes sent towards block devices

    -- The machine.
    host_busy_ns INTEGER,               -- CPU time of all CPUs, neither idle nor waiting
    host_steal_ns INTEGER,              -- taken by the hypervisor
    host_other_ns INTEGER,              -- busy time of other processes; NULL if the server's is unknown
    host_context_switches INTEGER,

    -- The block device that holds the data; all NULL if it is unknown or there is none.
    host_device_reads INTEGER,
    host_device_read_kb INTEGER,
    host_device_writes INTEGER,
    host_device_write_kb INTEGER,

    FOREIGN KEY (study, system) REFERENCES system (study, number),
    FOREIGN KEY (study, test, clients, tables, rows)
        REFERENCES cell (study, test, clients, tables, rows)
) STRICT;

-- In older ledgers, all columns of a group that was not read are zero; no group that was read has only zeros. The host
-- says what else was not counted. The run of a row is the last one that began before it.
INSERT INTO slice_4 (id, study, system, test, clients, tables, rows, run, block, round, position, started_ms,
    written_ms, outcome, failure, trouble, events, read, write, other, rows_received, bytes_sent,
    bytes_received, errors, elapsed_ns, event_ns_sum, latency_hdr,
    client_cpu_ns, client_user_ns, client_sys_ns, client_runq_ns, client_disk_wait_ns,
    client_context_switches, connection_cpu_ns, connection_user_ns, connection_sys_ns,
    connection_runq_ns, connection_disk_wait_ns, connection_context_switches, background_cpu_ns,
    background_user_ns, background_sys_ns, background_runq_ns, background_disk_wait_ns,
    background_context_switches, server_read_calls, server_read_bytes, server_write_calls,
    server_write_bytes, host_busy_ns, host_steal_ns, host_other_ns, host_context_switches,
    host_device_reads, host_device_read_kb, host_device_writes, host_device_write_kb)
SELECT id, study, system, test, clients, tables, rows,
    coalesce(
        (SELECT max(id) FROM run WHERE run.study = old.study AND run.started_ms <= old.written_ms),
        (SELECT min(id) FROM run WHERE run.study = old.study)),
    block, round, position, started_ms, written_ms, outcome, failure, trouble, events, read, write,
    other, rows_received, bytes_sent, bytes_received, errors, elapsed_ns, event_ns_sum, latency_hdr,
    CASE WHEN has_client THEN client_cpu_ns END,
    CASE WHEN has_client THEN client_user_ns END,
    CASE WHEN has_client THEN client_sys_ns END,
    CASE WHEN has_client THEN client_runq_ns END,
    CASE WHEN has_client AND counts_disk_wait THEN client_disk_wait_ns END,
    CASE WHEN has_client THEN client_context_switches END,
    CASE WHEN has_server THEN connection_cpu_ns END,
    CASE WHEN has_server THEN connection_user_ns END,
    CASE WHEN has_server THEN connection_sys_ns END,
    CASE WHEN has_server THEN connection_runq_ns END,
    CASE WHEN has_server AND counts_disk_wait THEN connection_disk_wait_ns END,
    CASE WHEN has_server THEN connection_context_switches END,
    CASE WHEN has_server THEN background_cpu_ns END,
    CASE WHEN has_server THEN background_user_ns END,
    CASE WHEN has_server THEN background_sys_ns END,
    CASE WHEN has_server THEN background_runq_ns END,
    CASE WHEN has_server AND counts_disk_wait THEN background_disk_wait_ns END,
    CASE WHEN has_server THEN background_context_switches END,
    CASE WHEN has_server THEN server_read_calls END,
    CASE WHEN has_server THEN server_read_bytes END,
    CASE WHEN has_server THEN server_write_calls END,
    CASE WHEN has_server THEN server_write_bytes END,
    CASE WHEN has_host THEN host_busy_ns END,
    CASE WHEN has_host THEN host_steal_ns END,
    CASE WHEN has_host AND has_server THEN host_other_ns END,
    CASE WHEN has_host THEN host_context_switches END,
    CASE WHEN has_host AND has_server AND counts_device THEN host_device_reads END,
    CASE WHEN has_host AND has_server AND counts_device THEN host_device_read_kb END,
    CASE WHEN has_host AND has_server AND counts_device THEN host_device_writes END,
    CASE WHEN has_host AND has_server AND counts_device THEN host_device_write_kb END
FROM (
    SELECT slice.*, counts_disk_wait, counts_device,
        (client_cpu_ns OR client_user_ns OR client_sys_ns OR client_runq_ns
            OR client_disk_wait_ns OR client_context_switches) AS has_client,
        (connection_cpu_ns OR connection_user_ns OR connection_sys_ns
            OR connection_runq_ns OR connection_disk_wait_ns OR connection_context_switches
            OR background_cpu_ns OR background_user_ns OR background_sys_ns
            OR background_runq_ns OR background_disk_wait_ns OR background_context_switches
            OR server_read_calls OR server_read_bytes OR server_write_calls
            OR server_write_bytes) AS has_server,
        (host_busy_ns OR host_steal_ns OR host_other_ns OR host_context_switches
            OR host_device_reads OR host_device_read_kb OR host_device_writes
            OR host_device_write_kb) AS has_host
    FROM slice LEFT JOIN host ON host.study = slice.study
) AS old ORDER BY id;
DROP TABLE slice;
ALTER TABLE slice_4 RENAME TO slice;
CREATE INDEX slice_by_study ON slice (study);
CREATE UNIQUE INDEX slice_once ON slice (study, system, test, clients, tables, rows, block, round);

ALTER TABLE instance ADD COLUMN run INTEGER REFERENCES run (id);
UPDATE instance SET run = coalesce(
    (SELECT max(id) FROM run WHERE run.study = instance.study AND run.started_ms <= instance.started_ms),
    (SELECT min(id) FROM run WHERE run.study = instance.study));

CREATE INDEX instance_by_system ON instance (study, system);

ALTER TABLE block ADD COLUMN run INTEGER REFERENCES run (id);  -- the run in which it began
UPDATE block SET run = coalesce(
    (SELECT min(run) FROM slice WHERE slice.study = block.study AND slice.block = block.number),
    (SELECT max(id) FROM run WHERE run.study = block.study));

-- The machine of a run. Older ledgers recorded that of the first run, and later changes as events.
CREATE TABLE host_4 (
    run INTEGER PRIMARY KEY REFERENCES run (id),
    study TEXT NOT NULL REFERENCES study (id),
    cpu TEXT NOT NULL,                  -- processor model
    cpus INTEGER NOT NULL,              -- online CPUs
    memory_kb INTEGER NOT NULL,
    kernel TEXT NOT NULL,
    os TEXT NOT NULL,
    hypervisor TEXT,                    -- NULL on bare metal
    filesystem TEXT NOT NULL,           -- type of the file system that holds the data directories
    counts_disk_wait INTEGER NOT NULL,  -- whether the kernel accounts waits for disks
    counts_device INTEGER NOT NULL      -- whether the data directories lie on a block device that counts
) STRICT;
INSERT INTO host_4
    SELECT run.id, run.study, cpu, cpus, memory_kb, kernel, os, hypervisor, filesystem, counts_disk_wait, counts_device
    FROM run JOIN host ON host.study = run.study;
DROP TABLE host;
ALTER TABLE host_4 RENAME TO host;

-- A system that takes part. JSON columns hold everything; the columns generated from them are for queries.
CREATE TABLE system_3 AS SELECT study, number, name, is_base, is_twin, spec, prefix, options FROM system;
-- References are valid again when the transaction ends; dropping a system looks for each of them.
PRAGMA defer_foreign_keys = ON;
CREATE INDEX event_by_system ON event (study, system);
DROP TABLE system;
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
INSERT INTO system (study, number, name, is_base, is_twin, spec, artifact, options)
SELECT study, number, name, is_base, is_twin, spec,
    CASE WHEN NOT (json_valid(prefix) AND json_valid(spec)) THEN prefix
    WHEN spec ->> '$.origin.url' IS NULL THEN json_set(prefix, '$.kind', 'prefix')
    ELSE json_object(
        'kind', 'running',
        'url', prefix ->> '$.build.channel',
        'product', prefix ->> '$.product',
        'version', prefix ->> '$.version',
        'program', nullif(prefix ->> '$.layout.server', ''),
        'notes', prefix -> '$.build.notes') END,
    options
FROM system_3 ORDER BY study, number;
DROP TABLE system_3;
DROP INDEX event_by_system;

-- From now on, event.what is JSON: "kind" and the fields of the kind. Texts of older ledgers have the kind "other".
UPDATE event SET what = json_object('kind', 'other', 'text', what);

-- Whether a user asked for the difference. Older ledgers say so only in `why`.
ALTER TABLE audit ADD COLUMN is_asked INTEGER NOT NULL DEFAULT 0 CHECK (is_asked IN (0, 1));
UPDATE audit SET is_asked = 1
    WHERE substr(why, 1, 9) = 'asked for' OR substr(why, -19) = 'which was asked for';

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

PRAGMA legacy_alter_table = OFF;
