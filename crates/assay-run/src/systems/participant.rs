//! The systems of a study or audit: binaries and configuration.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use assay_load::workload_of;
use assay_model::{
    AUTOCOMMIT_OFF, Artifact, Dialect, EventKind, Origin, Prefix, Product, Study, System,
    SystemSpec, UserData, short_names,
};
use assay_plan::{PlannedSystem, ServerUrl, StudyPlan};
use assay_provision::{Hold, ProvisionError, Provisioner};
use assay_servers::AttachedServer;
use assay_terms::{ServerSizes, Terms};
use assay_workloads::EventProgram;

use super::environment::{Environment, LocalSite};
use super::fetching::{FetchFailure, FetchedPrefixes, fetch_all, provisioner};
use super::from_file::{AcceptedConfig, taken};
use super::study_schema::{StudySchema, refuse_dump};
use crate::advice::HintedError;
use crate::connection::connect_options;
use crate::open_files::Demand;

/// Connections besides the clients: control connections, and closing ones of the last cell.
const CONNECTIONS_SPARE: u32 = 64;

const CONNECTIONS_STEP: u32 = 256;

pub struct Participant {
    pub system: System,
    /// Options of the terms that the system's version lacks.
    pub left_out: Vec<EventKind>,
    pub attached: Option<AttachedServer>,
    /// The place for the tables of a study on an attached server.
    pub schema: Option<StudySchema>,
    /// Keeps the binaries in the cache while they are used.
    pub _hold: Option<Hold>,
}

impl Participant {
    pub fn prefix(&self) -> Result<&Prefix> {
        let System { name, artifact, .. } = &self.system;
        artifact.prefix().with_context(|| format!("`{name}` has no binaries to start"))
    }
}

pub fn terms_of(study: &Study) -> Result<&'static Terms> {
    let name = study.terms.as_deref().context("the study has no terms")?;
    Terms::named(name).ok_or_else(|| {
        let names: Vec<String> = Terms::names().iter().map(|it| format!("`{it}`")).collect();
        let what = format!("this assay does not know the terms `{name}`");
        HintedError::new(what, format!("it knows {}", names.join(" and "))).into()
    })
}

pub fn sizes(study: &Study, cpus: u32) -> ServerSizes {
    let clients = most_clients(study);
    ServerSizes {
        pool_mb: assay_plan::cache_mb(study),
        log_mb: assay_plan::log_mb(study),
        // Rounded up, so that data loaded for one client count can be used with another.
        connections: (clients + CONNECTIONS_SPARE).next_multiple_of(CONNECTIONS_STEP),
        purge_threads: ServerSizes::purge_threads_of(match study.cpus.servers.len() {
            0 => cpus,
            named => named as u32,
        }),
    }
}

/// Maximum number of simultaneous connections. A client of the Insert Benchmark has several, and so has one whose
/// events differ in their session settings.
pub fn most_clients(study: &Study) -> u32 {
    let clients = study.setups.iter().map(|setup| setup.clients).max().unwrap_or(1);
    let sessions = study.cells.iter().flat_map(|cell| {
        Dialect::ALL.map(|it| {
            EventProgram::new(it, cell.id.test, cell.id.setup, study.statements).sessions().len()
        })
    });
    let sessions = u32::try_from(sessions.max().unwrap_or(1)).unwrap_or(1).max(1);
    clients * workload_of(study.schema()).connections().max(sessions)
}

#[derive(Debug)]
pub struct MissingSystem {
    pub name: String,
    pub error: anyhow::Error,
}

pub struct GatheredSystems {
    pub participants: Vec<Participant>,
    pub missing: Vec<MissingSystem>,
}

