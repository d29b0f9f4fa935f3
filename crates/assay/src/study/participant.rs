//! The systems of a study: their binaries, their configuration, where they run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result};
use assay_model::{
    Artifact, DataSet, EventKind, IdKey, Origin, Prefix, Product, Setup, Study, StudyRecord,
    System, SystemSpec,
};
use assay_plan::{Plan, ServerUrl, parse_url};
use assay_provision::{Hold, Options, Progress as Fetching, Provisioner};
use assay_servers::{Attached, Durability, Intent, Site, Supervisor, UNFINISHED};

use assay_wire::Stop;

use super::template::TEMPLATES;
use super::{Environment, trust};
use crate::attach::{connect_options, listed};
use crate::open_files::Demand;
use crate::paths;

/// Connections a server must hold besides the clients: control connections, and those of the last cell that close.
const CONNECTIONS_SPARE: u32 = 64;

/// Connection limits are multiples of this.
const CONNECTIONS_STEP: u32 = 256;

/// A system, ready to be started as often as needed.
pub(crate) struct Participant {
    pub(crate) system: System,
    /// What the system's version has no option for.
    pub(crate) left_out: Vec<EventKind>,
    /// The server, if it runs already.
    pub(crate) attached: Option<Attached>,
    /// Keeps the binaries in the cache while they are used.
    _hold: Option<Hold>,
}

impl Participant {
    /// The binaries, if assay starts it.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn prefix(&self) -> Result<&Prefix> {
        let System { name, artifact, .. } = &self.system;
        artifact.prefix().with_context(|| format!("there are no binaries of `{name}` to start"))
    }
}

/// Where the servers of a study run.
pub(crate) struct Stage {
    pub(crate) site: Site,
    /// The CPU that clients and servers share when they share one.
    pub(crate) cpu: usize,
    /// Where templates are, and are made.
    templates: PathBuf,
}

impl Stage {
    /// Supervisors are this very program; data directories are beside the templates they are copied from.
    pub(crate) fn new(env: &Environment) -> Result<Self> {
        let site = Self::site(env.cache_dir.join("instances"), env.interrupt.stop());
        let cpu = *assay_probe::cpus_allowed()?.last().context("no CPU is allowed")?;
        Ok(Self { site, cpu, templates: env.cache_dir.join(TEMPLATES) })
    }

    /// Where servers run that keep their data below `data_root`, until somebody asks to stop.
    pub(crate) fn site(data_root: PathBuf, stop: Stop) -> Site {
        // The running program itself, even if its file has been replaced meanwhile.
        let program = PathBuf::from("/proc/self/exe");
        let args = vec![OsString::from("supervise")];
        let runtime_dir = runtime_dir(std::env::var_os("XDG_RUNTIME_DIR"));
        let run_root = assay_servers::run_root(runtime_dir.as_deref());
        Site { supervisor: Supervisor { program, args }, run_root, data_root, stop }
    }

    /// Ends and removes what earlier assays left behind that were killed together with their supervisors, or whose
    /// machine lost power: what no supervisor holds, on this machine or in a container that shares the cache.
    pub(crate) fn collect_garbage(&self) -> Result<()> {
        assay_servers::collect_garbage(&self.site.run_root)?;
        assay_servers::collect_unheld(&self.site.data_root, |_| true)?;
        assay_servers::collect_unheld(&self.templates, |name| name.starts_with(UNFINISHED))?;
        Ok(())
    }
}

/// The session's directory. A session may have ended, and its directory with it.
fn runtime_dir(named: Option<OsString>) -> Option<PathBuf> {
    named.map(PathBuf::from).filter(|it| it.is_dir())
}

/// What the systems of a study have in common.
fn intent(study: &Study) -> Intent {
    let clients = most_clients(study);
    let largest = assay_plan::largest(&study.setups);
    Intent {
        buffer_pool_mb: assay_plan::buffer_pool_mb(largest),
        log_mb: assay_plan::redo_log_mb(largest),
        durability: Durability::Relaxed,
        // In steps, so that data loaded for one client count serve another.
        connections_max: (clients + CONNECTIONS_SPARE).next_multiple_of(CONNECTIONS_STEP),
    }
}

fn most_clients(study: &Study) -> u32 {
    study.setups.iter().map(|setup| setup.clients).max().unwrap_or(1)
}

