//! Turns a request into a plan, checked for consistency and for fitting the machine.

use std::collections::HashSet;

use assay_model::{
    CellId, Class, Counting, CpuPlacement, DataSet, Dialect, Experiment, PlannedCell, Priority,
    Schema, Setup, StatementMode, Study, SystemSpec, Test, UserData, UserStep,
};
use assay_terms::Terms;

use crate::config_file::asked;
use crate::effort::{Effort, effort};
use crate::error::{PlanError, PlanResult};
use crate::fits::{MachineFacts, check_machine};
use crate::insert_bench;
use crate::limits::{
    CELLS, CLIENTS, FEWER_SYSTEMS, NAME_BYTES, RESULTS, ROWS, SYSTEMS, TABLES, at_most, in_range,
};
use crate::memory::advised;
use crate::outlook::blocks_within;
use crate::participants::{PlannedSystem, StudyPlan, systems};
use crate::regression_limits::regression_limits;
use crate::request::{Request, SetupRequest};
use crate::scheduling::{CellScheduling, pins_connections};
use crate::size::Footprint;
use crate::study::study_of;
use crate::study_file::first_change;
use crate::suites::suite_facts;
use crate::tests_glob::select_of;

pub fn plan(request: &Request, machine: MachineFacts) -> PlanResult<StudyPlan> {
    plan_of(request, machine, request.shipped_tests())
}

/// Plans with tests of any definition: those that the request selects from `suite`, in their order.
pub fn plan_of(
    request: &Request,
    machine: MachineFacts,
    suite: Vec<Test>,
) -> PlanResult<StudyPlan> {
    let plan = match &request.insert_bench {
        Some(bench) => insert_bench::plan(request, bench, machine),
        None => plan_tests(request, machine, suite),
    };
    let plan = plan.and_then(|plan| check_size(&plan).map(|()| plan));
    plan.map_err(|error| advised(error, request))
}

/// Refuses a study whose reports would be too long. They have a line for each result, with the names of test and
/// system.
fn check_size(plan: &StudyPlan) -> PlanResult<()> {
    let results = plan.study.cells.len() * plan.systems.len();
    let fewer = "split the comparison into several studies, with fewer systems, tests or client counts each";
    at_most("results (tests times setups times systems)", results, RESULTS, fewer)?;
    let systems = plan.systems.iter().map(|system| &system.name);
    let tests = plan.study.cells.iter().map(|cell| &cell.id.test.definition().name);
    match systems.chain(tests).find(|name| name.len() > NAME_BYTES) {
        Some(name) => Err(PlanError::LongName(name.clone())),
        None => Ok(()),
    }
}

fn plan_tests(request: &Request, machine: MachineFacts, suite: Vec<Test>) -> PlanResult<StudyPlan> {
    let effort = effort(request, machine.cpus)?;
    if request.limits.is_some() && effort.experiment == Experiment::Sequential {
        let why = "limits need repeated measurements, and preset published runs each test once";
        return Err(PlanError::out_of_range("--preset", request.preset.word(), why));
    }
    check_suite(request, &effort)?;
    let systems = systems(request, effort.twin)?;
    check_form(request, &systems)?;
    check_counting(request, &systems)?;
    let tests = select_of(suite, &request.tests)?;
    let setups = setups(request, &effort)?;
    at_most("systems", systems.len(), SYSTEMS, FEWER_SYSTEMS)?;
    let fewer = "use fewer client counts in `--clients` or fewer tests in `--tests`";
    at_most("tests times setups", tests.len() * setups.len(), CELLS, fewer)?;
    let schema = Schema::for_tests(tests.first().copied());
    let setups = setups_of(schema, &tests, request, &effort, setups, &systems)?;
    check_running(&systems, effort.experiment, request)?;
    let pooled = systems.iter().find(|system| shares_threads(&system.spec));
    if let Some(system) = pooled
        && request.placement.is_some_and(pins_connections)
    {
        let why = "its connections share threads, which cannot be pinned for a single connection";
        return Err(PlanError::cannot_take_part(&system.name, why));
    }
    let specs: Vec<_> = systems.iter().map(|system| &system.spec).collect();
    let terms = Terms::or_default(Some(&request.terms));
    let footprint = Footprint::new(&setups, schema, terms).counting(request.count);
    // The number of rows of a workload is no option.
    let has_option = schema.facts().has_rows_option();
    check_machine(&footprint, &specs, effort.experiment, machine)
        .map_err(|error| if has_option { error } else { error.whatever_rows() })?;

    // A server shared with others is not pinned, so the other servers are not pinned either.
    let is_attached = systems.iter().any(|system| system.url.is_some());
    let request = &Request {
        placement: if is_attached { Some(CpuPlacement::Free) } else { request.placement },
        ..request.clone()
    };
    let scheduling =
        CellScheduling::new(request, effort.experiment, &systems, pooled.is_some(), machine)?;
    let cells = cells(request, &effort, &tests, &setups, &scheduling);
    let limits =
        request.limits.as_ref().map(|limits| regression_limits(limits, request.set, &cells));
    let budget_s = match effort.experiment {
        Experiment::Interleaved | Experiment::Stepwise | Experiment::Consecutive => {
            request.budget_s.unwrap_or(effort.budget_s)
        }
        Experiment::Sequential => sequential_s(&cells, systems.len()),
        Experiment::Counted => 0.0,
    };
    let fitting = || blocks_within(budget_s, &cells, systems.len());
    let blocks = request.blocks.unwrap_or_else(|| effort.blocks.min(fitting()));
    let study = Study {
        budget_s,
        blocks,
        rounds: effort.rounds,
        cells,
        setups,
        experiment: effort.experiment,
        limits: limits.transpose()?,
        ..study_of(request)
    };
    let scaled = request.scaled.clone();
    Ok(StudyPlan { systems, source: request.source.clone(), study, scaled, shard: None })
}