impl GatheredSystems {
    /// Leaves a system out with a note. Fails if nothing is left to compare: the base or all others are missing. A
    /// shard must have the systems of all others, and a search compares two.
    pub fn leave_out(
        &mut self,
        index: usize,
        missing: MissingSystem,
        plan: &StudyPlan,
        env: &Environment,
    ) -> Result<()> {
        env.interrupt.check()?;
        let is_part = plan.shard.is_some() || plan.study.search.is_some();
        let others = plan.systems.iter().filter(|it| !it.is_twin && it.name != missing.name);
        let is_missing = |name: &str| self.missing.iter().any(|it| it.name == name);
        let left = others.filter(|it| !is_missing(&it.name)).count();
        let MissingSystem { name, error } = missing;
        if is_part || plan.systems.len() < 3 {
            return Err(error);
        }
        if index == 0 {
            return Err(error.context(format!(
                "`{name}` is the base, and nothing is compared without it; to compare the others, name one of them \
                 first"
            )));
        }
        if left < 2 {
            return Err(error.context("too few systems are left to compare"));
        }
        env.progress.failed(&name, &format!("is left out: {error:#}"));
        self.missing.push(MissingSystem { name, error });
        Ok(())
    }
}

/// Like [`get`], but every system is required.
pub fn get_all(plan: &StudyPlan, env: &Environment) -> Result<Vec<Participant>> {
    let GatheredSystems { participants, missing } = get(plan, env)?;
    match missing.into_iter().next() {
        Some(MissingSystem { error, .. }) => Err(error),
        None => Ok(participants),
    }
}

pub fn get(plan: &StudyPlan, env: &Environment) -> Result<GatheredSystems> {
    let logins = plan.systems.iter().filter_map(|planned| planned.login.clone());
    let provisioner = provisioner(env)?.with_logins(logins.collect());
    let provisioner = provisioner.with_source(plan.source.clone())?;
    let mut gathered = GatheredSystems { participants: Vec::new(), missing: Vec::new() };
    let Prefixes { mut prefixes, unreached, agreed } =
        get_prefixes(plan, &provisioner, &mut gathered, env)?;
    let cpus = assay_probe::host(&env.cache_dir)?.cpus;
    let (terms, sizes) = (terms_of(&plan.study)?, sizes(&plan.study, cpus));
    let starts_any = plan.systems.iter().any(|planned| planned.url.is_none());
    Demand::of_study(most_clients(&plan.study), plan.systems.len(), starts_any).raise()?;
    let site = LocalSite::new(env)?.site;
    let mut meant = Vec::new();
    for (index, planned) in plan.systems.iter().enumerate() {
        env.interrupt.check()?;
        let (name, spec) = (&planned.name, &planned.spec);
        if let Some(url) = &planned.url {
            match attach(url, name, spec, index == 0, env) {
                Ok(participant) => gathered.participants.push(participant),
                Err(error) => {
                    let missing = MissingSystem { name: name.clone(), error };
                    gathered.leave_out(index, missing, plan, env)?;
                }
            }
            continue;
        }
        let Some(prefix) = prefixes.remove(&index) else { continue };
        let hold = provisioner.hold(&prefix)?;
        let made = taken(spec, &planned.of_file, (terms, &sizes), &prefix, &site)
            .with_context(|| format!("cannot check the options of `{name}`"))?;
        let AcceptedConfig { spec, rendered, events: of_file, meant: of_system } = made;
        for what in of_file.iter().filter(|_| !planned.is_twin) {
            env.progress.note(&format!("warning: `{name}` {what}"));
        }
        meant.push(of_system);
        let agreed = agreed.get(&spec.product).map(String::as_str);
        let old = provisioner.old_release(&spec, &prefix, agreed);
        let old = old.filter(|_| plan.study.search.is_none() && !planned.is_twin);
        if let Some(old) = &old {
            env.progress.note(&format!("warning: `{name}` {old}"));
        }
        let left_out = rendered.left_out.iter().map(EventKind::from).chain(of_file);
        let left_out = left_out.chain(old.map(EventKind::OldRelease));
        gathered.participants.push(Participant {
            left_out: left_out.collect(),
            attached: None,
            schema: None,
            _hold: Some(hold),
            system: System {
                name: name.clone(),
                spec,
                artifact: Artifact::Prefix(prefix),
                is_base: index == 0,
                is_twin: planned.is_twin,
                options: rendered.options,
            },
        });
    }
    refuse_the_same_twice(&gathered.participants)?;
    note_autocommit(&gathered.participants, env);
    for (name, meant) in misspelt(&meant) {
        env.progress.note(&format!(
            "warning: no system knows `{name}` of the config file; did you mean `{meant}`?"
        ));
    }
    // The builds of a search, and that they may differ, are part of its answer.
    if plan.study.search.is_none() {
        note_builds(&gathered.participants, &unreached, &provisioner, env)?;
    }
    Ok(gathered)
}

