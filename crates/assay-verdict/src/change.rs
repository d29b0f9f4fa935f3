//! Change of a system's time per operation against the base, term by term.
//!
//! The terms add up to the whole difference, because they do in both systems (`overlap_us` corrects double counting).
//! Errors are those of a jackknife over blocks (Tukey 1958): the difference is recomputed without each block, and the
//! spread of these differences is that of the estimate.

use std::collections::BTreeMap;

use assay_model::{Estimate, Slice};

use crate::account::RESOLUTION;
use crate::figures::PerOp;
use crate::looks::ALPHA;
use crate::slice_totals::SliceTotals;
use crate::student::upper_quantile;

/// Fewest blocks that show a spread.
const BLOCKS_MIN: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeTerm {
    /// CPU time of clients, except while the threads that serve them run.
    ClientCpu,
    /// CPU time of the threads that serve connections.
    ServerCpu,
    /// Time of these threads on the run queue, except behind their own client.
    CpuWait,
    DiskWait,
    /// All other waiting: locks, network, wake-ups; also the disk if the kernel does not account it.
    OtherWait,
    Unknown,
}

impl TimeTerm {
    pub const ALL: [Self; 6] = [
        Self::ClientCpu,
        Self::ServerCpu,
        Self::CpuWait,
        Self::DiskWait,
        Self::OtherWait,
        Self::Unknown,
    ];

    pub fn key(self) -> &'static str {
        match self {
            Self::ClientCpu => "client_cpu",
            Self::ServerCpu => "server_cpu",
            Self::CpuWait => "cpu_wait",
            Self::DiskWait => "disk_wait",
            Self::OtherWait => "other_wait",
            Self::Unknown => "unknown",
        }
    }

    /// Name for people. `tells_disk`: see [`TimeChange::tells_disk`].
    pub fn word(self, tells_disk: bool) -> &'static str {
        match self {
            Self::ClientCpu => "CPU of clients",
            Self::ServerCpu => "CPU of serving threads",
            Self::CpuWait => "waiting for a CPU",
            Self::DiskWait => "waiting for the disk",
            Self::OtherWait if tells_disk => "other waiting",
            Self::OtherWait => "waiting, disk included",
            Self::Unknown => "not explained by counters",
        }
    }
}

/// A quantity of the base and of another system, microseconds per operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantityChange {
    pub before: f64,
    pub after: f64,
    pub by: Estimate,
}

