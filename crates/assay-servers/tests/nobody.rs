//! Postgres, run by a root that cannot create user namespaces, as in many containers.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use assay_testkit::{is_supervisor, run_tests, tests};
use fs_err as fs;

/// Selects the part of the test that runs inside.
const INSIDE: &str = "ASSAY_TEST_INSIDE";

/// In this namespace, root and `nobody` map to themselves, and no further namespace can be created.
fn postgres_runs_as_nobody_where_root_can_make_no_namespace() {
    // A program executed after the user was mapped has that user's rights.
    let wait = "read go && exec sh -c \"$@\"";
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut inside = Command::new("unshare")
        .args(["--user", "sh", "-c", wait, "sh", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .env(INSIDE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let own = fs::read_link("/proc/self/ns/user").unwrap();
    let of_it = |name: &str| format!("/proc/{}/{name}", inside.id());
    while fs::read_link(of_it("ns/user")).unwrap() == own {
        std::thread::yield_now();
    }
    for map in ["uid_map", "gid_map"] {
        fs::write(of_it(map), "0 0 65536").unwrap();
    }
    inside.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let output = inside.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn inside_it_is_nobody() {
    assay_servers::leave_root_where_needed().unwrap();
    let mut test = assay_testkit::postgres();
    let owner = |pid: i32| {
        let status = procfs::process::Process::new(pid).unwrap().status().unwrap();
        status.euid
    };
    assert_eq!(owner(test.pid()), 65534);
    let mut control = test.connect();
    control.query("CREATE TABLE t (a INT)").unwrap();
    control.query("INSERT INTO t VALUES (42)").unwrap();
    control.query("CHECKPOINT").unwrap();
    test.server().freeze().unwrap();
    test.server().thaw().unwrap();
    assert_eq!(control.query("SELECT a FROM t").unwrap().first_string().as_deref(), Some("42"));
    // A server on a port does not even keep root's access to files, except for reading.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = assay_servers::Listen::Loopback(port);
    let test = assay_testkit::start_listening(assay_model::Product::Postgres, "16", &[], listen);
    let status = procfs::process::Process::new(test.pid()).unwrap().status().unwrap();
    assert_eq!((status.euid, status.capprm, status.capeff), (65534, 1 << 2, 1 << 2));
}

fn main() -> ExitCode {
    if std::env::var_os(INSIDE).is_some() && !is_supervisor() {
        inside_it_is_nobody();
        return ExitCode::SUCCESS;
    }
    let root = tests![postgres_runs_as_nobody_where_root_can_make_no_namespace,];
    run_tests(&[], &root)
}
