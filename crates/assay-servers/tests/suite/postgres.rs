//! The life of a Postgres server, which is a tree of processes: set up, started, queried, frozen, stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_model::{CpuPlacement, Hint as _, Product};
use assay_servers::{
    Listen, ServerInstance, ServersError, Site, collect_garbage, copy_tree, drain,
    effective_settings, initialize, maintain,
};
use assay_testkit::{
    database, options, postgres, product_prefix, site, start, start_listening, template,
};
use assay_wire::{Address, ConnectOptions, Connection, Stop};
use fs_err as fs;
use procfs::process::MMapPath;

fn count(dir: &std::path::Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

fn tree(pid: i32) -> Vec<i32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let children = children.split_whitespace().map(|pid| pid.parse().unwrap());
    std::iter::once(pid).chain(children).collect()
}

fn status(pid: i32) -> procfs::process::Status {
    procfs::process::Process::new(pid).unwrap().status().unwrap()
}

#[test]
fn a_server_is_initialised_started_queried_and_stopped_with_its_data_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (prefix, site) = (product_prefix(Product::Postgres, "16"), site(&dir.path().join("data")));
    let (empty, loaded) = (dir.path().join("empty"), dir.path().join("loaded"));
    initialize(&site, &prefix, &options(&prefix), &empty).unwrap();
    let server = ServerInstance::start(&site, &prefix, &options(&prefix), &empty).unwrap();
    let mut control = server.connect().unwrap();
    assert!(control.server_version().starts_with(&prefix.version));
    control.query("CREATE TABLE t AS SELECT 42 AS a").unwrap();
    // A connected client does not keep it from stopping.
    server.stop_and_keep(&loaded).unwrap();
    copy_tree(&loaded, &dir.path().join("copy"), &Stop::default()).unwrap();
    let server = ServerInstance::start(&site, &prefix, &options(&prefix), &loaded).unwrap();
    let found = server.connect().unwrap().query("SELECT a FROM t").unwrap();
    assert_eq!(found.first_string().as_deref(), Some("42"));
    assert!(!server.log_tail().contains("not properly shut down"), "{}", server.log_tail());
    let pids = tree(server.pid());
    assert!(pids.len() > 3, "{pids:?}");
    drop(server);
    assert_eq!(count(&site.data_root), 0);
    for pid in pids {
        assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
    }
}

#[test]
fn a_frozen_server_stops_with_all_its_processes_and_leaves_no_shared_memory() {
    let mut test = postgres();
    let pid = test.pid();
    let options = ConnectOptions { timeout: Duration::from_secs(60), ..test.connect_options() };
    let mut control = Connection::connect(&options).unwrap();
    let backend = i32::try_from(control.connection_id()).unwrap();
    // It works until the freezes are over.
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let busy = std::thread::spawn(move || {
        let sql = "SELECT count(md5(n::text)) FROM generate_series(1, 100000) n";
        while !is_over.load(Ordering::Relaxed) {
            let found = control.query(sql).unwrap();
            assert_eq!(found.first_string().as_deref(), Some("100000"));
        }
    });
    let ticks = || {
        let stat = procfs::process::Process::new(backend).unwrap().stat().unwrap();
        stat.utime + stat.stime
    };
    for _ in 0..3 {
        let start = ticks();
        while ticks() < start + 3 {
            std::thread::yield_now();
        }
        test.server().freeze().unwrap();
        test.server().freeze().unwrap();
        for pid in tree(pid) {
            assert!(status(pid).state.starts_with('T'), "{}", status(pid).state);
        }
        let frozen = ticks();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(ticks(), frozen);
        test.server().thaw().unwrap();
    }
    over.store(true, Ordering::Relaxed);
    busy.join().unwrap();
    let rounds = 200;
    let began = Instant::now();
    for _ in 0..rounds {
        test.server().freeze().unwrap();
        test.server().thaw().unwrap();
    }
    println!("freeze and thaw: {:.0} us", began.elapsed().as_secs_f64() * 1e6 / f64::from(rounds));
    let (files, segments) = shared_memory(pid);
    assert!(files.is_empty() && !segments.is_empty(), "{files:?} {segments:?}");
    // Frozen with a client connected, the usual state at the end of a block, it still shuts down cleanly.
    test.server().freeze().unwrap();
    drop(test);
    assert_eq!(left_of(&segments), [0; 0]);
}

fn shared_memory(pid: i32) -> (Vec<std::path::PathBuf>, Vec<u64>) {
    let maps = procfs::process::Process::new(pid).unwrap().maps().unwrap();
    let mut files = Vec::new();
    let mut segments = Vec::new();
    for map in maps {
        match map.pathname {
            MMapPath::Path(path) if path.starts_with("/dev/shm") => files.push(path),
            MMapPath::Vsys(_) => segments.push(map.inode),
            _ => {}
        }
    }
    (files, segments)
}

fn left_of(segments: &[u64]) -> Vec<u64> {
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let there = table.lines().skip(1).filter_map(|it| it.split_whitespace().nth(1)?.parse().ok());
    there.filter(|id| segments.contains(id)).collect()
}

