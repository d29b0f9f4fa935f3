//! A system's clients and counters in one cell, and one slice: warm part, counters, measured part, counters.

use std::time::Duration;

use anyhow::Result;
use assay_load::{Bound, Session};
use assay_model::{
    CellId, ClientCounters, CpuPlacement, HostCounters, PlannedCell, ServerCounters, Slice,
    SliceOutcome, System, WorkCounters,
};
use assay_probe::{Probe, ProbeConfig};
use assay_servers::Server;

use super::participant::{self, Stage};
use super::recorder::now_ms;

/// Where a slice stands in the study.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) system: usize,
    pub(crate) block: u32,
    pub(crate) round: u32,
    pub(crate) position: u32,
}

/// A system's connected clients in one cell, and the counters around them.
pub(crate) struct Station {
    pub(crate) session: Session,
    probe: Probe,
}

/// Sequence numbers of one slice: far apart, so that no slice repeats the work of another.
const SEQUENCES_PER_SLICE: u64 = 1 << 32;

/// Where the measured part begins: the same work for all systems, however far their warm parts came.
const MEASURED_PART: u64 = 1 << 31;

/// Connects the clients of a cell to a server that is awake, and puts clients and server on their CPUs.
pub(crate) fn connect(
    server: &Server,
    system: &System,
    cell: CellId,
    placement: CpuPlacement,
    seed: u64,
    stage: &Stage,
) -> Result<Station> {
    let client_cpu = (placement != CpuPlacement::Free).then_some(stage.cpu);
    let session = Session::open(
        &participant::connect_options(server),
        system.spec.product,
        cell.test,
        cell.setup,
        seed,
        client_cpu,
    )?;
    let connection_tids = server.connection_tids(&session.connection_ids())?;
    server.place(placement, stage.cpu, connection_tids.as_deref().unwrap_or_default())?;
    let probe = Probe::new(ProbeConfig {
        client_tids: session.client_tids(),
        server_pid: server.pid(),
        connection_tids,
        data_dir: server.data_dir(),
    })?;
    Ok(Station { session, probe })
}

/// Warm and measured part of a slice: by time for reads, by events for writes.
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

/// A slice that was broken off before anything was measured.
pub(crate) fn failed(cell: CellId, place: Place, why: String) -> Slice {
    Slice { outcome: SliceOutcome::Failed(why), ..unmeasured(cell, place) }
}

/// A slice in which nothing was measured yet.
fn unmeasured(cell: CellId, place: Place) -> Slice {
    Slice {
        system: place.system,
        cell,
        block: place.block,
        round: place.round,
        position: place.position,
        started_ms: now_ms(),
        outcome: SliceOutcome::Good,
        trouble: Vec::new(),
        work: WorkCounters::default(),
        client: ClientCounters::default(),
        server: ServerCounters::default(),
        host: HostCounters::default(),
    }
}

impl Station {
    /// Measures one slice on a server that is awake. What goes wrong makes it a failed slice.
    pub(crate) fn measure(&mut self, cell: &PlannedCell, place: Place) -> Slice {
        let mut slice = unmeasured(cell.id, place);
        if let Err(error) = self.fill(cell, place, &mut slice) {
            slice.outcome = SliceOutcome::Failed(format!("{error:#}"));
        }
        slice
    }

    fn fill(&mut self, cell: &PlannedCell, place: Place, slice: &mut Slice) -> Result<()> {
        let (warm, measured) = bounds(cell);
        let number = (u64::from(place.block) << 16) | u64::from(place.round);
        let sequence = number.wrapping_mul(SEQUENCES_PER_SLICE);
        self.session.run(sequence, warm)?;
        let before = self.probe.snapshot()?;
        let work = self.session.run(sequence + MEASURED_PART, measured);
        let usage = self.probe.snapshot()?.since(&before);
        slice.trouble = usage.trouble();
        if !slice.trouble.is_empty() {
            slice.outcome = SliceOutcome::Troubled;
        }
        (slice.client, slice.server, slice.host) = (usage.client, usage.server, usage.host);
        slice.work = work?;
        Ok(())
    }
}
