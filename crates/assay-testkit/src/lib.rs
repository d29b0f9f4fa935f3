//! Real servers for tests.
//!
//! A test file has `assay_testkit::supervisor_entry!();` at its root and calls [`mariadb`] in its tests. Everything
//! panics with the reason if a server is not available: in a test, that is the right outcome.

mod python;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use assay_model::{Origin, Prefix, Product, SystemSpec};
use assay_provision::{Options, Provisioner};
use assay_servers::{Listen, Server, Site, Supervisor, Valgrind, initialize};
use assay_terms::{Sizes, Terms};
use assay_wire::{ConnectOptions, Connection, Stop};
use fs_err as fs;
use libtest_mimic::{Arguments, Completion, Trial};
use tempfile::TempDir;

pub use python::python;

/// How long a test waits for what must happen, before it takes it for a hang. Nothing that a test says about assay may
/// depend on it: the machine may be busy with anything else.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until something is true.
///
/// # Panics
/// When it is not after [`PATIENCE`].
#[track_caller]
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Name of the test function that [`supervisor_entry`] makes.
pub const ENTRY: &str = "assay_supervisor";

/// The argument that makes it run as a supervisor. The test harness takes it for a filter that matches no test.
pub const AS_SUPERVISOR: &str = "run-as-supervisor";

/// Increased when older templates no longer fit.
const TEMPLATE_VERSION: u32 = 1;

/// Makes the test binary able to be its own supervisor: the supervisor is the same program, re-executed.
#[macro_export]
macro_rules! supervisor_entry {
    () => {
        #[test]
        #[ignore = "not a test: how this program runs as the supervisor of a server"]
        fn assay_supervisor() {
            $crate::supervise_if_asked();
        }
    };
}

/// Runs as a supervisor if the command line says so. For [`supervisor_entry`].
pub fn supervise_if_asked() {
    if is_supervisor() {
        let _ = assay_servers::supervise::main();
    }
}

/// Whether this program was started as a supervisor.
#[must_use]
pub fn is_supervisor() -> bool {
    std::env::args().any(|arg| arg == AS_SUPERVISOR)
}

/// A test and its name.
pub type NamedTest = (&'static str, fn());

/// Functions as [`NamedTest`]s.
#[macro_export]
macro_rules! tests {
    ($($test:ident),* $(,)?) => { [$((stringify!($test), $test as fn())),*] };
}

/// Runs the tests of a program without the usual harness. Those of `root` need root, and are called `root::NAME`; if
/// another user runs them, they are ignored, with that reason. The usual harness decides at compile time whether a test
/// is ignored.
#[must_use]
pub fn run_tests(anyone: &[NamedTest], root: &[NamedTest]) -> ExitCode {
    if is_supervisor() {
        supervise_if_asked();
        return ExitCode::SUCCESS;
    }
    let is_root = rustix::process::geteuid().is_root();
    let trial = |name: String, test: fn(), can_run: bool| {
        Trial::ignorable_test(name, move || {
            if !can_run {
                return Ok(Completion::ignored_with("needs root"));
            }
            test();
            Ok(Completion::Completed)
        })
    };
    let trials = anyone.iter().map(|&(name, test)| trial(name.to_owned(), test, true));
    let of_root = root.iter().map(|&(name, test)| trial(format!("root::{name}"), test, is_root));
    let trials = trials.chain(of_root).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The running test binary as a supervisor.
#[must_use]
pub fn supervisor() -> Supervisor {
    let args = ["--exact", "--nocapture", "--ignored", ENTRY, AS_SUPERVISOR];
    let program = std::env::current_exe().expect("the path of the running program");
    Supervisor { program, args: args.map(Into::into).to_vec() }
}

/// The sizes of test servers: small and quick.
const SIZES: Sizes = Sizes { pool_mb: 128, log_mb: 64, connections: 200, purge_threads: 1 };

/// A running server with everything it needs. Dropping it leaves nothing.
#[derive(Debug)]
pub struct TestServer {
    server: Server,
    // Dropped after the server.
    _data_root: TempDir,
}

/// A server of MariaDB 10.11 with an empty database `test`.
#[must_use]
pub fn mariadb() -> TestServer {
    mariadb_version("10.11", &[])
}

/// A server of a MariaDB version or series with an empty database `test`, and `extra` options such as
/// `--autocommit=OFF`.
#[must_use]
pub fn mariadb_version(version: &str, extra: &[&str]) -> TestServer {
    start(Product::MariaDb, version, extra)
}

/// A server of Postgres 16 with an empty database `test`.
#[must_use]
pub fn postgres() -> TestServer {
    start(Product::Postgres, "16", &[])
}

/// A server of any product and version or series with an empty database `test`, and `extra` options.
#[must_use]
pub fn start(product: Product, version: &str, extra: &[&str]) -> TestServer {
    start_listening(product, version, extra, Listen::Socket)
}

/// Like [`start`], but the server also listens elsewhere.
#[must_use]
pub fn start_listening(
    product: Product,
    version: &str,
    extra: &[&str],
    listen: Listen,
) -> TestServer {
    let prefix = product_prefix(product, version);
    let mut options = options(&prefix);
    options.extend(extra.iter().map(|option| (*option).to_owned()));
    launch(&prefix, &options, &template(&prefix), listen)
}

/// A server with an empty database `test` on named terms.
#[must_use]
pub fn start_on(terms: &Terms, product: Product, version: &str) -> TestServer {
    let prefix = product_prefix(product, version);
    let options = options_of(terms, &prefix);
    let data_root = data_root();
    let template = data_root.path().join("template");
    let made = initialize(&site(data_root.path()), &prefix, &options, &template);
    made.unwrap_or_else(|error| panic!("cannot initialise {product} {version}: {error}"));
    launch(&prefix, &options, &template, Listen::Socket)
}

fn data_root() -> TempDir {
    let root = cache_dir().join("testkit");
    let made = fs::create_dir_all(&root).and_then(|()| TempDir::with_prefix_in("instance-", root));
    made.unwrap_or_else(|error| {
        panic!("cannot make a directory for the data of a test server: {error}")
    })
}

fn launch(prefix: &Prefix, options: &[String], template: &Path, listen: Listen) -> TestServer {
    let Prefix { product, version, .. } = prefix;
    let data_root = data_root();
    let site = site(data_root.path());
    let server = Server::start_listening(&site, prefix, options, template, listen)
        .unwrap_or_else(|error| panic!("cannot start {product} {version}: {error}"));
    let created = server.connect().and_then(|mut it| Ok(it.query("CREATE DATABASE test")?));
    created.unwrap_or_else(|error| panic!("cannot create a database: {error}"));
    TestServer { server, _data_root: data_root }
}

impl TestServer {
    /// How to connect, with the database `test`.
    #[must_use]
    pub fn connect_options(&self) -> ConnectOptions {
        ConnectOptions { database: Some("test".to_owned()), ..self.server.connect_options() }
    }

    /// A control connection to the database `test`.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::connect(&self.connect_options())
            .unwrap_or_else(|error| panic!("cannot connect to a test server: {error}"))
    }

    /// The server itself.
    #[must_use]
    pub fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.server.pid()
    }
}

