//! A system's clients and counters in one cell, and one slice: warm-up, counters, measured part, counters.

use std::time::Duration;

use anyhow::Result;
use assay_load::{Bound, Session, Work};
use assay_model::{
    CellId, CpuPlacement, PlannedCell, Slice, SliceOutcome, Study, System, WorkCounters,
};
use assay_probe::{Probe, ProbeConfig, WatchedServer};

use super::instance::Instance;
use super::site::LocalSite;
use crate::clock::now_ms;

/// A system's turn in a round: the time in which one slice is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) system: usize,
    pub(crate) block: u32,
    pub(crate) round: u32,
    pub(crate) position: u32,
}

/// A system's connected clients in one cell, and the counters around them.
pub(crate) struct Clients {
    pub(crate) session: Session,
    probe: Probe,
}

/// Bits of a sequence number that count the events of a slice. The bits above count rounds, clients and blocks.
const SLICE_BITS: u32 = 28;
/// Bits that count the rounds of a cell in a block.
const ROUND_BITS: u32 = 15;
/// Bits that hold a client count.
const CLIENTS_BITS: u32 = 11;

/// Where the measured part begins. All systems get the same work, however far they came in the warm-up.
const MEASURED_PART: u64 = 1 << (SLICE_BITS - 1);

/// Sequence number at which events outside of blocks begin, above those of the last block.
pub(crate) const OUTSIDE_BLOCKS: u64 = 1023 << (SLICE_BITS + ROUND_BITS + CLIENTS_BITS);

/// First sequence number of a slice. No slice of a test repeats the events of another, whatever its client count is.
/// Otherwise its deletes would find nothing, and its updates would change nothing.
fn first_sequence(cell: CellId, turn: Turn) -> u64 {
    let block = u64::from(turn.block) << (SLICE_BITS + ROUND_BITS + CLIENTS_BITS);
    let clients = u64::from(cell.setup.clients) << (SLICE_BITS + ROUND_BITS);
    block | clients | u64::from(turn.round) << SLICE_BITS
}

/// Sequence number at which the events for sizing the slices of a cell begin.
fn sizing_sequence(cell: CellId) -> u64 {
    OUTSIDE_BLOCKS | u64::from(cell.setup.clients) << (SLICE_BITS + ROUND_BITS)
}

/// Connects the clients of a cell to a server that is not frozen, and puts clients and server on their CPUs.
pub(crate) fn connect_clients(
    server: &Instance,
    system: &System,
    cell: &PlannedCell,
    study: &Study,
    local: &LocalSite,
) -> Result<Clients> {
    let work = Work {
        product: system.spec.product,
        test: cell.id.test,
        setup: cell.id.setup,
        statements: study.statements,
        seed: study.seed,
    };
    let client_cpu = (cell.placement != CpuPlacement::Free).then_some(local.cpu);
    let session = Session::open(&server.connect_options(), &work, client_cpu)?;
    let round_trips =
        |client, count| session.round_trips(client, count).map_err(anyhow::Error::from);
    let server_watched = server.watched(&session.connection_ids(), round_trips)?;
    if let Some(WatchedServer { connection_tids, .. }) = &server_watched {
        let tids = connection_tids.as_deref().unwrap_or_default();
        server.place(cell.placement, local.cpu, tids)?;
    }
    let client_tids = session.client_tids();
    let probe = Probe::new(ProbeConfig { client_tids, server: server_watched })?;
    Ok(Clients { session, probe })
}

/// Bounds of the warm-up and the measured part of a slice: time for reads, events for writes.
fn bounds(cell: &PlannedCell) -> (Bound, Bound) {
    match cell.events {
        Some(events) => {
            let warm = events * u64::from(cell.warm_ms) / u64::from(cell.slice_ms.max(1));
            let clients = u64::from(cell.id.setup.clients);
            (Bound::Events(warm.max(clients)), Bound::Events(events))
        }
        None => (
            Bound::Time(Duration::from_millis(u64::from(cell.warm_ms))),
            Bound::Time(Duration::from_millis(u64::from(cell.slice_ms))),
        ),
    }
}

/// A slice that was cut off before anything was measured.
pub(crate) fn failed_slice(cell: CellId, turn: Turn, why: String) -> Slice {
    Slice { outcome: SliceOutcome::Failed(why), ..unmeasured(cell, turn) }
}

/// A slice without any measurement yet.
fn unmeasured(cell: CellId, turn: Turn) -> Slice {
    Slice {
        system: turn.system,
        cell,
        // The recorder sets it.
        run: 0,
        block: turn.block,
        round: turn.round,
        position: turn.position,
        started_ms: now_ms(),
        outcome: SliceOutcome::Good,
        trouble: Vec::new(),
        work: WorkCounters::default(),
        client: None,
        server: None,
        host: None,
    }
}

impl Clients {
    /// Events per second of a run that is not recorded.
    pub(crate) fn rate(&mut self, cell: &PlannedCell, events: u64) -> Result<f64> {
        let work = self.session.run(sizing_sequence(cell.id), Bound::Events(events))?;
        let seconds = Duration::from_nanos(work.elapsed_ns).as_secs_f64();
        Ok(work.events as f64 / seconds.max(1e-9))
    }

    /// Runs the cell for the time of a slice, without recording anything.
    pub(crate) fn warm(&mut self, cell: &PlannedCell) -> Result<()> {
        let time = Duration::from_millis(u64::from(cell.slice_ms));
        self.session.run(sizing_sequence(cell.id), Bound::Time(time))?;
        Ok(())
    }

    /// Measures one slice on a server that is not frozen. If something goes wrong, the slice has failed.
    pub(crate) fn measure(&mut self, cell: &PlannedCell, turn: Turn) -> Slice {
        let mut slice = unmeasured(cell.id, turn);
        if let Err(error) = self.fill(cell, turn, &mut slice) {
            slice.outcome = SliceOutcome::Failed(format!("{error:#}"));
        }
        slice
    }

    fn fill(&mut self, cell: &PlannedCell, turn: Turn, slice: &mut Slice) -> Result<()> {
        let (warm, measured) = bounds(cell);
        let sequence = first_sequence(cell.id, turn);
        self.session.run(sequence, warm)?;
        let before = self.probe.snapshot()?;
        let work = self.session.run(sequence + MEASURED_PART, measured);
        let usage = self.probe.snapshot()?.since(&before);
        slice.trouble = usage.trouble();
        if !slice.trouble.is_empty() {
            slice.outcome = SliceOutcome::Troubled;
        }
        (slice.client, slice.host) = (Some(usage.client), Some(usage.host));
        slice.server = usage.server;
        slice.work = work?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use assay_model::Setup;

    use super::*;

    #[test]
    fn no_two_slices_of_a_test_share_an_event() {
        let test = assay_workloads::all_tests()[0];
        let mut firsts = BTreeSet::from([OUTSIDE_BLOCKS]);
        for block in [0, 1, 999] {
            for clients in [1, 2, 1024] {
                for round in [0, 1, 20_000] {
                    let cell = CellId { test, setup: Setup { clients, tables: 1, rows: 1000 } };
                    let turn = Turn { system: 0, block, round, position: 0 };
                    assert!(firsts.insert(first_sequence(cell, turn)));
                }
            }
        }
        let firsts: Vec<_> = firsts.into_iter().collect();
        assert!(firsts.windows(2).all(|two| two[1] - two[0] >= 1 << SLICE_BITS));
    }
}
