//! Tries the tables, columns and statements of a workload on a cached server, without rows.

use std::path::Path;

use anyhow::{Context as _, Result};
use assay_command::exit::Exit;
use assay_load::{ClientSession, ClientWork, LoadError};
use assay_model::{
    Definition, Dialect, Prefix, Product, Setup, StatementMode, Test, Transaction, UserRows,
    UserStep, UserTable,
};
use assay_plan::{MachineFacts, Request, StudyPlan};
use assay_run::paths;
use assay_run::progress::{Progress, print};
use assay_run::statement_place::StatementLocator;
use assay_run::systems::{
    Environment, Instance, LocalSite, environment, leave_root_for, machine_facts, participants,
    provisioner, start_on_empty,
};
use assay_servers::ServerInstance;
use assay_wire::Connection;

pub(crate) enum RehearsalResult {
    Not(String),
    On {
        server: String,
        faults: Vec<String>,
    },
    /// A server of another kind, which is not in the cache, may accept the workload.
    OnlyOn {
        server: String,
        faults: Vec<String>,
    },
}

impl RehearsalResult {
    pub(crate) fn tell(self) -> Exit {
        let (server, faults) = match self {
            Self::Not(why) => {
                print(&format!("note: tables, columns and statements were not checked: {why}"));
                return Exit::Done;
            }
            Self::OnlyOn { server, faults } => {
                faults.iter().for_each(|fault| print(&format!("note: {fault}")));
                print(&format!(
                    "note: {server} does not take the workload, and no server of the other dialect is in the cache; \
                     name systems that take it, or `assay server get` one to check the workload on it"
                ));
                return Exit::Done;
            }
            Self::On { server, faults } => (server, faults),
        };
        if faults.is_empty() {
            print(&format!("note: {server} takes all tables, columns and statements"));
            return Exit::Done;
        }
        faults.iter().for_each(|fault| print(&format!("error: {fault}")));
        let count = assay_model::counted(faults.len() as u64, "fault");
        print(&format!("{server} refuses the workload: {count}"));
        Exit::Error
    }
}

struct RehearsalFaults {
    texts: Vec<String>,
    /// Whether each fault may be right on servers of the other dialect.
    may_be_of_other_dialect: bool,
}

pub(crate) fn rehearse(
    files: &[String],
    tests: &[Test],
    cache_dir: Option<&Path>,
) -> Result<RehearsalResult> {
    let of_script = |table: &&UserTable| matches!(table.rows, UserRows::Script(_));
    let own = tests.first().and_then(|test| test.user_data());
    if let Some(table) = own.and_then(|own| own.tables.iter().find(of_script)) {
        let why = format!("the rows of `{}` come from a script", table.name);
        return Ok(RehearsalResult::Not(why));
    }
    if own.is_some_and(|own| own.dump.is_some()) {
        return Ok(RehearsalResult::Not("the tables come from a dump".to_owned()));
    }
    if tests.iter().any(|test| test.lua().is_some()) {
        return Ok(RehearsalResult::Not("a script decides what it sends when it runs".to_owned()));
    }
    // Do not create a cache just to look at a workload.
    if !paths::cache_dir(cache_dir)?.is_dir() {
        return Ok(RehearsalResult::Not(NO_SERVER.to_owned()));
    }
    let progress = Progress::new(true);
    let env = environment(cache_dir, true, true, &progress)?;
    let machine = machine_facts(&env.cache_dir)?;
    let unlimited = MachineFacts { memory_mb: u64::MAX / 8, disk_mb: u64::MAX, ..machine };
    let cached = provisioner(&env)?.cached()?;
    let mut first: Option<(String, RehearsalFaults)> = None;
    let mut asked: Vec<Dialect> = Vec::new();
    for prefix in by_product(&cached) {
        let system = format!("{}@{}", prefix.product, prefix.version);
        let request = Request {
            workload: files.to_vec(),
            offline: true,
            ..Request::of_systems(&[system.clone(), system])
        };
        // The workload may be one of another product.
        let Ok(plan) = assay_plan::plan_of(&request, unlimited, tests.to_vec()) else { continue };
        let faults = faults(&request, &plan, tests, &env)?;
        let server = format!("{} {}", prefix.product, prefix.version);
        let is_final = faults.texts.is_empty() || !faults.may_be_of_other_dialect;
        if is_final {
            return Ok(RehearsalResult::On { server, faults: faults.texts });
        }
        asked.push(prefix.product.dialect());
        first.get_or_insert((server, faults));
    }
    let Some((server, RehearsalFaults { texts: faults, .. })) = first else {
        return Ok(RehearsalResult::Not(NO_SERVER.to_owned()));
    };
    let is_open = |dialect: &Dialect| !asked.contains(dialect) && may_be_for(tests, *dialect);
    if Dialect::ALL.iter().any(is_open) {
        return Ok(RehearsalResult::OnlyOn { server, faults });
    }
    Ok(RehearsalResult::On { server, faults })
}

