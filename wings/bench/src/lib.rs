//! `assay bench`: drives one test against a running server, like sysbench.

mod arguments;
mod load;
mod result;

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use assay_load::{
    Check, ClientPolicy, ClientSession, ClientWork, LoadTarget, Reporter, RunBound, RunMonitor,
    RunProgress, SessionEnd, SessionRun, workload_of,
};
use assay_model::{
    Class, DataSet, Dialect, Product, Setup, StatementMode, TableForm, Test, TestSet, Tpcc,
    counted, limits, thousands,
};
use assay_plan::{ScriptOptions, TlsDemand};
use assay_wire::{ConnectOptions, Connection, Stop};
use assay_workloads::{LoadedData, OltpOptions, TPCC, TpccOptions};
use rustix::time::{ClockId, clock_gettime};

use arguments::SERVER;
use assay_command::exit::Exit;
use assay_command::report;
use assay_command::verb::{Arguments, CommandGroup};
use assay_run::advice::HintedError;
use assay_run::connection::connect_options;
use assay_run::interrupt::Interrupt;
use assay_run::machine_lock;
use assay_run::open_files::Demand;
use assay_run::progress::{Progress, print, print_said};
use assay_run::workload::{self, LuaContext};
use result::{measured, rate_met, words};

pub use arguments::{BenchArgs, LoadArgs};

/// Grace for events in progress at the end: as long as the run itself, within these bounds.
const GRACE: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(30)];

const SHOWN_EVERY: Duration = Duration::from_secs(1);

struct PreparedBench {
    session: ClientSession,
    work: ClientWork,
    reporter: Option<Reporter>,
    /// Version and cipher of TLS.
    cipher: Option<String>,
}

impl Arguments for BenchArgs {
    const NAME: &'static str = "bench";
    const ABOUT: &'static str = "Run one test against a running server, as sysbench does";
    const GROUP: CommandGroup = CommandGroup::Servers;
    const EXITS: &'static [(Exit, &'static str)] =
        &[(Exit::Incomplete, "sent fewer events than `--rate` asked for")];

    /// Drives one test. Ctrl-C ends it early and keeps the measurements.
    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        bench(self)
    }
}

fn bench(args: &BenchArgs) -> Result<Exit> {
    let interrupt = Interrupt::listen()?;
    let progress = Progress::new(args.quiet);
    if let Some(command) = args.command.as_deref().filter(|it| *it != "run") {
        return interrupt.may_end_in(|| script_command(args, command, &interrupt, &progress));
    }
    let mut prepared = interrupt.may_end_in(|| prepare(args, &interrupt, &progress))?;
    // A run that is asked to end does so by itself, and quickly.
    let run = interrupt.finish(0.0, || {
        let run = run(args, &mut prepared, &interrupt, &progress);
        progress.finish();
        run
    });
    let PreparedBench { session, work, mut reporter, cipher } = prepared;
    let SessionEnd { said, last, ended } = session.close();
    print_said(&said);
    let Some((finished, client_cpu_us)) = run?? else { return Ok(Exit::Interrupted) };
    let (setup, test) = (work.setup, work.test);
    let mut measured = measured(args, &work, (&finished, &last), client_cpu_us)?;
    measured.tls = cipher;
    if let Some(said) = result::script_total(reporter.as_mut(), &measured) {
        print_said(&said);
    }
    report::put_one(&args.shape, &measured, words)?;
    let done = interrupt.may_end_in(|| reporter.as_mut().map(Reporter::done));
    if test.tpcc().is_some() && finished.cut_off == 0 {
        progress.update("checking the tables");
        let consistent = interrupt.may_end_in(|| check_tpcc_consistency(args, test));
        progress.finish();
        consistent?;
    }
    if finished.cut_off > 0 {
        print(&format!(
            "warning: {} of {} did not finish the last event in time{}; what was cut off is not counted",
            finished.cut_off,
            counted(setup.clients, "client"),
            in_brackets(&finished.unfinished)
        ));
    }
    ended.context("the clients have not ended in order, after their last event")?;
    if let Some(done) = done {
        let said = done.context("the script's `done` has failed, after the run")?;
        print_said(&said.unwrap_or_default());
    }
    let warnings = result::warnings(args, &measured, test.lua().is_some());
    warnings.iter().for_each(|warning| print(&format!("warning: {warning}")));
    Ok(match finished {
        SessionRun { is_stopped: true, .. } => Exit::Interrupted,
        _ if measured.sent_nothing() => Exit::Incomplete,
        SessionRun { cut_off: 1.., .. } => Exit::Incomplete,
        _ => rate_met(args, &measured),
    })
}