struct Prefixes {
    prefixes: BTreeMap<usize, Prefix>,
    unreached: Vec<String>,
    agreed: BTreeMap<Product, String>,
}

/// Fetches the binaries of all available systems. After a failure, the others are fetched again, because another source
/// may have all of them.
fn get_prefixes(
    plan: &StudyPlan,
    provisioner: &Provisioner,
    gathered: &mut GatheredSystems,
    env: &Environment,
) -> Result<Prefixes> {
    let is_of_search = plan.study.search.is_some();
    let all = plan.systems.iter().enumerate();
    let mut ours: Vec<(usize, &PlannedSystem)> = all.filter(|(_, it)| it.url.is_none()).collect();
    loop {
        let named: Vec<_> = ours.iter().map(|(_, it)| (it.name.as_str(), &it.spec)).collect();
        let FetchFailure { index, error } = match fetch_all(provisioner, &named, is_of_search, env)
        {
            Ok(FetchedPrefixes { prefixes, unreached, agreed }) => {
                let places = ours.iter().map(|(index, _)| *index);
                let prefixes = places.zip(prefixes).collect();
                return Ok(Prefixes { prefixes, unreached, agreed });
            }
            Err(not_got) => not_got,
        };
        let is_full = error.chain().any(|cause| {
            cause.downcast_ref::<ProvisionError>().is_some_and(|it| it.missing_room().is_some())
        });
        let Some(at) = index.filter(|at| *at < ours.len() && !is_full) else { return Err(error) };
        let (index, planned) = ours.remove(at);
        let missing = MissingSystem { name: planned.name.clone(), error };
        gathered.leave_out(index, missing, plan, env)?;
    }
}

fn note_builds(
    participants: &[Participant],
    unreached: &[String],
    provisioner: &Provisioner,
    env: &Environment,
) -> Result<()> {
    let started = participants.iter().filter(|it| it.attached.is_none());
    let specs: Vec<&SystemSpec> = started.map(|it| &it.system.spec).collect();
    for product in Product::ALL {
        let Some(differing) = different_makers(participants, product) else { continue };
        let all = match provisioner.has_all(&specs, product)? {
            Some(source) if unreached.contains(&source) => {
                format!("only {source} has all of them")
            }
            Some(source) => format!("`--source {source}` has all of them"),
            None => "no available source has all of them".to_owned(),
        };
        env.progress.note(&format!("note: the builds differ: {differing}; {all}"));
    }
    Ok(())
}

fn note_autocommit(participants: &[Participant], env: &Environment) {
    let systems = participants.iter().map(|it| &it.system).filter(|it| !it.is_twin);
    let off = systems.filter(|it| it.spec.switches_autocommit_off());
    let names: Vec<&str> = off.map(|it| it.name.as_str()).collect();
    if !names.is_empty() {
        let names: Vec<String> =
            short_names(&names).into_iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        env.progress.note(&format!("note: the options of {names} {AUTOCOMMIT_OFF}"));
    }
}

/// Unknown names that resemble other options. Each list has those of one system.
fn misspelt(of_systems: &[Vec<(String, String)>]) -> Vec<&(String, String)> {
    let Some((first, rest)) = of_systems.split_first() else { return Vec::new() };
    let is_everywhere =
        |it: &&(String, String)| rest.iter().all(|of| of.iter().any(|o| o.0 == it.0));
    first.iter().filter(is_everywhere).collect()
}