fn check_suite(request: &Request, effort: &Effort) -> PlanResult<()> {
    let is_published = effort.experiment == Experiment::Sequential;
    let suite = suite_facts(request.suite);
    let conflict = if let Some(why) = (suite.refused)(request) {
        why
    } else if request.check && is_published {
        "`--check` does not work with preset `published`"
    } else if request.count != Counting::None && is_published {
        "counts do not work with preset `published`"
    } else {
        return Ok(());
    };
    Err(PlanError::Conflict(conflict))
}

/// Refuses tests that cannot be counted, and timing options where nothing is timed.
fn check_counting(request: &Request, systems: &[PlannedSystem]) -> PlanResult<()> {
    if request.count != Counting::None && systems.iter().any(|system| system.url.is_some()) {
        return Err(PlanError::Conflict(
            "counts need servers that assay starts: valgrind cannot attach to a server that is already running",
        ));
    }
    if request.count != Counting::Only {
        return Ok(());
    }
    let has_clients = |setup: &SetupRequest| setup.clients.as_ref().is_some_and(|it| *it != [1]);
    let clients = request.setups.iter().any(has_clients).then_some("clients");
    match first_change(request, &request.clone().untimed()).or(clients) {
        Some(option) => Err(PlanError::NothingTimed { option }),
        None => Ok(()),
    }
}

/// Refuses `CREATE TABLE` options and statement modes that some system does not support.
fn check_form(request: &Request, systems: &[PlannedSystem]) -> PlanResult<()> {
    check_statements(request, systems)?;
    let is_postgres = |system: &PlannedSystem| system.spec.product.dialect() == Dialect::Postgres;
    let text = &request.oltp.create_table_options;
    if !text.is_empty() && systems.iter().any(is_postgres) && !systems.iter().all(is_postgres) {
        return Err(PlanError::Conflict(
            "`--create-table-options` is one text for all systems, but Postgres has other table options than MySQL and \
             MariaDB",
        ));
    }
    Ok(())
}

fn check_running(
    systems: &[PlannedSystem],
    experiment: Experiment,
    request: &Request,
) -> PlanResult<()> {
    let is_pinned = request.placement.is_some_and(|placement| placement != CpuPlacement::Free);
    let mut seen = HashSet::new();
    for system in systems.iter().filter(|system| system.url.is_some()) {
        let why = if experiment == Experiment::Sequential {
            "preset published works only with servers that assay starts"
        } else if is_pinned || request.server_cpus.is_some() {
            "a running server cannot be pinned to CPUs"
        } else if !system.spec.overrides.is_empty() {
            "the options of a running server cannot be set"
        } else if system.is_twin {
            "`--twin` works only for systems that assay starts"
        } else if !seen.insert(&system.spec.origin) {
            return Err(PlanError::SameDatabase(system.spec.to_string()));
        } else {
            continue;
        };
        return Err(PlanError::cannot_take_part(&system.name, why));
    }
    Ok(())
}

fn shares_threads(spec: &SystemSpec) -> bool {
    let own = ["one-thread-per-connection", "0"];
    asked(spec, "thread_handling")
        .is_some_and(|it| !own.contains(&it.to_ascii_lowercase().as_str()))
}