const PLACES: usize = 3;

fn in_brackets(unfinished: &[String]) -> String {
    let mut different: Vec<&str> = unfinished.iter().map(String::as_str).collect();
    different.sort_unstable();
    different.dedup();
    let more = different.len().saturating_sub(PLACES);
    different.truncate(PLACES);
    match (different.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(" ({})", different.join("; ")),
        (false, more) => format!(" ({}; and {more} more)", different.join("; ")),
    }
}

fn script_command(
    args: &BenchArgs,
    command: &str,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Exit> {
    let url = assay_command::server_url::url_with_tls(&args.url, &args.tls)?;
    machine_lock::warn_if_measuring_near("this script", &url);
    let test = test(args, url.dialect)?;
    let script = test.lua().context("only scripts have commands")?;
    let options = connect_options(&url, interrupt.stop());
    progress.update(&format!("{}: {command}", script.name));
    let place = (&options, url.dialect);
    let done = assay_load::run_command(script, command, place, args.seed, args.clients);
    progress.finish();
    report::write_stdout(&assay_model::printable_lines(&done.said))?;
    done.bytes_sent?;
    Ok(Exit::Done)
}

fn prepare(args: &BenchArgs, interrupt: &Interrupt, progress: &Progress) -> Result<PreparedBench> {
    let url = assay_command::server_url::url_with_tls(&args.url, &args.tls)?;
    machine_lock::warn_if_measuring_near("this benchmark", &url);
    let test = test(args, url.dialect)?;
    if args.statements == StatementMode::Extended
        && test.schema.facts().extended_refused().is_some()
    {
        bail!(
            "`--db-ps-mode extended` is for scripts of pgbench; `{test}` prepares its statements"
        );
    }
    if args.statements == StatementMode::Extended && url.dialect != Dialect::Postgres {
        bail!(
            "`--db-ps-mode extended` is for Postgres: no other server parses and executes in one message"
        );
    }
    let reconnects = args.reconnect.is_some() || args.ignore_errors.is_some();
    Demand::of_bench(args.clients, reconnects).raise()?;
    let options = connect_options(&url, interrupt.stop());
    let cipher = match url.tls_demand() {
        TlsDemand::Disabled => None,
        _ => Connection::connect(&options)?.cipher().map(str::to_owned),
    };
    if let Some(cipher) = &cipher {
        print(&format!("the connections are encrypted: {cipher}"));
    }
    if let Some(tpcc) = test.tpcc() {
        check_tpcc_tables(args, tpcc, &options)?;
    }
    // The statements of a user's test determine the tables, and the server refuses them where a table is missing.
    let data = match test.schema.facts().own_rows() {
        Some(rows) => DataSet { tables: 1, rows: rows.try_into().unwrap_or(u32::MAX) },
        None => data_set(args, url.dialect, &options)?,
    };
    if test.class == Class::Write && test.schema.facts().has_rows_option() {
        assay_load::existing_tables(&options, url.dialect, data.tables)?.refuse_others()?;
        if assay_workloads::needs_numbering(test) {
            assay_load::check_numbering(&options, url.dialect, data.tables)?;
        }
    }
    if args.check {
        progress.update("checking the tables");
        let check = Check { dialect: url.dialect, tests: &[test], data, seed: args.seed };
        let mut loaded = LoadedData::new(args.seed, data);
        assay_load::check_loaded(&options, &check, &mut loaded)?;
        progress.done("the tables", &format!("hold what was loaded with seed {}", args.seed));
    }
    let setup = Setup { clients: args.clients, tables: data.tables, rows: data.rows };
    let statements = args.statements;
    let work = ClientWork { dialect: url.dialect, test, setup, statements, seed: args.seed };
    progress.update(&format!("connecting {}", counted(setup.clients, "client")));
    let policy = ClientPolicy {
        ignored: args.ignore_errors.clone().unwrap_or_default(),
        reconnect_every: args.reconnect.and_then(NonZeroU64::new),
        shows_latencies: args.report_interval.is_some(),
    };
    let reporter = match test.lua() {
        Some(script) => {
            let place = (&options, url.dialect);
            let begun = Reporter::begin(script, place, args.seed, setup.clients);
            print_said(&begun.said);
            begun.reporter?
        }
        None => None,
    };
    let session = ClientSession::open_with(&options, &work, &[], &policy)?;
    Ok(PreparedBench { session, work, reporter, cipher })
}

/// Warms up and measures; `None` if it was to end before there was anything to measure. The second value is the CPU
/// time of this process meanwhile, microseconds.
fn run(
    args: &BenchArgs,
    prepared: &mut PreparedBench,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Option<(SessionRun, f64)>> {
    let PreparedBench { session, work: ClientWork { test, setup, .. }, reporter, .. } = prepared;
    let mut sequence = 0;
    if let Some(seconds) = args.warmup_time {
        let time = Duration::from_secs_f64(seconds);
        let mut report = |elapsed: Duration, _| {
            progress
                .update(&format!("{test}: warming, {:.0} of {seconds} s", elapsed.as_secs_f64()));
        };
        let mut monitor = monitor(time, SHOWN_EVERY, interrupt, &mut report);
        let warm = session.run_monitored(0, RunBound::Time(time), &mut monitor)?;
        if warm.is_stopped {
            return Ok(None);
        }
        ensure!(warm.cut_off == 0, "the server did not answer in time during the warm-up");
        sequence = warm.work.events;
    }
    let time = Duration::from_secs_f64(args.time);
    let bound = match (args.rate, args.events) {
        (Some(per_second), _) => RunBound::Rate { time, per_second },
        (None, Some(events @ 1..)) => RunBound::EventsWithin { events, time },
        (None, None | Some(0)) => RunBound::Time(time),
    };
    let mut latencies = session.interval_latencies();
    let every = args.report_interval.map_or(SHOWN_EVERY, Duration::from_secs_f64);
    let mut last = (Duration::ZERO, RunProgress::default());
    let mut report = |elapsed: Duration, so_far: RunProgress| {
        let (done, passed) = (so_far.since(&last.1), elapsed - last.0);
        last = (elapsed, so_far);
        let seconds = elapsed.as_secs_f64();
        let rates = rates(&done, passed);
        progress.update(&format!("{test}: {seconds:.0} of {} s, {rates}", args.time));
        if args.report_interval.is_some() {
            let latency = latencies.percentile(args.percentile).unwrap_or_default();
            let times = (elapsed, passed);
            let reporter = reporter.as_mut();
            let message = result::script_interval(reporter, setup.clients, times, &done, latency);
            let latency = (args.percentile, latency);
            match message {
                Some(message) => progress.said(&message),
                None => progress.line(&interval(setup.clients, elapsed, &done, passed, latency)),
            }
        }
    };
    progress.update(&format!("{test}: {} s", args.time));
    let mut monitor = monitor(time, every, interrupt, &mut report);
    let before = process_cpu_us();
    let finished = session.run_monitored(sequence, bound, &mut monitor)?;
    Ok(Some((finished, process_cpu_us() - before)))
}

fn monitor<'a>(
    time: Duration,
    every: Duration,
    interrupt: &Interrupt,
    report: &'a mut dyn FnMut(Duration, RunProgress),
) -> RunMonitor<'a> {
    let [least, most] = GRACE;
    RunMonitor { grace: time.clamp(least, most), stop: interrupt.stop(), every, report }
}

