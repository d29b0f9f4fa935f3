//! Carries out the actions of the driver. It holds the servers, clients, counters and the ledger.

use std::collections::BTreeMap;
use std::time::{Duration, Instant as Clock};

use anyhow::{Context, Result, anyhow};
use assay_load::{IbenchSession, RefusedSetting, StatementAnswer};
use assay_model::{
    DataSet, Dialect, DumpFinding, DumpFindingKind, EventKind, Experiment, PlannedCell, Slice,
    SliceOutcome, StudyRecord, Test, Verdict, counted,
};
use assay_plan::Request;
use assay_probe::UsageProbe;
use assay_study::{Executor, Outcome, StudyAction, StudyEnd};
use assay_symbols::Symbols;
use assay_wire::Connection;
use assay_workloads::LoadedData;

use super::other_processes::OtherProcesses;
use super::outlook::OutlookText;
use super::realtime::Rests;
use super::recorder::Recorder;
use super::weight::CpuWeight;
use crate::advice::HintedError;
use crate::interrupt::is_asked;
use crate::parallel::together;
use crate::progress::{StudyProgress, VerdictTally, minutes};
use crate::statement_place::StatementLocator;
use crate::systems::{
    Clients, Environment, Instance, LocalSite, Participant, SliceSlot, StudyTables, Templates,
    failed_slice, fails_for_space, silent_slice,
};

/// Interval of checks for a request to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Wait for a request to stop before a failure counts. A scheduler that ends a task signals all of its processes one
/// after another: the servers perhaps before assay.
const SIGNALLED: Duration = Duration::from_secs(1);

/// Share of the budget above which the loading time affects what can be decided.
const LOADING_NOTED: f64 = 0.1;

/// The study did what it could, and may be resumed for the rest.
#[derive(Debug, thiserror::Error)]
#[error("some tests were not measured completely")]
pub struct UnfinishedStudy;

/// Faults of a system with a workload, found before anything is measured.
#[derive(Default)]
pub(super) struct SystemTrial {
    pub(super) settings: Vec<RefusedSetting>,
    pub(super) kinds: Vec<(Test, String, String)>,
}

/// A step in progress on a system, whose server is frozen between its segments.
pub(super) struct OpenStep {
    pub(super) session: IbenchSession,
    pub(super) probe: UsageProbe,
}

/// Holds a study while its actions are carried out, and for the work after it.
pub struct StudyExecutor<'a, 'l> {
    pub(super) participants: &'a [Participant],
    pub(super) local: &'a LocalSite,
    pub(super) env: &'a Environment<'a>,
    pub(super) recorder: &'a mut Recorder<'l>,
    pub(super) templates: Templates,
    /// Clients of the current cell, by system. They are dropped before their servers.
    pub(super) clients: BTreeMap<usize, Clients>,
    /// Steps in progress, by system. They end before their servers, too.
    pub(super) steps: BTreeMap<usize, OpenStep>,
    pub(super) servers: BTreeMap<usize, Instance>,
    others: Option<OtherProcesses>,
    tally: VerdictTally,
    outlook: OutlookText,
    error: Option<anyhow::Error>,
    /// The first failure for which tests were left out.
    left_out: Option<anyhow::Error>,
    pub(super) request: Request,
    written: Option<StatementLocator>,
    pub(super) symbols: Symbols,
    pub(super) answers: BTreeMap<usize, Vec<StatementAnswer>>,
    pub(super) tried: BTreeMap<usize, SystemTrial>,
    pub(super) loaded: BTreeMap<DataSet, LoadedData>,
    /// Keeps the kernel from stopping real-time turns.
    pub(super) rests: Rests,
    pub(super) weight: Option<CpuWeight>,
    pub(super) has_ended: bool,
}

