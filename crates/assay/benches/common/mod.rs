//! A real server with a client, for benches.
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use assay_load::{ClientSession, ClientWork, Tables, fill};
use assay_model::{CpuPlacement, DataSet, Product, Setup, StatementMode, TableForm};
use assay_probe::{ProbeConfig, ProbedServer, UsageProbe};
use assay_testkit::TestServer;
use assay_workloads::test_by_name;

const DATA: DataSet = DataSet { tables: 1, rows: 10_000 };

/// A server, its client, and what counts both.
pub(crate) struct Side {
    pub(crate) server: TestServer,
    pub(crate) session: ClientSession,
    pub(crate) probe: UsageProbe,
    /// The threads that serve the client.
    pub(crate) serving: Vec<i32>,
    pub(crate) product: Product,
}

/// The systems that the command line names, or else these.
pub(crate) fn named_systems(usual: &[&str]) -> Vec<String> {
    let named: Vec<String> = std::env::args().skip(1).filter(|it| it.contains('@')).collect();
    if named.is_empty() { usual.iter().map(|it| (*it).to_owned()).collect() } else { named }
}

/// A server with data, and a client that shares its CPU.
pub(crate) fn side(system: &str, test: &str) -> Side {
    let (name, version) = system.split_once('@').unwrap();
    let product = Product::named(name).unwrap();
    let mut server = assay_testkit::start(product, version, &[]);
    let options = server.connect_options();
    let engine = product.default_engine();
    let tables = Tables {
        dialect: product.dialect(),
        engine,
        form: TableForm::default(),
        data: DATA,
        seed: 1,
    };
    fill(&options, &tables, &mut |_| ()).unwrap();
    let work = ClientWork {
        dialect: product.dialect(),
        test: test_by_name(test).unwrap(),
        setup: Setup { clients: 1, tables: DATA.tables, rows: DATA.rows },
        statements: StatementMode::Prepared,
        seed: 1,
    };
    let cpu = client_cpu();
    let session = ClientSession::open(&options, &work, &[cpu]).unwrap();
    let round_trips = |client, count| session.round_trips(client, count).map_err(Error::Load);
    let connections = session.connection_ids();
    let tids = server.server().connection_tids(&connections, round_trips).unwrap();
    let placement = match test {
        "point-query" => CpuPlacement::OneCpu,
        _ => CpuPlacement::ConnectionsOnOneCpu,
    };
    server.server().place(placement, &[cpu], tids.as_deref().unwrap_or_default()).unwrap();
    let data_dir = server.server().data_dir();
    let serving = tids.clone().unwrap_or_default();
    let watched = ProbedServer { pid: server.pid(), connection_tids: tids, data_dir };
    let client_tids = session.client_tids();
    let probe = UsageProbe::new(ProbeConfig { client_tids, server: Some(watched) }).unwrap();
    Side { server, session, probe, serving, product }
}

/// Either error of [`Side`]'s making.
#[derive(Debug)]
#[expect(dead_code, reason = "only printed")]
enum Error {
    Load(assay_load::LoadError),
    Server(assay_servers::ServersError),
}

impl From<assay_servers::ServersError> for Error {
    fn from(error: assay_servers::ServersError) -> Self {
        Self::Server(error)
    }
}

pub(crate) fn client_cpu() -> usize {
    *assay_probe::cpus_allowed().unwrap().last().unwrap()
}
