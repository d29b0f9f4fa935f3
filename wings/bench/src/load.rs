//! `assay load`: loads the tables of a data set into a running database.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use assay_load::{LoadReport, LoadTarget, Tables, UserTables, workload_of};
use assay_model::{
    AUTOCOMMIT_OFF, DataSet, Dialect, DumpFindingKind, Engine, Product, Schema, TableForm, counted,
};
use assay_plan::{Request, parse_engine};
use assay_wire::{ConnectOptions, Connection, Stop};
use assay_workloads::TpccOptions;
use serde::Serialize;

use crate::arguments::{LoadArgs, SERVER};
use assay_command::exit::Exit;
use assay_command::report;
use assay_command::verb::{Arguments, CommandGroup};
use assay_run::advice::HintedError;
use assay_run::connection::connect_options;
use assay_run::interrupt::Interrupt;
use assay_run::progress::{Progress, print, seconds};
use assay_run::workload::LuaContext;
use assay_run::workload::open_dump;
use assay_run::{machine_lock, workload};

/// Raised when the shape below breaks.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct LoadedTables {
    schema: u32,
    tables: u32,
    /// Rows per table; for a workload file, the sum over tables.
    rows: u64,
    elapsed_s: f64,
    rows_per_s: f64,
    checksum: String,
    refused: u64,
    /// The tables may have different numbers of rows.
    #[serde(skip)]
    is_own: bool,
}

impl LoadedTables {
    fn new(report: &LoadReport, refused: u64) -> Self {
        Self {
            schema: SCHEMA,
            tables: report.tables,
            rows: report.rows,
            elapsed_s: report.elapsed.as_secs_f64(),
            rows_per_s: report.rows_per_second(),
            checksum: report.content.checksum.clone(),
            refused,
            is_own: true,
        }
    }
}

impl Arguments for LoadArgs {
    const NAME: &'static str = "load";
    const ABOUT: &'static str = "Create and fill sbtest1, sbtest2, ... on a running server";
    const GROUP: CommandGroup = CommandGroup::Servers;
    const EXITS: &'static [(Exit, &'static str)] =
        &[(Exit::Incomplete, "restored a dump of which the server refused a statement")];

    /// Creates and fills the tables. Ctrl-C ends assay at once, as there is only a connection to end.
    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        Interrupt::listen()?.may_end_in(|| load(self))
    }
}

fn load(args: &LoadArgs) -> Result<Exit> {
    let url = assay_command::server_url::url_with_tls(&args.url, &args.tls)?;
    machine_lock::warn_if_measuring_near("this load", &url);
    let options = connect_options(&url, Stop::default());
    note_autocommit(url.dialect, &options);
    let progress = Progress::new(args.quiet);
    let loaded = if args.own.workload.is_empty() {
        load_suite(args, url.dialect, &options, &progress)
    } else {
        load_workload(args, url.dialect, &options, &progress)
    };
    progress.finish();
    let loaded = loaded?;
    report::put_one(&args.shape, &loaded, words)?;
    Ok(if loaded.refused == 0 { Exit::Done } else { Exit::Incomplete })
}

fn load_suite(
    args: &LoadArgs,
    dialect: Dialect,
    options: &ConnectOptions,
    progress: &Progress,
) -> Result<LoadedTables> {
    let request = Request { suite: args.suite, tpcc: args.tpcc.clone(), ..Request::default() };
    let schema = Schema::for_tests(request.shipped_tests().first().copied());
    let has_rows_option = schema.facts().has_rows_option();
    refuse_other_suites(args, has_rows_option)?;
    let product = Product::of_dialect(dialect);
    let engine = match args.engine.as_deref() {
        Some(word) => parse_engine(product, word).map_err(anyhow::Error::msg)?,
        None => product.default_engine(),
    };
    if !has_rows_option {
        return load_schema(args, schema, dialect, engine, options, progress);
    }
    let data = DataSet { tables: args.tables, rows: args.rows };
    let tables = Tables { dialect, engine, form: args.form.0.clone(), data, seed: args.seed };
    let there = assay_load::existing_tables(options, dialect, data.tables)?;
    assay_load::check_engine(options, engine)?;
    if !args.replace {
        there.refuse_others()?;
    }
    print_dropped(there.names());
    let report = assay_load::fill_over(options, &tables, &there, &mut |done| {
        progress.update(&format!("loading, {done}"));
    })?;
    progress.update("reading the tables back");
    let found = assay_load::content(options, dialect, data)?;
    found.check(&report.content)?;
    let rows = data.rows.into();
    Ok(LoadedTables { rows, is_own: false, ..LoadedTables::new(&report, 0) })
}

