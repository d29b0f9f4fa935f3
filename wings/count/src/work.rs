//! Counts the instructions that operations take, on separate instances.
//!
//! Counts do not depend on other activity of the machine, so all instances of all systems are counted at the same time,
//! without waiting for a quiet machine. All run the same batches of events, with one client: a batch on one system has
//! its counterpart on every other. The client connects before anything is counted. Cells whose counts do not decide are
//! counted on further instances.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use assay_load::ClientWork;
use assay_model::{
    CellId, Class, Count, Counting, Experiment, PlannedCell, Setup, StudyDocument as _,
    StudyDocuments, Test, counted,
};
use assay_plan::{COUNTED_INSTANCES, Request};
use assay_run::study::afterwards::{Afterwards, StudyExecutor, is_wrong_answer, message, together};
use assay_run::study::give_way;
use assay_run::study_records::DocumentCheck;
use assay_run::systems::{StudyTables, start_counted, with_full_disk};
use assay_servers::{ServerInstance, shows_waits};
use assay_study::Phase;
use assay_verdict::COUNT_LOOKS;

use crate::counter::{Counter, OpenedCounter, patient};
use crate::counts::CellCounts;
use crate::instrument::Instrument;

/// `--count`, and all that `assay count` measures. The report has its section, because counts have verdicts.
#[derive(Debug, Clone, Copy)]
pub struct InstructionCounts;

const NO_WAITS: &str = "the kernel does not show what a server's threads wait for (/proc/PID/syscall), so counts \
                        also depend on what else the machine does";

struct CellToCount {
    id: CellId,
    /// Events of a batch, if earlier instances have counts already.
    events: Option<u64>,
}

fn purpose<'a>(cells: impl Iterator<Item = &'a CellToCount> + Clone) -> String {
    let tests = counted(cells.clone().count() as u64, "test");
    match cells.clone().any(|cell| cell.events.is_none()) {
        true => format!("counting instructions of {tests}"),
        false => format!("counting {tests} on further instances, because they are undecided"),
    }
}

impl Afterwards for InstructionCounts {
    fn name(&self) -> &'static str {
        Count::NAME
    }

    fn words(&self) -> &'static str {
        "counts"
    }

    fn is_wanted(&self, request: &Request) -> bool {
        request.count != Counting::None
    }

    fn not_done(&self, test: Test) -> String {
        format!("the instructions of {} were not counted", test.name)
    }

    fn check_of_documents(&self) -> DocumentCheck {
        StudyDocuments::check::<Count>
    }

    fn perform(&self, executor: &mut StudyExecutor<'_, '_>) -> Result<()> {
        CountWork { executor }.count()
    }
}

struct CountWork<'e, 'a, 'l> {
    executor: &'e mut StudyExecutor<'a, 'l>,
}