/// Gets the binaries of all systems and renders their configuration.
pub(crate) fn get(plan: &Plan, env: &Environment) -> Result<Vec<Participant>> {
    let logins = plan.systems.iter().filter_map(|planned| planned.login.clone());
    let provisioner = provisioner(env)?.with_logins(logins.collect());
    let provisioner = provisioner.with_source(plan.source.clone())?;
    let specs: Vec<&SystemSpec> = plan.systems.iter().map(|planned| &planned.spec).collect();
    let agreed = agree(&provisioner, &specs, env)?;
    let intent = intent(&plan.study);
    let starts_any = plan.systems.iter().any(|planned| planned.url.is_none());
    Demand::of_study(most_clients(&plan.study), plan.systems.len(), starts_any).raise()?;
    let mut participants: Vec<Participant> = Vec::with_capacity(plan.systems.len());
    for (index, planned) in plan.systems.iter().enumerate() {
        env.interrupt.check()?;
        let (name, spec) = (&planned.name, &planned.spec);
        if let Some(url) = &planned.url {
            participants.push(attach(url, name, spec, index == 0, env)?);
            continue;
        }
        // Of the same words the same build, though another appears in the source meanwhile.
        let same = participants.iter().find(|it| it.system.spec == *spec);
        let prefix = match same {
            Some(same) => same.prefix()?.clone(),
            None => {
                let from = agreed.get(&spec.product).map(String::as_str);
                fetch(&provisioner, name, spec, from, env)?
            }
        };
        let hold = provisioner.hold(&prefix)?;
        let rendered = assay_servers::render(&intent, &prefix, spec.engine, &spec.overrides);
        let left_out = rendered.left_out.iter().map(EventKind::from);
        participants.push(Participant {
            left_out: left_out.collect(),
            attached: None,
            _hold: Some(hold),
            system: System {
                name: name.clone(),
                spec: spec.clone(),
                artifact: Artifact::Prefix(prefix),
                is_base: index == 0,
                is_twin: planned.is_twin,
                options: rendered.options,
            },
        });
    }
    refuse_the_same_twice(&participants)?;
    for product in Product::ALL {
        if let Some(differing) = different_makers(&participants, product) {
            let all = provisioner.has_all(&specs, product)?.map_or_else(
                || "no available source has all of them".to_owned(),
                |source| format!("`--source {source}` has all of them"),
            );
            env.progress.note(&format!("note: the builds differ: {differing}; {all}"));
        }
    }
    Ok(participants)
}

/// By product, the source that all systems are to be taken from, where the usual choice would take builds of several.
pub(crate) fn agree(
    provisioner: &Provisioner,
    specs: &[&SystemSpec],
    env: &Environment,
) -> Result<BTreeMap<Product, String>> {
    let mut tell = telling("the builds", "looking for them", env);
    Ok(env.interrupt.may_end_in(|| provisioner.agree(specs, &mut tell))?)
}

/// Which builds of one product are not alike, in words; those of directories, repositories and running servers are
/// what the user chose.
fn different_makers(participants: &[Participant], product: Product) -> Option<String> {
    let is_chosen = |it: &&Participant| matches!(it.system.spec.origin, Origin::Version(_));
    let of_product = participants.iter().filter(|it| it.system.spec.product == product);
    let mut makers: BTreeMap<&str, &str> = BTreeMap::new();
    for participant in of_product.filter(is_chosen) {
        let System { name, artifact, .. } = &participant.system;
        let Some(prefix) = artifact.prefix() else { continue };
        makers.entry(assay_provision::maker(&prefix.build)).or_insert(name);
    }
    let told: Vec<_> =
        makers.iter().map(|(maker, name)| format!("`{name}` is from {maker}")).collect();
    (told.len() > 1).then(|| told.join(", "))
}