fn setups(request: &Request, effort: &Effort) -> PlanResult<Vec<Setup>> {
    let mut setups = Vec::new();
    for asked in &request.setups {
        let tables = in_range("--tables", asked.tables.unwrap_or(effort.tables), &TABLES)?;
        let rows = in_range("--rows", asked.rows.unwrap_or(effort.rows), &ROWS)?;
        for &count in asked.clients.as_ref().unwrap_or(&effort.clients) {
            let clients = in_range("--clients", count, &CLIENTS)?;
            let setup = Setup { clients, tables, rows };
            if !setups.contains(&setup) {
                // Each of them is compared with all before it.
                at_most(
                    "setups",
                    setups.len() + 1,
                    CELLS,
                    "split the measurement into several studies",
                )?;
                setups.push(setup);
            }
        }
    }
    if setups.is_empty() {
        return Err(PlanError::out_of_range(
            "--clients",
            "",
            "at least one client count is needed",
        ));
    }
    Ok(setups)
}

fn setups_of(
    schema: &Schema,
    tests: &[Test],
    request: &Request,
    effort: &Effort,
    setups: Vec<Setup>,
    systems: &[PlannedSystem],
) -> PlanResult<Vec<Setup>> {
    let facts = schema.facts();
    // Only users' workloads have names.
    if facts.name().is_some() {
        refuse_shipped_options(request, effort)?;
    }
    if let Some(data) = tests.first().and_then(|test| test.user_data()) {
        check_tables(data, tests, systems)?;
    }
    if let Some(why) = facts.extended_refused()
        && request.statements == StatementMode::Extended
    {
        return Err(PlanError::Conflict(why));
    }
    Ok(match facts.own_rows() {
        Some(rows) => with_rows(&setups, rows),
        None => setups,
    })
}

fn refuse_shipped_options(request: &Request, effort: &Effort) -> PlanResult<()> {
    if effort.experiment == Experiment::Sequential {
        let why = "it reproduces published studies, which have the published tests";
        return Err(PlanError::out_of_range("--preset", request.preset.word(), why));
    }
    if request.check {
        return Err(PlanError::Conflict(
            "`--check` works only on sysbench's tables, not on those of a workload",
        ));
    }
    for asked in &request.setups {
        let given = [("--tables", asked.tables), ("--rows", asked.rows)];
        if let Some((option, Some(value))) = given.into_iter().find(|(_, value)| value.is_some()) {
            let why = "the workload file says what tables and rows there are";
            return Err(PlanError::out_of_range(option, value, why));
        }
    }
    Ok(())
}

fn check_tables(data: &UserData, tests: &[Test], systems: &[PlannedSystem]) -> PlanResult<()> {
    for system in systems {
        let dialect = system.spec.product.dialect();
        check_user_tables(data, &system.name, dialect)?;
        for test in tests {
            check_user_test(*test, &system.name, dialect)?;
        }
    }
    Ok(())
}

fn with_rows(setups: &[Setup], rows: u64) -> Vec<Setup> {
    let rows = u32::try_from(rows).unwrap_or(u32::MAX).clamp(1, *ROWS.end());
    let mut own: Vec<Setup> = Vec::new();
    for setup in setups {
        let setup = Setup { tables: 1, rows, ..*setup };
        if !own.contains(&setup) {
            own.push(setup);
        }
    }
    own
}

pub fn check_user_tables(data: &UserData, name: &str, dialect: Dialect) -> PlanResult<()> {
    let workload = &data.name;
    if data.lacks_dump(dialect) {
        return Err(PlanError::CannotTakePart {
            name: name.to_owned(),
            why: format!("the dump of workload `{workload}` is one of another family of products")
                .into(),
            hint: Some(
                "leave the system out, or name a dump for each: `dump = { mysql = \"...\", postgres = \"...\" }`",
            ),
        });
    }
    let Some(table) = data.lacks(dialect) else { return Ok(()) };
    if data.tables.iter().all(|it| it.is_for_postgres_only()) {
        return Err(postgres_only(name, workload));
    }
    let why = format!(
        "workload `{workload}` does not say how to create its table `{}` there",
        table.name
    );
    Err(PlanError::cannot_take_part(name, why))
}

fn postgres_only(name: &str, workload: &str) -> PlanError {
    PlanError::CannotTakePart {
        name: name.to_owned(),
        why: format!("workload `{workload}` is for Postgres only").into(),
        hint: Some(
            "a script of pgbench, or tables that have only `postgres`, run on Postgres; for MariaDB and MySQL, \
             write a workload file: `docs/reference/workload-files.md` shows how",
        ),
    }
}

/// Checks that a test has a statement for a server of this dialect, unless only its program knows its statements.
pub fn check_user_test(test: Test, name: &str, dialect: Dialect) -> PlanResult<()> {
    if test.user_data().is_none() || sends_something(test, dialect) {
        return Ok(());
    }
    Err(match dialect {
        Dialect::MySql => postgres_only(name, &test.name),
        Dialect::Postgres => PlanError::CannotTakePart {
            name: name.to_owned(),
            why: format!("test `{}` has no statement for it", test.name).into(),
            hint: Some("leave the system out, or give the steps of the test a `postgres` text"),
        },
    })
}

