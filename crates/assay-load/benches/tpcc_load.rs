//! Compares the load speed of the TPC-C-like tables with sysbench-tpcc on the same server, in alternation: warehouses
//! per second.
//!
//! `ASSAY_SYSBENCH_TPCC` names a directory with the unmodified scripts (github.com/Percona-Lab/sysbench-tpcc). They
//! pause for 30 seconds between creating and loading the tables, which is not counted. They declare no foreign keys
//! here, nor does assay.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use assay_load::{LoadTarget, Workload as _};
use assay_model::{DataSet, Dialect, Product, TableForm, Tpcc};
use assay_testkit::TestServer;
use assay_wire::{Address, ConnectOptions};
use common::{has_sysbench, median};

const WAREHOUSES: u32 = 2;
const ROUNDS: usize = 3;

const SCRIPTS: &str = "ASSAY_SYSBENCH_TPCC";

/// Pause of the scripts between creating and loading the tables.
const PAUSE_S: f64 = 30.0;

fn main() {
    if std::env::args().any(|arg| arg == assay_testkit::AS_SUPERVISOR) {
        return assay_testkit::supervise_if_asked();
    }
    let Some(scripts) = std::env::var_os(SCRIPTS).map(PathBuf::from) else {
        println!("{SCRIPTS} names no directory with sysbench-tpcc: nothing to compare with");
        return;
    };
    if !has_sysbench() {
        println!("sysbench is not installed: nothing to compare with (`apt-get install sysbench`)");
        return;
    }
    for (product, version) in
        [(Product::MariaDb, "10.11"), (Product::MySql, "8.0"), (Product::Postgres, "15")]
    {
        let server = assay_testkit::start(product, version, &[]);
        compare(product, &server, &scripts);
    }
}

fn compare(product: Product, server: &TestServer, scripts: &Path) {
    let options = server.connect_options();
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let (ours, theirs) = if round % 2 == 0 {
            let ours = load(product, &options);
            (ours, sysbench_tpcc(product, &options, scripts))
        } else {
            let theirs = sysbench_tpcc(product, &options, scripts);
            (load(product, &options), theirs)
        };
        println!(
            "{product}: {:.3} and {:.3} warehouses/s, ratio {:.2}",
            ours,
            theirs,
            ours / theirs
        );
        ratios.push(ours / theirs);
    }
    println!(
        "{product}: median ratio to sysbench-tpcc: warehouses per second {:.2}",
        median(ratios.into_iter())
    );
}

/// Returns warehouses per second, indexes included. Reading the tables back is not counted: sysbench-tpcc does not do
/// it.
fn load(product: Product, options: &ConnectOptions) -> f64 {
    let tpcc = Tpcc { warehouses: WAREHOUSES, procedures: false, thinks: false };
    let place = LoadTarget {
        options,
        dialect: product.dialect(),
        engine: product.default_engine(),
        form: &TableForm::default(),
        data: DataSet { tables: 1, rows: 1 },
        seed: 1,
        files: &|_| Err("there are no files".to_owned()),
        dumps: &|_| Err("there are no dumps".to_owned()),
    };
    let loaded = tpcc.fill(&place, true, &mut |_| ()).unwrap();
    f64::from(WAREHOUSES) / loaded.elapsed.as_secs_f64()
}

fn sysbench_tpcc(product: Product, options: &ConnectOptions, scripts: &Path) -> f64 {
    let run = |command: &str| {
        let start = Instant::now();
        let mut sysbench = Command::new("sysbench");
        sysbench.current_dir(scripts).arg("tpcc.lua").args(login(product, options));
        sysbench.args(["--tables=1", "--use_fk=0"]);
        sysbench.arg(format!("--scale={WAREHOUSES}")).arg(format!("--threads={WAREHOUSES}"));
        let output = sysbench.arg(command).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !text.contains("FATAL"), "{text}");
        start.elapsed().as_secs_f64()
    };
    let seconds = run("prepare") - PAUSE_S;
    run("cleanup");
    f64::from(WAREHOUSES) / seconds
}

fn login(product: Product, options: &ConnectOptions) -> [String; 6] {
    let Address::Unix(socket) = &options.address else { panic!("the server has a unix socket") };
    let (user, socket_text) = (&options.user, socket.display());
    let password = options.password.as_deref().unwrap_or_default();
    let database = options.database.as_deref().unwrap_or_default();
    match product.dialect() {
        Dialect::MySql => [
            "--db-driver=mysql".to_owned(),
            format!("--mysql-socket={socket_text}"),
            format!("--mysql-user={user}"),
            format!("--mysql-password={password}"),
            format!("--mysql-db={database}"),
            "--mysql-ssl=off".to_owned(),
        ],
        Dialect::Postgres => [
            "--db-driver=pgsql".to_owned(),
            format!("--pgsql-host={}", socket.parent().unwrap().display()),
            format!("--pgsql-port={}", socket.extension().unwrap().to_string_lossy()),
            format!("--pgsql-user={user}"),
            format!("--pgsql-password={password}"),
            format!("--pgsql-db={database}"),
        ],
    }
}