fn rates(done: &RunProgress, time: Duration) -> String {
    let per_s = |count: u64| count as f64 / time.as_secs_f64().max(1e-9);
    let (qps, tps) = (per_s(done.queries()), per_s(done.events));
    let latency_ms = done.event_ns_sum as f64 / 1e6 / (done.events as f64).max(1.0);
    format!("{qps:.0} queries/s, {tps:.0} events/s, {latency_ms:.2} ms")
}

/// A line like sysbench's. The latency comes with its percentile.
fn interval(
    clients: u32,
    elapsed: Duration,
    done: &RunProgress,
    time: Duration,
    (percentile, latency): (f64, Duration),
) -> String {
    let per_s = |count: u64| count as f64 / time.as_secs_f64().max(1e-9);
    let latency_ms = latency.as_secs_f64() * 1e3;
    format!(
        "[ {:.0}s ] thds: {clients} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) \
         lat (ms,{percentile}%): {latency_ms:.2} err/s: {:.2} reconn/s: {:.2}",
        elapsed.as_secs_f64(),
        per_s(done.events),
        per_s(done.queries()),
        per_s(done.read),
        per_s(done.write),
        per_s(done.other),
        per_s(done.errors),
        per_s(done.reconnects),
    )
}

fn test(args: &BenchArgs, dialect: Dialect) -> Result<Test> {
    let (name, options) = (args.test.as_deref(), args.oltp.clone());
    let own = (!args.own.workload.is_empty()).then_some(&args.own);
    let is_script =
        own.is_none() && args.script.is_none() && name.is_some_and(assay_plan::is_script);
    let is_tpcc = own.is_none() && args.script.is_none() && name == Some(TPCC);
    let of_lua = LuaContext {
        options: &args.script_options,
        may_use_all: args.allow_script_io,
        is_meant: args.script.is_some(),
        dialects: &[dialect],
        is_for_command: args.command.as_deref().is_some_and(|it| it != "run"),
    };
    let suite = match (&args.script, own) {
        (Some(script), _) => {
            let file = [script.display().to_string()];
            workload::read(&file, &ScriptOptions::default(), of_lua)?.tests
        }
        (None, Some(own)) => workload::read(&own.workload, &own.options, of_lua)?.tests,
        (None, None) if is_tpcc => assay_workloads::tpcc_tests(&args.tpcc),
        (None, None) if is_script => assay_workloads::oltp_tests(&options),
        (None, None) => assay_workloads::tests_of(TestSet::All),
    };
    if options != OltpOptions::default() && !is_script {
        let not = name.map_or("a workload has none".to_owned(), |it| format!("`{it}` is not one"));
        bail!(HintedError::new(
            format!("options such as `--range-size` apply only to sysbench's scripts, and {not}"),
            "name a script, such as `oltp_read_only`, or leave these options out",
        ));
    }
    if args.tpcc != TpccOptions::default() && !is_tpcc {
        bail!(HintedError::new(
            "`--warehouses`, `--procedures` and `--think-times` apply only to the TPC-C-like workload",
            "give `--test tpcc`, or leave these options out",
        ));
    }
    let patterns: Vec<String> = name.map(str::to_owned).into_iter().collect();
    let found = assay_plan::select_of(suite, &patterns)?;
    match found.as_slice() {
        [test] => {
            assay_plan::check_user_test(*test, SERVER, dialect)?;
            Ok(*test)
        }
        several => {
            let names: Vec<String> = several.iter().map(|test| format!("`{test}`")).collect();
            let which = name.map_or("the workload has".to_owned(), |it| format!("`{it}` matches"));
            bail!("{which} several tests; name one with `--test`: {}", names.join(", "))
        }
    }
}