impl<'a, 'l> StudyExecutor<'a, 'l> {
    pub(super) fn new(
        participants: &'a [Participant],
        local: &'a LocalSite,
        env: &'a Environment<'a>,
        recorder: &'a mut Recorder<'l>,
        outlook: OutlookText,
        weight: Option<CpuWeight>,
    ) -> Result<Self> {
        let request = assay_plan::request_of(recorder.study())?;
        Ok(Self {
            written: StatementLocator::new(&request),
            request,
            symbols: Symbols::new(!env.offline, is_asked),
            participants,
            local,
            env,
            recorder,
            templates: Templates::default(),
            answers: BTreeMap::new(),
            tried: BTreeMap::new(),
            loaded: BTreeMap::new(),
            rests: Rests::new(),
            weight,
            servers: BTreeMap::new(),
            clients: BTreeMap::new(),
            steps: BTreeMap::new(),
            others: None,
            tally: VerdictTally::default(),
            outlook,
            error: None,
            left_out: None,
            has_ended: false,
        })
    }

    pub(crate) fn end(self, end: StudyEnd) -> Result<()> {
        let why = match end {
            StudyEnd::Complete => return Ok(()),
            StudyEnd::Unfinished => self.left_out.map(|why| why.context(UnfinishedStudy)),
            StudyEnd::Abandoned => self.error,
            StudyEnd::WrongOutcome(what) => Some(anyhow!("internal error: {what}")),
        };
        Err(why.unwrap_or_else(|| UnfinishedStudy.into()))
    }

    pub(super) fn failed(&mut self, system: usize, error: anyhow::Error) -> Result<Outcome> {
        self.wait(SIGNALLED)?;
        self.ensure_room(&format!("{error:#}"))?;
        if error.chain().any(|cause| cause.is::<assay_ledger::Error>()) {
            return Err(error);
        }
        let why = self.why(&error);
        self.error = Some(error);
        Ok(Outcome::Failed { system, why, also: Vec::new() })
    }

    /// Ends a shard after this failure if the disk of its node is full. A failure on one node would fail the test in
    /// the whole study. The shard can be resumed later.
    pub fn ensure_room(&self, failure: &str) -> Result<()> {
        if self.recorder.record().shard().is_none()
            || !fails_for_space(failure, &self.env.cache_dir)
        {
            return Ok(());
        }
        Err(anyhow::Error::new(HintedError::new(
            format!("the disk of `{}` is full: {failure}", self.env.cache_dir.display()),
            "free some space on that disk, then run `assay submit` or this command again: the shard continues",
        )))
    }

    pub(super) fn why(&self, error: &anyhow::Error) -> String {
        let place = self.written.as_ref().and_then(|it| it.place(error));
        place.map_or_else(|| format!("{error:#}"), |place| format!("{error:#} ({place})"))
    }

    /// The record as its report will judge it: the last look of an ended study spends the rest of the error. Decisions
    /// after the study must follow from the same verdicts.
    pub fn record_to_judge(&self) -> StudyRecord {
        StudyRecord { finished: self.has_ended, ..self.recorder.record().clone() }
    }

    pub(super) fn cell(&self, cell: usize) -> Result<PlannedCell> {
        self.recorder.study().cells.get(cell).cloned().context("no such cell was planned")
    }