/// Gets the very binaries that an interrupted study was begun with, and renders their configuration again: it must be
/// what the ledger has. What it names must have passed [`trust::check_systems`].
pub(crate) fn get_again(record: &StudyRecord, env: &Environment) -> Result<Vec<Participant>> {
    let is_started = |system: &System| !matches!(system.spec.origin, Origin::Url(_));
    let starts_any = record.systems.iter().any(is_started);
    Demand::of_study(most_clients(&record.study), record.systems.len(), starts_any).raise()?;
    let provisioner = provisioner(env)?;
    let intent = intent(&record.study);
    let mut participants = Vec::with_capacity(record.systems.len());
    for system in &record.systems {
        env.interrupt.check()?;
        if let Origin::Url(url) = &system.spec.origin {
            let participant =
                attach(&parse_url(url)?, &system.name, &system.spec, system.is_base, env)?;
            let (found, was) = (participant.system.artifact.version(), system.artifact.version());
            if found != was {
                let was = format!("version {was} and is now {found}");
                return Err(trust::Distrust::Replaced { system: system.name.clone(), was }.into());
            }
            participants.push(participant);
            continue;
        }
        let measured = trust::binaries(system)?;
        let wanted = &measured.sha256;
        let cached = provisioner.cached()?.into_iter().find(|prefix| prefix.sha256 == *wanted);
        let prefix = match cached {
            Some(prefix) => prefix,
            None => {
                let spec = match system.spec.origin {
                    Origin::Version(_) => trust::exactly(system, measured),
                    _ => system.spec.clone(),
                };
                // No other build has the same checksum.
                let from = assay_provision::maker(&measured.build);
                fetch(&provisioner, &system.name, &spec, Some(from), env)?
            }
        };
        if prefix.sha256 != *wanted {
            let was = format!(
                "a build of {} that can no longer be had: what is there now is another one ({} {})",
                measured.version, prefix.build.source, prefix.build.package_version,
            );
            return Err(trust::Distrust::Replaced { system: system.name.clone(), was }.into());
        }
        let _hold = Some(provisioner.hold(&prefix)?);
        let spec = &system.spec;
        let options = assay_servers::render(&intent, &prefix, spec.engine, &spec.overrides).options;
        trust::check_options(system, &prefix, &options)?;
        let artifact = Artifact::Prefix(prefix);
        let system = System { artifact, options, ..system.clone() };
        participants.push(Participant { system, left_out: Vec::new(), attached: None, _hold });
    }
    refuse_the_same_twice(&participants)?;
    Ok(participants)
}

/// Looks at the tables of servers that run already, before any of them is touched: only those of an earlier load are
/// replaced. Says which.
pub(crate) fn refuse_foreign_tables(
    participants: &[Participant],
    setups: &[Setup],
    key: IdKey,
    env: &Environment,
) -> Result<()> {
    let tables = setups.iter().map(|setup| setup.tables).max().unwrap_or(1);
    for participant in participants {
        let Some(attached) = &participant.attached else { continue };
        env.interrupt.check()?;
        let name = &participant.system.name;
        let look = || {
            let (options, product) = (attached.connect_options(), attached.product());
            let there = assay_load::survey(options, product, tables, key)?;
            there.refuse_foreign()?;
            // The tables that the first block makes are replaced in the second.
            there.refuse_blindness()?;
            there.refuse_referenced().map(|()| there)
        };
        let there = look().with_context(|| format!("cannot load the tables into `{name}`"))?;
        if let Some(names) = listed(&there) {
            let what = format!("replaces what an earlier load has left, {names}");
            env.progress.done(name, &what);
        }
    }
    Ok(())
}

/// Two ways to one database would load and change the same tables.
fn refuse_the_same_twice(participants: &[Participant]) -> Result<()> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for participant in participants {
        let Some(attached) = &participant.attached else { continue };
        let name = participant.system.name.as_str();
        let identity = attached.identity().with_context(|| format!("cannot ask `{name}`"))?;
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == identity) {
            anyhow::bail!("`{other}` and `{name}` are the same database of the same server");
        }
        seen.push((identity, name));
    }
    Ok(())
}

/// Connects to a server that runs already, and says which one it is.
fn attach(
    url: &ServerUrl,
    name: &str,
    spec: &SystemSpec,
    is_base: bool,
    env: &Environment,
) -> Result<Participant> {
    let options = connect_options(url, env.interrupt.stop());
    // Nothing stops a connection that is only being made, to a server that does not answer.
    let attached = env
        .interrupt
        .may_end_in(|| Attached::connect(options))
        .with_context(|| format!("cannot attach to `{url}`"))?;
    let running = attached.describe(&url.to_string());
    let product = running.product;
    let what = format!("is {product} {}, running already", running.version);
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
    Ok(Participant { system, left_out: Vec::new(), attached: Some(attached), _hold: None })
}

