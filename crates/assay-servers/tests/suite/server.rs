//! The life of a server: set up, started, queried, frozen, stopped; and the remains after a failure.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_model::{CpuPlacement, Hint as _, Product};
use assay_servers::{
    Ending, KeptServer, Listen, ServerInstance, ServersError, collect_kept_data, copy_tree, drain,
    initialize, kept_servers, maintain, refused_options,
};
use assay_testkit::{
    mariadb, mariadb_version, options, prefix, product_prefix, site, start, start_listening,
    template,
};
use assay_wire::{Address, ConnectOptions, Connection, Stop};
use fs_err as fs;
use rustix::thread::{CpuSet, sched_setaffinity};

fn count(dir: &std::path::Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

/// Versions with different logs, chosen because they are quick to get.
const VERSIONS: [(Product, &str); 3] =
    [(Product::MariaDb, "10.5"), (Product::MariaDb, "11.8"), (Product::MySql, "5.7")];

#[test]
fn a_server_is_initialised_started_queried_and_stopped_with_its_data_kept() {
    for (product, version) in VERSIONS {
        let dir = tempfile::tempdir().unwrap();
        let (prefix, site) = (product_prefix(product, version), site(&dir.path().join("data")));
        let (empty, loaded) = (dir.path().join("empty"), dir.path().join("loaded"));
        let mut times = Vec::new();
        let mut clock = Instant::now();
        let mut lap = |what: &str| {
            times.push(format!("{what} {:.2} s", clock.elapsed().as_secs_f64()));
            clock = Instant::now();
        };
        initialize(&site, &prefix, &options(&prefix), &empty).unwrap();
        lap("initialise");
        let server = ServerInstance::start(&site, &prefix, &options(&prefix), &empty).unwrap();
        lap("first start");
        let mut control = server.connect().unwrap();
        let message = control.query("SELECT VERSION()").unwrap().first_string().unwrap();
        assert!(message.starts_with(&prefix.version), "{message}");
        for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "INSERT d.t VALUES (42)"] {
            control.query(sql).unwrap();
        }
        lap("statements");
        server.stop_and_keep(&loaded).unwrap();
        lap("stop");
        copy_tree(&loaded, &dir.path().join("copy"), &Stop::default()).unwrap();
        lap("copy");
        let server = ServerInstance::start(&site, &prefix, &options(&prefix), &loaded).unwrap();
        lap("copy and start");
        let found = server.connect().unwrap().query("SELECT a FROM d.t").unwrap();
        assert_eq!(found.first_string().as_deref(), Some("42"));
        assert_eq!(count(&site.data_root), 2);
        let pid = server.pid();
        drop(server);
        lap("kill");
        assert_eq!(count(&site.data_root), 0);
        assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
        println!("{product} {}: {}", prefix.version, times.join(", "));
    }
}

fn sizes(dir: &std::path::Path) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    let mut sum = (0, 0);
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let found = entry.metadata().unwrap();
        let (length, taken) = match found.is_dir() {
            true => sizes(&entry.path()),
            false => (found.len(), found.blocks() * 512),
        };
        sum = (sum.0 + length, sum.1 + taken);
    }
    sum
}

