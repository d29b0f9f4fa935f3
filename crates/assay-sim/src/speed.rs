//! Speed of a machine and its servers from turn to turn: noise correlated over milliseconds, pauses, busy neighbours,
//! drift, differing instances, and stalls of one system.

use std::collections::BTreeMap;

use assay_model::{Class, Counters, PlannedCell, Turn, WorkCounters};
use assay_plan::round_order;

use crate::NoiseSource;

/// Variation of speed. All standard deviations (sd) and depths refer to the logarithm of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpeedModel {
    /// Sd of the machine's speed over 2 ms. [`WHITE`] of the variance is white noise, the rest decays.
    pub sd: f64,
    /// Its decay time, milliseconds.
    pub fades_ms: f64,
    pub pauses_per_s: f64,
    /// Mean of the exponential distribution of pauses.
    pub pause_ms: f64,
    /// Mean seconds between busy phases of a neighbour; infinite for none.
    pub neighbour_every_s: f64,
    pub drift_sd: f64,
    /// Sd of the log ratio of two systems between blocks of fresh instances.
    pub instance_sd: f64,
    /// Share of that variance common to all tests of an instance.
    pub instance_common: f64,
    /// Sd of a server's own noise over a turn of 5 ms, independent between turns.
    pub own_sd: f64,
    pub write_sd: f64,
    /// Decay time of the noise in writes, milliseconds of the server's own turns.
    pub write_fades_ms: f64,
    /// Factor by which [`is_special`] cells vary more, between instances and within turns.
    pub wide: f64,
    /// Share of turns in [`is_special`] cells that take the last system [`STALL`] times as long.
    pub stalls: f64,
}

/// Share of the machine's variance over 2 ms that is white noise.
const WHITE: f64 = 0.1;

/// Decay time of the machine's drift, milliseconds.
const DRIFT_FADES_MS: f64 = 300_000.0;

/// Longest simulation step of the machine's speed, milliseconds.
const STEP_MS: f64 = 5.0;

/// Turn length for [`SpeedModel::own_sd`], milliseconds.
const OWN_MS: f64 = 5.0;

const NEIGHBOUR_S: f64 = 2.0;

/// Slowdown of the machine in a busy phase, and the factor for its pauses.
const NEIGHBOUR_DEPTH: f64 = 0.3;
const NEIGHBOUR_PAUSES: f64 = 5.0;

/// A turn with a stall takes this many times as long for the same work.
const STALL: f64 = 5.0;

/// Share of the machine's slowness that shows in CPU time per operation. Pauses and stalls do not show there.
const OF_CPU: f64 = 0.9;

/// Share of an instance's difference that its CPU time per operation has in common with its rate.
const SHARED_CPU: f64 = 0.7;

/// Fixed time of a turn beyond its warm and measured parts, milliseconds.
const TURN_OVERHEAD_MS: f64 = 0.3;

/// Operations of a turn at normal speed (enough to make rounding negligible), and CPU time of one, nanoseconds.
const OPS: f64 = 1e6;
const CPU_NS: f64 = 1000.0;

impl SpeedModel {
    /// The shared virtual machine of `docs/lab/turns.md` in a quiet hour: autocorrelation 0.89 at 2 ms, 0.83 at 10 ms,
    /// 0.59 at 50 ms, 0.39 at 100 ms and 0.17 at 200 ms.
    pub const VIRTUAL: Self = Self {
        sd: 0.15,
        fades_ms: 120.0,
        pauses_per_s: 2.3,
        pause_ms: 10.0,
        neighbour_every_s: f64::INFINITY,
        drift_sd: 0.02,
        instance_sd: 0.004,
        instance_common: 0.75,
        own_sd: 0.02,
        write_sd: 0.03,
        write_fades_ms: 10.0,
        wide: 1.0,
        stalls: 0.0,
    };

    /// The same machine in a noisy hour: the error of fixed work after one second was 0.003 with turns of 1 ms, 0.012
    /// to 0.017 with 5 ms and 0.08 with 50 ms, and instances differed more.
    pub const NOISY: Self = Self {
        sd: 0.25,
        fades_ms: 30.0,
        instance_sd: 0.01,
        instance_common: 0.3,
        own_sd: 0.04,
        write_sd: 0.05,
        wide: 2.5,
        ..Self::VIRTUAL
    };

