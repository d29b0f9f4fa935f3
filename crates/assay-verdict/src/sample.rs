//! A slice reduced to the input of decisions.

use assay_model::{CellId, Slice, SliceOutcome, Trouble, Turn};

use crate::account::{cpu_waits_per_op, latency_tail, server_cpu_per_op, serving_cpu_per_op};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fitness {
    Good,
    /// The machine was in trouble: judged only if too few samples are good.
    Troubled,
    /// It lost its background rate: shown, never compared.
    Missed,
    /// The clock jumped during measurement: never judged.
    Mistimed,
    /// It was cut off: its system has failed in the cell.
    Failed,
    /// An event took too long, which bounds the rate of its system in the cell.
    Unanswered,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SliceSample {
    pub system: usize,
    pub cell: CellId,
    pub block: u32,
    /// Node that measured it, from 0; 0 in a study of one machine.
    pub node: u32,
    /// Within block and cell, from 0. Samples of one round form a pair.
    pub round: u32,
    pub fitness: Fitness,
    pub rate: Option<f64>,
    pub seconds: f64,
    pub events: u64,
    /// Clients' time on these and, in an unanswered slice, on an incomplete one, seconds.
    pub elapsed_s: f64,
    /// Server CPU per operation, nanoseconds; `None` if not measured.
    pub cpu_per_op: Option<f64>,
    /// The part of the threads that serve connections, nanoseconds; `None` if not measured.
    pub serving_cpu_per_op: Option<f64>,
    /// Waits for a CPU per operation, of clients and server, nanoseconds; `None` if not measured.
    pub cpu_waits_per_op: Option<f64>,
    /// 99th percentile of latencies, nanoseconds; `None` if the tail of the test is not judged, or of too few events.
    pub p99: Option<f64>,
    /// The 99th percentile divided by the median.
    pub dispersion: Option<f64>,
    /// Log rates in pairs of turns, one early in the order of systems and one late; empty for a slice of one turn.
    pub twos: Vec<f64>,
}

impl SliceSample {
    pub fn without_rate(
        system: usize,
        cell: CellId,
        (block, round): (u32, u32),
        fitness: Fitness,
    ) -> Self {
        Self {
            system,
            cell,
            block,
            node: 0,
            round,
            fitness,
            rate: None,
            seconds: 0.0,
            events: 0,
            elapsed_s: 0.0,
            cpu_per_op: None,
            serving_cpu_per_op: None,
            cpu_waits_per_op: None,
            p99: None,
            dispersion: None,
            twos: Vec::new(),
        }
    }

    pub fn from_slice(slice: &Slice) -> Self {
        let fitness = match slice.outcome {
            SliceOutcome::Failed(_) => Fitness::Failed,
            SliceOutcome::Unanswered(_) => Fitness::Unanswered,
            // That of a step in segments follows from all of them.
            _ if slice.segment().is_none() && Slice::misses_sla(&[slice]) => Fitness::Missed,
            // A step takes so long that the machine is always in some trouble, and it cannot be repeated alone.
            _ if slice.segment().is_none() && slice.cell.test.ibench().is_some() => Fitness::Good,
            _ if slice.trouble.contains(&Trouble::ClockJump) => Fitness::Mistimed,
            SliceOutcome::Troubled => Fitness::Troubled,
            SliceOutcome::Good => Fitness::Good,
        };
        let rate = slice.ops_per_second().filter(|_| fitness != Fitness::Unanswered);
        let tail = latency_tail(slice);
        Self {
            system: slice.system,
            cell: slice.cell,
            block: slice.block,
            node: 0,
            // Steps of the Insert Benchmark number their attempts, too, of which one counts in each block.
            round: match slice.segment() {
                Some(segment) => segment.index,
                None if slice.cell.test.ibench().is_some() => 0,
                None => slice.round,
            },
            fitness,
            rate,
            seconds: rate.map_or(0.0, |rate| slice.ops() / rate),
            events: slice.work.events,
            elapsed_s: slice.work.elapsed_ns as f64 / 1e9,
            cpu_per_op: server_cpu_per_op(slice),
            serving_cpu_per_op: serving_cpu_per_op(slice),
            cpu_waits_per_op: cpu_waits_per_op(slice),
            p99: tail.map(|tail| tail.p99),
            dispersion: tail.map(|tail| tail.dispersion),
            twos: twos(&slice.turns),
        }
    }
}

fn twos(turns: &[Turn]) -> Vec<f64> {
    let rate = |two: &[Turn]| {
        let sum = |count: fn(&Turn) -> u64| two.iter().map(|it| count(it) as f64).sum::<f64>();
        (sum(|turn| turn.units) / sum(|turn| turn.ns)).ln()
    };
    if turns.len() > 1 { turns.chunks(2).map(rate).collect() } else { Vec::new() }
}