/// What gets servers into the cache.
pub(crate) fn provisioner(env: &Environment) -> Result<Provisioner> {
    let options = Options { offline: env.offline, accept_expired_index: env.accept_expired_index };
    let provisioner = Provisioner::new(&env.cache_dir, options)?;
    Ok(match paths::own_catalog()? {
        Some(path) => provisioner.with_catalog(&path)?,
        None => provisioner,
    })
}

/// Gets a server, and says which one it is.
pub(crate) fn fetch(
    provisioner: &Provisioner,
    name: &str,
    spec: &SystemSpec,
    agreed: Option<&str>,
    env: &Environment,
) -> Result<Prefix> {
    check_origin(spec)?;
    env.progress.update(&format!("{name}: looking for it"));
    let mut tell = telling(name, "getting it", env);
    let prefix = env.interrupt.may_end_in(|| provisioner.get_from(spec, agreed, &mut tell));
    let prefix = prefix.with_context(|| format!("cannot get `{spec}`"))?;
    let build = &prefix.build;
    let place = format!("{} {}", build.source, build.channel);
    let why = provisioner.why(spec, &prefix, agreed);
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    let what = format!("is {} {} from {}{why}", prefix.product, prefix.version, place.trim());
    env.progress.done(name, &what);
    Ok(prefix)
}

/// Refuses a directory or repository of this machine that is not there.
fn check_origin(spec: &SystemSpec) -> Result<(), paths::WrongPlace> {
    match &spec.origin {
        Origin::Dir(path) => {
            paths::check_there(path, "`PRODUCT@dir:PATH` names the directory of a server")
        }
        Origin::Git(reference) => {
            let place = reference.rsplit_once('#').map_or(reference.as_str(), |(place, _)| place);
            let hint =
                "`PRODUCT@git:PATH#REF` names a git repository, and a branch, tag or commit of it";
            // With a colon it may be on another machine.
            if place.contains(':') { Ok(()) } else { paths::check_there(place.as_ref(), hint) }
        }
        Origin::Version(_) | Origin::Url(_) => Ok(()),
    }
}

/// Tells each step where the line can be rewritten; a log has one line, of what is not in the cache and may take
/// minutes.
fn telling(name: &str, begun: &str, env: &Environment) -> impl FnMut(Fetching) {
    let mut is_begun = false;
    move |step| {
        if !is_begun && !matches!(step, Fetching::Cached) {
            env.progress.begin(&format!("{name}: {begun}"));
            is_begun = true;
        }
        env.progress.update(&fetching(name, &step));
    }
}

fn fetching(name: &str, step: &Fetching) -> String {
    match step {
        Fetching::Waiting => format!("{name}: waiting for another assay that fills the cache"),
        Fetching::RefreshingIndex { release } => format!("{name}: package index of {release}"),
        Fetching::Resolving { release } => format!("{name}: resolving in {release}"),
        Fetching::Downloading { done, total: 0 } => {
            format!("{name}: downloading, {} MB so far", done >> 20)
        }
        Fetching::Downloading { done, total } => {
            format!("{name}: downloading {} of {} MB", done >> 20, total >> 20)
        }
        Fetching::Unpacking { done, total } => {
            format!("{name}: unpacking {done} of {total} packages")
        }
        Fetching::Building { what } => format!("{name}: {what}"),
        Fetching::Cached => format!("{name}: in the cache"),
    }
}

/// Names of the tables of a data set.
pub(crate) fn tables(data: DataSet) -> Vec<String> {
    (1..=data.tables).map(|number| format!("sbtest{number}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_directory_that_is_gone_is_not_used() {
        assert_eq!(runtime_dir(Some("/proc/no/such".into())), None);
        assert_eq!(runtime_dir(Some("/proc".into())), Some("/proc".into()));
    }

    #[test]
    fn only_paths_of_this_machine_must_be_there() {
        let is_refused =
            |words: &str| check_origin(&assay_plan::parse_system(words).unwrap()).is_err();
        assert!(is_refused("mysql@dir:/proc/no/such") && is_refused("mysql@git:/proc/no/such#x"));
        assert!(!is_refused("mysql@dir:/proc") && !is_refused("mysql@git:/proc#x"));
        assert!(!is_refused("mysql@git:https://h/x.git#v1") && !is_refused("mysql@git:me@h:x#v1"));
    }
}
