//! Servers under callgrind: the counts of a connection's thread depend on its work alone.

use std::thread;
use std::time::Duration;

use assay_model::Product;
use assay_servers::{CallgrindCounting, ServerInstance, ServersError, ValgrindTool};
use assay_testkit::{options, product_prefix, site, template, valgrind};
use assay_wire::Connection;
use rustix::process::{Pid, Signal, kill_process};

struct CountedServer<'a> {
    counting: CallgrindCounting<'a>,
    control: Connection,
    pid: i32,
    thread: u32,
}

impl<'a> CountedServer<'a> {
    fn new(server: &'a ServerInstance, valgrind: &'a ValgrindTool) -> Self {
        let (counting, mut control) = (server.counting(valgrind), server.connect().unwrap());
        let id = u64::from(control.connection_id());
        let ask = |_, count| {
            (0..count).for_each(|_| drop(control.query("SELECT 1 + 1").unwrap()));
            Ok::<_, ServersError>(())
        };
        let tids = server.connection_tids(&[id], ask).unwrap().unwrap();
        let (pid, thread) = counting.place(tids[0]).unwrap().unwrap();
        Self { counting, control, pid, thread }
    }

    fn counted(&mut self, statements: u32) -> u64 {
        self.counting.take(Some(self.pid)).unwrap();
        (0..statements).for_each(|_| drop(self.control.query("SELECT 1 + 1").unwrap()));
        let taken = self.counting.take(Some(self.pid)).unwrap();
        let serving = taken.iter().filter(|counts| counts.thread == self.thread);
        serving.map(|counts| counts.instructions().unwrap()).sum()
    }
}

fn repeats(product: Product, version: &str) {
    let valgrind = valgrind();
    let prefix = product_prefix(product, version);
    let root = tempfile::tempdir().unwrap();
    let (site, template) = (site(root.path()), template(&prefix));
    let server =
        ServerInstance::start_counted(&site, &prefix, &options(&prefix), &template, &valgrind)
            .unwrap();
    let mut served = CountedServer::new(&server, &valgrind);
    served.counting.count(true).unwrap();
    served.counted(10);
    let mut slope = || {
        let (few, many) = (served.counted(50) as f64, served.counted(150) as f64);
        (many - few) / 100.0
    };
    let (one, other) = (slope(), slope());
    assert!(one > 2000.0 && (one / other - 1.0).abs() < 0.02, "{prefix:?}: {one} and {other}");
    served.counting.count(false).unwrap();
    drop(served);
    server.stop().unwrap();
}

#[test]
fn a_server_that_is_killed_leaves_no_command_waiting() {
    let valgrind = valgrind();
    let prefix = product_prefix(Product::MariaDb, "10.11");
    let root = tempfile::tempdir().unwrap();
    let (site, template) = (site(root.path()), template(&prefix));
    let server =
        ServerInstance::start_counted(&site, &prefix, &options(&prefix), &template, &valgrind)
            .unwrap();
    let counting = server.counting(&valgrind);
    thread::scope(|scope| {
        let error = scope.spawn(|| (0..).find_map(|_| counting.count(false).err()));
        thread::sleep(Duration::from_millis(150));
        let pid = Pid::from_raw(server.pid()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        let error = error.join().unwrap().unwrap();
        assert!(matches!(error, ServersError::Valgrind { .. }), "{error}");
    });
}

#[test]
fn mariadb_counts_the_same_work_alike() {
    repeats(Product::MariaDb, "10.11");
}

#[test]
fn mysql_counts_the_same_work_alike() {
    repeats(Product::MySql, "5.7");
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_new_mysql_counts_the_same_work_alike() {
    repeats(Product::MySql, "8.0");
}

#[test]
fn postgres_counts_the_same_work_alike() {
    repeats(Product::Postgres, "16");
}
