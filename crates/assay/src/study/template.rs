//! Data directories that instances start from: loaded once per system and data set, aged, kept in the cache.
//!
//! Every step ends in one rename, so whatever interrupts it, what the cache holds is complete.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use assay_load::Bound;
use assay_model::{
    Class, CpuPlacement, Microbenchmark, Setup, StartFrom, Study, TestSet, WORKLOAD_VERSION,
};
use assay_servers::Server;
use assay_wire::mysql::Control;
use sha2::{Digest, Sha256};

use super::Environment;
use super::participant::{self, Participant, Stage};
use super::station;

/// Rows changed by each of the aging tests, as part of all rows.
const AGED_SHARE: u64 = 10;

/// Rows changed by each of the aging tests at most: more would cost time and age no further.
const AGED_ROWS_MAX: u64 = 50_000;

/// Events of an aging test at least, so that its rate means something.
const AGED_EVENTS_MIN: u64 = 100;

/// Longest wait for purge and page writing after a load or aging.
const DRAIN_LIMIT: Duration = Duration::from_secs(600);

/// The two data directories of a system for one data set.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    /// Loaded and maintained.
    pub(crate) fresh: PathBuf,
    /// After the aging writes, maintained again.
    pub(crate) aged: PathBuf,
    /// Events per second of each aging test with one client, by test name: what write slices are sized by.
    pub(crate) rates: BTreeMap<String, f64>,
}

/// Makes the templates of all systems, or finds them in the cache.
pub(crate) fn prepare(
    participants: &[Participant],
    study: &Study,
    stage: &Stage,
    env: &Environment,
) -> Result<Vec<Template>> {
    let setup = Setup { clients: 1, ..study.cells[0].id.setup };
    participants
        .iter()
        .map(|participant| {
            env.interrupt.check()?;
            let maker = Maker { participant, setup, seed: study.seed, stage, env };
            let name = &participant.system.name;
            maker.template().with_context(|| format!("cannot load data into `{name}`"))
        })
        .collect()
}

struct Maker<'a> {
    participant: &'a Participant,
    setup: Setup,
    seed: u64,
    stage: &'a Stage,
    env: &'a Environment<'a>,
}

impl Maker<'_> {
    fn template(&self) -> Result<Template> {
        let system = &self.participant.system;
        let templates = self.env.cache_dir.join("templates");
        let empty = templates.join(key(&[&system.prefix.sha256, &system.options.join(" ")]));
        let dir = templates.join(key(&[
            &system.prefix.sha256,
            &system.options.join(" "),
            system.spec.engine.word(),
            &format!("{} {}", self.setup, self.seed),
            &format!("workload {WORKLOAD_VERSION}"),
        ]));
        let (fresh, aged, rates) = (dir.join("fresh"), dir.join("aged"), dir.join("rates.json"));
        if aged.is_dir() && fresh.is_dir() && rates.is_file() {
            let rates = serde_json::from_slice(&fs_err::read(&rates)?)
                .with_context(|| format!("`{}` is damaged", rates.display()))?;
            return Ok(Template { fresh, aged, rates });
        }
        if !empty.is_dir() {
            self.env.progress.begin(&format!("{}: initialising", system.name));
            assay_servers::initialize(&self.stage.site, &system.prefix, &system.options, &empty)?;
        }
        if !fresh.is_dir() {
            self.load(&empty, &fresh)?;
        }
        let measured = self.age(&fresh, &aged, &rates)?;
        Ok(Template { fresh, aged, rates: measured })
    }

    fn start(&self, data: &Path) -> Result<Server> {
        let system = &self.participant.system;
        Ok(Server::start(&self.stage.site, &system.prefix, &system.options, data)?)
    }

    fn load(&self, empty: &Path, fresh: &Path) -> Result<()> {
        let system = &self.participant.system;
        let name = &system.name;
        self.env.progress.begin(&format!("{name}: loading"));
        let server = self.start(empty)?;
        participant::create_database(&server)?;
        let report = assay_load::fill(
            &participant::connect_options(&server),
            system.spec.product,
            system.spec.engine,
            self.setup.tables,
            self.setup.rows,
            self.seed,
            &mut |done| {
                let text = format!("{name}: loading, {} of {} rows", done.rows, done.rows_total);
                self.env.progress.update(&text);
            },
        )?;
        self.maintain(&server)?;
        server.stop_and_keep(fresh)?;
        self.env.progress.done(&format!(
            "{name}: loaded {} rows in {:.1} s ({:.0} rows/s)",
            report.rows,
            report.elapsed.as_secs_f64(),
            report.rows_per_second()
        ));
        Ok(())
    }

    fn age(&self, fresh: &Path, aged: &Path, rates: &Path) -> Result<BTreeMap<String, f64>> {
        let system = &self.participant.system;
        let server = self.start(fresh)?;
        participant::fill_caches(&server, self.setup)?;
        let mut measured = BTreeMap::new();
        for test in aging_tests() {
            self.env.interrupt.check()?;
            self.env.progress.begin(&format!("{}: aging the data with {test}", system.name));
            let cell = assay_model::CellId { test, setup: self.setup };
            let placement = CpuPlacement::ConnectionsOnOneCpu;
            let mut session =
                station::connect(&server, system, cell, placement, self.seed, self.stage)?.session;
            let work = session
                .run(station::OUTSIDE_BLOCKS, Bound::Events(aging_events(test, self.setup)))?;
            let seconds = Duration::from_nanos(work.elapsed_ns).as_secs_f64();
            measured.insert(test.name(), work.events as f64 / seconds.max(1e-9));
        }
        self.maintain(&server)?;
        // Written before the data directory appears: both are there, or the aging is done again.
        let unfinished = rates.with_extension("new");
        fs_err::write(&unfinished, serde_json::to_vec(&measured)?)?;
        fs_err::rename(&unfinished, rates)?;
        if aged.exists() {
            fs_err::remove_dir_all(aged)?;
        }
        server.stop_and_keep(aged)?;
        Ok(measured)
    }

    fn maintain(&self, server: &Server) -> Result<()> {
        let name = &self.participant.system.name;
        self.env.progress.begin(&format!("{name}: maintaining"));
        let mut control = Control::connect(&participant::connect_options(server))?;
        let tables = participant::tables(self.setup);
        let drained = assay_servers::maintain(&mut control, &tables, DRAIN_LIMIT)?;
        anyhow::ensure!(
            drained.is_complete,
            "`{name}` did not come to rest within {DRAIN_LIMIT:?}: {} pages left to write",
            drained.dirty_pages
        );
        Ok(())
    }
}

/// Name of a template directory: a digest of everything that its content depends on.
fn key(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(16).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The eight write tests that come before the reads of the published sequence.
fn aging_tests() -> impl Iterator<Item = Microbenchmark> {
    TestSet::Set32
        .tests()
        .into_iter()
        .filter(|test| test.class() == Class::Write && test.start_from() == StartFrom::Fresh)
}

fn aging_events(test: Microbenchmark, setup: Setup) -> u64 {
    use assay_model::Kind;
    let rows_per_event = match test.kind {
        Kind::UpdateInlist => 10,
        Kind::WriteOnly | Kind::ReadWrite => 4,
        _ => 1,
    };
    let rows = u64::from(setup.tables) * u64::from(setup.rows) / AGED_SHARE;
    (rows.min(AGED_ROWS_MAX) / rows_per_event).max(AGED_EVENTS_MIN)
}
