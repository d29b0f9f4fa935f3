//! Counts the instructions that operations take, on separate instances.
//!
//! Counts do not depend on other activity of the machine, so all instances of all systems are counted at the same time,
//! without waiting for a quiet machine. All run the same batches of events, with one client: a batch on one system has
//! its counterpart on every other. The client connects before anything is counted. One test after the other is counted
//! on all systems and kept. Cells whose counts do not decide are counted on further instances.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use assay_load::ClientWork;
use assay_model::{
    CellId, Class, Count, CountBatch, Counting, Experiment, PlannedCell, Preparation, Setup,
    StudyDocument as _, StudyDocuments, Test, counted,
};
use assay_plan::{COUNTED_INSTANCES, Request};
use assay_run::progress::minutes;
use assay_run::study::afterwards::{Afterwards, StudyExecutor, is_wrong_answer, message, together};
use assay_run::study::give_way;
use assay_run::study_records::DocumentCheck;
use assay_run::systems::with_full_disk;
use assay_servers::{ServerInstance, ServersError, shows_waits};
use assay_study::Phase;
use assay_verdict::{COUNT_LOOKS, batches_agree};

use crate::counter::{Counter, OpenedCounter, patient};
use crate::counts::CellCounts;
use crate::instrument::Instrument;
use crate::naming::ServersWithNames;
use crate::pace::{CountPace, CountRemainder, CountStep};
use crate::servers::CountedServers;

/// `--count`, and all that `assay count` measures. The report has its section, because counts have verdicts.
#[derive(Debug, Clone, Copy)]
pub struct InstructionCounts;

const NO_WAITS: &str = "the kernel does not show what a server's threads wait for (/proc/PID/syscall), so counts \
                        also depend on what else the machine does";

const OPENS_CONNECTIONS: &str =
    "each event opens a connection, and only the thread of one that lasts can be counted";

/// Batches counted on each instance: as few as agree ([`batches_agree`]), but all of a write. Work that some of its
/// events cause, such as the split of a page, is the same on all instances, so a few batches may agree without it. A
/// system that is counted alone has all, because its figure is that of the events, whose choice no other system shares.
const READ_BATCHES_MIN: usize = 2;
const BATCHES_MAX: usize = 6;

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
        let servers = ServersWithNames::default();
        CountWork { executor, pace: CountPace::default(), servers }.count()
    }
}

struct CountWork<'e, 'a, 'l> {
    executor: &'e mut StudyExecutor<'a, 'l>,
    pace: CountPace,
    servers: ServersWithNames,
}

