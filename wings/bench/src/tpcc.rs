//! The tables of the TPC-C-like workload on a running server.

use anyhow::{Context as _, Result, ensure};
use assay_load::{Place, workload_of};
use assay_model::{DataSet, Product, TableForm, Test, Tpcc, counted};
use assay_wire::{ConnectOptions, Connection, Stop};

use crate::arguments::Bench;
use assay_run::advice::Advised;
use assay_run::connection::connect_options;

/// Refuses options that these tables do not have, and a server that lacks some of the warehouses.
pub(super) fn refuse_other_tables(
    args: &Bench,
    tpcc: &Tpcc,
    options: &ConnectOptions,
) -> Result<()> {
    ensure!(
        args.tables.is_none() && args.rows.is_none() && !args.check,
        "`--tables`, `--rows` and `--check` are for sysbench's tables, and `--test tpcc` has others"
    );
    let mut control = Connection::connect(options).context("cannot connect to the server")?;
    let advice = "`assay load URL --suite tpcc --warehouses N` creates them";
    let found = control.query("SELECT COUNT(*) FROM warehouse");
    let found = found.map_err(|error| {
        Advised::new("the database has no table `warehouse`", advice).caused_by(error)
    })?;
    let there: u32 = found.text(0, 0).and_then(|text| text.parse().ok()).unwrap_or(0);
    if there < tpcc.warehouses {
        let there = counted(u64::from(there), "warehouse");
        let what =
            format!("the database has {there}, fewer than the {} asked for", tpcc.warehouses);
        return Err(Advised::new(what, advice).into());
    }
    Ok(())
}

pub(super) fn consistent(args: &Bench, test: Test) -> Result<()> {
    let url = assay_command::server_url::url_of(&args.url)?;
    let place = Place {
        options: &connect_options(&url, Stop::default()),
        dialect: url.dialect,
        engine: Product::of_dialect(url.dialect).default_engine(),
        form: &TableForm::default(),
        data: DataSet { tables: 1, rows: 1 },
        seed: args.seed,
        files: &assay_run::workload::read_again,
        dumps: &assay_run::dump_file::open_dump,
    };
    workload_of(&test.definition().schema).consistent(&place)?;
    Ok(())
}