    pub(super) fn tables(&self, system: usize, data: DataSet) -> Result<StudyTables<'_>> {
        let participant = &self.participants[system];
        Ok(StudyTables::new(self.recorder.study(), &participant.system.spec, data))
    }

    pub fn name(&self, system: usize) -> &'a str {
        &self.participants[system].system.name
    }

    pub(super) fn dialect(&self, system: usize) -> Dialect {
        self.participants[system].system.spec.product.dialect()
    }

    pub(super) fn server(&mut self, system: usize) -> Result<&mut Instance> {
        self.servers.get_mut(&system).context("its server is not running")
    }

    /// The server is frozen before and after.
    pub fn thawed<T>(
        &mut self,
        system: usize,
        act: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.server(system)?.thaw()?;
        match act(self) {
            Ok(done) => {
                self.server(system)?.freeze()?;
                Ok(done)
            }
            Err(why) => Err(self.server(system)?.explained(why)),
        }
    }

    pub(super) fn load(&mut self) -> Result<Outcome> {
        let before_s = self.recorder.used_s();
        let Self { participants, local, env, recorder, .. } = self;
        let study = recorder.study().clone();
        let mut note = |content| recorder.content(content);
        self.templates = Templates::prepare(participants, &study, local, env, &mut note)?;
        // Loading takes a share of the time that is not known beforehand.
        let (budget_s, used_s) = (recorder.record().budget_s(), recorder.used_s());
        if used_s - before_s > LOADING_NOTED * budget_s && budget_s > 0.0 {
            let outlook = self.outlook.write(recorder, 0.0);
            env.progress.note(&format!("after loading the data: {outlook}"));
        }
        self.note_restored()?;
        self.note_aged()?;
        let study = self.recorder.study();
        let rates = study.cells.iter().map(|cell| self.templates.rate(cell.id)).collect();
        Ok(Outcome::Loaded { rates })
    }

    fn note_restored(&mut self) -> Result<()> {
        let restored = self.templates.restored();
        let restored: Vec<(usize, DumpFinding)> =
            restored.map(|(system, restored)| (system, restored.clone())).collect();
        for (system, restored) in restored {
            let is_error = restored.what == DumpFindingKind::Error;
            self.note_once(system, EventKind::Restored(restored), is_error)?;
        }
        Ok(())
    }

    fn note_aged(&mut self) -> Result<()> {
        let aged: Vec<(usize, DataSet, f64)> = self.templates.aged_s().collect();
        for (system, data, aged_s) in aged {
            // A twin has the data of its base.
            if !self.participants[system].system.is_twin {
                let what = EventKind::AgedTemplate { data, seconds: aged_s.ceil() as u32 };
                self.note_once(system, what, false)?;
            }
        }
        Ok(())
    }

    /// Records an event of a system, unless it is in the record already.
    pub(super) fn note_once(
        &mut self,
        system: usize,
        what: EventKind,
        is_shown: bool,
    ) -> Result<()> {
        let mut known = self.recorder.record().events.iter();
        if known.any(|event| event.system == Some(system) && event.what == what) {
            return Ok(());
        }
        if is_shown {
            self.env.progress.failed(self.name(system), &what.to_string());
        }
        self.recorder.event(Some(system), what)
    }

    fn begin(&mut self, (block, left): (u32, u32), cells: &[(usize, u32)], so_far: &[Verdict]) {
        self.tally = VerdictTally::new(so_far);
        let budget_s = self.recorder.record().budget_s();
        let left_s = (budget_s - self.recorder.used_s()).max(0.0);
        let time = match self.recorder.study().experiment {
            // Its budget is an estimate.
            Experiment::Stepwise | Experiment::Consecutive | Experiment::Counted => String::new(),
            Experiment::Interleaved | Experiment::Sequential => {
                format!(", {} of the budget left", minutes(left_s))
            }
        };
        let known = self.tally.interim();
        let rounds = cells.iter().map(|(_, rounds)| *rounds);
        let (least, most) = (rounds.clone().min().unwrap_or(0), rounds.max().unwrap_or(0));
        let each = counted(u64::from(most), "round");
        let each = if least == most { each } else { format!("{least} to {each}") };
        self.env.progress.begin(&format!(
            "measuring block {} of {}: {}, {each} each{time}{known}",
            block + 1,
            block + left,
            counted(cells.len() as u64, "test"),
        ));
    }

    fn start_all(
        &mut self,
        block: u32,
        phase: assay_study::Phase,
        order: &[usize],
    ) -> Result<Outcome> {
        self.others.get_or_insert_with(|| OtherProcesses::begin(self.recorder));
        if let Err((system, error)) = self.start_frozen(block, phase, order) {
            return self.failed(system, error);
        }
        if let Some(others) = &mut self.others {
            others.know(self.servers.values());
        }
        if self.request.check {
            return self.check(phase);
        }
        Ok(Outcome::Done)
    }

    fn end_phase(&mut self) -> Result<()> {
        self.clients.clear();
        self.steps.clear();
        let noted = self.others.take().map_or(Ok(()), |others| others.note(self.recorder));
        self.end_servers();
        noted
    }

    /// Ends all servers and removes their data, at the same time.
    fn end_servers(&mut self) {
        let servers = std::mem::take(&mut self.servers).into_values();
        let end = |server: Instance| {
            move || -> Result<()> {
                drop(server);
                Ok(())
            }
        };
        let ended = together(servers.map(end)).into_iter().filter_map(Result::err);
        ended.for_each(|error| log::warn!("{error:#}"));
    }

    pub(super) fn note(&mut self, system: Option<usize>, what: EventKind) -> Result<()> {
        if let (EventKind::NotMeasured { .. }, Some(error)) = (&what, self.error.take()) {
            self.left_out.get_or_insert(error);
        }
        if what != EventKind::WritesRepeated {
            let name = system.map_or("all systems", |system| self.name(system));
            self.env.progress.failed(name, &what.to_string());
        }
        self.recorder.event(system, what)
    }

    /// Records the slices of a round, all at once unless one has failed.
    pub(super) fn record_round(&mut self, slices: Vec<Slice>) -> Result<()> {
        let is_whole =
            |slice: &Slice| matches!(slice.outcome, SliceOutcome::Good | SliceOutcome::Troubled);
        if slices.iter().all(is_whole) {
            return self.recorder.slices(slices);
        }
        slices.into_iter().try_for_each(|slice| self.record(slice))
    }

    pub(super) fn record(&mut self, slice: Slice) -> Result<()> {
        if matches!(slice.outcome, SliceOutcome::Failed(_)) {
            self.wait(SIGNALLED)?;
        }
        let test = slice.cell.test.name.clone();
        let what = match slice.outcome.clone() {
            SliceOutcome::Good | SliceOutcome::Troubled => return self.recorder.slice(slice),
            SliceOutcome::Failed(why) => EventKind::TestFailed { test, why },
            SliceOutcome::Unanswered(why) => EventKind::TestEnded { test, why },
        };
        self.ensure_room(&what.to_string())?;
        let system = slice.system;
        self.recorder.slice(slice)?;
        self.env.progress.failed(self.name(system), &what.to_string());
        self.recorder.event(Some(system), what)
    }

    pub(super) fn tell_standing(&self, what: &str) {
        self.env.progress.measuring(&StudyProgress {
            used_s: self.recorder.used_s(),
            budget_s: self.recorder.record().budget_s(),
            is_estimate: self.recorder.study().experiment.has_steps(),
            what,
            so_far: &self.tally,
        });
    }

    /// Collects statistics and writes pages, then rests until the time is over.
    fn maintain(&mut self, system: usize, data: DataSet, seconds: u32) -> Result<()> {
        let began = Clock::now();
        let name = self.name(system);
        self.env.progress.begin(&format!("{name}: maintaining, {seconds} s"));
        let options = self.server(system)?.connect_options();
        let mut control = Connection::control(&options)?;
        let limit = Duration::from_secs(u64::from(seconds));
        let tables = self.tables(system, data)?.names(&options)?;
        assay_servers::maintain(&mut control, &tables, limit)?;
        self.wait(limit.saturating_sub(began.elapsed()))
    }

    /// Removes the full files of a server's binary log, which are never read. The server must not be frozen. A failure
    /// only costs disk space.
    pub fn remove_binary_logs(&mut self, system: usize) {
        let mut options = self.participants[system].system.options.iter();
        if !options.any(|option| option.starts_with("--log-bin")) {
            return;
        }
        let removed = self.server(system).and_then(|server| {
            let mut control = Connection::control(&server.connect_options())?;
            Ok(assay_servers::remove_binary_logs(&mut control)?)
        });
        removed.unwrap_or_else(|error| log::warn!("{error:#}"));
    }

    pub(super) fn wait(&self, time: Duration) -> Result<()> {
        let end = Clock::now() + time;
        while Clock::now() < end {
            self.env.interrupt.check()?;
            std::thread::sleep(LOOK_EVERY.min(end.saturating_duration_since(Clock::now())));
        }
        Ok(())
    }

    fn check_alive(&mut self, system: usize, cell: usize) -> Result<()> {
        let test = self.cell(cell)?.id.test;
        let options = self.server(system)?.connect_options();
        let name = self.name(system);
        Connection::connect(&options).with_context(|| format!("`{name}` ended during {test}"))?;
        Ok(())
    }
}

