//! Servers on a port: no client gets in without the password, and a client that gets in is not root.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

use assay_model::{Hint as _, Product};
use assay_servers::{Listen, ServerInstance, ServersError};
use assay_testkit::{
    eventually, options, product_prefix, run_tests, site, start_listening, template, tests,
};
use assay_wire::{Address, ConnectOptions, Connection};
use fs_err as fs;

/// A server that creates its system tables itself, two that get them from scripts, and one with accounts in the data.
const SYSTEMS: [(Product, &str); 4] = [
    (Product::MariaDb, "10.11"),
    (Product::MySql, "5.6"),
    (Product::MySql, "5.7"),
    (Product::Postgres, "16"),
];

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn knocking(product: Product, port: u16, user: &str) -> ConnectOptions {
    let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
    let options = ConnectOptions::new(address, user);
    match product {
        Product::Postgres => ConnectOptions {
            protocol: assay_wire::Protocol::Postgres,
            database: Some("postgres".to_owned()),
            ..options
        },
        _ => options,
    }
}

/// Tries to log in until it is asked to stop. Counts how often the server refused it, and returns how often it got in.
fn knocker(
    product: Product,
    port: u16,
    refused: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
) -> JoinHandle<u32> {
    std::thread::spawn(move || {
        let mut got_in = 0;
        while !stop.load(Ordering::Relaxed) {
            // The server needs a CPU too.
            std::thread::sleep(std::time::Duration::from_millis(1));
            for user in ["root", "", "postgres"] {
                match Connection::connect(&knocking(product, port, user)) {
                    Ok(_) => got_in += 1,
                    Err(error) if error.server_code().is_some() => {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(_) => {}
                }
            }
        }
        got_in
    })
}

fn nobody_gets_in_before_there_is_a_password() {
    for (product, version) in SYSTEMS {
        let port = free_port();
        let (refused, stop) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let knocker = knocker(product, port, Arc::clone(&refused), Arc::clone(&stop));
        let mut test = start_listening(product, version, &[], Listen::Loopback(port));
        let password = test.server().password().unwrap().to_owned();
        eventually("somebody has knocked", || refused.load(Ordering::Relaxed) > 0);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(knocker.join().unwrap(), 0, "{product} {version}");
        let owner = knocking(product, port, "root");
        Connection::connect(&ConnectOptions { password: Some(password), ..owner }).unwrap();
    }
}

/// If root starts it, the server writes only to its own directories. An earlier assay let it run as root and write
/// anywhere.
fn whoever_gets_in_is_not_root() {
    let roots = tempfile::tempdir().unwrap();
    fs::set_permissions(roots.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let file = roots.path().join("x");
    let path = file.display();
    for (product, version) in SYSTEMS {
        let mut test = start_listening(product, version, &[], Listen::Loopback(free_port()));
        let status = procfs::process::Process::new(test.pid()).unwrap().status().unwrap();
        assert_eq!((status.ruid, status.euid, status.suid), (65534, 65534, 65534));
        assert_eq!((status.rgid, status.egid, status.groups.len()), (65534, 65534, 0));
        // CAP_DAC_READ_SEARCH
        assert_eq!((status.capprm, status.capeff), (1 << 2, 1 << 2), "{product} {version}");
        assert_eq!(status.nonewprivs, Some(1));
        let mut control = test.connect();
        let statements = match product {
            Product::Postgres => [
                format!("COPY (SELECT 'x') TO '{path}'"),
                format!("COPY (SELECT 'x') TO PROGRAM 'tee {path}'"),
            ],
            _ => [
                format!("SET GLOBAL general_log_file = '{path}'"),
                format!("SELECT 'x' INTO OUTFILE '{path}'"),
            ],
        };
        for sql in statements {
            let _ = control.query(&sql);
        }
        if product != Product::Postgres {
            let _ = control.query("SET GLOBAL general_log = ON");
            let _ = control.query("SELECT 'x'");
        }
        assert!(!file.exists(), "{product} {version}");
        // The server works nevertheless, and stops like others.
        control
            .query("CREATE TABLE test.t (a INT)")
            .or_else(|_| control.query("CREATE TABLE t (a INT)"))
            .unwrap();
        test.server().freeze().unwrap();
    }
}

fn a_port_that_is_taken_is_told_before_anything_is_done() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = Listen::Loopback(taken.local_addr().unwrap().port());
    let dir = tempfile::tempdir().unwrap();
    let (prefix, site) =
        (product_prefix(Product::MariaDb, "10.11"), site(&dir.path().join("data")));
    let error = ServerInstance::start_listening(
        &site,
        &prefix,
        &options(&prefix),
        &template(&prefix),
        listen,
    )
    .unwrap_err();
    assert!(matches!(error, ServersError::Port { .. }), "{error}");
    assert!(error.hints()[0].contains("--port 0"));
    assert!(!site.data_root.exists());
}

fn main() -> ExitCode {
    let anyone = tests![
        nobody_gets_in_before_there_is_a_password,
        a_port_that_is_taken_is_told_before_anything_is_done,
    ];
    let root = tests![whoever_gets_in_is_not_root,];
    run_tests(&anyone, &root)
}
