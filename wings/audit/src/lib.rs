//! `assay audit`: starts systems and compares their settings, builds and plans. The only load is a small table. Files
//! with settings take part too.

mod files;
mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_command::args::{ConfigArg, GetArgs, OwnArgs, SYSTEMS, ShapeWord, SourceArg, TermsArg};
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, config_file, report};
use assay_load::TableContent;
use assay_model::{DataSet, Dialect, Origin, Preset, StartFrom, StatementMode, Study, System};
use assay_plan::{MachineFacts, Request, SystemRequest, parse_system};
use assay_run::advice::HintedError;
use assay_run::progress::Progress;
use assay_run::systems::{
    Environment, GatheredSystems, Instance, LocalSite, Participant, Questions, StudyTables, Warm,
    check_options, data_fact, environment, facts, gathered, leave_root_for, machine_facts, on_disk,
    start_on_empty, terms_of,
};
use assay_run::{machine_lock, workload};
use assay_servers::ServerInstance;
use assay_servers::audit::{AuditFacts, AuditedSystem};
use assay_terms::Terms;
use assay_wire::Connection;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use files::{AuditedFile, audited_file};
use page::{AuditResult, ComparedCounts, FileSummary};

const HELP: &str = "\
or a FILE with the settings of one server: the output of SHOW GLOBAL VARIABLES in any form of the
client, of pg_settings or of SHOW CREATE TABLE; a my.cnf; a postgresql.conf. For example
  assay audit ma1011.txt my84.txt my96.txt
  assay audit old=my.cnf mysql@8.4=new.cnf mysql://user@host/db
NAME=FILE gives it a name, and PRODUCT@VERSION=FILE says which server a config file is for. Settings
that a config file lacks are not compared, because the file does not show the server's defaults.";

#[derive(Debug, Args)]
#[command(after_help = format!("{SYSTEMS}\n\n{HELP}"))]
pub struct Audit {
    /// Two or more systems, such as `mariadb@10.11 mariadb@11.8`, or files with settings of servers
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
    const ABOUT: &'static str =
        "Compare effective settings of systems, running servers and files, without load";
    const GROUP: CommandGroup = CommandGroup::Servers;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        if self.systems.len() < 2 {
            bail!(HintedError::new(
                "an audit needs at least one other system to compare with",
                EXAMPLE
            ));
        }
        let files = self.systems.iter().map(|word| audited_file(word));
        let files = files.collect::<Result<Vec<Option<AuditedFile>>>>()?;
        let words = self.systems.iter().zip(&files).filter(|(_, file)| file.is_none());
        let servers: Vec<String> = words.map(|(word, _)| word.clone()).collect();
        let audited = if servers.is_empty() {
            if !self.own.workload.is_empty() || !self.config.config.is_empty() {
                bail!(HintedError::new(
                    "`--workload` and `--config` are for servers, and all systems are files",
                    "leave them out, or name a system, such as `mysql@8.4`"
                ));
            }
            AuditedServers { each: Vec::new(), terms: Terms::or_default(None), is_whole: true }
        } else {
            self.ask_servers(&servers, cache_dir)?
        };
        let AuditedServers { each, terms, is_whole } = audited;
        let format = self.getting.shape.format;
        report::write_stdout(&shown(&AuditedSystems::new(files, each), terms, format))?;
        Ok(if is_whole { Exit::Done } else { Exit::Incomplete })
    }
}

impl Audit {
    /// Starts systems, or connects to them, and asks for their settings and plans.
    fn ask_servers(&self, words: &[String], cache_dir: Option<&Path>) -> Result<AuditedServers> {
        let GetArgs { offline, accept_expired_index, quiet, .. } = self.getting;
        let progress = Progress::new(quiet);
        let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
        let machine = machine_facts(&env.cache_dir)?;
        let request = self.config.in_request(self.own.in_request(Request {
            source: self.from.source.clone(),
            terms: self.terms.or_usual(Preset::default()),
            ..Request::of_systems(&planned_words(words)?)
        }));
        let request = config_file::ready(request, machine, quiet)?;
        let unlimited = MachineFacts { memory_mb: u64::MAX / 8, disk_mb: u64::MAX, ..machine };
        let tests = workload::suite(&request)?;
        let mut plan = assay_plan::plan_of(&request, unlimited, tests.clone())?;
        plan.systems.truncate(words.len());
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
        let questions = Questions {
            data,
            tests: &tests,
            statements: StatementMode::default(),
            seed: plan.study.seed,
            warm: None,
        };
        let mut found = BTreeMap::new();
        for participant in &participants {
            env.interrupt.check()?;
            let system = participant.system.clone();
            progress.update(&format!("asking {}", system.name));
            let facts = facts_of(participant, &plan.study, &questions, (&env, &local))?;
            found.insert(system.name.clone(), (system, facts));
        }
        progress.finish();
        let each = plan.systems.iter().map(|planned| found.remove(&planned.name)).collect();
        let terms = terms_of(&plan.study)?;
        Ok(AuditedServers { each, terms, is_whole: missing.is_empty() })
    }
}

