//! Running servers by URL: how to connect, and `assay load`.

use std::io::ErrorKind;

use anyhow::Result;
use assay_load::{Survey, Tables};
use assay_model::{DataSet, Engine, IdKey, Product, SystemSpec};
use assay_plan::{Place, ServerUrl};
use assay_wire::{Address, ConnectOptions, Error as WireError, Protocol, Stop};
use serde::Serialize;

use crate::cli::Load;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, print, seconds};
use crate::{machine_lock, report};

/// Raised when the shape below breaks.
const SCHEMA: u32 = 1;

/// So many tables of an earlier load are named.
const NAMED: usize = 8;

/// Environment variable with the password, which need then not stand in the URL for all to see.
const PASSWORD: &str = "ASSAY_PASSWORD";

/// How to connect to what a URL names, until somebody asks to stop.
pub(crate) fn connect_options(url: &ServerUrl, stop: Stop) -> ConnectOptions {
    let address = match &url.place {
        Place::Socket(path) => Address::Unix(path.clone()),
        Place::Tcp { host, port } => Address::Tcp { host: host.clone(), port: *port },
    };
    let protocol = match url.product {
        Product::MariaDb | Product::MySql => Protocol::MySql,
        Product::Postgres => Protocol::Postgres,
    };
    let given = url.password.as_ref().map(|password| password.0.clone());
    ConnectOptions {
        protocol,
        password: given.or_else(|| std::env::var(PASSWORD).ok()),
        database: Some(url.database.clone()),
        stop,
        ..ConnectOptions::new(address, &url.user)
    }
}

/// What to do about a connection that was not made.
pub(crate) fn connection_hint(error: &WireError) -> Option<String> {
    let hint = match error {
        WireError::Connect { source, .. } => match source.kind() {
            ErrorKind::ConnectionRefused => {
                "nothing listens there: start the server, or name the host and port at which it listens"
            }
            ErrorKind::NotFound => {
                "check the host's name, or the path of the socket (`?socket=PATH`)"
            }
            ErrorKind::PermissionDenied => "run assay as a user who may use the socket",
            _ => "check the host, the port and any firewall in between",
        },
        WireError::OtherProtocol { spoken: "Postgres", .. } => "begin the URL with `postgres://`",
        WireError::OtherProtocol { .. } => "begin the URL with `mysql://`",
        // Both families say the class by the same states, but for a wrong password and a database that is not there.
        WireError::Server { state, .. } if ["28000", "28P01"].contains(&state.as_str()) => {
            "check the user and the password (also read from `ASSAY_PASSWORD`)"
        }
        WireError::Server { code, state, .. } if *code == 1049 || state == "3D000" => {
            "create the database first, or name another one in the URL"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What a load did, for scripts.
#[derive(Serialize)]
struct Loaded {
    schema: u32,
    tables: u32,
    rows: u32,
    elapsed_s: f64,
    rows_per_s: f64,
    checksum: String,
}

/// Creates and fills the tables. Ctrl-C ends assay wherever it is, as there is only a connection to end.
pub(crate) fn load(args: &Load) -> Result<Exit> {
    Interrupt::listen()?.may_end_in(|| load_tables(args))
}

fn load_tables(args: &Load) -> Result<Exit> {
    let url = assay_plan::parse_url(&args.url)?;
    machine_lock::warn_if_measuring_near("this load", &url);
    let options = connect_options(&url, Stop::default());
    let data = DataSet { tables: args.tables, rows: args.rows };
    let engine = match args
        .engine
        .as_deref()
        .unwrap_or(SystemSpec::default_engine(url.product).word())
    {
        "innodb" if url.product != Product::Postgres => Engine::InnoDb,
        "rocksdb" if url.product != Product::Postgres => Engine::RocksDb,
        "heap" if url.product == Product::Postgres => Engine::Heap,
        other => anyhow::bail!(
            "`{other}` is no storage engine of `{}`: `innodb` and `rocksdb` are MySQL's and MariaDB's, `heap` is \
             Postgres'",
            url.product
        ),
    };
    let id_key = if args.secondary { IdKey::Secondary } else { IdKey::Primary };
    let tables = Tables { product: url.product, engine, id_key, data, seed: args.seed };
    let there = assay_load::survey(&options, url.product, data.tables, id_key)?;
    assay_load::check_engine(&options, engine)?;
    if !args.replace {
        there.refuse_foreign()?;
    }
    there.refuse_referenced()?;
    // A warning, not progress.
    if let Some(names) = listed(&there) {
        print(&format!("dropping existing {names}"));
    }
    let progress = Progress::new(args.quiet);
    let report = assay_load::fill_over(&options, &tables, &there, &mut |done| {
        progress.update(&format!("loading, {} of {} rows", done.rows, done.rows_total));
    })?;
    progress.update("reading what was loaded");
    let found = assay_load::content(&options, url.product, data)?;
    progress.finish();
    anyhow::ensure!(
        found == report.content,
        "the server does not hold what was sent: {} rows with checksum {}, not {} with {}",
        found.rows,
        found.checksum,
        report.content.rows,
        report.content.checksum
    );
    let loaded = Loaded {
        schema: SCHEMA,
        tables: data.tables,
        rows: data.rows,
        elapsed_s: report.elapsed.as_secs_f64(),
        rows_per_s: report.rows_per_second(),
        checksum: found.checksum,
    };
    let words = |it: &Loaded| {
        let took = format!("{} ({:.0} rows/s)", seconds(report.elapsed), it.rows_per_s);
        format!("loaded {} × {} rows in {took}, checksum {}", it.tables, it.rows, it.checksum)
    };
    report::put_one(&args.shape, &loaded, words)?;
    Ok(Exit::Done)
}

/// What a load drops, such as `tables: sbtest1, sbtest2`; none where nothing is there. Everything that no load has made
/// is named.
pub(crate) fn listed(there: &Survey) -> Option<String> {
    let all = there.described();
    let bare: Option<Vec<&str>> = all.iter().map(|it| it.strip_prefix("table ")).collect();
    let (what, names) = match &bare {
        Some(names) => ("tables", names.clone()),
        None => ("objects", all.iter().map(String::as_str).collect()),
    };
    let shown = names.get(..NAMED.max(there.foreign())).unwrap_or(&names);
    let more = names.len() - shown.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("{what}: {}{rest}", shown.join(", ")))
}
