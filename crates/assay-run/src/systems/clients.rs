//! A system's clients and counters in one cell, and one slice: counters, turns of a warm and a measured part, counters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use assay_doctor::DelayMonitor;
use assay_load::{
    ClientSession, ClientWork, KindWork, RunBound, RunMonitor, RunProgress, Seconds, StatementWork,
    Stretch, TurnWork,
};
use assay_model::{
    CellId, PlannedCell, RESPONSE_CLASSES, STATEMENT, Slice, SliceOutcome, Study, System, Test,
    TpccKind, Turn, Unit, WorkCounters, counted,
};
use assay_probe::{DeviceCounters, ProbeConfig, ProbedServer, Snapshot, Usage, UsageProbe};
use assay_servers::ServerStatus;
use assay_study::{SilentEvent, TurnTrace};
use assay_wire::{ConnectOptions, Stop};

use super::environment::LocalSite;
use super::instance::Instance;
use crate::clock::now_ms;

#[derive(Debug, Clone, Copy)]
pub struct SliceSlot {
    pub system: usize,
    pub block: u32,
    pub round: u32,
    pub position: u32,
}

/// Work of clients in a turn that no slice has.
#[derive(Debug, Clone, PartialEq)]
pub struct LongTurn {
    pub elapsed_ms: u64,
    pub events: u64,
    pub ops: f64,
    /// Events of each whole second.
    pub seconds: Vec<u64>,
}

pub struct Clients {
    pub session: ClientSession,
    places: Vec<(u32, u32)>,
    probe: UsageProbe,
    probed: Option<(i32, Option<Vec<i32>>)>,
    /// `None` if the server does not report its status.
    status: Option<StatusCounters>,
    /// Notices involuntary waits of clients and server; `None` at normal priority.
    monitor: Option<Arc<DelayMonitor>>,
}

fn statements(
    places: &[(u32, u32)],
    work: &[StatementWork],
) -> impl Iterator<Item = (String, u64)> {
    places.iter().zip(work).flat_map(|((kind, step), work)| {
        let name = |what| format!("{STATEMENT}{kind}.{step}.{what}");
        [(name("count"), work.count), (name("ns"), work.ns)]
    })
}

struct StatusCounters {
    status: ServerStatus,
    /// The last values; `None` if unrecorded work has run since.
    last: Option<BTreeMap<String, u64>>,
}

pub struct OpenSlice {
    slice: Slice,
    before: Snapshot,
    device: Option<DeviceCounters>,
    /// Earlier waits of real-time threads.
    delayed_ns: Option<u64>,
}

impl OpenSlice {
    pub fn slot(&self) -> SliceSlot {
        let Slice { system, block, round, position, .. } = self.slice;
        SliceSlot { system, block, round, position }
    }
}

/// Bits of a sequence number for the events of a slice. The bits above count rounds, clients and blocks.
const SLICE_BITS: u32 = 27;
/// Bits for the rounds of a cell in a block.
const ROUND_BITS: u32 = 15;
/// Bits for the client count minus one.
const CLIENTS_BITS: u32 = 12;

/// First sequence number of events outside of blocks, above those of the last block.
pub const OUTSIDE_BLOCKS: u64 = 1023 << (SLICE_BITS + ROUND_BITS + CLIENTS_BITS);

/// First sequence number of a slice. No slice of a test repeats the events of another, whatever its client count.
/// Otherwise its deletes would find nothing, and its updates would change nothing.
fn first_sequence(cell: CellId, slot: SliceSlot) -> u64 {
    let block = u64::from(slot.block) << (SLICE_BITS + ROUND_BITS + CLIENTS_BITS);
    block | clients_bits(cell) | u64::from(slot.round) << SLICE_BITS
}

/// First sequence number of events for sizing the slices of a cell.
fn sizing_sequence(cell: CellId) -> u64 {
    OUTSIDE_BLOCKS | clients_bits(cell)
}