fn sends_something(test: Test, dialect: Dialect) -> bool {
    let kinds = test.roles.iter().flat_map(|role| &role.script.mix);
    kinds.flat_map(|kind| &kind.steps).any(|step| match step {
        UserStep::Send { sql, .. } => sql.for_dialect(dialect).is_some(),
        UserStep::Sleep { .. } | UserStep::Pipeline { .. } => false,
    })
}

fn check_statements(request: &Request, systems: &[PlannedSystem]) -> PlanResult<()> {
    let is_other = |it: &&PlannedSystem| it.spec.product.dialect() != Dialect::Postgres;
    match systems.iter().find(is_other) {
        Some(system) if request.statements == StatementMode::Extended => {
            let why = format!(
                "only Postgres parses and executes in one message, and `{}` does not",
                system.name
            );
            Err(PlanError::out_of_range("--db-ps-mode", request.statements.word(), why))
        }
        _ => Ok(()),
    }
}

/// Orders the cells by data set. On each, every test runs at all client counts in turn, as published: writes come after
/// all reads that precede them.
fn cells(
    request: &Request,
    effort: &Effort,
    tests: &[Test],
    setups: &[Setup],
    scheduling: &CellScheduling,
) -> Vec<PlannedCell> {
    let mut data: Vec<DataSet> = Vec::new();
    for setup in setups {
        if !data.contains(&setup.data()) {
            data.push(setup.data());
        }
    }
    let mut cells = Vec::with_capacity(tests.len() * setups.len());
    for data in data {
        for &test in tests {
            let on_it = setups.iter().filter(|setup| setup.data() == data);
            cells.extend(on_it.map(|&setup| {
                planned_cell(test, setup, scheduling.of_cell(test, setup), effort, request)
            }));
        }
    }
    cells
}

fn sequential_s(cells: &[PlannedCell], systems: usize) -> f64 {
    let once: f64 = cells.iter().map(|cell| f64::from(cell.warm_ms + cell.slice_ms)).sum();
    once / 1000.0 * systems as f64
}

/// Maximum warm part of a turn: one part in this many of its measured part.
const WARM_PART: u32 = 5;

fn planned_cell(
    test: Test,
    setup: Setup,
    (placement, priority): (CpuPlacement, Priority),
    effort: &Effort,
    request: &Request,
) -> PlannedCell {
    let as_read =
        effort.experiment == Experiment::Sequential && test.planning.is_timed_as_published;
    let is_write = test.class == Class::Write && !as_read;
    let is_long = effort.experiment == Experiment::Interleaved
        && test.planning.is_long
        && !effort.times_turns;
    let preset_ms = match is_write {
        true => effort.write_slice_ms,
        false if is_long => effort.slice_ms * LONG,
        false => effort.slice_ms,
    };
    let asked_s = request.write_slice_s.filter(|_| is_write).or(request.slice_s);
    let ms = |seconds: f64| (seconds * 1000.0).ceil() as u32;
    // A longer turn needs a longer slice: two of them are an order of the systems and its reverse.
    let of_turns = request.turn_s.map_or(0, |turn_s| ms(turn_s).saturating_mul(2));
    let slice_ms = asked_s.map_or_else(|| preset_ms.max(of_turns), ms);
    let preset_turn_ms = if is_write { effort.write_turn_ms } else { effort.turn_ms };
    let preset_turn_ms = match setup.clients {
        1 => preset_turn_ms,
        _ => preset_turn_ms.saturating_mul(SEVERAL).max(SEVERAL_MIN_MS),
    };
    // Long slices imply long turns unless specified otherwise.
    let turn_ms = request.turn_s.map(ms).or(asked_s.map(ms)).unwrap_or(preset_turn_ms);
    let turn_ms = turn_ms.clamp(1, slice_ms.max(1));
    let warm_ms = turn_ms.div_ceil(WARM_PART).min(effort.warm_ms);
    let is_asked = request.turn_s.is_some() || asked_s.is_some();
    PlannedCell {
        id: CellId { test, setup },
        warm_ms,
        warm_us: (is_asked || !effort.times_turns).then(|| warm_ms.saturating_mul(1000)),
        turn_ms,
        slice_ms,
        events: None,
        placement,
        priority,
    }
}

/// Factor for slices of reads with events of tens of milliseconds, where turn lengths are not measured.
const LONG: u32 = 3;

/// Several clients do not begin and end a turn at the same moment, so their turns are longer by this factor, with a
/// minimum.
const SEVERAL: u32 = 3;
const SEVERAL_MIN_MS: u32 = 6;

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