    pub const QUIET: Self = Self { sd: 0.03, pauses_per_s: 0.1, drift_sd: 0.005, ..Self::VIRTUAL };

    /// True log rate of the last of two systems due to stalls.
    pub fn stalled(&self) -> f64 {
        -(self.stalls * (STALL - 1.0)).ln_1p()
    }
}

/// Whether a cell varies more or stalls: one in eight.
pub fn is_special(cell: usize) -> bool {
    cell % 8 == 3
}

#[derive(Debug)]
pub(crate) struct Turns<'a> {
    pub(crate) seed: u64,
    pub(crate) block: u32,
    pub(crate) round: u32,
    pub(crate) cell: usize,
    pub(crate) order: &'a [usize],
    pub(crate) changes: Vec<f64>,
}

#[derive(Debug, Default)]
pub(crate) struct SystemSlice {
    pub(crate) turns: Vec<Turn>,
    pub(crate) work: WorkCounters,
    pub(crate) counters: Counters,
}

/// A standard normal quantity with exponential decay (Ornstein and Uhlenbeck 1930).
#[derive(Debug, Clone, Copy)]
struct Fading {
    value: f64,
    fades_ms: f64,
}

impl Fading {
    fn new(fades_ms: f64, noise: &mut NoiseSource) -> Self {
        Self { value: noise.normal(), fades_ms }
    }

    fn advance(&mut self, ms: f64, noise: &mut NoiseSource) -> f64 {
        let kept = (-ms / self.fades_ms).exp();
        self.value = kept * self.value + (1.0 - kept * kept).sqrt() * noise.normal();
        self.value
    }
}

/// An instance relative to its system: log rate and log CPU time per operation.
#[derive(Debug, Clone, Copy)]
struct SpeedShift {
    rate: f64,
    cpu: f64,
}

#[derive(Debug, Clone)]
pub(crate) struct Speed {
    model: SpeedModel,
    noise: NoiseSource,
    now_ms: f64,
    shared: Fading,
    drift: Fading,
    next_pause_ms: f64,
    neighbour_ms: (f64, f64),
    own: BTreeMap<usize, Fading>,
    shifts: BTreeMap<(usize, Option<usize>), SpeedShift>,
    /// Milliseconds of pauses and stalls not yet accounted for.
    late_ms: f64,
}

impl Speed {
    pub(crate) fn new(model: SpeedModel, seed: u64) -> Self {
        let mut noise = NoiseSource::new(seed ^ 0x0005_9eed_0000_0000);
        let neighbour_ms = exponential(&mut noise, 1000.0 * model.neighbour_every_s);
        Self {
            model,
            now_ms: 0.0,
            shared: Fading::new(model.fades_ms, &mut noise),
            drift: Fading::new(DRIFT_FADES_MS, &mut noise),
            next_pause_ms: 0.0,
            neighbour_ms: (neighbour_ms, neighbour_ms),
            own: BTreeMap::new(),
            shifts: BTreeMap::new(),
            late_ms: 0.0,
            noise,
        }
    }

    pub(crate) fn started(&mut self, system: usize) {
        self.shifts.retain(|(started, _), _| *started != system);
    }

    pub(crate) fn late_s(&mut self) -> f64 {
        std::mem::take(&mut self.late_ms) / 1000.0
    }

    pub(crate) fn measure(
        &mut self,
        planned: &PlannedCell,
        round: &Turns,
    ) -> BTreeMap<usize, SystemSlice> {
        let turns = planned.turns();
        let is_write = planned.id.test.class == Class::Write;
        let ms = f64::from(planned.slice_ms) / f64::from(turns.max(1));
        let mut parts: BTreeMap<usize, SystemSlice> = BTreeMap::new();
        let mut cpu_ns: BTreeMap<usize, f64> = BTreeMap::new();
        for turn in 0..turns {
            let number = round.round.wrapping_mul(turns).wrapping_add(turn);
            let systems = round.order.len();
            for place in round_order(round.seed, round.block, round.cell, number, systems) {
                let system = round.order[place];
                let warm_ms = planned.warm_time_us() as f64 / 1000.0;
                self.shared.advance(warm_ms + TURN_OVERHEAD_MS, &mut self.noise);
                self.late_ms += TURN_OVERHEAD_MS;
                let (turn, cpu) = self.turn(round, system, is_write, ms);
                let part = parts.entry(system).or_default();
                part.work.elapsed_ns += turn.ns;
                part.work.events += turn.units;
                *cpu_ns.entry(system).or_default() += cpu;
                if turns > 1 {
                    part.turns.push(turn);
                }
            }
        }
        for (system, part) in &mut parts {
            part.work.read = part.work.events;
            part.work.event_ns_sum = part.work.elapsed_ns;
            let cpu_ns = cpu_ns[system] as u64;
            part.counters.extend([("connection_cpu_ns", cpu_ns), ("background_cpu_ns", 0)]);
        }
        parts
    }