fn clients_bits(cell: CellId) -> u64 {
    u64::from(cell.setup.clients.saturating_sub(1)) << (SLICE_BITS + ROUND_BITS)
}

const PIECES_MAX: u64 = 1000;

/// Kinds of work outside of slices with different events.
pub const WORK_APART_MAX: u64 = (1 << ROUND_BITS) / PIECES_MAX;

const SEEN_EVERY: Duration = Duration::from_millis(100);

const LONG_SLOT: SliceSlot = SliceSlot { system: 0, block: 0, round: 0, position: 0 };

const TRACE_MS: u32 = 20;
/// Bits of a sequence number for the events of a traced turn. Traces begin halfway through a slice's bits, after the
/// events for sizing.
const TRACE_BITS: u32 = SLICE_BITS - 5;

/// Events of a traced turn, the same on all systems: a share of a slice's for writes, and a time for reads.
fn traced(cell: &PlannedCell, turn: u32) -> Stretch {
    let halfway = 1 << (SLICE_BITS - 1);
    let clients = u64::from(cell.id.setup.clients);
    let bound = match cell.events {
        Some(events) => {
            let of_turn = events * u64::from(TRACE_MS) / u64::from(cell.slice_ms.max(1));
            RunBound::Events(of_turn.max(clients))
        }
        None => RunBound::Time(Duration::from_millis(TRACE_MS.into())),
    };
    let first_sequence = sizing_sequence(cell.id) + halfway + (u64::from(turn) << TRACE_BITS);
    Stretch { first_sequence, bound }
}

impl Clients {
    /// Counts the server's instructions in slices, if possible; returns whether it is.
    pub fn count_instructions(&mut self) -> Result<bool> {
        Ok(self.probe.count_instructions()?)
    }

    pub fn stop_counting(&mut self) {
        self.probe.stop_counting();
    }

    pub fn monitor(&mut self, monitor: Arc<DelayMonitor>) {
        self.monitor = Some(monitor);
    }

    pub fn is_realtime(&self) -> bool {
        self.monitor.is_some()
    }
}

/// Connects the clients of a cell to a server that is not frozen, and puts clients and server on their CPUs. `test` is
/// that of the cell or a part of it.
pub fn connect_clients(
    server: &Instance,
    system: &System,
    (cell, test): (&PlannedCell, Test),
    study: &Study,
    local: &LocalSite,
) -> Result<Clients> {
    let work = ClientWork {
        dialect: system.spec.product.dialect(),
        test,
        setup: cell.id.setup,
        statements: study.statements,
        seed: study.seed,
    };
    let cpus = local.cpus_of(cell);
    let options = ConnectOptions { timeout: event_limit(study), ..server.connect_options() };
    let session = ClientSession::open(&options, &work, cpus)?;
    local.confine_clients(&session.client_tids())?;
    let round_trips =
        |client, count| session.round_trips(client, count).map_err(anyhow::Error::from);
    let mut probed_server = server.probed(&session.connection_ids(), round_trips)?;
    if let Some(ProbedServer { connection_tids, .. }) = &probed_server {
        let tids = connection_tids.as_deref().unwrap_or_default();
        server.place(cell.placement, cpus, tids)?;
    }
    if let Some(probed) = probed_server.as_mut().filter(|_| test.opens_connections()) {
        // All threads count as serving the clients.
        probed.connection_tids = None;
    }
    let probed = probed_server.as_ref().map(|it| (it.pid, it.connection_tids.clone()));
    let client_tids = session.client_tids();
    let mut probe = UsageProbe::new(ProbeConfig { client_tids, server: probed_server })?;
    if test.opens_connections() {
        probe.serve_short_lived()?;
    }
    // A server that somebody else runs may refuse.
    let status = ServerStatus::open(&server.connect_options(), system.spec.product).ok().flatten();
    let status = status.map(|status| StatusCounters { status, last: None });
    Ok(Clients { session, places: work.places(), probe, probed, status, monitor: None })
}

