//! Servers that the tests of a process share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use assay_model::Product;
use assay_servers::Listen;
use assay_wire::{ConnectOptions, Connection};
use fs_err as fs;

use crate::{cache_dir, create_database, instance, options, product_prefix, template};

/// An empty database on a server that all tests of this process share.
#[derive(Debug)]
pub struct TestDatabase {
    server: SharedServer,
    name: String,
}

#[derive(Debug, Clone)]
struct SharedServer {
    options: ConnectOptions,
    pid: i32,
}

/// An empty database for a test that changes nothing outside of it, and reads nothing that other tests change, such as
/// the counters of the whole server.
pub fn database(product: Product, version: &str) -> TestDatabase {
    static DATABASES: AtomicU32 = AtomicU32::new(1);
    let server = shared(product, version);
    let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    create_database(&server.options, &name);
    TestDatabase { server, name }
}

fn shared(product: Product, version: &str) -> SharedServer {
    type SharedServers = BTreeMap<(Product, String), Arc<OnceLock<SharedServer>>>;
    static SERVERS: Mutex<SharedServers> = Mutex::new(BTreeMap::new());
    let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Arc::clone(servers.entry((product, version.to_owned())).or_default());
    drop(servers);
    server.get_or_init(|| start_shared(product, version)).clone()
}

/// The server runs until this process ends. Its supervisor then ends it and removes its data, so that the directory of
/// the data is one that stays.
fn start_shared(product: Product, version: &str) -> SharedServer {
    let prefix = product_prefix(product, version);
    let data_root = cache_dir().join("testkit/shared");
    fs::create_dir_all(&data_root).unwrap_or_else(|error| panic!("{error}"));
    let (options, template) = (options(&prefix), template(&prefix));
    let server = instance(&data_root, &prefix, &options, &template, Listen::Socket);
    let shared = SharedServer { options: server.connect_options(), pid: server.pid() };
    std::mem::forget(server);
    shared
}

impl TestDatabase {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn connect_options(&self) -> ConnectOptions {
        ConnectOptions { database: Some(self.name.clone()), ..self.server.options.clone() }
    }

    pub fn connect(&self) -> Connection {
        Connection::connect(&self.connect_options())
            .unwrap_or_else(|error| panic!("cannot connect to a test server: {error}"))
    }

    /// Process of the server.
    pub fn pid(&self) -> i32 {
        self.server.pid
    }
}
