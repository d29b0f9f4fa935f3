//! Data directories that instances start from: loaded once per system and data set, aged, kept in the cache.
//!
//! Every step ends in one rename, so the content of the cache is complete, whatever interrupts a step.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_load::{LoadReport, TableContent};
use assay_model::{
    CellId, CpuPlacement, DataContent, DataSet, DumpFinding, Experiment, PlannedCell, Prefix,
    Priority, Setup, StartFrom, StatementMode, Study, System, TableForm, Test, counted, thousands,
};
use assay_servers::{AttachedServer, ServerInstance, Site, ValgrindTool};
use assay_study::{Phase, mean_rate};
use assay_wire::Connection;
use serde::{Deserialize, Serialize};

use super::aging::{AgingPace, aging_events, aging_s, aging_tests, run_aging};
use super::cache::{
    TEMPLATE_VERSION, describe, hold, hold_unless_made, keep_within_bound, key, make_room_for,
    making, mark_used, remove_unused, share_equal_files, write_whole,
};
use super::clients::connect_clients;
use super::environment::{Environment, LocalSite, TEMPLATES};
use super::instance::Instance;
use super::participant::{Participant, not_loaded};
use super::study_tables::StudyTables;
use crate::parallel::together;
use crate::progress::seconds;
use crate::{machine_lock, paths};

const DRAIN_LIMIT: Duration = Duration::from_secs(600);

const FRESH: &str = "fresh";

/// Beside it: the data after the aging writes.
const AGED: &str = "aged";
const MADE: &str = "made.json";
const RESTORED: &str = "restored.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
struct TemplateFacts {
    /// Events per second of each aging test with one client, by test name: write slices are sized by these. Empty if
    /// another assay measured meanwhile: then write slices are sized when they are first measured.
    rates: BTreeMap<String, f64>,
    /// Seconds that aging took, with the start of the server, maintenance and the comparison of its rows; `None` if the
    /// data are not aged, or were aged by an assay that did not keep the time.
    #[serde(default)]
    aged_s: Option<f64>,
    fresh: ContentCount,
    aged: ContentCount,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ContentCount {
    rows: u64,
    checksum: String,
}

fn restored_in(dir: &Path) -> Result<Vec<DumpFinding>> {
    let path = dir.join(RESTORED);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let read = serde_json::from_slice(&fs_err::read(&path)?);
    read.with_context(|| format!("`{}` is damaged", path.display()))
}

fn write_restored(fresh: &Path, restored: &[DumpFinding]) -> Result<()> {
    let path = fresh.with_file_name(RESTORED);
    // The directory of the template appears with its data, which come later.
    path.parent().map_or(Ok(()), paths::make_private)?;
    write_whole(&path, &restored)
}

#[derive(Debug)]
pub struct Template {
    pub fresh: PathBuf,
    /// After the aging writes, maintained again. A user's tables are never aged: this is the same directory.
    pub aged: PathBuf,
    made: TemplateFacts,
    pub restored: Vec<DumpFinding>,
    /// Keeps the directories from being cleaned away; `None` for a server that runs already.
    _held: Option<fs_err::File>,
}

impl Template {
    pub(super) fn directory(&self, start_from: StartFrom) -> &Path {
        match start_from {
            StartFrom::Fresh => &self.fresh,
            StartFrom::Aged => &self.aged,
        }
    }
}

#[derive(Default)]
pub struct Templates {
    by_data: BTreeMap<DataSet, Vec<Template>>,
}

impl Templates {
    pub fn is_empty(&self) -> bool {
        self.by_data.is_empty()
    }

    pub fn prepare(
        participants: &[Participant],
        study: &Study,
        local: &LocalSite,
        env: &Environment,
        note: &mut dyn FnMut(DataContent) -> Result<()>,
    ) -> Result<Self> {
        let mut by_data = BTreeMap::new();
        for data in study.setups.iter().map(|setup| setup.data()) {
            if by_data.contains_key(&data) {
                continue;
            }
            let maker = |participant| Maker { participant, data, study, local, env };
            let makers: Vec<Maker> = participants.iter().map(maker).collect();
            let mut empty = start_empty(&makers)?;
            let mut templates = Vec::with_capacity(participants.len());
            for (system, maker) in makers.iter().enumerate() {
                env.interrupt.check()?;
                let template = maker.template(&mut empty);
                let template =
                    template.with_context(|| not_loaded(participants, maker.participant))?;
                note_content(system, data, &template, StartFrom::Fresh, note)?;
                if maker.tables().age() {
                    note_content(system, data, &template, StartFrom::Aged, note)?;
                }
                templates.push(template);
            }
            by_data.insert(data, templates);
        }
        Ok(Self { by_data })
    }

