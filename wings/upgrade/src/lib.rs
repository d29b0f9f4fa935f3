//! `assay upgrade`: what another version does to the statements of a log. `assay workload`: makes a workload file of
//! logs.

mod arguments;
mod by_statistics;
mod files;
mod relation_files;
mod restored_statistics;
mod statistics_page;

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};
use assay_capture::{
    Capture, CapturePlan, CapturedLogs, DumpSchema, FORMATS, HEAD_BYTES, LogHints, LogProbe,
    PlanOptions, ProbeError, SCHEMA_BYTES, ServerVersion, WorkloadFiles, WorkloadTarget,
    format_named, plan, probe, schema, server_version, summary, workload,
};
use assay_model::{Dialect, StatementMode, printable_lines};
use assay_plan::{Request, parse_system};
use sha2::{Digest as _, Sha256};

use arguments::{LogArgs, WorkloadCommand, WorkloadFrom};
use assay_command::config_file;
use assay_command::exit::Exit;
use assay_command::measurement::measured;
use assay_command::report;
use assay_command::verb::{Arguments, CommandGroup};
use assay_run::advice::HintedError;
use assay_run::paths;
use assay_run::progress::print;
use by_statistics::compare_plans;

pub use arguments::{UpgradeArgs, WorkloadArgs};

const LOGS: &str = "name logs of statements, such as a slow query log; `assay workload from --help` lists the formats";

impl Arguments for UpgradeArgs {
    const NAME: &'static str = "upgrade";
    const ABOUT: &'static str =
        "Say what an upgrade does to your own queries: other answers, errors and slowdowns";
    const GROUP: CommandGroup = CommandGroup::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let request = upgrade(self)?;
        if !self.stats.is_empty() {
            return compare_plans(self, request, cache_dir);
        }
        measured(request, &self.measuring, self.explain.explain_terms, cache_dir)
    }
}

impl Arguments for WorkloadArgs {
    const NAME: &'static str = "workload";
    const ABOUT: &'static str = "Make a workload file of a slow log or other logs of statements";
    const GROUP: CommandGroup = CommandGroup::Read;
    const EXITS: &'static [(Exit, &'static str)] =
        &[(Exit::Incomplete, "found nothing to measure")];

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        match &self.command {
            WorkloadCommand::From(args) => from(args),
            WorkloadCommand::StatsQuery => {
                report::write_stdout(by_statistics::QUERY)?;
                Ok(Exit::Done)
            }
        }
    }
}

struct Log {
    path: PathBuf,
    head: Vec<u8>,
    probe: LogProbe,
}

fn from(args: &WorkloadFrom) -> Result<Exit> {
    if let Some(file) = &args.output {
        files::check_file(file)?;
    }
    let (captured, plan, server) = read(&args.logs, &args.of_logs, None)?;
    let mut text = summary(&captured, &plan, report::options(true).width);
    if let Some(file) = &args.output {
        let target = target(file, args.of_logs.schema.as_deref(), plan.dialect)?;
        let written = workload(&captured, &plan, &target);
        write(file, &written)?;
        if target.schema.is_some() {
            text.push_str(MADE);
        }
        text.push_str(&written_lines(file, &written, &plan, server.as_ref(), args));
    }
    report::write_stdout(&printable_lines(&text))?;
    Ok(if plan.works.is_empty() { Exit::Incomplete } else { Exit::Done })
}

/// Reads logs and chooses the tests. Logs without signs of a dialect take that of the dump, else that of the systems.
fn read(
    logs: &[PathBuf],
    args: &LogArgs,
    of_systems: Option<Dialect>,
) -> Result<(CapturedLogs, CapturePlan, Option<ServerVersion>)> {
    check_not_exchanged(logs, args.schema.as_deref())?;
    let dump = args.schema.as_deref().map(files::dump_head).transpose()?.unwrap_or_default();
    let dialect = dump.dialect.or(of_systems);
    let given = LogHints { log_line_prefix: args.log_line_prefix.clone(), dialect };
    let logs = logs.iter().map(|path| log(path, args, &given));
    let mut logs = logs.collect::<Result<Vec<Log>>>()?;
    check_dialects(&logs, args, dump.dialect)?;
    check_systems(&logs, of_systems)?;
    let named = logs.iter().find_map(|it| server_version(&it.head));
    let server = named.or(dump.server);
    // Rotated files may be named in any order. Those without times stay at the end.
    logs.sort_by_key(|it| it.probe.first_us.unwrap_or(i64::MAX));
    let mut capture = Capture::new(given);
    for Log { path, head, probe } in &logs {
        let name = path.display().to_string();
        let read = files::open(path).and_then(|mut source| {
            capture.read(&name, head, probe, &mut source.content)?;
            Ok(source.is_cut())
        });
        if read.with_context(|| format!("cannot read `{name}`"))? {
            capture.cut_off();
        }
    }
    let captured = capture.finish();
    let options = PlanOptions {
        writes: args.writes,
        limit: args.limit.map(|it| it as usize),
        database: args.database.clone(),
    };
    let plan = plan(&captured, &options).map_err(|names| {
        let name = args.database.as_deref().unwrap_or_default();
        HintedError::new(format!("no log has a database `{name}`"), those(&names))
    })?;
    Ok((captured, plan, server))
}

