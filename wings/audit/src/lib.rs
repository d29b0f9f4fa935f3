//! `assay audit`: starts systems and compares their settings, builds and plans. The only load is a small table.

mod page;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_command::args::{ConfigArg, GetArgs, OwnArgs, SYSTEMS, ShapeWord, SourceArg, TermsArg};
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, config_file, report};
use assay_load::TableContent;
use assay_model::{DataSet, Dialect, Preset, StartFrom, StatementMode, Study, System};
use assay_plan::{MachineFacts, Request};
use assay_run::advice::HintedError;
use assay_run::progress::Progress;
use assay_run::systems::{
    GatheredSystems, Instance, LocalSite, Questions, StudyTables, Warm, check_options, data_fact,
    environment, facts, gathered, leave_root_for, machine_facts, on_disk, start_on_empty, terms_of,
};
use assay_run::{machine_lock, workload};
use assay_servers::ServerInstance;
use assay_servers::audit::{AuditFacts, AuditedSystem};
use assay_wire::Connection;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use page::{AuditResult, ComparedCounts};

#[derive(Debug, Args)]
#[command(after_help = SYSTEMS)]
pub struct Audit {
    /// Two or more systems, such as `mariadb@10.11 mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    pub systems: Vec<String>,

    #[command(flatten)]
    pub own: OwnArgs,

    #[command(flatten)]
    pub from: SourceArg,

    #[command(flatten)]
    pub terms: TermsArg,

    #[command(flatten)]
    pub config: ConfigArg,

    #[command(flatten)]
    pub getting: GetArgs,
}

impl Arguments for Audit {
    const NAME: &'static str = "audit";
    const ABOUT: &'static str = "Start systems and compare their effective settings, without load";
    const GROUP: CommandGroup = CommandGroup::Servers;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let GetArgs { offline, accept_expired_index, quiet, .. } = self.getting;
        let progress = Progress::new(quiet);
        let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
        let machine = machine_facts(&env.cache_dir)?;
        let request = self.config.in_request(self.own.in_request(Request {
            source: self.from.source.clone(),
            terms: self.terms.or_usual(Preset::default()),
            ..Request::of_systems(&self.systems)
        }));
        let request = config_file::ready(request, machine, quiet)?;
        if self.systems.len() < 2 {
            bail!(HintedError::new(
                "an audit needs at least one other system to compare with",
                EXAMPLE
            ));
        }
        let unlimited = MachineFacts { memory_mb: u64::MAX / 8, disk_mb: u64::MAX, ..machine };
        let tests = workload::suite(&request)?;
        let plan = assay_plan::plan_of(&request, unlimited, tests.clone())?;
        let specs: Vec<_> = plan.systems.iter().map(|it| &it.spec).collect();
        let data = plan.study.user_data().map_or(DATA, |_| assay_plan::largest(&plan.study).data());
        assay_plan::check_audit(&plan.study, &specs, data, machine)
            .map_err(|error| on_disk(assay_plan::advised(error, &request), &env.cache_dir))?;
        let GatheredSystems { participants, missing } = gathered(&plan, &env)?;
        check_options(&participants, &env)?;
        machine_lock::warn_if_measuring("this audit");
        let local = LocalSite::new(&env)?;
        local.collect_garbage()?;
        leave_root_for(&participants, &local)?;
        let systems: Vec<System> = participants.iter().map(|it| it.system.clone()).collect();
        let questions = Questions {
            data,
            tests: &tests,
            statements: StatementMode::default(),
            seed: plan.study.seed,
            warm: None,
        };
        let mut all_facts = Vec::with_capacity(systems.len());
        for participant in &participants {
            env.interrupt.check()?;
            let system = &participant.system;
            progress.update(&format!("asking {}", system.name));
            if let Some(attached) = &participant.attached {
                // The tables of a running server are left alone.
                let instance = Instance::Attached(attached.clone());
                all_facts.push(facts(&instance, system, &Questions { tests: &[], ..questions })?);
                continue;
            }
            let (System { name, options, .. }, prefix) = (system, participant.prefix()?);
            let server = start_on_empty(&env, prefix, options, name, |empty| {
                ServerInstance::start(&local.site, prefix, options, empty)
            });
            let server = server.with_context(|| format!("cannot start `{name}`"))?;
            let instance = Instance::Started(server);
            let (content, warm) = load(&instance, system, &plan.study, data)?;
            let questions = Questions { warm: Some(&warm), ..questions };
            let mut facts = facts(&instance, system, &questions)?;
            let data = plan.study.setups.first().map_or(data, |setup| setup.data());
            let content = (content.rows, content.checksum.as_str());
            facts.settings.extend([data_fact(&plan.study, data, StartFrom::Fresh, content)]);
            all_facts.push(facts);
            instance.stop()?;
        }
        progress.finish();
        report::write_stdout(&shown(
            &systems,
            &all_facts,
            &plan.study,
            self.getting.shape.format,
        )?)?;
        Ok(if missing.is_empty() { Exit::Done } else { Exit::Incomplete })
    }
}

/// Large enough for plans to use indexes.
const DATA: DataSet = DataSet { tables: 1, rows: 100_000 };

const EXAMPLE: &str = "for example `assay audit mariadb@10.11 mariadb@11.8`";

fn shown(
    systems: &[System],
    facts: &[AuditFacts],
    study: &Study,
    format: ShapeWord,
) -> Result<String> {
    let audited = systems.iter().zip(facts);
    let audited: Vec<_> =
        audited.map(|(system, facts)| AuditedSystem { spec: &system.spec, facts }).collect();
    let terms = terms_of(study)?;
    let builds: Vec<_> = systems.iter().map(|system| system.artifact.sha256()).collect();
    let result = AuditResult {
        systems,
        findings: &assay_servers::audit::compare(&audited, terms),
        same: &assay_servers::audit::same_systems(&audited, &builds, terms),
        compared: compared(systems, facts),
    };
    Ok(match format {
        ShapeWord::Text => page::audit_text(result),
        ShapeWord::Json => page::audit_json(result),
    })
}

fn compared(systems: &[System], all_facts: &[AuditFacts]) -> ComparedCounts {
    let names: BTreeSet<&String> = all_facts.iter().flat_map(|it| it.settings.keys()).collect();
    ComparedCounts { settings: names.len(), plans: plans_of_all(systems, all_facts) }
}

/// Number of statements that have a plan in every system. Plans of different families are not compared.
fn plans_of_all(systems: &[System], all_facts: &[AuditFacts]) -> usize {
    let is_postgres = |system: &System| system.spec.product.dialect() == Dialect::Postgres;
    if systems.iter().any(is_postgres) && !systems.iter().all(is_postgres) {
        return 0;
    }
    let of_one = |facts: &AuditFacts| -> BTreeSet<(String, String)> {
        let plans = facts.plans.iter();
        plans.map(|plan| (plan.test.to_string(), plan.statement.clone())).collect()
    };
    let common = all_facts.iter().map(of_one).reduce(|all, one| &all & &one);
    common.map_or(0, |common| common.len())
}

fn load(
    server: &Instance,
    system: &System,
    study: &Study,
    data: DataSet,
) -> Result<(TableContent, Warm)> {
    server.create_database()?;
    let tables = StudyTables::new(study, &system.spec, data);
    let options = server.connect_options();
    let report = tables.fill(&options, true, &mut |_| {})?;
    // Only statistics are needed, so this does not wait for pages to be written.
    let mut control = Connection::connect(&options)?;
    assay_servers::maintain(&mut control, &tables.names(&options)?, Duration::ZERO)?;
    Ok((report.content, tables.warm(&options, true)?))
}