    pub fn get(&self, system: usize, data: DataSet) -> Result<&Template> {
        let found = self.by_data.get(&data).and_then(|templates| templates.get(system));
        found.with_context(|| format!("no data of {data} was loaded"))
    }

    /// Makes room on the disk for an instance of each of these systems.
    pub fn make_room(&self, systems: &[usize], phase: Phase, env: &Environment) -> Result<()> {
        let mut data = Vec::with_capacity(systems.len());
        for &system in systems {
            data.push(self.get(system, phase.data)?.directory(phase.start_from));
        }
        // A server that is running already has its data elsewhere. Data that are lost fail the start of their server.
        data.retain(|directory| directory.is_dir());
        make_room_for(env, &data)
    }

    /// Seconds that it took to age the data of each system, where that is known.
    pub fn aged_s(&self) -> impl Iterator<Item = (usize, DataSet, f64)> {
        self.by_data.iter().flat_map(|(data, templates)| {
            let known = templates.iter().enumerate();
            known.filter_map(move |(system, template)| Some((system, *data, template.made.aged_s?)))
        })
    }

    pub fn restored(&self) -> impl Iterator<Item = (usize, &DumpFinding)> {
        let all = self.by_data.values().flat_map(|templates| templates.iter().enumerate());
        all.flat_map(|(system, template)| template.restored.iter().map(move |it| (system, it)))
    }