/// Describes different builds of a product. Builds of directories, repositories and running servers do not count: the
/// user chose them.
fn different_makers(participants: &[Participant], product: Product) -> Option<String> {
    let is_chosen = |it: &&Participant| matches!(it.system.spec.origin, Origin::Version(_));
    let of_product = participants.iter().filter(|it| it.system.spec.product == product);
    let mut makers: BTreeMap<&str, &str> = BTreeMap::new();
    for participant in of_product.filter(is_chosen) {
        let System { name, artifact, .. } = &participant.system;
        let Some(prefix) = artifact.prefix() else { continue };
        makers.entry(assay_provision::maker(&prefix.build)).or_insert(name);
    }
    let message: Vec<_> =
        makers.iter().map(|(maker, name)| format!("`{name}` is from {maker}")).collect();
    (message.len() > 1).then(|| message.join(", "))
}

/// Refuses the same database twice: it is no comparison.
pub fn refuse_the_same_twice(participants: &[Participant]) -> Result<()> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for participant in participants {
        let Some(attached) = &participant.attached else { continue };
        let name = participant.system.name.as_str();
        let identity = attached.identity().with_context(|| format!("cannot query `{name}`"))?;
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == identity) {
            anyhow::bail!("`{other}` and `{name}` are the same database on the same server");
        }
        seen.push((identity, name));
    }
    Ok(())
}

pub fn attach(
    url: &ServerUrl,
    name: &str,
    spec: &SystemSpec,
    is_base: bool,
    env: &Environment,
) -> Result<Participant> {
    let options = connect_options(url, env.interrupt.stop());
    // A stop does not end an attempt to connect to a server that does not answer.
    let attached = env
        .interrupt
        .may_end_in(|| AttachedServer::connect(options))
        .with_context(|| format!("cannot attach to `{url}`"))?;
    let running = attached.describe(&url.to_string());
    let product = running.product;
    let what = format!("is {product} {}, already running", running.version);
    env.progress.done(name, &what);
    let spec = SystemSpec { product, ..spec.clone() };
    let system = System {
        name: name.to_owned(),
        spec,
        artifact: Artifact::Running(running),
        is_base,
        is_twin: false,
        options: Vec::new(),
    };
    let (left_out, attached) = (Vec::new(), Some(attached));
    Ok(Participant { system, left_out, attached, schema: None, _hold: None })
}

/// Message for data that cannot be loaded into a system. The systems after it were not tried, and may fail too.
pub(crate) fn not_loaded(participants: &[Participant], failed: &Participant) -> String {
    let name = |it: &Participant| format!("`{}`", it.system.name);
    let after = participants.iter().skip_while(|it| it.system.name != failed.system.name).skip(1);
    let untried: Vec<String> = after.filter(|it| !it.system.is_twin).map(name).collect();
    let what = format!("cannot load data into {}", name(failed));
    if untried.is_empty() { what } else { format!("{what} (not tried: {})", untried.join(", ")) }
}

/// Makes assay leave root where a server of the participants refuses to run as root; see
/// [`assay_servers::leave_root_where_needed`].
pub fn leave_root_for(participants: &[Participant], local: &LocalSite) -> Result<()> {
    let started = participants.iter().filter(|it| it.attached.is_none());
    let mut refuse = started.filter(|it| it.system.spec.product.facts().refuses_root);
    let Some(participant) = refuse.next() else { return Ok(()) };
    let name = &participant.system.name;
    let has_left = assay_servers::leave_root_where_needed()
        .with_context(|| format!("cannot run `{name}` as a user other than root"))?;
    // An earlier assay that left root may have left garbage that belongs to that user.
    if has_left { local.collect_garbage() } else { Ok(()) }
}

/// Gives each running server a schema for the tables of the study, unless the study uses tables that are there.
pub fn create_schemas(
    participants: &mut [Participant],
    study: &Study,
    env: &Environment,
) -> Result<()> {
    if study.user_data().is_some_and(UserData::uses_existing_tables) {
        return Ok(());
    }
    for participant in participants {
        let Some(attached) = &participant.attached else { continue };
        env.interrupt.check()?;
        let (system, options) = (&participant.system.name, attached.connect_options());
        refuse_dump(study, system, options)?;
        let schema = StudySchema::create(system, options)?;
        let described = schema.described();
        env.progress.done(system, &format!("has the {described} until the study ends"));
        participant.schema = Some(schema);
    }
    Ok(())
}