/// The binaries of a MariaDB version or series, from the cache if it has them.
#[must_use]
pub fn prefix(version: &str) -> Prefix {
    product_prefix(Product::MariaDb, version)
}

/// The binaries of a version or series of a product, from the cache if it has them.
#[must_use]
pub fn product_prefix(product: Product, version: &str) -> Prefix {
    let spec = SystemSpec::of(product, Origin::Version(version.to_owned()));
    let get = |offline| {
        let options = Options { offline, accept_expired_index: false };
        Provisioner::new(cache_dir(), options).and_then(|it| it.get(&spec, &mut |_| {}))
    };
    get(true).or_else(|_| get(false)).unwrap_or_else(|error| panic!("cannot get {spec}: {error}"))
}

/// Valgrind as users get it, which stays in the cache while the test runs.
#[must_use]
pub fn valgrind() -> Valgrind {
    static HELD: OnceLock<assay_provision::Valgrind> = OnceLock::new();
    let found = HELD.get_or_init(|| {
        let get = |offline| {
            let options = Options { offline, accept_expired_index: false };
            Provisioner::new(cache_dir(), options).and_then(|it| it.valgrind(&mut |_| {}))
        };
        let found = get(true).or_else(|_| get(false));
        found.unwrap_or_else(|error| panic!("cannot get valgrind: {error}"))
    });
    let (launcher, library) = (found.launcher.clone(), found.library.clone());
    Valgrind { launcher, library, vgdb: found.vgdb.clone() }
}

/// An initialised data directory for a build, made once and kept in the cache. It must only be copied.
#[must_use]
pub fn template(prefix: &Prefix) -> PathBuf {
    let root = cache_dir().join("testkit");
    let sha = prefix.sha256.get(..16).unwrap_or(&prefix.sha256);
    let template = root.join(format!("{sha}-{TEMPLATE_VERSION}"));
    let made = fs::create_dir_all(&root).map_err(Into::into).and_then(|()| {
        // Test binaries run at the same time: one makes the template, and the others wait.
        let lock = fs::File::create(root.join("lock"))?;
        lock.lock()?;
        if template.exists() {
            return Ok(());
        }
        initialize(&site(&root), prefix, &options(prefix), &template)
    });
    made.unwrap_or_else(|error: assay_servers::Error| {
        panic!("cannot initialise {} {}: {error}", prefix.product, prefix.version)
    });
    template
}

/// Options of a test server.
#[must_use]
pub fn options(prefix: &Prefix) -> Vec<String> {
    options_of(Terms::or_default(None), prefix)
}

fn options_of(terms: &Terms, prefix: &Prefix) -> Vec<String> {
    terms.render(&SIZES, prefix, prefix.product.default_engine(), &[]).options
}

/// Where test servers run, with their data below `data_root`.
#[must_use]
pub fn site(data_root: &Path) -> Site {
    let runtime_dir = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let run_root = assay_servers::run_root(runtime_dir.as_deref());
    Site {
        supervisor: supervisor(),
        run_root,
        data_root: data_root.to_owned(),
        stop: Stop::default(),
    }
}

/// The user's cache of servers, shared with the program itself: `ASSAY_CACHE`, else the usual place.
fn cache_dir() -> PathBuf {
    let from = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(cache) = from("ASSAY_CACHE") {
        return cache;
    }
    let cache = from("XDG_CACHE_HOME").or_else(|| Some(from("HOME")?.join(".cache")));
    cache.expect("`XDG_CACHE_HOME` or `HOME` names a directory").join("assay")
}