/// Warm and measured part of a turn: by time for reads, by events for writes. All systems begin either part with the
/// same event, however far their other parts came.
fn stretches(cell: &PlannedCell, first: u64, turn: u32) -> [Stretch; 2] {
    let turns = u64::from(cell.turns());
    let (warm, measured) = match cell.events {
        Some(events) => {
            let clients = u64::from(cell.id.setup.clients);
            let of_turn = events.div_ceil(turns).max(clients);
            let warm = of_turn * cell.warm_time_us() / (u64::from(cell.turn_ms.max(1)) * 1000);
            (RunBound::Events(warm.max(clients)), RunBound::Events(of_turn))
        }
        None => (
            RunBound::Time(Duration::from_micros(cell.warm_time_us())),
            RunBound::Time(Duration::from_millis(u64::from(cell.slice_ms)) / turns as u32),
        ),
    };
    let of_part = (1 << SLICE_BITS) / (2 * turns);
    let first = first + u64::from(turn) * 2 * of_part;
    [
        Stretch { first_sequence: first, bound: warm },
        Stretch { first_sequence: first + of_part, bound: measured },
    ]
}

fn turn_of(work: &TurnWork, unit: Unit) -> Turn {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let warm_ns = ns(work.warm_elapsed);
    match unit {
        // Steps of the Insert Benchmark have no turns.
        Unit::Query | Unit::InsertedRow | Unit::IndexedRow => Turn {
            units: work.measured.queries(),
            ns: ns(work.elapsed),
            warm_units: work.warm.queries(),
            warm_ns,
        },
        Unit::ThousandRows => Turn {
            units: work.measured.events,
            ns: work.measured.event_ns_sum,
            warm_units: work.warm.events,
            warm_ns,
        },
    }
}

/// Counters of a test's kinds of events: events in the measured parts, their time, and a histogram of their durations.
fn kind_counters(test: Test, kinds: &[KindWork]) -> Vec<(String, u64)> {
    let all = test.tpcc().map(|_| TpccKind::ALL).into_iter().flatten();
    let counters = all.flat_map(|kind| {
        let name = kind.counter();
        let found = kinds.iter().find(|it| it.name == name);
        let (events, ns) = found.map_or((0, 0), |it| (it.events, it.ns_sum));
        let is_timed = TpccKind::TIMED.contains(&kind);
        let classes = if is_timed { 0..RESPONSE_CLASSES } else { 0..0 };
        let of_class = move |class: usize| {
            let count = found.and_then(|it| it.classes.get(class)).copied();
            (kind.response_counter(class), count.unwrap_or_default())
        };
        [(name.to_owned(), events), (format!("{name}_ns"), ns)]
            .into_iter()
            .chain(classes.map(of_class))
    });
    counters.collect()
}

/// Subtracts the usage of the other systems' servers in the same round from the usage by others.
pub fn share_out(usages: &mut [Usage]) {
    let used: Vec<Option<u64>> = usages.iter().map(Usage::server_ns).collect();
    for (mine, usage) in usages.iter_mut().enumerate() {
        let others = used.iter().enumerate().filter(|(other, _)| *other != mine);
        usage.leave_out(others.map(|(_, used)| *used).sum());
    }
}

pub fn failed_slice(cell: CellId, slot: SliceSlot, why: String) -> Slice {
    Slice { outcome: SliceOutcome::Failed(why), ..unmeasured(cell, slot) }
}

const EVENT_MOST: Duration = Duration::from_secs(30);
const EVENT_LEAST: Duration = Duration::from_secs(5);

/// Number of events at the limit that fit into a budget.
const EVENTS_PER_BUDGET: f64 = 6.0;