impl Executor for StudyExecutor<'_, '_> {
    type Error = anyhow::Error;

    fn used_s(&self) -> f64 {
        self.recorder.used_s()
    }

    fn act(&mut self, action: StudyAction) -> Result<Outcome> {
        if begins_work(&action) {
            self.env.interrupt.check()?;
        }
        match action {
            StudyAction::Load => return self.load(),
            StudyAction::StartAll { block, phase, order } => {
                return self.start_all(block, phase, &order);
            }
            StudyAction::StartOne { system, data } => return self.start_one(system, data),
            StudyAction::Connect { cell, block, order } => {
                return self.connect(cell, block, &order);
            }
            StudyAction::Size { cell, events } => return self.size(cell, events),
            StudyAction::Trace { cell, block } => return self.trace(cell, block),
            StudyAction::Round { cell, block, round, order } => {
                return self.round(cell, block, round, &order);
            }
            StudyAction::Once { cell, system, is_recorded } => {
                return self.once(cell, system, is_recorded);
            }
            StudyAction::Step { cell, system, block, round, segment, position, is_recorded } => {
                let slot = SliceSlot { system, block, round, position };
                return self.step(cell, slot, segment, is_recorded);
            }
            StudyAction::Audit { system, data } => self.audit_alone(system, data)?,
            StudyAction::Calibrate { cell, events } => {
                let id = self.cell(cell)?.id;
                self.recorder.calibrated(id, events)?;
            }
            StudyAction::SetTurn { cell, length } => {
                let id = self.cell(cell)?.id;
                self.recorder.set_turn(id, length)?;
            }
            StudyAction::Begin { block, left, cells, is_recorded, so_far } => {
                if !is_recorded {
                    self.recorder.block(block, left, &cells)?;
                }
                self.begin((block, left), &cells, &so_far);
            }
            StudyAction::Disconnect => return self.disconnect(),
            StudyAction::RecordFailure { cell, system, block, round, why } => {
                let slot = SliceSlot { system, block, round, position: 0 };
                self.record(failed_slice(self.cell(cell)?.id, slot, why))?;
            }
            StudyAction::RecordSilence { cell, system, block, round, silence } => {
                let slot = SliceSlot { system, block, round, position: 0 };
                self.record(silent_slice(self.cell(cell)?.id, slot, silence))?;
            }
            StudyAction::Note { system, what } => self.note(system, what)?,
            StudyAction::Warm { system, cell } => self.warm(system, &cell)?,
            StudyAction::Maintain { system, data, seconds } => {
                self.maintain(system, data, seconds)?
            }
            StudyAction::CheckAlive { system, cell } => self.check_alive(system, cell)?,
            StudyAction::Rest { ms } => {
                self.env.progress.begin("resting before the next system");
                self.wait(Duration::from_millis(ms))?;
            }
            StudyAction::Shutdown { system } => {
                self.clients.clear();
                self.servers.remove(&system).map_or(Ok(()), Instance::stop)?;
            }
            StudyAction::Stop => {
                self.clients.clear();
                self.end_servers();
            }
            StudyAction::EndPhase => self.end_phase()?,
        }
        Ok(Outcome::Done)
    }
}

/// Whether an action begins something: it is skipped once the user has asked to stop. The others complete and record
/// the begun work.
fn begins_work(action: &StudyAction) -> bool {
    !matches!(
        action,
        StudyAction::Calibrate { .. }
            | StudyAction::SetTurn { .. }
            | StudyAction::Disconnect
            | StudyAction::RecordFailure { .. }
            | StudyAction::RecordSilence { .. }
            | StudyAction::Note { .. }
            | StudyAction::Shutdown { .. }
            | StudyAction::Stop
            | StudyAction::EndPhase
    )
}