/// A warning, not progress.
fn print_dropped(names: &[String]) {
    const SHOWN: usize = 8;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if !names.is_empty() {
        print(&format!("dropping existing tables: {shown}{more}"));
    }
}

/// Notes that the load overrides autocommit options. A server that does not answer is reported later.
fn note_autocommit(dialect: Dialect, options: &ConnectOptions) {
    let is_off = |mut control: Connection| {
        let found = control.query("SELECT @@GLOBAL.autocommit").ok()?;
        Some(found.first_string()? == "0")
    };
    if dialect == Dialect::MySql && Connection::control(options).ok().and_then(is_off) == Some(true)
    {
        print(&format!("note: the options of the server {AUTOCOMMIT_OFF}"));
    }
}

fn load_workload(
    args: &LoadArgs,
    dialect: Dialect,
    options: &ConnectOptions,
    progress: &Progress,
) -> Result<LoadedTables> {
    let read = workload::read(&args.own.workload, &args.own.options, LuaContext::default())?;
    let own = read.tests.first().and_then(|test| test.user_data());
    let data = own.with_context(|| {
        let files = args.own.workload.join(",");
        format!("a script makes its tables itself: `assay bench URL --script {files} prepare`")
    })?;
    assay_plan::check_user_tables(data, SERVER, dialect)?;
    let (files, dumps) = (&workload::read_again, &open_dump);
    let tables = UserTables { dialect, data, seed: args.seed, files, dumps };
    let report = assay_load::fill_user_data(options, tables, args.replace, &mut |done| {
        progress.update(&format!("loading, {done}"));
    })?;
    progress.finish();
    Ok(LoadedTables::new(&report, print_refused(&report)))
}

fn print_refused(report: &LoadReport) -> u64 {
    const SHOWN: usize = 3;
    let refused = || report.restored.iter().filter(|it| it.what == DumpFindingKind::Error);
    refused().take(SHOWN).for_each(|it| print(&format!("warning: {it}")));
    let count = refused().map(|it| it.count).sum();
    if count > 0 {
        let what = counted(count, "statement");
        let more = if refused().count() > SHOWN { "; the first three are above" } else { "" };
        print(&format!("warning: the server refused {what} of the dump{more}"));
    }
    count
}

fn refuse_other_suites(args: &LoadArgs, has_rows_option: bool) -> Result<()> {
    let why = if has_rows_option && args.tpcc != TpccOptions::default() {
        "`--warehouses` and `--procedures` need `--suite tpcc`"
    } else if !has_rows_option && args.form.0 != TableForm::default() {
        "the tables of `--suite tpcc` have the form of the specification"
    } else {
        return Ok(());
    };
    anyhow::bail!(HintedError::new(why, "leave the option out"))
}

fn load_schema(
    args: &LoadArgs,
    schema: &Schema,
    dialect: Dialect,
    engine: Engine,
    options: &ConnectOptions,
    progress: &Progress,
) -> Result<LoadedTables> {
    let place = LoadTarget {
        options,
        dialect,
        engine,
        form: &TableForm::default(),
        data: DataSet { tables: 1, rows: args.rows },
        seed: args.seed,
        files: &workload::read_again,
        dumps: &open_dump,
    };
    let report = workload_of(schema).fill(&place, args.replace, &mut |done| {
        progress.update(&format!("loading, {done}"));
    })?;
    Ok(LoadedTables::new(&report, 0))
}

fn words(loaded: &LoadedTables) -> String {
    let took = seconds(Duration::from_secs_f64(loaded.elapsed_s));
    let took = format!("{took} ({:.0} rows/s)", loaded.rows_per_s);
    let (rows, tables) = (counted(loaded.rows, "row"), counted(loaded.tables, "table"));
    let what = if loaded.is_own {
        format!("{rows} into {tables}")
    } else {
        format!("{} × {rows}", loaded.tables)
    };
    format!("loaded {what} in {took}, checksum {}", loaded.checksum)
}