fn may_be_for(tests: &[Test], dialect: Dialect) -> bool {
    tests.iter().all(|test| {
        let has_tables = |data| assay_plan::check_user_tables(data, "", dialect).is_ok();
        test.user_data().is_none_or(has_tables)
            && assay_plan::check_user_test(*test, "", dialect).is_ok()
    })
}

const NO_SERVER: &str =
    "no server that could run them is in the cache (`assay server get mariadb@11.8` gets one)";

/// The last cached server of each product.
fn by_product(cached: &[Prefix]) -> impl Iterator<Item = &Prefix> {
    let last =
        |product| cached.iter().rev().find(move |prefix: &&Prefix| prefix.product == product);
    Product::ALL.into_iter().filter_map(last)
}

fn faults(
    request: &Request,
    plan: &StudyPlan,
    tests: &[Test],
    env: &Environment,
) -> Result<RehearsalFaults> {
    let participants = participants(plan, env)?;
    let participant = participants.first().context("there is no system")?;
    let (system, prefix) = (&participant.system, participant.prefix()?);
    let local = LocalSite::new(env)?;
    leave_root_for(&participants, &local)?;
    let server = start_on_empty(env, prefix, &system.options, &system.name, |empty| {
        ServerInstance::start(&local.site, prefix, &system.options, empty)
    })?;
    let instance = Instance::Started(server);
    instance.create_database()?;
    let options = instance.connect_options();
    let mut refused: Vec<LoadError> = Vec::new();
    let dialect = system.spec.product.dialect();
    let mut control = Connection::control(&options)?;
    for table in plan.study.user_data().iter().flat_map(|own| &own.tables) {
        for (label, sql) in making(table, dialect) {
            if let Err(cause) = control.query(&sql) {
                refused.push(LoadError::Query { sql: label, cause });
            }
        }
    }
    for &test in tests {
        let open = |test: Test| {
            let setup = Setup { clients: 1, tables: 1, rows: 1 };
            let (statements, seed) = (StatementMode::Prepared, plan.study.seed);
            let work = ClientWork { dialect, test, setup, statements, seed };
            match ClientSession::open(&options, &work, &[]) {
                Err(error @ LoadError::Prepare { .. }) => Ok(Some(error)),
                opened => opened.map(|_| None),
            }
        };
        let Some(first) = open(test)? else { continue };
        // A session ends at the first statement that the server refuses.
        let steps = steps(test).into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let before = refused.len();
        refused.extend(steps.into_iter().flatten());
        if refused.len() == before {
            refused.push(first);
        }
    }
    drop(control);
    instance.stop()?;
    let written = StatementLocator::new(request);
    let described = |error: LoadError| {
        let error = anyhow::Error::from(error);
        let place = written.as_ref().and_then(|it| it.place(&error));
        place.map_or_else(|| format!("{error:#}"), |place| format!("{place}: {error:#}"))
    };
    let may_be_of_other_dialect = refused.iter().all(LoadError::may_be_of_other_dialect);
    Ok(RehearsalFaults {
        texts: refused.into_iter().map(described).collect(),
        may_be_of_other_dialect,
    })
}

fn steps(test: Test) -> Vec<Test> {
    let definition = test.definition();
    let mut all = Vec::new();
    for role in &definition.roles {
        for transaction in &role.script.mix {
            let is_sent = |step: &&UserStep| matches!(step, UserStep::Send { .. });
            all.extend(transaction.steps.iter().filter(is_sent).map(|step| {
                let mut role = role.clone();
                role.script.mix =
                    vec![Transaction { steps: vec![step.clone()], ..transaction.clone() }];
                assay_workloads::define(Definition { roles: vec![role], ..definition.clone() })
            }));
        }
    }
    all
}

/// Statements that create a table, and one that names the columns of its rows and inserts none; each with a label.
fn making(table: &UserTable, dialect: Dialect) -> Vec<(String, String)> {
    let of_dialect = |list: &[assay_model::PerDialect<String>]| -> Vec<(String, String)> {
        let texts = list.iter().filter_map(|it| it.for_dialect(dialect));
        texts.map(|sql| (sql.clone(), sql.clone())).collect()
    };
    let mut made = of_dialect(&table.create);
    if let UserRows::Generated { columns, .. } = &table.rows {
        let quote = dialect.quote();
        let names: Vec<String> =
            columns.iter().map(|it| format!("{quote}{}{quote}", it.name)).collect();
        let (names, name) = (names.join(", "), &table.name);
        let insert = format!("INSERT INTO {name} ({names})");
        made.push((insert.clone(), format!("{insert} SELECT {names} FROM {name} WHERE 1 = 0")));
    }
    made.extend(of_dialect(&table.after));
    made
}