/// A plan needs two systems. A lone one among files gets a companion, which is not started.
fn planned_words(words: &[String]) -> Result<Vec<String>> {
    let mut planned = words.to_vec();
    if let [alone] = words {
        let spec = parse_system(&SystemRequest::parse(alone).words)?;
        let (product, example) = (spec.product, spec.product.facts().example);
        planned.push(match spec.origin {
            // A running server cannot take part twice.
            Origin::Url(_) => format!("{product}@{example}"),
            _ => alone.clone(),
        });
    }
    Ok(planned)
}

/// The facts of a server, which is started if it does not run already.
fn facts_of(
    participant: &Participant,
    study: &Study,
    questions: &Questions,
    (env, local): (&Environment, &LocalSite),
) -> Result<AuditFacts> {
    let system = &participant.system;
    let Questions { data, tests, statements, seed, .. } = *questions;
    if let Some(attached) = &participant.attached {
        // The tables of a running server are left alone.
        let instance = Instance::Attached(attached.clone());
        let questions = Questions { data, tests: &[], statements, seed, warm: None };
        return facts(&instance, system, &questions);
    }
    let (System { name, options, .. }, prefix) = (system, participant.prefix()?);
    let server = start_on_empty(env, prefix, options, name, |empty| {
        ServerInstance::start(&local.site, prefix, options, empty)
    });
    let server = server.with_context(|| format!("cannot start `{name}`"))?;
    let instance = Instance::Started(server);
    let (content, warm) = load(&instance, system, study, data)?;
    let questions = Questions { data, tests, statements, seed, warm: Some(&warm) };
    let mut facts = facts(&instance, system, &questions)?;
    let data = study.setups.first().map_or(data, |setup| setup.data());
    let content = (content.rows, content.checksum.as_str());
    facts.settings.extend([data_fact(study, data, StartFrom::Fresh, content)]);
    instance.stop()?;
    Ok(facts)
}

/// The systems other than files.
struct AuditedServers {
    /// In the order of the plan; `None` for a system that cannot be obtained.
    each: Vec<Option<(System, AuditFacts)>>,
    terms: &'static Terms,
    /// Whether no system is missing.
    is_whole: bool,
}

/// All systems in the order of the command line, without missing ones.
#[derive(Default)]
struct AuditedSystems {
    systems: Vec<System>,
    facts: Vec<AuditFacts>,
    files: Vec<Option<FileSummary>>,
}

impl AuditedSystems {
    /// `servers` are those in the gaps between the files.
    fn new(
        files: Vec<Option<AuditedFile>>,
        servers: impl IntoIterator<Item = Option<(System, AuditFacts)>>,
    ) -> Self {
        let (mut all, mut servers) = (Self::default(), servers.into_iter());
        for file in files {
            let (system, facts, summary) = match file {
                Some(AuditedFile { system, facts, summary }) => (system, facts, Some(summary)),
                None => match servers.next().flatten() {
                    Some((system, facts)) => (system, facts, None),
                    None => continue,
                },
            };
            let (name, is_base) = (all.unused_name(&system.name), all.systems.is_empty());
            all.systems.push(System { name, is_base, ..system });
            all.facts.push(facts);
            all.files.push(summary);
        }
        all
    }

    fn unused_name(&self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name} #{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let is_unused = |name: &String| self.systems.iter().all(|it| it.name != *name);
        names.find(is_unused).unwrap_or_default()
    }
}

/// Large enough for plans to use indexes.
const DATA: DataSet = DataSet { tables: 1, rows: 100_000 };

const EXAMPLE: &str = "for example `assay audit mariadb@10.11 mariadb@11.8`";

fn shown(all: &AuditedSystems, terms: &Terms, format: ShapeWord) -> String {
    let AuditedSystems { systems, facts, files } = all;
    let audited = systems.iter().zip(facts);
    let audited: Vec<_> =
        audited.map(|(system, facts)| AuditedSystem { spec: &system.spec, facts }).collect();
    let builds: Vec<_> = systems.iter().map(|system| system.artifact.sha256()).collect();
    let result = AuditResult {
        systems,
        findings: &assay_servers::audit::compare(&audited, terms),
        same: &assay_servers::audit::same_systems(&audited, &builds, terms),
        compared: compared(systems, facts),
        files,
    };
    match format {
        ShapeWord::Text => page::audit_text(result),
        ShapeWord::Json => page::audit_json(result),
    }
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
    Ok((report.content, tables.warm(&options)?))
}

#[cfg(test)]
mod tests;