/// The log holds the written rows and is then no longer needed: the rest of the template starts any number of times.
#[test]
fn templates_hold_what_is_not_empty_and_instances_have_all_their_blocks() {
    // The log of each has another format.
    let versions = [
        (Product::MariaDb, "10.11"),
        (Product::MySql, "5.7"),
        (Product::MySql, "8.0"),
        (Product::Postgres, "16"),
    ];
    for (product, version) in versions {
        let dir = tempfile::tempdir().unwrap();
        let (prefix, site) = (product_prefix(product, version), site(&dir.path().join("data")));
        let (mut template, options) = (dir.path().join("empty"), options(&prefix));
        initialize(&site, &prefix, &options, &template).unwrap();
        for round in 0..3 {
            let server = ServerInstance::start(&site, &prefix, &options, &template).unwrap();
            let (length, taken) = sizes(&server.data_dir());
            assert!(taken * 10 >= length * 9, "{product} {version}: {taken} of {length}");
            let mut control = server.connect().unwrap();
            let database = if product == Product::Postgres { "" } else { "d." };
            let table = format!("{database}t");
            if round == 0 {
                if !database.is_empty() {
                    control.query("CREATE DATABASE d").unwrap();
                }
                control.query(&format!("CREATE TABLE {table} (a VARCHAR(1000))")).unwrap();
                let row = format!("INSERT INTO {table} VALUES ('{}')", "x".repeat(1000));
                control.query(&row).unwrap();
                for _ in 0..14 {
                    control.query(&format!("INSERT INTO {table} SELECT * FROM {table}")).unwrap();
                }
            } else {
                let count = control.query(&format!("SELECT COUNT(*) FROM {table}")).unwrap();
                assert_eq!(count.first_string().as_deref(), Some("16384"), "{product} {version}");
            }
            template = dir.path().join(format!("template-{round}"));
            drop(control);
            server.stop_and_keep(&template).unwrap();
        }
        let (length, taken) = sizes(&template);
        println!("{product} {version}: {} MB of {} MB", taken >> 20, length >> 20);
        // Tables of some 20 MB, with everything else that a server has.
        assert!(taken <= 64 << 20, "{product} {version}: {taken} of {length}");
    }
}

/// In clock ticks.
fn ticks(pid: i32) -> u64 {
    let stat = procfs::process::Process::new(pid).unwrap().stat().unwrap();
    stat.utime + stat.stime
}

#[test]
fn a_frozen_server_stops_and_continues_where_it_was() {
    let mut test = mariadb();
    let pid = test.pid();
    let options =
        assay_wire::ConnectOptions { timeout: Duration::from_secs(60), ..test.connect_options() };
    // The server works until the freezes are over. Without a freeze, the test would see it run. Each query is short, so
    // even on a busy machine none takes as long as the limit.
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let busy = std::thread::spawn(move || {
        let mut control = assay_wire::Connection::connect(&options).unwrap();
        while !is_over.load(Ordering::Relaxed) {
            control.query("SELECT BENCHMARK(1000000, MD5('a'))").unwrap();
        }
    });
    for _ in 0..3 {
        let start = ticks(pid);
        while ticks(pid) < start + 3 {
            std::thread::yield_now();
        }
        test.server().freeze().unwrap();
        test.server().freeze().unwrap();
        for task in procfs::process::Process::new(pid).unwrap().tasks().unwrap() {
            assert_eq!(task.unwrap().stat().unwrap().state, 'T');
        }
        let frozen = ticks(pid);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(ticks(pid), frozen);
        test.server().thaw().unwrap();
    }
    over.store(true, Ordering::Relaxed);
    busy.join().unwrap();
    let mut control = test.connect();
    assert_eq!(control.query("SELECT 1").unwrap().first_string().as_deref(), Some("1"));
    let rounds = 200;
    let began = Instant::now();
    for _ in 0..rounds {
        test.server().freeze().unwrap();
        test.server().thaw().unwrap();
    }
    println!("freeze and thaw: {:.0} us", began.elapsed().as_secs_f64() * 1e6 / f64::from(rounds));
}