/// Time limit of an event: a study with a short budget cannot wait for long.
pub(crate) fn event_limit(study: &Study) -> Duration {
    let share = Duration::try_from_secs_f64(study.budget_s / EVENTS_PER_BUDGET);
    share.map_or(EVENT_MOST, |share| share.clamp(EVENT_LEAST, EVENT_MOST))
}

/// Lower bound on the duration of an event, if the error is that one took too long.
pub fn silence(error: &anyhow::Error) -> Option<SilentEvent> {
    error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(assay_load::LoadError::Unanswered { why, events, elapsed }) => Some(SilentEvent {
            why: why.clone(),
            events: *events,
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
        }),
        _ => None,
    })
}

pub fn silent_slice(cell: CellId, slot: SliceSlot, silence: SilentEvent) -> Slice {
    let SilentEvent { why, events, elapsed_ns } = silence;
    Slice {
        outcome: SliceOutcome::Unanswered(why),
        work: WorkCounters { events, elapsed_ns, ..WorkCounters::default() },
        ..unmeasured(cell, slot)
    }
}

/// Why a run was no work of a server: its events sent no statement, or the program ended its clients.
fn nothing_sent(work: &WorkCounters, test: Test) -> Option<&'static str> {
    match (work.events, work.queries()) {
        (0, 0) if test.lua().is_some() => {
            Some("the script ended its clients before their first event was done")
        }
        (1.., 0) if test.ibench().is_none() => Some("its events send no statement"),
        _ => None,
    }
}

fn cut_off_slice(cell: CellId, slot: SliceSlot, error: &anyhow::Error) -> Slice {
    match silence(error) {
        Some(silence) => silent_slice(cell, slot, silence),
        None => failed_slice(cell, slot, format!("{error:#}")),
    }
}

pub fn unmeasured(cell: CellId, slot: SliceSlot) -> Slice {
    // The recorder sets the run.
    Slice {
        block: slot.block,
        round: slot.round,
        position: slot.position,
        started_ms: now_ms(),
        ..Slice::new(slot.system, cell)
    }
}

impl Clients {
    pub fn rate(&mut self, cell: &PlannedCell, events: u64) -> Result<f64> {
        let seconds = self.run_apart(cell, 0, events)?;
        Ok(events as f64 / seconds.max(1e-9))
    }

    /// Runs this many unrecorded events, after the first ones of them. Returns seconds.
    pub fn run_apart(&mut self, cell: &PlannedCell, after: u64, events: u64) -> Result<f64> {
        self.forget_status();
        let work = self.session.run(sizing_sequence(cell.id) + after, RunBound::Events(events))?;
        if let Some(why) = nothing_sent(&work, cell.id.test) {
            bail!("{why}");
        }
        Ok(Duration::from_nanos(work.elapsed_ns).as_secs_f64())
    }

    /// Runs an unrecorded turn. Returns when its events ended.
    pub fn trace(&mut self, cell: &PlannedCell, turn: u32) -> Result<TurnTrace> {
        self.forget_status();
        let ends = self.session.trace(traced(cell, turn))?;
        Ok(ends.into_iter().map(|it| u32::try_from(it.as_micros()).unwrap_or(u32::MAX)).collect())
    }

    /// The server's process and the threads that serve the clients; `None` if the process is unknown.
    pub fn probed(&self) -> Option<(i32, Option<&[i32]>)> {
        self.probed.as_ref().map(|(pid, serving)| (*pid, serving.as_deref()))
    }