fn check_dialects(logs: &[Log], args: &LogArgs, of_dump: Option<Dialect>) -> Result<()> {
    let (Some(of_dump), Some(dump)) = (of_dump, &args.schema) else { return Ok(()) };
    let is_other = |log: &&Log| log.probe.format.dialect.is_some_and(|it| it != of_dump);
    let Some(log) = logs.iter().find(is_other) else { return Ok(()) };
    let (dump_of, log_of) = match of_dump {
        Dialect::MySql => ("MySQL or MariaDB", "Postgres"),
        Dialect::Postgres => ("Postgres", "MySQL or MariaDB"),
    };
    let (dump, log) = (dump.display(), log.path.display());
    anyhow::bail!(HintedError::new(
        format!("`{dump}` is a dump of {dump_of}, and `{log}` is a log of {log_of}"),
        "`--schema` names a dump of the server that wrote the log",
    ))
}

/// Refuses a log in place of the dump together with a dump in place of a log.
fn check_not_exchanged(logs: &[PathBuf], dump: Option<&Path>) -> Result<()> {
    let is_dump = |path: &Path| files::dump_head(path).is_ok();
    let Some(dump) = dump.filter(|dump| dump.is_file() && !is_dump(dump)) else { return Ok(()) };
    let Some(log) = logs.iter().find(|log| is_dump(log)) else { return Ok(()) };
    anyhow::bail!(HintedError::new(
        format!("`{}` is no dump of a database, but `{}` is one", dump.display(), log.display()),
        "exchange the two files: `--schema` names the dump",
    ))
}

fn check_systems(logs: &[Log], of_systems: Option<Dialect>) -> Result<()> {
    let is_other = |log: &&Log| {
        log.probe.format.dialect.zip(of_systems).is_some_and(|(of_log, systems)| of_log != systems)
    };
    let Some(log) = logs.iter().find(is_other) else { return Ok(()) };
    anyhow::bail!(HintedError::new(
        format!("`{}` is no log of these systems, but of another product", log.path.display()),
        "name systems of the product that wrote the log: assay does not translate statements",
    ))
}

/// Request of `upgrade`. The same logs and options give the same files, so an interrupted study finds them again.
fn upgrade(args: &UpgradeArgs) -> Result<Request> {
    let request = args.asked.request(&args.systems, &args.measuring);
    if !request.workload.is_empty() {
        return Ok(request);
    }
    // A wrong config file is reported ahead of the summary, which may take long.
    config_file::with_configs(request.clone(), Path::new(""), &[], true)?;
    let (captured, plan, _) = read(&args.queries, &args.of_logs, dialect_of_systems(&request))?;
    if !args.measuring.quiet {
        print(&printable_lines(summary(&captured, &plan, report::options(true).width).trim_end()));
    }
    if plan.works.is_empty() {
        anyhow::bail!(HintedError::new(
            "the logs have no statement that can be measured",
            "`--writes` keeps statements that write; `assay workload from` shows what was left out",
        ));
    }
    let Some(dump) = args.of_logs.schema.as_deref() else {
        anyhow::bail!(HintedError::new(
            "the statements need tables",
            "`--schema DUMP` names a dump of the schema and the data; or `assay workload from` writes a file in which \
             you describe the tables, for `--workload`",
        ));
    };
    let mut schema = schema_without_rows(dump, plan.dialect)?;
    // Rows are not made where statistics replace them.
    if !args.stats.is_empty() && schema.take().is_none() {
        anyhow::bail!(HintedError::new(
            format!(
                "`{}` has rows, no tables, or more than {} MiB",
                dump.display(),
                SCHEMA_BYTES >> 20
            ),
            "statistics replace the rows: `pg_dump --schema-only` writes a dump without them; or leave `--stats` out",
        ));
    }
    if schema.is_some() && !args.measuring.quiet {
        print(MADE.trim());
    }
    let dump = fs_err::canonicalize(dump)?
        .to_str()
        .context("the path of the dump is not UTF-8")?
        .to_owned();
    let target = WorkloadTarget { stem: STEM.to_owned(), dump: Some(dump), schema };
    let written = workload(&captured, &plan, &target);
    let file =
        paths::state_dir()?.join("upgrades").join(digest(&written)).join(format!("{STEM}.toml"));
    files::private_folder(files::folder(&file))?;
    write(&file, &written)?;
    let file = file.to_str().context("the path of the workload is not UTF-8")?.to_owned();
    // Statements are sent as clients sent them.
    let statements = match request.statements {
        StatementMode::Prepared if plan.prepared < 0.5 => StatementMode::Text,
        given => given,
    };
    Ok(Request { workload: vec![file], statements, ..request })
}