#[test]
fn threads_run_where_they_are_placed() {
    for (product, version) in [(Product::MariaDb, "10.11"), (Product::MySql, "5.7")] {
        let test_server = &mut start(product, version, &[]);
        let controls = [test_server.connect(), test_server.connect()].map(RefCell::new);
        let ids = controls.each_ref().map(|it| u64::from(it.borrow().connection_id()));
        let pid = test_server.pid();
        let server = test_server.server();
        let query = |connection: usize, sql: &str| controls[connection].borrow_mut().query(sql);
        let round_trips = |connection, count| -> Result<(), ServersError> {
            (0..count).try_for_each(|_| Ok(query(connection, "SELECT 1").map(drop)?))
        };
        let tids = server.connection_tids(&ids, round_trips).unwrap().unwrap();
        assert!(tids[0] != tids[1]);
        assert!(tids.iter().all(|tid| fs::exists(format!("/proc/{pid}/task/{tid}")).unwrap()));
        // The work of a connection is the work of its thread.
        let before = tids.iter().map(|tid| ticks_of(pid, *tid)).collect::<Vec<_>>();
        query(1, "SELECT BENCHMARK(2000000, MD5('a'))").unwrap();
        assert!(ticks_of(pid, tids[0]) <= before[0] + 1, "{product}");
        assert!(ticks_of(pid, tids[1]) > before[1] + 10, "{product}");
        assert!(matches!(
            server.connection_tids(&[ids[0], 999_999], |_, _| Ok::<_, ServersError>(())),
            Err(ServersError::NoThread(_))
        ));

        let cpus = |tid: i32| {
            let status = procfs::process::Process::new(pid).unwrap().task_from_tid(tid).unwrap();
            status.status().unwrap().cpus_allowed_list.unwrap()
        };
        let supervisor = || {
            let parent = procfs::process::Process::new(pid).unwrap().stat().unwrap().ppid;
            let status = procfs::process::Process::new(parent).unwrap().status().unwrap();
            status.cpus_allowed_list.unwrap()
        };
        let everywhere = cpus(pid);
        server.place(CpuPlacement::OneCpu, &[0], &tids).unwrap();
        assert_eq!((cpus(pid), cpus(tids[0])), (vec![(0, 0)], vec![(0, 0)]));
        server.place(CpuPlacement::ConnectionsOnOneCpu, &[0], &tids).unwrap();
        assert_eq!((cpus(pid), cpus(tids[0])), (everywhere.clone(), vec![(0, 0)]));
        assert_eq!(supervisor(), vec![(0, 0)]);
        server.place(CpuPlacement::Pairs, &[1, 0], &tids).unwrap();
        assert_eq!(supervisor(), everywhere);
        assert_eq!([cpus(tids[0]), cpus(tids[1])], [vec![(1, 1)], vec![(0, 0)]]);
        assert_eq!(cpus(pid), everywhere);
        server.place(CpuPlacement::Free, &[0], &tids).unwrap();
        assert_eq!(cpus(tids[0]), everywhere);
        assert!(server.place(CpuPlacement::OneCpu, &[1000], &tids).is_err());

        // Both ways in which client and server share the CPUs.
        for (placement, cpus) in [(CpuPlacement::OneCpu, &[0][..]), (CpuPlacement::Free, &[0, 1])] {
            server.place(placement, &[0], &tids).unwrap();
            let mut own = CpuSet::new();
            cpus.iter().for_each(|cpu| own.set(*cpu));
            sched_setaffinity(None, &own).unwrap();
            for _ in 0..10 {
                let again = server.connection_tids(&ids, round_trips).unwrap();
                assert_eq!(again.as_ref(), Some(&tids), "{product}");
            }
        }
    }
}

#[test]
fn threads_of_a_pool_serve_no_connection_of_their_own() {
    let mut test = mariadb_version("10.11", &["--thread-handling=pool-of-threads"]);
    let id = u64::from(test.connect().connection_id());
    let unasked = |_, _| Ok::<_, ServersError>(());
    assert_eq!(test.server().connection_tids(&[id], unasked).unwrap(), None);
}

/// In clock ticks.
fn ticks_of(pid: i32, tid: i32) -> u64 {
    let task = procfs::process::Process::new(pid).unwrap().task_from_tid(tid).unwrap();
    let stat = task.stat().unwrap();
    stat.utime + stat.stime
}