    /// Runs the cell for about this time, with events of no slice. `part` counts the calls. Returns the number of
    /// operations.
    pub fn work_apart(
        &mut self,
        cell: &PlannedCell,
        slot: SliceSlot,
        part: u64,
        time: Duration,
    ) -> Result<f64> {
        self.forget_status();
        let began = Instant::now();
        let mut slice = unmeasured(cell.id, slot);
        for piece in 0..PIECES_MAX {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                break;
            }
            // The work of writes is bounded by events, because the rows that they change may run out.
            let bound = cell.events.map_or(RunBound::Time(left), RunBound::Events);
            let round = 1 + part * PIECES_MAX + piece;
            let first = OUTSIDE_BLOCKS | clients_bits(cell.id) | round << SLICE_BITS;
            let work = self.session.run(first, bound)?;
            slice.work.read += work.read;
            slice.work.write += work.write;
            slice.work.other += work.other;
            slice.work.events += work.events;
        }
        Ok(slice.ops())
    }

    /// Runs the cell without a break, with events of no slice, and counts them by second.
    pub fn long_turn(
        &mut self,
        cell: &PlannedCell,
        number: u32,
        seconds: f64,
        stop: Stop,
    ) -> Result<LongTurn> {
        self.forget_status();
        let time = Duration::from_secs_f64(seconds);
        let first = OUTSIDE_BLOCKS | clients_bits(cell.id) | u64::from(number + 1) << SLICE_BITS;
        let mut seen = Seconds::default();
        let mut report = |elapsed: Duration, so_far: RunProgress| seen.see(elapsed, so_far.events);
        let (grace, every) = (EVENT_MOST, SEEN_EVERY);
        let mut monitor = RunMonitor { grace, stop, every, report: &mut report };
        let finished = self.session.run_monitored(first, RunBound::Time(time), &mut monitor)?;
        if finished.cut_off > 0 {
            let clients = counted(u64::from(finished.cut_off), "client");
            bail!("{clients} did not get an answer within {} s", grace.as_secs());
        }
        let work = finished.work;
        seen.see(Duration::from_nanos(work.elapsed_ns), work.events);
        let (events, elapsed_ms) = (work.events, work.elapsed_ns / 1_000_000);
        let mut seconds = seen.counts();
        // Events in progress at the end are no extra second.
        seconds.truncate(time.as_secs() as usize);
        let ops = Slice { work, ..unmeasured(cell.id, LONG_SLOT) }.ops();
        Ok(LongTurn { elapsed_ms, events, ops, seconds })
    }

    pub fn warm(&mut self, cell: &PlannedCell) -> Result<()> {
        self.forget_status();
        let time = Duration::from_millis(u64::from(cell.slice_ms));
        self.session.run(sizing_sequence(cell.id), RunBound::Time(time))?;
        Ok(())
    }

    /// Measures a slice of one turn. The server must not be frozen.
    pub fn measure(&mut self, cell: &PlannedCell, slot: SliceSlot) -> Slice {
        let whole = PlannedCell { turn_ms: cell.slice_ms, ..cell.clone() };
        let mut measure = || -> Result<Slice> {
            self.begin_status();
            let mut open = self.begin(&whole, slot)?;
            self.turn(&whole, &mut open, 0)?;
            let usage = self.usage(&open)?;
            let mut slice = self.end(open, usage)?;
            slice.counters.add_status(self.end_status().into_iter().flatten());
            Ok(slice)
        };
        measure().unwrap_or_else(|error| cut_off_slice(cell.id, slot, &error))
    }

    /// Whether the status must be read before a slice begins.
    pub fn needs_status(&self) -> bool {
        self.status.as_ref().is_some_and(|it| it.last.is_none())
    }

    /// The server must not be frozen.
    pub fn begin_status(&mut self) {
        let Some(StatusCounters { status, last }) = &mut self.status else { return };
        let is_published =
            status.publish().is_none_or(|it| self.session.execute_on_all(it).is_ok());
        match status.read() {
            Ok(counters) if is_published => *last = Some(counters),
            // They explain, but no verdict needs them.
            _ => self.status = None,
        }
    }

    /// Growth of the status counters since the last reading. The server must not be frozen.
    pub fn end_status(&mut self) -> Option<Vec<(String, u64)>> {
        let before = self.status.as_mut()?.last.take()?;
        self.begin_status();
        let StatusCounters { status, last } = self.status.as_ref()?;
        Some(status.grown(&before, last.as_ref()?))
    }

    /// To be called after unrecorded work.
    fn forget_status(&mut self) {
        if let Some(status) = &mut self.status {
            status.last = None;
        }
    }

    pub fn begin(&mut self, cell: &PlannedCell, slot: SliceSlot) -> Result<OpenSlice> {
        let slice = unmeasured(cell.id, slot);
        let before = self.probe.snapshot()?;
        Ok(OpenSlice {
            slice,
            before,
            device: self.probe.device()?.map(|_| DeviceCounters::default()),
            delayed_ns: self.monitor.as_ref().map(|monitor| monitor.delayed_ns()),
        })
    }

    /// The server must not be frozen.
    pub fn turn(&mut self, cell: &PlannedCell, open: &mut OpenSlice, turn: u32) -> Result<()> {
        let first = first_sequence(cell.id, open.slot());
        let [warm, measured] = stretches(cell, first, turn);
        let OpenSlice { slice, device, .. } = open;
        let before = self.probe.device()?;
        let work = self.session.turn(Some(warm), measured)?;
        slice.turns.push(turn_of(&work, cell.id.test.unit));
        let used = self.probe.device()?.zip(before).map(|(after, before)| after.since(&before));
        *device = device.zip(used).map(|(all, one)| all.plus(&one));
        Ok(())
    }

    pub fn usage(&mut self, open: &OpenSlice) -> Result<Usage> {
        let mut usage = self.probe.snapshot()?.since(&open.before);
        if let Some((monitor, before_ns)) = self.monitor.as_ref().zip(open.delayed_ns) {
            usage.set_realtime(monitor.delayed_ns().saturating_sub(before_ns));
        }
        Ok(usage)
    }

    pub fn end(&mut self, open: OpenSlice, usage: Usage) -> Result<Slice> {
        let OpenSlice { mut slice, device, .. } = open;
        slice.trouble = usage.trouble();
        if !slice.trouble.is_empty() {
            slice.outcome = SliceOutcome::Troubled;
        }
        slice.counters = usage.counters;
        slice.counters.extend(device.iter().flat_map(DeviceCounters::named));
        slice.counters.extend(statements(&self.places, &self.session.statement_work()));
        slice.counters.extend(kind_counters(slice.cell.test, &self.session.kinds()));
        slice.work = self.session.take_work()?;
        if let Some(why) = nothing_sent(&slice.work, slice.cell.test) {
            slice.outcome = SliceOutcome::Failed(why.to_owned());
        }
        Ok(slice)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use assay_model::Setup;

    use super::*;

    #[test]
    fn events_without_statements_are_no_work() {
        let test = assay_workloads::tests_of(assay_model::TestSet::All)[0];
        let counters = |events, read| WorkCounters { events, read, ..WorkCounters::default() };
        assert!(nothing_sent(&counters(1_000_000, 0), test).is_some());
        assert!(nothing_sent(&counters(1, 1), test).is_none());
        // It may be slow.
        assert!(nothing_sent(&counters(0, 0), test).is_none());
    }

    #[test]
    fn no_two_slices_of_a_test_share_an_event() {
        let test = assay_workloads::tests_of(assay_model::TestSet::All)[0];
        let mut firsts = BTreeSet::from([OUTSIDE_BLOCKS]);
        for block in [0, 1, 999] {
            for clients in [1, 2, 1024, 4096] {
                for round in [0, 1, 20_000] {
                    let cell = CellId { test, setup: Setup { clients, tables: 1, rows: 1000 } };
                    let slot = SliceSlot { system: 0, block, round, position: 0 };
                    assert!(firsts.insert(first_sequence(cell, slot)));
                }
            }
        }
        let firsts: Vec<_> = firsts.into_iter().collect();
        assert!(firsts.windows(2).all(|two| two[1] - two[0] >= 1 << SLICE_BITS));
    }
}