/// The requested tables if the server has them, else those of the server.
fn data_set(args: &BenchArgs, dialect: Dialect, options: &ConnectOptions) -> Result<DataSet> {
    let mut control = Connection::connect(options).context("cannot connect to the server")?;
    let there = assay_load::numbers(&mut control, dialect)?;
    let schema = control.schema()?;
    let is_there = |table: &u32| there.contains(table);
    let tables = match args.tables {
        Some(tables) => tables,
        None => limits::TABLES.take_while(is_there).count() as u32,
    };
    ensure!(
        tables > 0,
        "the database has no tables sbtest1, sbtest2, ...: `assay load` creates them"
    );
    if let Some(missing) = (1..=tables).find(|table| !is_there(table)) {
        bail!(
            "table `sbtest{missing}` is missing: `--tables {tables}` does not match the loaded tables; \
             `assay load` creates tables"
        );
    }
    let mut sizes = Vec::new();
    for table in 1..=tables {
        let found = control
            .query_tables(schema.as_ref(), &format!("SELECT MAX(id) FROM sbtest{table}"))
            .map_err(|error| foreign(table).caused_by(error))?;
        sizes.push(found.text(0, 0).and_then(|text| text.parse().ok()).unwrap_or(0));
    }
    let rows = rows(args.rows, &sizes)?;
    if sizes.iter().any(|size| *size > rows) {
        print(&format!(
            "warning: the tables have more than {}; only these are used",
            counted(rows, "row")
        ));
    }
    Ok(DataSet { tables, rows })
}

fn foreign(table: u32) -> HintedError {
    HintedError::new(
        format!("`sbtest{table}` was not created by assay or sysbench"),
        "name another database in the URL and fill it with `assay load`",
    )
}