impl QuantityChange {
    pub fn is_certain(&self) -> bool {
        self.by.has_interval() && (self.by.low > 0.0 || self.by.high < 0.0)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TimeChange {
    pub time: QuantityChange,
    /// They add up to the time, and their changes to its change.
    pub terms: Vec<(TimeTerm, QuantityChange)>,
    /// CPU time of the server's other threads, not part of the time; `None` if not measured.
    pub background_cpu: Option<QuantityChange>,
    /// Kernel part of [`TimeTerm::ServerCpu`]; `None` if the clock does not distinguish modes.
    pub kernel_cpu: Option<QuantityChange>,
    /// User-space instructions of the server per operation; `None` if the processor did not count them.
    pub instructions: Option<QuantityChange>,
}

impl TimeChange {
    pub fn tells_disk(&self) -> bool {
        self.terms.iter().any(|(term, _)| *term == TimeTerm::DiskWait)
    }

    /// Significantly changed terms with their share of the whole change, the largest first; empty if the whole change
    /// is not significant.
    pub fn shares(&self) -> Vec<(TimeTerm, f64)> {
        if !self.time.is_certain() {
            return Vec::new();
        }
        let certain = self.terms.iter().filter(|(_, changed)| changed.is_certain());
        let mut shares: Vec<(TimeTerm, f64)> =
            certain.map(|(term, changed)| (*term, changed.by.value / self.time.by.value)).collect();
        shares.retain(|(_, share)| share.is_finite());
        shares.sort_by(|(_, one), (_, other)| other.abs().total_cmp(&one.abs()));
        shares
    }
}

/// Change between two systems over their common blocks; `None` if nothing was counted. Slices are in order of block.
/// `shares_cpu`: see [`SliceTotals::per_op`].
pub(crate) fn change(base: &[&Slice], other: &[&Slice], shares_cpu: bool) -> Option<TimeChange> {
    let (base, other) = (by_block(base), by_block(other));
    let pairs = base.iter().filter_map(|(block, base)| Some([base, other.get(block)?]));
    let pairs: Vec<[&SliceTotals; 2]> = pairs.collect();
    let of_pair = |side: usize, left_out: Option<usize>| {
        let kept = pairs.iter().enumerate().filter(|(at, _)| Some(*at) != left_out);
        let totals = kept.map(|(_, pair)| pair[side]);
        SliceTotals::sum(totals)?.per_op(shares_cpu)
    };
    let (before, after) = (of_pair(0, None)?, of_pair(1, None)?);
    let partial: Vec<[PerOp; 2]> = (0..pairs.len())
        .filter_map(|at| Some([of_pair(0, Some(at))?, of_pair(1, Some(at))?]))
        .collect();
    // A term counts only if known from all blocks, and from those without any one block.
    let all = partial.iter().flatten().chain([&before, &after]);
    let kinds = kinds(all);
    let (before, after) =
        (CpuAccount::from_per_op(&kinds, &before)?, CpuAccount::from_per_op(&kinds, &after)?);
    let accounts = |[base, other]: &[PerOp; 2]| {
        Some([CpuAccount::from_per_op(&kinds, base)?, CpuAccount::from_per_op(&kinds, other)?])
    };
    let partial: Vec<[CpuAccount; 2]> = partial.iter().filter_map(accounts).collect();
    let changed = |part: &dyn Fn(&CpuAccount) -> Option<f64>| {
        let (before, after) = (part(&before)?, part(&after)?);
        let difference = |[before, after]: &[CpuAccount; 2]| Some(part(after)? - part(before)?);
        let partial: Vec<f64> = partial.iter().map(difference).collect::<Option<_>>()?;
        Some(QuantityChange { before, after, by: jackknife(after - before, &partial, ALPHA) })
    };
    let term =
        |(at, term): (usize, &TimeTerm)| Some((*term, changed(&|it| it.terms.get(at).copied())?));
    Some(TimeChange {
        time: changed(&|it| Some(it.time))?,
        terms: kinds.iter().enumerate().filter_map(term).collect(),
        background_cpu: changed(&|it| it.background),
        kernel_cpu: changed(&|it| it.kernel),
        instructions: changed(&|it| it.instructions),
    })
}

fn by_block(slices: &[&Slice]) -> BTreeMap<u32, SliceTotals> {
    let blocks = slices.chunk_by(|one, next| one.block == next.block);
    let of_block = |slices: &[&Slice]| {
        let totals = SliceTotals::of_slices(slices.iter().copied())?;
        Some((slices.first()?.block, totals))
    };
    blocks.filter_map(of_block).collect()
}

struct CpuAccount {
    time: f64,
    /// In the order of [`kinds`].
    terms: Vec<f64>,
    background: Option<f64>,
    kernel: Option<f64>,
    instructions: Option<f64>,
}

fn kinds<'a>(all: impl Iterator<Item = &'a PerOp> + Clone) -> Vec<TimeTerm> {
    let has = |key| all.clone().all(|per_op| per_op.get(key).is_some());
    let mut kinds = Vec::new();
    let has_clients = has("client_cpu_us");
    if has_clients {
        kinds.push(TimeTerm::ClientCpu);
    }
    if has("server_cpu_us") {
        kinds.push(TimeTerm::ServerCpu);
    }
    // Overlap with clients is known only from their counters.
    if !has_clients || !has("other_wait_us") {
        kinds.push(TimeTerm::Unknown);
        return kinds;
    }
    kinds.push(TimeTerm::CpuWait);
    if has("disk_wait_us") {
        kinds.push(TimeTerm::DiskWait);
    }
    kinds.push(TimeTerm::OtherWait);
    kinds
}

impl CpuAccount {
    /// Time in these terms; `None` if one is unknown, or if they contradict the time.
    fn from_per_op(kinds: &[TimeTerm], per_op: &PerOp) -> Option<Self> {
        let time_us = per_op.time_us();
        let mut known_us = 0.0;
        let mut terms = Vec::with_capacity(kinds.len());
        for term in kinds {
            let value = match term {
                TimeTerm::ClientCpu if kinds.contains(&TimeTerm::Unknown) => {
                    per_op.get("client_cpu_us")?
                }
                TimeTerm::ClientCpu => per_op.get("client_cpu_us")? - beside_server(per_op),
                TimeTerm::ServerCpu => per_op.get("server_cpu_us")?,
                TimeTerm::CpuWait => per_op.get("cpu_wait_us")?,
                TimeTerm::DiskWait => per_op.get("disk_wait_us")?,
                TimeTerm::OtherWait if kinds.contains(&TimeTerm::DiskWait) => {
                    per_op.get("other_wait_us")?
                }
                TimeTerm::OtherWait => per_op.get("wait_us")?,
                TimeTerm::Unknown => time_us - known_us,
            };
            // CPU time exceeding the whole time explains nothing.
            if *term == TimeTerm::Unknown && value < -RESOLUTION * time_us {
                return None;
            }
            known_us += value;
            terms.push(value);
        }
        let background = per_op.get("background_cpu_us");
        let kernel = per_op.user_part().zip(per_op.get("server_cpu_us"));
        let kernel = kernel.map(|(user, cpu_us)| (1.0 - user) * cpu_us);
        let instructions = per_op.get("server_instructions");
        Some(Self { time: time_us, terms, background, kernel, instructions })
    }
}

/// CPU time of clients in parallel to their serving threads on other CPUs, which adds no time.
fn beside_server(per_op: &PerOp) -> f64 {
    let beside = per_op.get("overlap_us").zip(per_op.get("runq_us"));
    beside.map_or(0.0, |(overlap_us, runq_us)| (overlap_us - runq_us).max(0.0))
}

/// An estimate with an interval of confidence 1 − `level` from leave-one-out estimates; without interval for too few.
pub(crate) fn jackknife(value: f64, partial: &[f64], level: f64) -> Estimate {
    let count = partial.len() as f64;
    if partial.len() < BLOCKS_MIN {
        return Estimate::without_interval(value);
    }
    let mean = partial.iter().sum::<f64>() / count;
    let squares: f64 = partial.iter().map(|it| (it - mean).powi(2)).sum();
    let half = upper_quantile(0.5 * level, count - 1.0) * (squares * (count - 1.0) / count).sqrt();
    Estimate { value, low: value - half, high: value + half }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_op(client: f64, cpu: f64, runq: f64, other: f64) -> PerOp {
        PerOp::of_test(&[
            ("time_us", client + cpu + runq - client.min(runq) + other),
            ("client_cpu_us", client),
            ("server_cpu_us", cpu),
            // Clocks that tick measure less than all of the time.
            ("server_user_us", 0.5 * cpu),
            ("server_sys_us", 0.25 * cpu),
            ("runq_us", runq),
            ("overlap_us", client.min(runq)),
            ("other_wait_us", other),
            ("background_cpu_us", 3.0),
        ])
    }

    fn accounts(before: &PerOp, after: &PerOp) -> (Vec<TimeTerm>, [CpuAccount; 2]) {
        let kinds = kinds([before, after].into_iter());
        let accounts = [before, after].map(|it| CpuAccount::from_per_op(&kinds, it).unwrap());
        (kinds, accounts)
    }

    #[test]
    fn the_terms_add_up_to_the_whole() {
        let (kinds, accounts) =
            accounts(&per_op(5.0, 10.0, 5.0, 0.0), &per_op(5.5, 13.0, 7.0, 2.0));
        assert_eq!(
            kinds,
            [TimeTerm::ClientCpu, TimeTerm::ServerCpu, TimeTerm::CpuWait, TimeTerm::OtherWait]
        );
        for account in &accounts {
            assert!((account.terms.iter().sum::<f64>() - account.time).abs() < 1e-9);
        }
        let [before, after] = accounts;
        for (at, difference) in [0.5, 3.0, 1.5, 2.0].into_iter().enumerate() {
            assert!(
                (after.terms[at] - before.terms[at] - difference).abs() < 1e-9,
                "{at} {difference}"
            );
        }
        assert_eq!((before.background, after.background), (Some(3.0), Some(3.0)));
        let [before, after] = [before, after].map(|it| it.kernel.unwrap());
        assert!((before - 10.0 / 3.0).abs() < 1e-9 && (after - 13.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn what_no_counter_tells_is_unknown() {
        let cpu = [("time_us", 15.0), ("client_cpu_us", 5.0), ("server_cpu_us", 10.0)];
        let before = PerOp::of_test(&cpu);
        let after = per_op(5.0, 10.0, 5.0, 4.0);
        let (kinds, [old, new]) = accounts(&before, &after);
        assert_eq!(kinds, [TimeTerm::ClientCpu, TimeTerm::ServerCpu, TimeTerm::Unknown]);
        assert!((new.terms[2] - old.terms[2] - 4.0).abs() < 1e-9);
        let before = PerOp::of_test(&cpu[..2]);
        assert_eq!(accounts(&before, &after).0, [TimeTerm::ClientCpu, TimeTerm::Unknown]);
    }

    #[test]
    fn the_spread_of_a_mean_is_the_usual_one() {
        let values = [1.0, 2.0, 4.0, 5.0];
        let without = |at: usize| (values.iter().sum::<f64>() - values[at]) / 3.0;
        let partial: Vec<f64> = (0..4).map(without).collect();
        let found = jackknife(3.0, &partial, ALPHA);
        let half = 3.182_446 * (10.0_f64 / 3.0 / 4.0).sqrt();
        assert!((found.high - 3.0 - half).abs() < 1e-5, "{found:?} {half}");
        assert!(!jackknife(3.0, &partial[..2], ALPHA).has_interval());
    }

    #[test]
    fn only_certain_terms_have_a_share() {
        let changed = |value: f64, half: f64| QuantityChange {
            before: 10.0,
            after: 10.0 + value,
            by: Estimate { value, low: value - half, high: value + half },
        };
        let change = TimeChange {
            time: changed(4.0, 1.0),
            terms: vec![
                (TimeTerm::ClientCpu, changed(0.1, 0.2)),
                (TimeTerm::OtherWait, changed(1.0, 0.4)),
                (TimeTerm::ServerCpu, changed(3.0, 1.0)),
            ],
            background_cpu: None,
            kernel_cpu: None,
            instructions: None,
        };
        assert_eq!(change.shares(), [(TimeTerm::ServerCpu, 0.75), (TimeTerm::OtherWait, 0.25)]);
    }
}