/// The dialect of all systems of a request; `None` if they differ.
fn dialect_of_systems(request: &Request) -> Option<Dialect> {
    let specs = request.systems.iter().filter_map(|it| parse_system(&it.words).ok());
    let mut dialects = specs.map(|spec| spec.product.dialect());
    let first = dialects.next()?;
    dialects.all(|it| it == first).then_some(first)
}

const MADE: &str = "\nnote: the dump has no rows, so rows are made from the definitions of its tables; with your own \
                    rows, plans and times are nearer to yours\n";

const STEM: &str = "queries";

fn digest(written: &WorkloadFiles) -> String {
    let mut hash = Sha256::new();
    hash.update(&written.text);
    for values in &written.values {
        hash.update(&values.path);
        hash.update(&values.text);
    }
    let digest = hex::encode(hash.finalize());
    digest.chars().take(16).collect()
}

fn those(names: &[String]) -> String {
    match names {
        [] => "the logs name no database; leave `--database` out".to_owned(),
        names => format!("the logs have {}", names.join(", ")),
    }
}

fn written_lines(
    file: &Path,
    written: &WorkloadFiles,
    plan: &CapturePlan,
    server: Option<&ServerVersion>,
    args: &WorkloadFrom,
) -> String {
    let mut text = format!("\nwrote      {}", file.display());
    if let Some(values) = written.values.first() {
        let folder = Path::new(&values.path).parent().unwrap_or(Path::new(""));
        text.push_str(&format!(", with values of your users in {}", folder.display()));
    }
    text.push('\n');
    if args.of_logs.schema.is_none() {
        text.push_str("next       name a dump or describe the tables in the file\n");
    }
    let as_text = if plan.prepared < 0.5 { " --db-ps-mode disable" } else { "" };
    let systems = systems(plan.dialect, server);
    text.push_str(&format!(
        "next       assay compare {systems} --workload {}{as_text}\n",
        file.display()
    ));
    if let Some(dump) = &args.of_logs.schema {
        let logs = args.logs.iter().map(|it| format!(" --queries {}", it.display()));
        text.push_str(&format!(
            "or         assay upgrade {systems}{} --schema {}{}\n",
            logs.collect::<String>(),
            dump.display(),
            if args.of_logs.writes { " --writes" } else { "" }
        ));
    }
    text
}

/// The version that wrote the log, and a later one.
fn systems(dialect: Dialect, server: Option<&ServerVersion>) -> String {
    const LINES: [(&str, &[&str]); 3] = [
        ("mysql", &["8.0", "8.4"]),
        ("mariadb", &["10.11", "11.4", "11.8"]),
        ("postgres", &["16", "17", "18"]),
    ];
    let numbers = |version: &str| -> Vec<u32> {
        version.split('.').map_while(|part| part.parse().ok()).take(2).collect()
    };
    let of_log = server.filter(|it| (it.product == "postgres") == (dialect == Dialect::Postgres));
    let product = of_log.map_or(
        match dialect {
            Dialect::MySql => "mysql",
            Dialect::Postgres => "postgres",
        },
        |it| it.product,
    );
    let line = LINES.iter().find(|(name, _)| *name == product).map_or(&[][..], |(_, line)| line);
    let from = of_log.map(|it| it.version.as_str()).or_else(|| line.first().copied());
    let from = from.unwrap_or_default();
    let is_later = |it: &&&str| numbers(it) > numbers(from) && !from.starts_with(&format!("{it}."));
    let to = line.iter().find(is_later).copied().unwrap_or("VERSION");
    format!("{product}@{from} {product}@{to}")
}

fn log(path: &Path, args: &LogArgs, given: &LogHints) -> Result<Log> {
    files::check_regular(path, LOGS)?;
    let head = files::head(path, HEAD_BYTES as u64)?;
    let format = args.log_format.as_deref().and_then(format_named);
    match probe(&head, format, given) {
        Ok(probe) => Ok(Log { path: path.to_owned(), head, probe }),
        Err(error) => Err(unknown(path, &error, given).into()),
    }
}

