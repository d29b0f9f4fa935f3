//! A slice, reduced to what decisions need.

use assay_model::{CellId, Slice, SliceOutcome, Trouble, Turn};

use crate::account::{cpu_waits_per_op, server_cpu_per_op};

/// Whether a sample can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fitness {
    /// It is judged.
    Good,
    /// The machine was in trouble: judged only where too few samples are good.
    Troubled,
    /// It did not keep its background rate: shown, never compared.
    Missed,
    /// The clock jumped while it was measured: never judged.
    Mistimed,
    /// It was broken off: its system has failed in the cell.
    Failed,
    /// An event took too long: it bounds the rate of its system in the cell.
    Unanswered,
}

/// The judged figures of one slice, no matter who measured it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Index into the systems.
    pub system: usize,
    /// The cell that was measured.
    pub cell: CellId,
    /// The block, from 0.
    pub block: u32,
    /// The node that measured it, from 0; 0 in a study of one machine.
    pub node: u32,
    /// The round within block and cell, from 0. Samples of one round form a pair.
    pub round: u32,
    /// Whether it can be judged.
    pub fitness: Fitness,
    /// Operations per second; `None` without operations.
    pub rate: Option<f64>,
    /// The time that the rate divides by, seconds.
    pub seconds: f64,
    /// Events that ended.
    pub events: u64,
    /// For how long clients worked on these and, in a slice without an answer, on one that did not end, seconds.
    pub elapsed_s: f64,
    /// Server CPU per operation, nanoseconds; `None` if it was not measured.
    pub cpu_per_op: Option<f64>,
    /// Waits for a CPU per operation, of clients and server, nanoseconds; `None` if they were not measured.
    pub cpu_waits_per_op: Option<f64>,
    /// Logarithm of the rate in every two turns, of which one is early in the order of systems and one late; empty for
    /// a slice of one turn.
    pub twos: Vec<f64>,
}

impl Sample {
    /// That nothing was measured in this block and round.
    #[must_use]
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
            cpu_waits_per_op: None,
            twos: Vec::new(),
        }
    }

    /// The figures of a slice.
    #[must_use]
    pub fn of(slice: &Slice) -> Self {
        let fitness = match slice.outcome {
            SliceOutcome::Failed(_) => Fitness::Failed,
            SliceOutcome::Unanswered(_) => Fitness::Unanswered,
            _ if slice.misses_sla() => Fitness::Missed,
            // A step takes so long that the machine is always in some trouble, and it cannot be repeated alone.
            _ if slice.cell.test.ibench().is_some() => Fitness::Good,
            _ if slice.trouble.contains(&Trouble::ClockJump) => Fitness::Mistimed,
            SliceOutcome::Troubled => Fitness::Troubled,
            SliceOutcome::Good => Fitness::Good,
        };
        let rate = slice.ops_per_second().filter(|_| fitness != Fitness::Unanswered);
        Self {
            system: slice.system,
            cell: slice.cell,
            block: slice.block,
            node: 0,
            // Steps of the Insert Benchmark number their attempts, of which one counts in each block.
            round: if slice.cell.test.ibench().is_some() { 0 } else { slice.round },
            fitness,
            rate,
            seconds: rate.map_or(0.0, |rate| slice.ops() / rate),
            events: slice.work.events,
            elapsed_s: slice.work.elapsed_ns as f64 / 1e9,
            cpu_per_op: server_cpu_per_op(slice),
            cpu_waits_per_op: cpu_waits_per_op(slice),
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