impl CountWork<'_, '_, '_> {
    /// Counts the requested cells that the study has not counted yet.
    fn count(&mut self) -> Result<()> {
        let environment = self.executor.environment();
        let mut found = None;
        let mut failed: BTreeSet<CellId> = BTreeSet::new();
        loop {
            let mut phases: BTreeMap<Phase, Vec<CellToCount>> = BTreeMap::new();
            for cell in self.cells_to_count()? {
                if !failed.contains(&cell.id) {
                    phases.entry(Phase::new(cell.id)).or_default().push(cell);
                }
            }
            let all = || phases.values().flatten();
            if all().next().is_none() {
                self.note_pace();
                return Ok(());
            }
            environment.progress.note(&purpose(all()));
            if found.is_none() {
                match Instrument::find(environment) {
                    Ok(instrument) => found = Some(instrument),
                    Err(error) => return all().try_for_each(|it| self.not_counted(it, &error)),
                }
                let executor = &mut self.executor;
                self.pace.timed(CountStep::Load, || executor.load_once())?;
            }
            let instrument = found.as_ref().context("nothing counts")?;
            let mut later = CountRemainder { starts: phases.len(), tests: all().count() };
            for (phase, cells) in phases {
                later.starts -= 1;
                later.tests -= cells.len();
                failed.extend(self.count_phase(phase, &cells, later, instrument)?);
            }
        }
    }

    fn note_pace(&self) {
        let steps = self.pace.words();
        if !steps.is_empty() {
            let total = minutes(self.pace.total().as_secs_f64());
            let message = format!("counting took {total} ({steps})");
            self.executor.environment().progress.note(&message);
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
            // The clients of a measured step send no events.
            let is_step = id.test.ibench().is_some_and(|step| step.before != Preparation::Loaded);
            if is_step || !chosen.insert((id.test, id.setup.data())) {
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

    /// Counts cells on fresh instances and returns those that failed. A cell that fails on one system is left out on
    /// all: it would have no counterpart. `later` is left for later phases.
    fn count_phase(
        &mut self,
        phase: Phase,
        cells: &[CellToCount],
        later: CountRemainder,
        instrument: &Instrument,
    ) -> Result<Vec<CellId>> {
        let environment = self.executor.environment();
        let mut failed = Vec::new();
        let mut started = self.start_all(phase, instrument)?;
        let is_hidden = |(_, server): (usize, &ServerInstance)| !shows_waits(server.pid());
        if started.iter().flat_map(CountedServers::all).any(is_hidden) {
            environment.progress.note(NO_WAITS);
        }
        for (number, cell) in cells.iter().enumerate() {
            environment.interrupt.check()?;
            let tests = later.tests + cells.len() - number;
            let left = self.pace.left_s(CountRemainder { tests, ..later });
            let left =
                left.map_or_else(String::new, |left| format!(", about {} left", minutes(left)));
            let place = format!("{} of {}{left}", number + 1, cells.len());
            environment.progress.begin(&format!("counting {} ({place})", cell.id.test.name));
            if let Err(error) = &started {
                self.not_counted(cell, error)?;
                failed.push(cell.id);
                continue;
            }
            let is_last = number + 1 == cells.len();
            if cell.id.test.opens_connections() {
                self.not_counted(cell, &anyhow!(OPENS_CONNECTIONS))?;
                failed.push(cell.id);
                continue;
            }
            match self.count_or_again(phase, cell, is_last, &mut started, instrument)? {
                Ok(systems) => self.keep(cell.id, systems, instrument)?,
                Err(error) => {
                    self.not_counted(cell, &error)?;
                    failed.push(cell.id);
                }
            }
        }
        Ok(failed)
    }

    /// Counts a cell, and once more if a server ends meanwhile, which may have been chance. After a failure, the
    /// servers are ready for the next cell, unless this is the last one.
    fn count_or_again(
        &mut self,
        phase: Phase,
        cell: &CellToCount,
        is_last: bool,
        started: &mut Result<CountedServers>,
        instrument: &Instrument,
    ) -> Result<Result<Vec<CellCounts>>> {
        let mut is_repeated = false;
        loop {
            let servers = match started {
                Ok(servers) => servers,
                Err(error) => return Ok(Err(anyhow!(message(error)))),
            };
            self.give_way(servers);
            let error = match self.count_cell(cell, servers, instrument) {
                Ok(counts) => return Ok(Ok(counts)),
                Err(error) => error,
            };
            let environment = self.executor.environment();
            environment.interrupt.check()?;
            let ending = self.ending(servers);
            let has_ended = ending.is_some();
            let why = ending.unwrap_or(error);
            let goes_on = has_ended && !is_repeated;
            if goes_on {
                let test = &cell.id.test.name;
                environment.progress.note(&format!("{test} is counted again: {}", message(&why)));
            } else if is_last {
                return Ok(Err(why));
            }
            // Servers that only read differ by their caches, which are filled again. Writes need equal histories. If
            // none has ended, one may be left behind in the middle of a batch.
            let is_enough = has_ended && cell.id.test.class == Class::Read;
            self.start_again(phase, is_enough, started, instrument)?;
            if !goes_on {
                return Ok(Err(why));
            }
            is_repeated = true;
        }
    }

    /// Starts servers again after a failure: if that `is_enough`, those that have ended, else all.
    fn start_again(
        &mut self,
        phase: Phase,
        is_enough: bool,
        started: &mut Result<CountedServers>,
        instrument: &Instrument,
    ) -> Result<()> {
        if let Ok(servers) = started {
            let executor = &*self.executor;
            let restart = || servers.restart(executor, phase, instrument);
            if is_enough && self.pace.timed(CountStep::Start, restart).is_ok() {
                return Ok(());
            }
            servers.instances.clear();
        }
        *started = self.start_all(phase, instrument)?;
        Ok(())
    }

    /// Why a server has ended, if one has.
    fn ending(&self, servers: &mut CountedServers) -> Option<anyhow::Error> {
        let (system, ending) = servers.ending()?;
        let name = self.executor.name(system);
        Some(anyhow::Error::from(ending).context(format!("`{name}` while it was counted")))
    }

    fn keep(
        &mut self,
        cell: CellId,
        systems: Vec<CellCounts>,
        instrument: &Instrument,
    ) -> Result<()> {
        let began = Instant::now();
        let known = self.executor.known::<Count>()?;
        let mut counts = Vec::with_capacity(systems.len());
        for (system, counted) in systems.into_iter().enumerate() {
            let participant = self.executor.participants().get(system);
            let prefix = participant.and_then(|participant| participant.prefix().ok());
            let (servers, environment) = (&self.servers, self.executor.environment());
            let counted = counted.named(self.executor.symbols(), |file| {
                prefix.map_or_else(Vec::new, |prefix| servers.donors(environment, prefix, file))
            });
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
        self.executor.keep(counts.iter().enumerate().map(|(system, it)| (system, cell, it)))?;
        self.pace.add(CountStep::Keep, began.elapsed());
        Ok(())
    }

    /// Gives servers that are only counted, and this thread, the lowest priority if another assay measures.
    fn give_way(&self, servers: &CountedServers) {
        if self.executor.study().experiment == Experiment::Counted && give_way() {
            servers.all().for_each(|(_, server)| server.give_way());
        }
    }

    fn check_counted(&mut self, phase: Phase, servers: &CountedServers) -> Result<()> {
        let servers = servers.all().map(|(system, server)| (system, patient(server)));
        self.executor.check_apart(phase, servers)
    }

    fn module(&self, system: usize) -> String {
        let participant = self.executor.participants().get(system);
        let prefix = participant.and_then(|participant| participant.prefix().ok());
        let program = prefix.and_then(|prefix| prefix.layout.server.file_name());
        program.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The servers of a phase, or why they cannot be counted. Fails if a server gives wrong answers.
    fn start_all(
        &mut self,
        phase: Phase,
        instrument: &Instrument,
    ) -> Result<Result<CountedServers>> {
        let mut started = self.start_once(phase, instrument);
        if let Err(error) = &started
            && error.chain().any(|cause| cause.downcast_ref::<ServersError>().is_some())
        {
            // All cells of the phase depend on this start.
            let environment = self.executor.environment();
            environment.interrupt.check()?;
            environment.progress.note(&format!("starting again: {}", message(error)));
            started = self.start_once(phase, instrument);
        }
        if let Ok(servers) = &mut started
            && self.executor.request().check
            && let Err(error) = self.check_counted(phase, servers)
        {
            if is_wrong_answer(&error) {
                return Err(error);
            }
            started = Err(self.ending(servers).unwrap_or(error));
        }
        Ok(started)
    }

    fn start_once(&mut self, phase: Phase, instrument: &Instrument) -> Result<CountedServers> {
        let executor = &*self.executor;
        self.pace.timed(CountStep::Start, || CountedServers::start(executor, phase, instrument))
    }

    /// Batches of a cell on all systems, sized for the system with the most expensive events. All servers work at the
    /// same time, and wait for each other after each step.
    fn count_cell(
        &mut self,
        cell: &CellToCount,
        servers: &mut CountedServers,
        instrument: &Instrument,
    ) -> Result<Vec<CellCounts>> {
        let (study, systems) = (self.executor.study(), self.executor.participants());
        let (interrupt, pace) = (&self.executor.environment().interrupt, &mut self.pace);
        let CountedServers { instances, idle_rates } = servers;
        let each = instances.iter().flat_map(|servers| servers.iter().zip(systems));
        let counters: Vec<Counter<'_>> = each
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
        let open = || together(counters.iter().map(|counter| move || counter.open()));
        let opened = pace.timed(CountStep::Connect, open);
        let mut opened: Vec<OpenedCounter<'_>> = opened.into_iter().collect::<Result<_>>()?;
        // First of all, because background work goes on after events.
        if idle_rates.is_empty() {
            let count = || on_all(&counters, &mut opened, Counter::idle_rate);
            *idle_rates = pace.timed(CountStep::Idle, count)?;
        }
        for (opened, idle_rate) in opened.iter_mut().zip(&*idle_rates) {
            opened.idle_rate = *idle_rate;
        }
        // All run the same events, so that their data stay equal.
        let events = match cell.events {
            Some(events) => events,
            None => {
                let size = || on_all(&counters, &mut opened, Counter::size);
                let sizes = pace.timed(CountStep::Size, size)?;
                sizes.into_iter().min().context("no system")?
            }
        };
        pace.timed(CountStep::Warm, || {
            on_all(&counters, &mut opened, |counter, opened| counter.warm(opened, events))
        })?;
        let least = match cell.id.test.class {
            Class::Read if systems.len() > 1 => READ_BATCHES_MIN,
            Class::Read | Class::Write => BATCHES_MAX,
        };
        for number in 1..=BATCHES_MAX {
            interrupt.check()?;
            pace.timed(CountStep::Batches, || {
                on_all(&counters, &mut opened, |counter, opened| counter.batch(opened, events))
            })?;
            if number >= least && all_agree(&opened, systems.len()) {
                break;
            }
        }
        let mut counts = vec![CellCounts::default(); systems.len()];
        for (number, opened) in opened.into_iter().enumerate() {
            counts[number % systems.len()].add(opened.end());
        }
        Ok(counts)
    }
}

/// Lets all servers do this at the same time.
fn on_all<'a, T: Send>(
    counters: &[Counter<'a>],
    opened: &mut [OpenedCounter<'a>],
    act: impl Fn(&Counter<'a>, &mut OpenedCounter<'a>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let act = &act;
    let acts = counters.iter().zip(opened).map(|(counter, opened)| move || act(counter, opened));
    together(acts).into_iter().collect()
}

/// Whether the batches of each system agree with those of the base. The servers of an instance are in the order of the
/// systems.
fn all_agree(opened: &[OpenedCounter<'_>], systems: usize) -> bool {
    let batches = |system: usize| -> Vec<Vec<CountBatch>> {
        let of_system = opened.iter().skip(system).step_by(systems.max(1));
        of_system.map(|opened| opened.batches.clone()).collect()
    };
    let base = batches(0);
    (1..systems).all(|system| batches_agree(&base, &batches(system)))
}

fn find(known: &[(usize, CellId, Count)], system: usize, cell: CellId) -> Option<&Count> {
    let found = known.iter().find(|(index, id, _)| (*index, *id) == (system, cell));
    found.map(|(_, _, count)| count)
}