fn unknown(path: &Path, error: &ProbeError, given: &LogHints) -> HintedError {
    let what = format!("cannot read `{}`: {error}", path.display());
    match error {
        ProbeError::Empty => HintedError::new(what, "leave it out"),
        ProbeError::Foreign(foreign) => HintedError::new(what, foreign.hint),
        ProbeError::Utf16 => HintedError::new(what, "convert it with `iconv -f UTF-16 -t UTF-8`"),
        ProbeError::Unknown if given.log_line_prefix.is_some() => HintedError::new(
            what,
            "`--log-line-prefix` must be that of the server: `SHOW log_line_prefix`",
        ),
        ProbeError::Unknown => {
            let formats: Vec<String> = FORMATS.iter().map(|it| format!("`{}`", it.name)).collect();
            let hint = format!(
                "`--log-format` names it: {}; the plain log of Postgres may need `--log-line-prefix` as in `SHOW \
                 log_line_prefix`",
                formats.join(", ")
            );
            HintedError::new(what, hint)
        }
    }
}

/// Tables of a dump; `None` if it has rows.
fn schema_without_rows(path: &Path, dialect: Dialect) -> Result<Option<DumpSchema>> {
    let dump = files::head(path, SCHEMA_BYTES as u64 + 1)?;
    Ok(if dump.len() > SCHEMA_BYTES { None } else { schema(&dump, dialect) })
}

fn target(file: &Path, dump: Option<&Path>, dialect: Dialect) -> Result<WorkloadTarget> {
    let stem = file.file_stem().and_then(|it| it.to_str()).filter(|it| !it.is_empty());
    let stem = stem
        .with_context(|| format!("`{}` cannot be the name of a workload file", file.display()))?;
    let schema = dump.map(|dump| schema_without_rows(dump, dialect)).transpose()?.flatten();
    let dump = dump.map(|dump| relative(files::folder(file), dump)).transpose()?;
    Ok(WorkloadTarget { stem: stem.to_owned(), dump, schema })
}

/// Path of a file as seen from a folder: relative if it is in the folder or beside it.
fn relative(folder: &Path, file: &Path) -> Result<String> {
    let (folder, file) = (fs_err::canonicalize(folder)?, fs_err::canonicalize(file)?);
    let shared = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().count() - shared;
    let path: PathBuf = if up <= 2 {
        let ups = std::iter::repeat_n(Component::ParentDir, up);
        ups.chain(file.components().skip(shared)).collect()
    } else {
        file
    };
    let text = path.to_str().context("the path of the dump is not UTF-8")?;
    Ok(text.to_owned())
}

fn write(file: &Path, written: &WorkloadFiles) -> Result<()> {
    files::check_file(file)?;
    for values in &written.values {
        let path = files::folder(file).join(&values.path);
        if let Some(folder) = path.parent() {
            files::private_folder(folder)?;
        }
        files::write(&path, values.text.as_bytes(), true)?;
    }
    files::write(file, written.text.as_bytes(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_assay_sends_itself_is_no_work() {
        let line = |id: u32, sql: &str| format!("2026-11-27T22:45:19.1Z\t{id:5} Query\t{sql}\n");
        for first in assay_wire::OWN_FIRST {
            let log = line(7, first) + &line(7, "SELECT 2") + &line(8, "SELECT a FROM t");
            let given = LogHints::default();
            let found = probe(log.as_bytes(), None, &given).unwrap();
            let mut capture = Capture::new(given);
            capture.read("log", log.as_bytes(), &found, &mut log.as_bytes()).unwrap();
            let plan = plan(&capture.finish(), &PlanOptions::default()).unwrap();
            let names: Vec<String> = plan.works.into_iter().map(|it| it.name).collect();
            assert_eq!(names, ["select-t"], "{first}");
        }
    }

    #[test]
    fn a_dump_is_named_relative_to_the_workload() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs_err::create_dir_all(at("a/b")).unwrap();
        fs_err::write(at("dump.sql"), "-- MariaDB dump 10.19").unwrap();
        assert_eq!(relative(root.path(), &at("dump.sql")).unwrap(), "dump.sql");
        assert_eq!(relative(&at("a/b"), &at("dump.sql")).unwrap(), "../../dump.sql");
    }

    #[test]
    fn the_next_command_has_the_version_of_the_log() {
        for (product, version, expected) in [
            ("mysql", "8.0.33", "mysql@8.0.33 mysql@8.4"),
            ("mysql", "5.7.44", "mysql@5.7.44 mysql@8.0"),
            ("mariadb", "10.11.6", "mariadb@10.11.6 mariadb@11.4"),
            ("postgres", "15.4", "mysql@8.0 mysql@8.4"),
            ("mysql", "9.9.1", "mysql@9.9.1 mysql@VERSION"),
        ] {
            let server = ServerVersion { product, version: version.to_owned() };
            assert_eq!(systems(Dialect::MySql, Some(&server)), expected);
        }
        let server = ServerVersion { product: "postgres", version: "16.2".to_owned() };
        assert_eq!(systems(Dialect::Postgres, Some(&server)), "postgres@16.2 postgres@17");
        assert_eq!(systems(Dialect::Postgres, None), "postgres@16 postgres@17");
    }
}