impl CountWork<'_, '_, '_> {
    /// Counts the requested cells that the study has not counted yet.
    fn count(&mut self) -> Result<()> {
        let environment = self.executor.environment();
        let mut found = None;
        // The end of a server may have been chance.
        let (mut failed, mut once) = (BTreeSet::new(), BTreeSet::new());
        loop {
            let mut phases: BTreeMap<Phase, Vec<CellToCount>> = BTreeMap::new();
            for cell in self.cells_to_count()? {
                if !failed.contains(&cell.id) {
                    phases.entry(Phase::new(cell.id)).or_default().push(cell);
                }
            }
            let all = || phases.values().flatten();
            if all().next().is_none() {
                return Ok(());
            }
            environment.progress.note(&purpose(all()));
            if found.is_none() {
                match Instrument::find(environment) {
                    Ok(instrument) => found = Some(instrument),
                    Err(error) => return all().try_for_each(|it| self.not_counted(it, &error)),
                }
                self.executor.load_once()?;
            }
            let instrument = found.as_ref().context("nothing counts")?;
            for (phase, cells) in phases {
                for (cell, has_ended) in self.count_phase(phase, &cells, &once, instrument)? {
                    if !has_ended || !once.insert(cell) {
                        failed.insert(cell);
                    }
                }
            }
        }
    }

    /// Notes why a cell has no count, or none on further instances, unless the user asked to stop.
    fn not_counted(&mut self, cell: &CellToCount, error: &anyhow::Error) -> Result<()> {
        let environment = self.executor.environment();
        environment.interrupt.check()?;
        self.executor.ensure_room(&message(error))?;
        let why = with_full_disk(message(error), &environment.cache_dir);
        if cell.events.is_some() {
            let test = &cell.id.test.name;
            let what = format!("the instructions of {test} were not counted again: {why}");
            environment.progress.note(&what);
            return Ok(());
        }
        self.executor.note_not_done(&InstructionCounts, cell.id, why)
    }

    /// The cells without a count on every system, or with undecided counts, each test on its data once: a count has one
    /// client.
    fn cells_to_count(&self) -> Result<Vec<CellToCount>> {
        let (study, known) = (self.executor.study(), self.executor.known::<Count>()?);
        let mut chosen: BTreeSet<_> = BTreeSet::new();
        let mut cells = Vec::new();
        for PlannedCell { id, .. } in &study.cells {
            if id.test.ibench().is_some() || !chosen.insert((id.test, id.setup.data())) {
                continue;
            }
            let counts = (0..self.executor.participants().len()).map(|it| find(&known, it, *id));
            let Some(counts) = counts.collect::<Option<Vec<&Count>>>() else {
                cells.push(CellToCount { id: *id, events: None });
                continue;
            };
            let Some((base, others)) = counts.split_first() else { continue };
            let is_open = |other: &&Count| {
                assay_verdict::is_count_open(study, *id, counts.len(), [base, other])
            };
            let more = base.instances.len() < COUNT_LOOKS * COUNTED_INSTANCES;
            if more && others.iter().any(is_open) {
                let first = base.instances.first().and_then(|it| it.first());
                cells.push(CellToCount { id: *id, events: first.map(|batch| batch.events) });
            }
        }
        // Writes come last: their background work would be counted with reads.
        cells.sort_by_key(|cell| cell.id.test.class == Class::Write);
        Ok(cells)
    }

    /// Counts cells on fresh instances and returns those that failed, with whether a server ended. A cell that fails on
    /// one system is left out on all: it would have no counterpart. `once` are those in which a server has ended
    /// before.
    fn count_phase(
        &mut self,
        phase: Phase,
        cells: &[CellToCount],
        once: &BTreeSet<CellId>,
        instrument: &Instrument,
    ) -> Result<Vec<(CellId, bool)>> {
        let environment = self.executor.environment();
        let mut failed = Vec::new();
        let mut started = self.start_counted_all(phase, instrument)?;
        let servers = started.as_ref().ok().into_iter().flatten().flatten();
        if servers.map(ServerInstance::pid).any(|pid| !shows_waits(pid)) {
            environment.progress.note(NO_WAITS);
        }
        for (number, cell) in cells.iter().enumerate() {
            environment.interrupt.check()?;
            let of = format!("{} of {}", number + 1, cells.len());
            environment.progress.update(&format!("counting {} ({of})", cell.id.test.name));
            let counted = match &mut started {
                Ok(instances) => {
                    self.give_way(instances);
                    let counted = self.count_cell(cell, instances, instrument);
                    counted.map_err(|error| match self.ending(instances) {
                        Some(ending) => (true, ending),
                        None => (false, error),
                    })
                }
                Err(error) => {
                    self.not_counted(cell, error)?;
                    failed.push((cell.id, false));
                    continue;
                }
            };
            match counted {
                Ok(systems) => self.keep(cell.id, systems, instrument)?,
                Err((has_ended, error)) => {
                    if has_ended && !once.contains(&cell.id) {
                        environment.interrupt.check()?;
                        let test = &cell.id.test.name;
                        let again = format!("{test} is counted again later: {}", message(&error));
                        environment.progress.note(&again);
                    } else {
                        self.not_counted(cell, &error)?;
                    }
                    failed.push((cell.id, has_ended));
                    // An instance may have ended, or be left behind in the middle of a batch. All of them start again,
                    // so that their histories stay equal.
                    if number + 1 < cells.len() {
                        drop(started);
                        started = self.start_counted_all(phase, instrument)?;
                    }
                }
            }
        }
        Ok(failed)
    }

    fn keep(
        &mut self,
        cell: CellId,
        systems: Vec<CellCounts>,
        instrument: &Instrument,
    ) -> Result<()> {
        let known = self.executor.known::<Count>()?;
        let mut counts = Vec::with_capacity(systems.len());
        for (system, counted) in systems.into_iter().enumerate() {
            let counted = counted.named(self.executor.symbols());
            let new = instrument.document(&self.module(system), counted);
            let earlier = find(&known, system, cell).filter(|it| it.by == new.by);
            counts.push(match earlier {
                Some(earlier) => {
                    let mut sum = earlier.clone();
                    sum.add(new);
                    sum
                }
                None => new,
            });
        }
        self.executor.keep(counts.iter().enumerate().map(|(system, it)| (system, cell, it)))
    }

    /// Gives servers that are only counted, and this thread, the lowest priority if another assay measures.
    fn give_way(&self, instances: &[Vec<ServerInstance>]) {
        if self.executor.study().experiment == Experiment::Counted && give_way() {
            instances.iter().flatten().for_each(ServerInstance::give_way);
        }
    }

    fn ending(&self, instances: &mut [Vec<ServerInstance>]) -> Option<anyhow::Error> {
        let servers = instances.iter_mut().flat_map(|servers| servers.iter_mut().enumerate());
        // One that runs goes on.
        let mut ended = servers.filter_map(|(system, server)| Some((system, server.thaw().err()?)));
        let (system, ending) = ended.next()?;
        let name = self.executor.name(system);
        Some(anyhow::Error::from(ending).context(format!("`{name}` while it was counted")))
    }

    fn check_counted(&mut self, phase: Phase, instances: &[Vec<ServerInstance>]) -> Result<()> {
        let servers = instances.iter().flat_map(|servers| servers.iter().enumerate());
        let servers = servers.map(|(system, server)| (system, patient(server)));
        self.executor.check_apart(phase, servers)
    }

    fn module(&self, system: usize) -> String {
        let participant = self.executor.participants().get(system);
        let prefix = participant.and_then(|participant| participant.prefix().ok());
        let program = prefix.and_then(|prefix| prefix.layout.server.file_name());
        program.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The instances, each with a server of every system, with filled caches; or why they cannot be counted. Fails if a
    /// server gives wrong answers.
    fn start_counted_all(
        &mut self,
        phase: Phase,
        instrument: &Instrument,
    ) -> Result<Result<Vec<Vec<ServerInstance>>>> {
        let mut started = self.started_counted(phase, instrument);
        if let Err(error) = &started
            && error.chain().any(|it| it.downcast_ref::<assay_servers::ServersError>().is_some())
        {
            // All cells of the phase depend on this start.
            let environment = self.executor.environment();
            environment.interrupt.check()?;
            environment.progress.note(&format!("starting again: {}", message(error)));
            started = self.started_counted(phase, instrument);
        }
        if let Ok(instances) = &mut started
            && self.executor.request().check
            && let Err(error) = self.check_counted(phase, instances)
        {
            if is_wrong_answer(&error) {
                return Err(error);
            }
            started = Err(self.ending(instances).unwrap_or(error));
        }
        Ok(started)
    }

    fn started_counted(
        &self,
        phase: Phase,
        instrument: &Instrument,
    ) -> Result<Vec<Vec<ServerInstance>>> {
        let (study, site) = (self.executor.study(), self.executor.site());
        let (participants, templates) = (self.executor.participants(), self.executor.templates());
        let valgrind = instrument.valgrind();
        let progress = self.executor.environment().progress;
        progress.update("starting the servers whose instructions are counted");
        let all = (0..COUNTED_INSTANCES).flat_map(|_| participants.iter().enumerate());
        let all = all.map(|(system, participant)| {
            let template = templates.get(system, phase.data);
            move || -> Result<ServerInstance> {
                let server = start_counted(participant, template?, phase, valgrind, site)?;
                let tables = StudyTables::new(study, &participant.system.spec, phase.data);
                tables.warm(&patient(&server), true)?;
                Ok(server)
            }
        });
        let mut all = together(all).into_iter();
        let systems = participants.len();
        (0..COUNTED_INSTANCES).map(|_| all.by_ref().take(systems).collect()).collect()
    }

    /// Batches of a cell on all systems, sized for the system with the most expensive events.
    fn count_cell(
        &self,
        cell: &CellToCount,
        instances: &[Vec<ServerInstance>],
        instrument: &Instrument,
    ) -> Result<Vec<CellCounts>> {
        let (study, systems) = (self.executor.study(), self.executor.participants());
        let servers = || instances.iter().flat_map(|servers| servers.iter().zip(systems));
        let counters: Vec<Counter<'_>> = servers()
            .map(|(server, participant)| {
                let system = &participant.system;
                let work = ClientWork {
                    dialect: system.spec.product.dialect(),
                    test: cell.id.test,
                    setup: Setup { clients: 1, ..cell.id.setup },
                    statements: study.statements,
                    seed: study.seed,
                };
                Counter { server, instrument, system, work }
            })
            .collect();
        let opened = together(counters.iter().map(|counter| move || counter.open()));
        let mut opened: Vec<OpenedCounter<'_>> = opened.into_iter().collect::<Result<_>>()?;
        // All run the same events, so that their data stay equal.
        let sized = counters.iter().zip(&mut opened);
        let sized = together(sized.map(|(counter, opened)| move || counter.events(opened)));
        let sized: Vec<u64> = sized.into_iter().collect::<Result<_>>()?;
        let events = cell.events.or(sized.into_iter().min()).context("no system")?;
        let count = counters.iter().zip(&mut opened);
        let all = together(count.map(|(counter, opened)| move || counter.batches(opened, events)));
        let mut counts = vec![CellCounts::default(); systems.len()];
        for (number, counted) in all.into_iter().enumerate() {
            let of_system = counts.get_mut(number % systems.len()).context("no system")?;
            of_system.add(counted?);
        }
        Ok(counts)
    }
}

fn find(known: &[(usize, CellId, Count)], system: usize, cell: CellId) -> Option<&Count> {
    let found = known.iter().find(|(index, id, _)| (*index, *id) == (system, cell));
    found.map(|(_, _, count)| count)
}
