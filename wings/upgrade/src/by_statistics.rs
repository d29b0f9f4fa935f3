//! Plans of the statements of a log in each version, from statistics of the planner, without rows.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use assay_capture::{PlannerStatistics, planner_statistics};
use assay_command::exit::Exit;
use assay_command::{config_file, report};
use assay_model::{Dialect, DumpFindingKind, System, Test};
use assay_plan::{MachineFacts, Request, StudyPlan};
use assay_report::blocks::only_kind;
use assay_report::{Format, Page};
use assay_run::advice::HintedError;
use assay_run::progress::Progress;
use assay_run::systems::{
    Environment, GatheredSystems, Instance, LocalSite, Participant, Questions, StudyTables, Warm,
    check_options, environment, facts, gathered, leave_root_for, machine_facts, on_disk,
    start_on_empty,
};
use assay_run::{machine_lock, workload};
use assay_servers::ServerInstance;
use assay_servers::audit::AuditedPlan;
use assay_wire::Connection;

use crate::arguments::UpgradeArgs;
use crate::files;
use crate::relation_files::extend;
use crate::restored_statistics::{RestoredStatistics, restore};
use crate::statistics_page::StatisticsResult;

/// Options of the sandboxes. Nothing may replace the statistics, the changed pages have no checksums, and nothing reads
/// long files of zeros to their end.
const OPTIONS: [&str; 3] =
    ["--autovacuum=off", "--data_checksums=off", "--statement_timeout=60000"];

/// Bytes of a file of statistics. Those of 10,000 columns have 20 MB.
const BYTES_MAX: u64 = 256 << 20;

const STATISTICS: &str = "`pg_dump --statistics-only` of version 18 or later writes them in plain format, and so \
                          does the query that `assay workload stats-query` prints";

/// The query that writes statistics without `pg_dump`.
pub(crate) const QUERY: &str = include_str!("statistics.sql");

pub(crate) fn compare_plans(
    args: &UpgradeArgs,
    request: Request,
    cache_dir: Option<&Path>,
) -> Result<Exit> {
    let measuring = &args.measuring;
    report::check(&measuring.output, None, &measuring.ledger)?;
    if report::format(&measuring.output)? == Format::CSV {
        bail!(report::MissingFormat(Format::CSV.word));
    }
    let all = args.stats.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let progress = Progress::new(measuring.quiet);
    let (offline, accept_expired) = (measuring.offline, measuring.accept_expired_index);
    let env = environment(cache_dir, offline, accept_expired, &progress)?;
    let (plan, tests) = planned(request, &env, measuring.quiet)?;
    let GatheredSystems { participants, missing } = gathered(&plan, &env)?;
    check_options(&participants, &env)?;
    machine_lock::warn_if_measuring("this comparison");
    let local = LocalSite::new(&env)?;
    local.collect_garbage()?;
    leave_root_for(&participants, &local)?;
    let files: Vec<String> = args.stats.iter().map(|path| path.display().to_string()).collect();
    let mut result = StatisticsResult {
        systems: Vec::new(),
        plans: Vec::new(),
        tests,
        files,
        limits: Vec::new(),
    };
    for participant in participants.iter().filter(|participant| !participant.system.is_twin) {
        let system = &participant.system;
        let mut plans = Vec::new();
        for (statistics, file) in all.iter().zip(&result.files) {
            env.interrupt.check()?;
            progress.update(&format!("{}: planning by `{file}`", system.name));
            let tests = result.tests.as_slice();
            let (found, limits) =
                plans_by(statistics, participant, (&plan, tests), (&env, &local))?;
            plans.push(found);
            for limit in limits {
                // Several files of one schema have the same gaps.
                if !result.limits.contains(&limit) {
                    result.limits.push(limit);
                }
            }
        }
        result.systems.push(system.clone());
        result.plans.push(plans);
    }
    progress.finish();
    report::put(&measuring.output, &Page::new(result))?;
    Ok(if missing.is_empty() { Exit::Done } else { Exit::Incomplete })
}

fn read(path: &Path) -> Result<PlannerStatistics> {
    files::check_regular(path, STATISTICS)?;
    let text = files::head(path, BYTES_MAX + 1)?;
    let shown = path.display();
    ensure!(text.len() as u64 <= BYTES_MAX, "`{shown}` has more than {} MiB", BYTES_MAX >> 20);
    planner_statistics(&text).map_err(|error| {
        HintedError::new(format!("cannot read the statistics `{shown}`: {error}"), STATISTICS)
            .into()
    })
}