#[test]
fn a_maintained_server_is_drained_and_otherwise_unchanged() {
    for (product, version) in VERSIONS {
        let test = start(product, version, &[]);
        let mut control = test.connect();
        control.query("CREATE TABLE t (id INT PRIMARY KEY, k INT, KEY (k), c CHAR(200))").unwrap();
        control.query("INSERT INTO t VALUES (1, 1, REPEAT('c', 200))").unwrap();
        for _ in 0..14 {
            let doubled = "INSERT INTO t SELECT id + (SELECT MAX(id) FROM t), k, c FROM t";
            control.query(doubled).unwrap();
        }
        for _ in 0..3 {
            control.query("UPDATE t SET k = k + 1").unwrap();
        }
        control.query("DELETE FROM t WHERE id % 2 = 0").unwrap();
        let knobs = "SELECT @@innodb_io_capacity, @@innodb_io_capacity_max, \
                     @@innodb_max_dirty_pages_pct, @@innodb_max_dirty_pages_pct_lwm";
        let before = control.query(knobs).unwrap();
        let drained = maintain(&mut control, &["t".to_owned()], Duration::from_secs(60)).unwrap();
        println!("{version}: {drained:?}");
        assert!(drained.is_complete, "{version}: {drained:?}");
        assert_eq!((drained.dirty_pages, drained.history_length), (0, Some(0)));
        assert_eq!(control.query(knobs).unwrap().rows, before.rows);

        // A transaction that still sees the old versions keeps them from being purged. The drain reports that and does
        // not wait.
        let mut reader = test.connect();
        reader.query("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
        control.query("UPDATE t SET k = k + 1").unwrap();
        let stuck = drain(&mut control, Duration::from_millis(300)).unwrap();
        assert!(!stuck.is_complete && stuck.history_length > Some(0), "{version}: {stuck:?}");
        assert_eq!(control.query(knobs).unwrap().rows, before.rows);
    }
}

#[test]
fn all_options_that_a_server_does_not_take_are_found_without_a_start() {
    let cases = [(Product::MariaDb, "10.11"), (Product::MySql, "5.7"), (Product::MySql, "8.0")];
    for (product, version) in cases {
        let dir = tempfile::tempdir().unwrap();
        let (prefix, site) = (product_prefix(product, version), site(dir.path()));
        let options = [
            "--innodb-bufer-pool-size=1",
            "--max-connections=50",
            "--sql-mode=NO_SUCH_MODE",
            "--loose-no-such-option=1",
            "--no_such_option=1",
        ];
        let refused = refused_options(&site, &prefix, &options.map(str::to_owned)).unwrap();
        let refusal = |name: &str| refused.iter().find(|it| it.name == name).unwrap();
        assert_eq!(refused.len(), 3, "{version}: {refused:?}");
        let nearest = refusal("innodb_bufer_pool_size").nearest.as_deref();
        assert_eq!(nearest, Some("innodb_buffer_pool_size"));
        assert_eq!(refusal("no_such_option").said, None);
        assert!(refusal("sql_mode").said.as_ref().unwrap().contains("NO_SUCH_MODE"), "{refused:?}");
        if product == Product::MariaDb {
            // Its help complains about the value, and ends without an error code.
            let options = ["--innodb-default-row-format=compressed", "--sort-buffer-size=1M"];
            let refused = refused_options(&site, &prefix, &options.map(str::to_owned)).unwrap();
            let names: Vec<&str> = refused.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(names, ["innodb_default_row_format"], "{refused:?}");
        }
        assert_eq!(count(dir.path()), 0);
    }
}

#[test]
fn a_failed_start_reports_the_reason_and_leaves_nothing() {
    for (product, version) in [(Product::MariaDb, "10.11"), (Product::MySql, "5.7")] {
        let dir = tempfile::tempdir().unwrap();
        let (prefix, site) = (product_prefix(product, version), site(dir.path()));
        let mut options = options(&prefix);
        options.push("--innodb-bufer-pool-size=1".to_owned());
        let check = |error: ServersError| {
            let message =
                format!("{product} {} has no option `innodb_bufer_pool_size`", prefix.version);
            assert_eq!(error.to_string(), message);
            assert_eq!(error.hints(), ["did you mean `innodb_buffer_pool_size`"]);
            assert_eq!(count(dir.path()), 0);
        };
        check(ServerInstance::start(&site, &prefix, &options, &template(&prefix)).unwrap_err());

        let target = dir.path().join("never");
        check(initialize(&site, &prefix, &options, &target).unwrap_err());

        // The error has the server's own words about an impossible value.
        let _ = options.pop();
        options.push("--innodb-buffer-pool-size=1x".to_owned());
        let error =
            ServerInstance::start(&site, &prefix, &options, &template(&prefix)).unwrap_err();
        assert!(matches!(error, ServersError::OptionRefused { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("1x") && !text.contains('\n'), "{text}");
    }
}

#[test]
fn a_password_is_required_for_root_from_every_host() {
    for (product, version) in [(Product::MariaDb, "10.11"), (Product::MySql, "5.7")] {
        let mut test = start_listening(product, version, &[], Listen::Loopback(0));
        let port = test.connect().query("SELECT @@port").unwrap().first_string().unwrap();
        let password = test.server().password().map(str::to_owned);
        let tcp = Address::Tcp { host: "127.0.0.1".to_owned(), port: port.parse().unwrap() };
        for address in [tcp, Address::Unix(test.server().socket())] {
            let stranger = ConnectOptions::new(address, "root");
            assert!(Connection::connect(&stranger).is_err(), "{product}, {stranger:?}");
            let owner = ConnectOptions { password: password.clone(), ..stranger };
            Connection::connect(&owner).unwrap();
        }
    }
}

#[test]
fn a_server_that_dies_is_noticed() {
    let mut test = mariadb();
    let pid = rustix::process::Pid::from_raw(test.pid()).unwrap();
    test.server().freeze().unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // The supervisor reports the end as soon as it knows, which may be after the next request.
    let error = loop {
        match test.server().thaw() {
            Ok(()) => std::thread::yield_now(),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().starts_with("the server ended with signal 9"), "{error}");
}

#[test]
fn a_stopped_supervisor_goes_on_when_its_server_is_dropped() {
    let test = mariadb();
    let pid = test.pid();
    let supervisor = procfs::process::Process::new(pid).unwrap().stat().unwrap().ppid;
    let supervisor = rustix::process::Pid::from_raw(supervisor).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::STOP).unwrap();
    drop(test);
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
}

#[test]
fn kept_servers_outlive_their_starter_until_they_are_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let (prefix, site) = (prefix("11.8"), site(&dir.path().join("data")));
    let start =
        || ServerInstance::start(&site, &prefix, &options(&prefix), &template(&prefix)).unwrap();
    let keep = |server: ServerInstance, name: &str| {
        let kept = KeptServer {
            name: name.to_owned(),
            system: "mariadb@11.8".to_owned(),
            version: prefix.version.clone(),
            socket: server.socket(),
            port: None,
            url: String::new(),
            pid: server.pid(),
            datadir: server.data_dir(),
        };
        server.keep(&kept).unwrap();
        kept
    };
    let (first, second) = (keep(start(), "first"), keep(start(), "second"));
    let options = ConnectOptions::unix(&first.socket, "root");
    Connection::connect(&options).unwrap().query("SELECT 1").unwrap();
    let mut found = kept_servers(&site.run_root).unwrap();
    assert_eq!(found.iter().map(|it| &it.kept).collect::<Vec<_>>(), [&first, &second]);
    assert!(found.iter().all(|it| it.ended.is_none()));

    // Data of a running server is not garbage; other data is.
    let orphan = site.data_root.join("orphan");
    fs::create_dir(&orphan).unwrap();
    collect_kept_data(&site).unwrap();
    assert!(!orphan.exists() && first.datadir.is_dir());

    // A killed server is still listed, and can be removed.
    let pid = rustix::process::Pid::from_raw(second.pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let ended = || kept_servers(&site.run_root).unwrap()[1].ended;
    while ended().is_none() {
        std::thread::yield_now();
    }
    assert_eq!(ended(), Some(Ending::Signal(9)));
    found.pop().unwrap().stop(None).unwrap();
    let saved = dir.path().join("kept/first");
    found.pop().unwrap().stop(Some(&saved)).unwrap();
    assert!(saved.join("ibdata1").is_file());
    assert!(kept_servers(&site.run_root).unwrap().is_empty());
    assert_eq!(count(&site.data_root), 0);
    assert!(!fs::exists(format!("/proc/{}", first.pid)).unwrap());
}