    /// Geometric mean over the systems of events per second of a write test with one client; 0 if one of them has no
    /// known rate, because a mean of the others could be far from it.
    pub fn rate(&self, cell: CellId) -> f64 {
        let like = cell.test.planning.as_fast_as.as_deref().unwrap_or(cell.test.name());
        let templates = self.by_data.get(&cell.setup.data()).into_iter().flatten();
        let rates = templates.map(|template| template.made.rates.get(like).copied());
        mean_rate(rates.collect::<Option<Vec<f64>>>().into_iter().flatten())
    }
}

/// Loads and ages the missing data of all systems that assay starts. They stay in the cache while the files are open.
pub fn load_beforehand(
    participants: &[Participant],
    study: &Study,
    local: &LocalSite,
    env: &Environment,
) -> Result<Vec<fs_err::File>> {
    let mut held = Vec::new();
    let sets: BTreeSet<DataSet> = study.setups.iter().map(|setup| setup.data()).collect();
    for data in sets {
        let ours = participants.iter().filter(|participant| participant.attached.is_none());
        let maker = |participant| Maker { participant, data, study, local, env };
        let makers: Vec<Maker> = ours.map(maker).collect();
        // Complete data take no more room, and adding up the size of the cache takes long.
        if lacks_any(&makers)? {
            keep_within_bound(env)?;
        }
        let mut empty = start_empty(&makers)?;
        for maker in &makers {
            env.interrupt.check()?;
            let file = maker.loaded(&mut empty);
            held.push(file.with_context(|| not_loaded(participants, maker.participant))?);
        }
        age_loaded(&makers)?;
    }
    // The bound may be lower than at the last study. The data of this one are held.
    keep_within_bound(env)?;
    Ok(held)
}

fn lacks_any(makers: &[Maker]) -> Result<bool> {
    for maker in makers {
        if !maker.is_whole(&maker.dir()?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Ages the loaded data of these systems where the cache has no aged data yet. Aging has one client, so several systems
/// age at the same time, each on a CPU of its own, if there is memory for their servers.
fn age_loaded(makers: &[Maker]) -> Result<()> {
    // A twin has the data of its base.
    let mut missing: BTreeMap<PathBuf, Maker> = BTreeMap::new();
    for maker in makers {
        let dir = maker.dir()?;
        if !maker.is_whole(&dir) {
            missing.entry(dir).or_insert(*maker);
        }
    }
    let missing: Vec<(PathBuf, Maker)> = missing.into_iter().collect();
    let at_once = match missing.first() {
        Some((_, maker)) if maker.study.experiment == Experiment::Interleaved => {
            maker.local.side_by_side()
        }
        _ => 1,
    };
    for group in missing.chunks(at_once.max(1)) {
        let loaded: Vec<PathBuf> = group.iter().map(|(dir, _)| dir.join(FRESH)).collect();
        let loaded: Vec<&Path> = loaded.iter().map(PathBuf::as_path).collect();
        make_room_for(group[0].1.env, &loaded)?;
        let aged = together(group.iter().enumerate().map(|(number, (dir, maker))| {
            let local = maker.local.with_first_cpu(number);
            move || Maker { local: &local, ..*maker }.age_unless_aged(dir)
        }));
        for ((_, maker), aged) in group.iter().zip(aged) {
            let name = &maker.participant.system.name;
            aged.with_context(|| format!("cannot age the data of `{name}`"))?;
        }
    }
    Ok(())
}

/// Cached templates of a study's systems. They stay in the cache while the files are open.
pub fn ready(
    participants: &[Participant],
    study: &Study,
    env: &Environment,
) -> Result<BTreeMap<PathBuf, fs_err::File>> {
    let local = LocalSite::new(env)?;
    let mut found = BTreeMap::new();
    for data in study.setups.iter().map(|setup| setup.data()) {
        for participant in participants {
            let maker = Maker { participant, data, study, local: &local, env };
            let dir = maker.dir()?;
            if maker.is_whole(&dir)
                && let Some(held) = hold_unless_made(&dir, || maker.is_whole(&dir))?
            {
                found.insert(dir, held);
            }
        }
    }
    Ok(found)
}

/// Estimated seconds to age the data of systems that have no aged data in the cache.
pub fn still_to_age_s(
    participants: &[Participant],
    study: &Study,
    local: &LocalSite,
    env: &Environment,
) -> Result<f64> {
    let mut seconds = 0.0;
    let sets: BTreeSet<DataSet> = study.setups.iter().map(|setup| setup.data()).collect();
    for data in sets {
        for participant in participants {
            let maker = Maker { participant, data, study, local, env };
            let is_to_age = maker.tables().age()
                && (participant.attached.is_some() || !maker.dir()?.join(AGED).is_dir());
            seconds += if is_to_age { aging_s(data) } else { 0.0 };
        }
    }
    Ok(seconds)
}

#[derive(Debug, thiserror::Error)]
#[error("cannot start `{0}`")]
pub struct StartFailure(pub String);

type EmptySystems = BTreeMap<PathBuf, Instance>;

/// Starts one of every system to be loaded: a refused option is reported before the others are loaded, which may take
/// long.
fn start_empty(makers: &[Maker]) -> Result<EmptySystems> {
    let mut started = EmptySystems::new();
    for maker in makers {
        if maker.participant.attached.is_some() {
            continue;
        }
        let fresh = maker.dir()?.join(FRESH);
        if fresh.is_dir() || started.contains_key(&fresh) {
            continue;
        }
        let name = &maker.participant.system.name;
        let mut server = maker.empty().with_context(|| StartFailure(name.clone()))?;
        // There may be memory for only one system at a time.
        if maker.study.experiment == Experiment::Interleaved {
            server.freeze()?;
            started.insert(fresh, server);
        }
    }
    Ok(started)
}

fn note_content(
    system: usize,
    data: DataSet,
    template: &Template,
    start_from: StartFrom,
    note: &mut dyn FnMut(DataContent) -> Result<()>,
) -> Result<()> {
    let counted = match start_from {
        StartFrom::Fresh => &template.made.fresh,
        StartFrom::Aged => &template.made.aged,
    };
    let ContentCount { rows, checksum } = counted.clone();
    note(DataContent { system, data, start_from, rows, checksum })
}

/// Starts an instance of a system from one of its templates; a running server is loaded again.
pub fn start_instance(
    participant: &Participant,
    template: &Template,
    phase: Phase,
    study: &Study,
    local: &LocalSite,
    env: &Environment,
) -> Result<Instance> {
    let Phase { data, start_from } = phase;
    let maker = Maker { participant, data, study, local, env };
    let name = &participant.system.name;
    let directory = template.directory(start_from);
    if participant.attached.is_none() {
        return maker.start(directory).with_context(|| format!("cannot start `{name}`"));
    }
    let (instance, ..) = maker.filled()?;
    if start_from == StartFrom::Aged {
        maker.run_aging_tests(&instance, &|| true)?;
        maker.maintain(&instance)?;
        let found = maker.count(&instance)?;
        anyhow::ensure!(
            found == template.made.aged,
            "the contents of `{name}` have changed, as if somebody else had used its tables"
        );
    }
    Ok(instance)
}

#[derive(Clone, Copy)]
struct Maker<'a> {
    participant: &'a Participant,
    data: DataSet,
    study: &'a Study,
    local: &'a LocalSite,
    env: &'a Environment<'a>,
}

impl Maker<'_> {
    fn dir(&self) -> Result<PathBuf> {
        let system = &self.participant.system;
        Ok(self.env.cache_dir.join(TEMPLATES).join(key(&[
            &self.participant.prefix()?.sha256,
            &system.options.join(" "),
            system.spec.engine.word(),
            &format!("{} {}", self.data, self.study.seed),
            &self.content_key()?,
            &format!("template {TEMPLATE_VERSION}"),
        ])))
    }

    /// Digest input for the content besides number and size of tables: the user's tables, or the aging tests.
    fn content_key(&self) -> Result<String> {
        if let Some(key) = self.tables().content_key() {
            return Ok(key);
        }
        let form = &self.study.table_form;
        let mut key: Vec<String> = aging_tests().map(|test| test.digest.clone()).collect();
        if *form != TableForm::default() {
            key.push(serde_json::to_string(form)?);
        }
        Ok(key.join(" "))
    }

    fn tables(&self) -> StudyTables<'_> {
        StudyTables::new(self.study, &self.participant.system.spec, self.data)
    }

    fn template(&self, empty: &mut EmptySystems) -> Result<Template> {
        if self.participant.attached.is_some() {
            return self.of_running_server();
        }
        let dir = self.dir()?;
        self.describe(&dir)?;
        let making = making(self.env, &dir)?;
        let is_new = !self.is_whole(&dir);
        if is_new {
            self.load_unless_there(&dir.join(FRESH), empty)?;
            if self.tables().age() {
                // This assay has the machine.
                self.age(&dir, &|| true)?;
            } else {
                self.look_at(&dir)?;
            }
            share_equal_files(&dir)?;
        }
        let made = dir.join(MADE);
        let made = serde_json::from_slice(&fs_err::read(&made)?)
            .with_context(|| format!("`{}` is damaged", made.display()))?;
        let held = Some(hold(&dir)?);
        making.remove()?;
        if is_new {
            keep_within_bound(self.env)?;
        }
        mark_used(&dir)?;
        let (fresh, restored) = (dir.join(FRESH), restored_in(&dir)?);
        let aged = dir.join(if self.tables().age() { AGED } else { FRESH });
        Ok(Template { fresh, aged, made, restored, _held: held })
    }

    /// Loads missing data. They stay in the cache while the file is open. Without aging, they are a complete template.
    fn loaded(&self, empty: &mut EmptySystems) -> Result<fs_err::File> {
        let dir = self.dir()?;
        self.describe(&dir)?;
        let making = making(self.env, &dir)?;
        self.load_unless_there(&dir.join(FRESH), empty)?;
        if !self.tables().age() && !dir.join(MADE).is_file() {
            self.look_at(&dir)?;
            share_equal_files(&dir)?;
        }
        let held = hold(&dir)?;
        making.remove()?;
        mark_used(&dir)?;
        Ok(held)
    }

    fn load_unless_there(&self, fresh: &Path, empty: &mut EmptySystems) -> Result<()> {
        if fresh.is_dir() {
            return Ok(());
        }
        let server = empty.remove(fresh).map_or_else(|| self.empty(), Ok)?;
        self.load(server, fresh)
    }

    fn is_whole(&self, dir: &Path) -> bool {
        let is_aged = !self.tables().age() || dir.join(AGED).is_dir();
        is_aged && dir.join(FRESH).is_dir() && dir.join(MADE).is_file()
    }

    fn describe(&self, dir: &Path) -> Result<()> {
        let System { spec, artifact, .. } = &self.participant.system;
        let (version, engine) = (artifact.version(), spec.engine.word());
        let what = self.tables().in_words();
        let terms = self.study.terms.as_deref().filter(|name| *name != assay_terms::DEFAULT);
        let terms = terms.map_or_else(String::new, |name| format!(", terms {name}"));
        describe(dir, &format!("{spec} ({version}), {engine}, {what}{terms}"))
    }

    fn empty(&self) -> Result<Instance> {
        let System { name, options, .. } = &self.participant.system;
        let prefix = self.participant.prefix()?;
        let server = start_on_empty(self.env, prefix, options, name, |empty| {
            self.env.progress.update(&format!("{name}: starting"));
            self.start_on(empty, prefix)
        })?;
        Ok(Instance::Started(server))
    }

    fn start(&self, data: &Path) -> Result<Instance> {
        make_room_for(self.env, &[data])?;
        Ok(Instance::Started(self.start_on(data, self.participant.prefix()?)?))
    }

    fn start_on(
        &self,
        data: &Path,
        prefix: &Prefix,
    ) -> Result<ServerInstance, assay_servers::ServersError> {
        ServerInstance::start(&self.local.site, prefix, &self.participant.system.options, data)
    }

    fn of_running_server(&self) -> Result<Template> {
        let (instance, fresh, restored) = self.filled()?;
        let running = |made| Template {
            fresh: PathBuf::new(),
            aged: PathBuf::new(),
            made,
            restored,
            _held: None,
        };
        if !self.tables().age() {
            let (rates, aged) = (BTreeMap::new(), fresh.clone());
            return Ok(running(TemplateFacts { rates, aged_s: None, fresh, aged }));
        }
        let rates = self.run_aging_tests(&instance, &|| true)?;
        self.maintain(&instance)?;
        // They are aged again for each block.
        let made = TemplateFacts { rates, aged_s: None, fresh, aged: self.count(&instance)? };
        Ok(running(made))
    }

    fn filled(&self) -> Result<(Instance, ContentCount, Vec<DumpFinding>)> {
        let name = &self.participant.system.name;
        let Participant { attached, schema, .. } = self.participant;
        let options = match schema {
            Some(schema) => {
                schema.empty()?;
                Some(schema.options())
            }
            None => attached.as_ref().map(|attached| attached.connect_options().clone()),
        };
        let options = options.with_context(|| format!("`{name}` is not running yet"))?;
        // It may have been restarted since, as another process.
        let attached = AttachedServer::connect(options)?;
        let instance = Instance::Attached(attached);
        let LoadReport { content: TableContent { rows, checksum }, restored, .. } =
            self.fill(&instance)?;
        self.maintain(&instance)?;
        Ok((instance, ContentCount { rows, checksum }, restored))
    }

    fn load(&self, mut server: Instance, fresh: &Path) -> Result<()> {
        let name = &self.participant.system.name;
        let rows = self.tables().rows();
        self.env.progress.begin(&match rows {
            None | Some(0) => format!("{name}: preparing {}", self.tables().in_words()),
            Some(rows) => format!("{name}: loading {}", counted(rows, "row")),
        });
        server.thaw()?;
        server.create_database()?;
        let report = self.fill(&server)?;
        if rows != Some(0) {
            self.maintain(&server)?;
        }
        if !report.restored.is_empty() {
            // Written before the data directory appears: both exist, or the data are loaded again.
            write_restored(fresh, &report.restored)?;
        }
        server.stop_and_keep(fresh)?;
        if rows == Some(0) {
            return Ok(());
        }
        let took = format!(
            "loaded {} in {} ({} rows/s)",
            counted(report.rows, "row"),
            seconds(report.elapsed),
            thousands(report.rows_per_second() as u64)
        );
        self.env.progress.done(name, &took);
        Ok(())
    }

    fn fill(&self, server: &Instance) -> Result<LoadReport> {
        let name = &self.participant.system.name;
        let progress = &mut |done| {
            self.env.progress.update(&format!("{name}: loading, {done}"));
        };
        self.tables()
            .fill(&server.connect_options(), server.is_ours(), progress)
            .with_context(|| format!("cannot load the tables into `{name}`"))
    }

    fn look_at(&self, dir: &Path) -> Result<()> {
        let server = self.start(&dir.join(FRESH))?;
        let counted = self.count(&server)?;
        server.stop()?;
        let (rates, aged_s, fresh) = (BTreeMap::new(), None, counted.clone());
        write_whole(&dir.join(MADE), &TemplateFacts { rates, aged_s, fresh, aged: counted })
    }

    /// Ages loaded data, unless another assay has done so meanwhile.
    fn age_unless_aged(&self, dir: &Path) -> Result<()> {
        let making = making(self.env, dir)?;
        if !self.is_whole(dir) {
            self.age(dir, &|| !machine_lock::is_measured())?;
            share_equal_files(dir)?;
        }
        Ok(making.remove()?)
    }

    /// `is_quiet`: whether no other assay measures on this machine.
    fn age(&self, dir: &Path, is_quiet: &dyn Fn() -> bool) -> Result<()> {
        let began = Instant::now();
        let name = &self.participant.system.name;
        self.env.progress.begin(&format!("{name}: aging the data"));
        let server = self.start(&dir.join(FRESH))?;
        let fresh = self.count(&server)?;
        let rates = self.run_aging_tests(&server, is_quiet)?;
        self.maintain(&server)?;
        let aged = self.count(&server)?;
        let took = began.elapsed();
        let aged_s = Some(took.as_secs_f64());
        // Written before the data directory appears: both exist, or the aging is done again.
        write_whole(&dir.join(MADE), &TemplateFacts { rates, aged_s, fresh, aged })?;
        let target = dir.join(AGED);
        if target.exists() {
            fs_err::remove_dir_all(&target)?;
        }
        server.stop_and_keep(&target)?;
        self.env.progress.done(name, &format!("aged the data in {}", seconds(took)));
        Ok(())
    }

    /// Ages the data with the write tests that precede the reads of the published sequence; returns events per second
    /// of each, or nothing if another assay measured meanwhile: then they would say little, and aging gives way.
    fn run_aging_tests(
        &self,
        server: &Instance,
        is_quiet: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<String, f64>> {
        let system = &self.participant.system;
        self.tables().fill_cache(&server.connect_options())?;
        let mut rates = BTreeMap::new();
        // Data that are aged once for all studies use no budget.
        let is_running = self.participant.attached.is_some();
        let mut pace = is_running.then(|| AgingPace::new(self.data, self.study.budget_s));
        let mut is_disturbed = false;
        for test in aging_tests() {
            self.env.interrupt.check()?;
            if !is_disturbed && !is_quiet() {
                is_disturbed = true;
                server.give_way();
            }
            self.env.progress.update(&format!("{}: aging the data with {test}", system.name));
            rates.insert(test.name.clone(), self.age_with(test, server)?);
            if let Some(message) = pace.as_mut().and_then(|pace| pace.after(test)) {
                self.env.progress.note(&format!("warning: {}: {message}", system.name));
            }
        }
        if is_disturbed || !is_quiet() {
            rates.clear();
        }
        Ok(rates)
    }

    fn age_with(&self, test: Test, server: &Instance) -> Result<f64> {
        let DataSet { tables, rows } = self.data;
        let cell = PlannedCell {
            id: CellId { test, setup: Setup { clients: 1, tables, rows } },
            warm_ms: 0,
            warm_us: Some(0),
            turn_ms: 0,
            slice_ms: 0,
            events: Some(aging_events(test, self.data)),
            placement: CpuPlacement::ConnectionsOnOneCpu,
            priority: Priority::Normal,
        };
        let system = &self.participant.system;
        // Always prepared: the same data serve both ways of sending statements.
        let study = Study { statements: StatementMode::Prepared, ..self.study.clone() };
        let mut clients =
            connect_clients(server, system, (&cell, cell.id.test), &study, self.local)?;
        run_aging(&mut clients, &cell, aging_events(test, self.data), server)
    }

    fn count(&self, server: &Instance) -> Result<ContentCount> {
        let content = self.tables().content(&server.connect_options())?;
        Ok(ContentCount { rows: content.rows, checksum: content.checksum })
    }

    fn maintain(&self, server: &Instance) -> Result<()> {
        let name = &self.participant.system.name;
        self.env.progress.update(&format!("{name}: updating statistics, purging, writing pages"));
        let mut control = Connection::control(&server.connect_options())?;
        let tables = self.tables().names(&server.connect_options())?;
        if let Instance::Attached(_) = server {
            // The rest of the server is not this study's to change, nor to wait for.
            return Ok(assay_servers::take_statistics(&mut control, &tables)?);
        }
        let drained = assay_servers::maintain(&mut control, &tables, DRAIN_LIMIT)?;
        anyhow::ensure!(
            drained.is_complete,
            "`{name}` did not become idle within {DRAIN_LIMIT:?}: {} pages and {} old row versions are left",
            drained.dirty_pages,
            drained.history_length.unwrap_or(0)
        );
        Ok(())
    }
}

/// A data directory without tables, for servers with these options. It is kept while the file is open.
fn empty_template(
    env: &Environment,
    prefix: &Prefix,
    options: &[String],
    name: &str,
) -> Result<(PathBuf, fs_err::File)> {
    let version = format!("template {TEMPLATE_VERSION}");
    let key = key(&[&prefix.sha256, &options.join(" "), &version]);
    let empty = env.cache_dir.join(TEMPLATES).join(key);
    let making = making(env, &empty)?;
    if !empty.is_dir() {
        env.progress.update(&format!("{name}: initialising"));
        let site = LocalSite::site(env.cache_dir.join("instances"), env.interrupt.stop());
        assay_servers::initialize(&site, prefix, options, &empty)?;
        share_equal_files(&empty)?;
    }
    describe(&empty, &format!("{name} ({}), no tables", prefix.version))?;
    let held = hold(&empty)?;
    making.remove()?;
    mark_used(&empty)?;
    Ok((empty, held))
}

/// Starts a server on data without tables. The data is removed if the server refuses the options that it was made for.
pub fn start_on_empty(
    env: &Environment,
    prefix: &Prefix,
    options: &[String],
    name: &str,
    start: impl FnOnce(&Path) -> Result<ServerInstance, assay_servers::ServersError>,
) -> Result<ServerInstance> {
    let (empty, held) = empty_template(env, prefix, options, name)?;
    make_room_for(env, &[&empty])?;
    start(&empty).map_err(|error| {
        drop(held);
        if is_of_options(&error) {
            // Data that cannot be removed only takes up space.
            let removed = remove_unused(&empty);
            removed.map_or_else(|error| log::info!("{error}"), |_| ());
        }
        error.into()
    })
}

/// Whether no server with these options will ever start.
fn is_of_options(error: &assay_servers::ServersError) -> bool {
    use assay_servers::ServersError::{OptionRefused, UnknownOption};
    matches!(error, UnknownOption { .. } | OptionRefused { .. })
}

/// Starts a server whose instructions are counted.
pub fn start_counted(
    participant: &Participant,
    template: &Template,
    phase: Phase,
    valgrind: Option<&ValgrindTool>,
    site: &Site,
) -> Result<ServerInstance> {
    let directory = template.directory(phase.start_from);
    let name = &participant.system.name;
    let start = || -> Result<ServerInstance> {
        let (prefix, options) = (participant.prefix()?, &participant.system.options);
        Ok(match valgrind {
            Some(valgrind) => {
                ServerInstance::start_counted(site, prefix, options, directory, valgrind)?
            }
            None => ServerInstance::start(site, prefix, options, directory)?,
        })
    };
    let how = if valgrind.is_some() { " under valgrind" } else { "" };
    start().with_context(|| format!("cannot start `{name}`{how}"))
}