/// Rows to work on in each table, from the largest `id` of each.
fn rows(asked: Option<u32>, sizes: &[u32]) -> Result<u32> {
    let smallest = (1..).zip(sizes).min_by_key(|(_, size)| **size);
    let (table, size) = smallest.map_or((1, 0), |(table, size)| (table, *size));
    ensure!(size > 0, "table `sbtest{table}` is empty: `assay load` fills it");
    let rows = asked.unwrap_or(size).min(*limits::ROWS.end());
    ensure!(
        rows <= size,
        "table `sbtest{table}` has {}, fewer than the {} of `--rows`: \
         leave `--rows` out, or load the tables again with `assay load --rows {rows}`",
        counted(size, "row"),
        thousands(rows)
    );
    Ok(rows)
}

fn process_cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Refuses options that these tables do not have, and a server that lacks some of the warehouses.
fn check_tpcc_tables(args: &BenchArgs, tpcc: &Tpcc, options: &ConnectOptions) -> Result<()> {
    ensure!(
        args.tables.is_none() && args.rows.is_none() && !args.check,
        "`--tables`, `--rows` and `--check` are for sysbench's tables, and `--test tpcc` has others"
    );
    let mut control = Connection::connect(options).context("cannot connect to the server")?;
    let advice = "`assay load URL --suite tpcc --warehouses N` creates them";
    let found = control.query("SELECT COUNT(*) FROM warehouse");
    let found = found.map_err(|error| {
        HintedError::new("the database has no table `warehouse`", advice).caused_by(error)
    })?;
    let there: u32 = found.text(0, 0).and_then(|text| text.parse().ok()).unwrap_or(0);
    if there < tpcc.warehouses {
        let there = counted(u64::from(there), "warehouse");
        let what =
            format!("the database has {there}, fewer than the {} asked for", tpcc.warehouses);
        return Err(HintedError::new(what, advice).into());
    }
    Ok(())
}

fn check_tpcc_consistency(args: &BenchArgs, test: Test) -> Result<()> {
    let url = assay_command::server_url::url_with_tls(&args.url, &args.tls)?;
    let place = LoadTarget {
        options: &connect_options(&url, Stop::default()),
        dialect: url.dialect,
        engine: Product::of_dialect(url.dialect).default_engine(),
        form: &TableForm::default(),
        data: DataSet { tables: 1, rows: 1 },
        seed: args.seed,
        files: &assay_run::workload::read_again,
        dumps: &assay_run::workload::open_dump,
    };
    workload_of(&test.definition().schema).consistent(&place)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_were_doing_is_told_once() {
        let message =
            |all: &[&str]| in_brackets(&all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(message(&[]), "");
        assert_eq!(message(&["a.lua:3", "a.lua:2", "a.lua:3"]), " (a.lua:2; a.lua:3)");
        assert_eq!(message(&["a", "b", "c", "d", "e"]), " (a; b; c; and 2 more)");
    }

    #[test]
    fn rows_are_those_of_the_smallest_table_and_no_more() {
        assert_eq!(rows(None, &[3000, 2000]).unwrap(), 2000);
        assert_eq!(rows(Some(1000), &[3000, 2000]).unwrap(), 1000);
        let error = rows(Some(2500), &[3000, 2000]).unwrap_err().to_string();
        assert!(error.contains("`sbtest2` has 2,000 rows, fewer than the 2,500"), "{error}");
        assert!(rows(Some(1), &[5, 0]).is_err() && rows(None, &[]).is_err());
    }

    #[test]
    fn a_terminal_shows_the_rates_of_the_last_second() {
        let done = RunProgress {
            events: 10,
            read: 40,
            event_ns_sum: 50_000_000,
            ..RunProgress::default()
        };
        let shown = rates(&done, Duration::from_secs(2));
        assert_eq!(shown, "20 queries/s, 5 events/s, 5.00 ms");
    }

    #[test]
    fn interval_reports_have_the_format_of_sysbench() {
        let done = RunProgress {
            events: 10,
            read: 40,
            write: 4,
            other: 2,
            errors: 1,
            event_ns_sum: 50_000_000,
            reconnects: 0,
        };
        let second = Duration::from_secs(2);
        assert_eq!(
            interval(4, Duration::from_secs(10), &done, second, (95.0, Duration::from_millis(5))),
            "[ 10s ] thds: 4 tps: 5.00 qps: 23.00 (r/w/o: 20.00/2.00/1.00) lat (ms,95%): 5.00 err/s: 0.50 \
             reconn/s: 0.00"
        );
    }
}