    /// One turn of one system, and its server's CPU time in nanoseconds.
    fn turn(&mut self, round: &Turns, system: usize, is_write: bool, ms: f64) -> (Turn, f64) {
        let model = self.model;
        let is_special = is_special(round.cell);
        let wide = if is_special { model.wide } else { 1.0 };
        let (machine, own_write) = self.run(ms, is_write.then_some(system));
        let own = wide * (model.own_sd * (OWN_MS / ms).sqrt() * self.noise.normal())
            + wide * model.write_sd * own_write;
        let shift = self.shift(system, round.cell, wide);
        let change = round.changes[system];
        let rate = (change + shift.rate + machine + own).exp();
        let cpu_per_op = CPU_NS * (shift.cpu - change - OF_CPU * machine - 0.5 * own).exp();
        let is_last = system > 0 && system + 1 == round.changes.len();
        let stalls = is_last && is_special && self.noise.strikes(model.stalls);
        let mut late_ms = self.paused_ms(ms);
        // Reads are bounded by time, with the event in progress completed; writes are bounded by work.
        let (units, worked_ms) = if is_write { (OPS, ms / rate) } else { (OPS * rate, ms) };
        if stalls {
            late_ms += (STALL - 1.0) * worked_ms;
        }
        self.late_ms += late_ms + worked_ms - ms;
        let ns = ((worked_ms + late_ms) * 1e6) as u64;
        (Turn { units: units as u64, ns, warm_units: 0, warm_ns: 0 }, units * cpu_per_op)
    }

    fn run(&mut self, ms: f64, writes: Option<usize>) -> (f64, f64) {
        let model = self.model;
        let steps = (ms / STEP_MS).ceil().max(1.0);
        let step_ms = ms / steps;
        let noise = &mut self.noise;
        let mut own = writes.map(|system| {
            *self.own.entry(system).or_insert_with(|| Fading::new(model.write_fades_ms, noise))
        });
        let (mut shared, mut own_sum) = (0.0, 0.0);
        for _ in 0..steps as u32 {
            shared += self.shared.advance(step_ms, noise);
            own_sum += own.as_mut().map_or(0.0, |own| own.advance(step_ms, noise));
        }
        if let Some((system, own)) = writes.zip(own) {
            self.own.insert(system, own);
        }
        let white = (WHITE * 2.0 / ms).sqrt() * noise.normal();
        let drift = model.drift_sd * self.drift.advance(ms, noise);
        let is_busy = self.neighbour(ms);
        let depth = if is_busy { NEIGHBOUR_DEPTH } else { 0.0 };
        let machine = model.sd * ((1.0 - WHITE).sqrt() * shared / steps + white) + drift - depth;
        (machine, own_sum / steps)
    }

    /// Advances time; returns whether a neighbour is busy.
    fn neighbour(&mut self, ms: f64) -> bool {
        self.now_ms += ms;
        let (from, until) = self.neighbour_ms;
        if self.now_ms < from {
            return false;
        }
        if until <= from {
            let lasts_ms = exponential(&mut self.noise, 1000.0 * NEIGHBOUR_S);
            self.neighbour_ms.1 = self.now_ms + lasts_ms;
        } else if self.now_ms > until {
            let pause_ms = exponential(&mut self.noise, 1000.0 * self.model.neighbour_every_s);
            let next = self.now_ms + pause_ms;
            self.neighbour_ms = (next, next);
            return false;
        }
        true
    }