/// The study, which is not measured, and its tests of one kind of events.
fn planned(request: Request, env: &Environment, quiet: bool) -> Result<(StudyPlan, Vec<Test>)> {
    let machine = machine_facts(&env.cache_dir)?;
    let request = config_file::ready(request, machine, quiet)?;
    let unlimited = MachineFacts { memory_mb: u64::MAX / 8, disk_mb: u64::MAX, ..machine };
    let plan = assay_plan::plan_of(&request, unlimited, workload::suite(&request)?)?;
    for planned in &plan.systems {
        let name = &planned.name;
        if planned.spec.product.dialect() != Dialect::Postgres {
            bail!(HintedError::new(
                format!("`--stats` is for Postgres, and `{name}` is none"),
                "without it, assay measures the statements on rows"
            ));
        }
        if planned.url.is_some() {
            bail!(HintedError::new(
                format!("`{name}` runs already, and `--stats` would replace its statistics"),
                "name a version, such as `postgres@18`, which assay starts"
            ));
        }
    }
    let specs: Vec<_> = plan.systems.iter().map(|planned| &planned.spec).collect();
    let data = assay_plan::largest(&plan.study).data();
    assay_plan::check_audit(&plan.study, &specs, data, machine)
        .map_err(|error| on_disk(assay_plan::advised(error, &request), &env.cache_dir))?;
    let mut tests: Vec<Test> = Vec::new();
    for cell in &plan.study.cells {
        // The statements of a mix are those of the other tests.
        if only_kind(cell.id.test).is_some() && !tests.contains(&cell.id.test) {
            tests.push(cell.id.test);
        }
    }
    Ok((plan, tests))
}

/// Plans of all tests under statistics, and the limits of the comparison.
fn plans_by(
    statistics: &PlannerStatistics,
    participant: &Participant,
    (plan, tests): (&StudyPlan, &[Test]),
    (env, local): (&Environment, &LocalSite),
) -> Result<(Vec<AuditedPlan>, Vec<String>)> {
    let (system, study) = (&participant.system, &plan.study);
    let System { name, options, .. } = system;
    let prefix = participant.prefix()?;
    let options: Vec<String> = options.iter().cloned().chain(OPTIONS.map(str::to_owned)).collect();
    let server = start_on_empty(env, prefix, &options, name, |empty| {
        ServerInstance::start(&local.site, prefix, &options, empty)
    });
    let mut instance = Instance::Started(server.with_context(|| format!("cannot start `{name}`"))?);
    instance.create_database()?;
    let data = assay_plan::largest(study).data();
    let tables = StudyTables::new(study, &system.spec, data);
    let load = tables.fill(&instance.connect_options(), true, &mut |_| {});
    let load = load.with_context(|| format!("cannot restore the dump into `{name}`"))?;
    let mut control = Connection::control(&instance.connect_options())?;
    let restored = restore(&mut control, statistics);
    let restored = restored.with_context(|| format!("cannot use statistics in `{name}`"))?;
    drop(control);
    if let Instance::Started(server) = &mut instance {
        server.change_data(prefix, &options, |data_dir| {
            extend(data_dir, &restored.files, restored.segment)
        })?;
    }
    let warm = Warm::without_rows();
    let (statements, seed) = (study.statements, study.seed);
    let questions = Questions { data, tests, statements, seed, warm: Some(&warm) };
    let plans = facts(&instance, system, &questions)?.plans;
    instance.stop()?;
    let mut limits = limits(name, &restored, statistics.others);
    let refused = load.restored.iter().filter(|finding| finding.what == DumpFindingKind::Error);
    limits.extend(refused.map(|finding| {
        format!("{name} refuses line {} of the dump: {}", finding.line, finding.message)
    }));
    Ok((plans, limits))
}

fn limits(system: &str, restored: &RestoredStatistics, others: u64) -> Vec<String> {
    let mut limits = Vec::new();
    if !restored.tables_without.is_empty() {
        let names = few(restored.tables_without.iter().map(String::as_str));
        limits.push(format!("the planner assumes 10 pages for tables without statistics: {names}"));
    }
    if !restored.unknown.is_empty() {
        let names = few(restored.unknown.iter().map(String::as_str));
        limits.push(format!(
            "statistics of relations and columns that {system} lacks are left out: {names}"
        ));
    }
    if others > 0 {
        limits.push("statistics of several columns together are not restored".to_owned());
    }
    if !restored.refused.is_empty() {
        let messages: BTreeSet<&str> = restored.refused.iter().map(String::as_str).collect();
        limits.push(format!("{system} refuses statistics: {}", few(messages)));
    }
    limits
}

/// The first names, and the number of the others.
fn few<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const SHOWN: usize = 5;
    let names: Vec<&str> = names.into_iter().collect();
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