#[test]
fn frozen_children_of_a_server_whose_supervisor_was_killed_are_collected() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = product_prefix(Product::Postgres, "16");
    let site = Site { run_root: dir.path().join("r"), ..site(&dir.path().join("data")) };
    let mut server =
        ServerInstance::start(&site, &prefix, &options(&prefix), &template(&prefix)).unwrap();
    let _client = server.connect().unwrap();
    server.freeze().unwrap();
    let (_, segments) = shared_memory(server.pid());
    let pids = tree(server.pid());
    let parent = procfs::process::Process::new(server.pid()).unwrap().stat().unwrap().ppid;
    let supervisor = rustix::process::Pid::from_raw(parent).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
    // The kernel kills the first process; the others stay frozen for ever.
    let is_there = |pid: &i32| {
        let stat = procfs::process::Process::new(*pid).and_then(|it| it.stat());
        stat.is_ok_and(|stat| stat.state != 'Z')
    };
    while is_there(&server.pid()) {
        std::thread::yield_now();
    }
    assert!(pids.iter().filter(|pid| is_there(pid)).count() > 3);
    drop(server);
    assert_eq!(left_of(&segments), segments);
    assert_eq!(collect_garbage(&site.run_root).unwrap(), 1);
    assert!(!pids.iter().any(is_there), "{pids:?}");
    assert_eq!(count(&site.data_root), 0);
    assert_eq!(left_of(&segments), [0; 0]);
}

#[test]
fn processes_run_where_they_are_placed() {
    let mut test = postgres();
    let control = test.connect();
    let id = u64::from(control.connection_id());
    let pid = test.pid();
    let server = test.server();
    let unasked = |_, _| -> Result<(), ServersError> { unreachable!("the server says it") };
    let tids = server.connection_tids(&[id], unasked).unwrap().unwrap();
    assert!(tree(pid).contains(&tids[0]));
    assert!(matches!(server.connection_tids(&[1], unasked), Err(ServersError::NoThread(1))));
    let cpus = |pid: i32| status(pid).cpus_allowed_list.unwrap();
    let everywhere = cpus(pid);
    server.place(CpuPlacement::OneCpu, &[0], &tids).unwrap();
    assert!(tree(pid).into_iter().all(|pid| cpus(pid) == [(0, 0)]));
    server.place(CpuPlacement::ConnectionsOnOneCpu, &[0], &tids).unwrap();
    assert!(tree(pid).into_iter().all(|pid| (cpus(pid) == [(0, 0)]) == (pid == tids[0])));
    server.place(CpuPlacement::Free, &[0], &tids).unwrap();
    assert_eq!(cpus(tids[0]), everywhere);
}

#[test]
fn a_maintained_server_has_no_dead_rows() {
    let test = database(Product::Postgres, "16");
    let mut control = test.connect();
    control
        .query("CREATE TABLE t AS SELECT n AS id, n AS k FROM generate_series(1, 20000) n")
        .unwrap();
    control.query("UPDATE t SET k = k + 1").unwrap();
    let drained = maintain(&mut control, &["t".to_owned()], Duration::from_secs(60)).unwrap();
    println!("{drained:?}");
    assert!(drained.is_complete);
    let analyzed = control.query("SELECT reltuples FROM pg_class WHERE relname = 't'").unwrap();
    assert_eq!(analyzed.first_string().as_deref(), Some("20000"));
    // A transaction that still sees the old rows keeps them from being removed. The drain reports that and does not
    // wait.
    let mut reader = test.connect();
    reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t").unwrap();
    control.query("UPDATE t SET k = k + 1").unwrap();
    let stuck = drain(&mut control, Duration::from_millis(300)).unwrap();
    assert!(!stuck.is_complete && stuck.history_length > Some(0), "{stuck:?}");
}

#[test]
fn a_failed_start_reports_the_reason_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (prefix, site) = (product_prefix(Product::Postgres, "16"), site(dir.path()));
    let mut options = options(&prefix);
    for (option, message, hint) in [
        ("--work_mems=1", "has no option `work_mems`", "did you mean `work_mem`"),
        ("--work_mem=x", "invalid value for parameter \"work_mem\": \"x\"", "change"),
    ] {
        options.push(option.to_owned());
        let error =
            ServerInstance::start(&site, &prefix, &options, &template(&prefix)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(message) && !text.contains('\n'), "{text}");
        assert!(error.hints()[0].starts_with(hint), "{:?}", error.hints());
        assert_eq!(count(dir.path()), 0);
        let _ = options.pop();
    }
}

#[test]
fn a_port_needs_a_password_but_a_socket_does_not() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = start_listening(Product::Postgres, "16", &[], Listen::Loopback(port));
    let password = server.server().password().map(str::to_owned);
    let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
    let mut options = ConnectOptions { address, password: None, ..server.connect_options() };
    let state = Connection::connect(&options).unwrap_err().to_string();
    assert!(state.contains("28P01"), "{state}");
    options.password = password;
    Connection::connect(&options).unwrap();
}

#[test]
fn settings_are_those_of_the_intent() {
    let shared = database(Product::Postgres, "16");
    let usual = effective_settings(&mut shared.connect()).unwrap();
    for (name, value) in [
        ("shared_buffers", "128MB"),
        ("synchronous_commit", "off"),
        ("full_page_writes", "on"),
        ("data_checksums", "on"),
        ("jit", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("session.ssl_cipher", ""),
        ("database.encoding", "SQL_ASCII"),
        ("database.locale", "C"),
    ] {
        assert_eq!(usual.get(name).map(String::as_str), Some(value), "{name}");
    }
    let server = start(Product::Postgres, "16", &["--synchronous_commit=on"]);
    let other = effective_settings(&mut server.connect()).unwrap();
    let differing: Vec<_> =
        usual.iter().filter(|(name, value)| other.get(*name) != Some(value)).collect();
    let names = differing.iter().map(|(name, _)| name.as_str());
    let is_path = |name: &&str| name.ends_with("_file") || name.contains("_director");
    assert_eq!(names.filter(|it| !is_path(it)).collect::<Vec<_>>(), ["synchronous_commit"]);
}