    fn paused_ms(&mut self, ms: f64) -> f64 {
        let is_busy = self.neighbour_ms.1 > self.neighbour_ms.0;
        let times = if is_busy { NEIGHBOUR_PAUSES } else { 1.0 };
        let every_ms = 1000.0 / (self.model.pauses_per_s * times);
        let mut paused_ms = 0.0;
        self.next_pause_ms -= ms;
        while self.next_pause_ms <= 0.0 {
            paused_ms += exponential(&mut self.noise, self.model.pause_ms);
            self.next_pause_ms += exponential(&mut self.noise, every_ms);
        }
        paused_ms
    }

    fn shift(&mut self, system: usize, cell: usize, wide: f64) -> SpeedShift {
        let model = self.model;
        // The difference of two instances has `instance_sd`.
        let sd = model.instance_sd / 2_f64.sqrt();
        let common = sd * model.instance_common.sqrt();
        let own = sd * (1.0 - model.instance_common).sqrt();
        // Additional variance of a special cell is its own.
        let more = sd * (wide * wide - 1.0).max(0.0).sqrt();
        let all = self.drawn((system, None), common);
        let one = self.drawn((system, Some(cell)), own.hypot(more));
        SpeedShift { rate: all.rate + one.rate, cpu: all.cpu + one.cpu }
    }

    fn drawn(&mut self, key: (usize, Option<usize>), sd: f64) -> SpeedShift {
        let noise = &mut self.noise;
        *self.shifts.entry(key).or_insert_with(|| {
            let (one, other) = (noise.normal(), noise.normal());
            let rest = (1.0 - SHARED_CPU * SHARED_CPU).sqrt();
            SpeedShift { rate: sd * one, cpu: -sd * (SHARED_CPU * one + rest * other) }
        })
    }
}

fn exponential(noise: &mut NoiseSource, mean: f64) -> f64 {
    if mean.is_finite() { -mean * (1.0 - noise.uniform()).ln() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn correlation(values: &[f64], lag: usize) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let product = |(one, other): (&f64, &f64)| (one - mean) * (other - mean);
        let sum = |lag: usize| values.iter().zip(values.iter().skip(lag)).map(product).sum::<f64>();
        sum(lag) / sum(0)
    }

    /// A loop of 2 ms, timed back to back, as measured in `docs/lab/turns.md`.
    #[test]
    fn speed_is_correlated_as_it_was_measured() {
        let mut speed = Speed::new(SpeedModel { drift_sd: 0.0, ..SpeedModel::VIRTUAL }, 1);
        let loops: Vec<f64> = (0..200_000).map(|_| speed.run(2.0, None).0).collect();
        for (ms, low, high) in
            [(2, 0.85, 0.92), (10, 0.76, 0.86), (50, 0.53, 0.68), (100, 0.3, 0.5), (200, 0.1, 0.25)]
        {
            let correlation = correlation(&loops, ms / 2);
            assert!((low..high).contains(&correlation), "{ms} ms: {correlation}");
        }
    }

    /// Pairs of turns of 50 ms.
    #[test]
    fn pairs_have_the_tails_that_were_measured() {
        let mut speed = Speed::new(SpeedModel::VIRTUAL, 1);
        let mut log = || {
            let (machine, _) = speed.run(50.0, None);
            machine + (50.0 / (50.0 + speed.paused_ms(50.0))).ln()
        };
        let mut pairs: Vec<f64> = (0..40_000).map(|_| (log() - log()).abs()).collect();
        pairs.sort_by(f64::total_cmp);
        let robust_sd = pairs[pairs.len() / 2] / 0.674_5;
        let beyond = |times: f64| {
            let count = pairs.iter().filter(|pair| **pair > times * robust_sd).count();
            count as f64 / pairs.len() as f64
        };
        let sd = (pairs.iter().map(|pair| pair * pair).sum::<f64>() / pairs.len() as f64).sqrt();
        assert!((0.1..0.15).contains(&sd), "{sd}");
        for (times, low, high) in [(3.0, 0.01, 0.1), (4.0, 0.003, 0.07), (6.0, 0.0, 0.04)] {
            let share = beyond(times);
            assert!((low..high).contains(&share), "{share}");
        }
    }
}
