//! `assay load`: the tables of a data set in a database that runs already.

use anyhow::Result;
use assay_load::Tables;
use assay_model::{DataSet, IdKey, SystemSpec, counted};
use assay_plan::parse_engine;
use assay_wire::Stop;
use serde::Serialize;

use crate::cli::Load;
use crate::connection::{connect_options, listed};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, print, seconds};
use crate::systems::check_content;
use crate::{machine_lock, report};

/// Raised when the shape below breaks.
const SCHEMA: u32 = 1;

/// The result of a load, for scripts.
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
    let engine = match args.engine.as_deref() {
        Some(word) => parse_engine(url.product, word).map_err(anyhow::Error::msg)?,
        None => SystemSpec::default_engine(url.product),
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
        progress.update(&format!("loading, {done}"));
    })?;
    progress.update("reading the tables back");
    let found = assay_load::content(&options, url.product, data)?;
    progress.finish();
    check_content("the server", &found, &report)?;
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
        let rows = counted(it.rows, "row");
        format!("loaded {} × {rows} in {took}, checksum {}", it.tables, it.checksum)
    };
    report::put_one(&args.shape, &loaded, words)?;
    Ok(Exit::Done)
}
