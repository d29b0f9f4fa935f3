//! Results of a soak of a system in a cell.

use assay_verdict::SoakJudgement;
use serde::Serialize;

use super::number::{Interval, Number};

#[derive(Serialize)]
pub(crate) struct SoakRow {
    /// Steady operations per second.
    qps: Interval,
    /// Steady rate divided by that of the base; null for the base.
    ratio: Option<Interval>,
    /// Steady rate divided by the early one; null with a single turn.
    decay: Option<Interval>,
    /// `decay` divided by that of the base.
    decay_ratio: Option<Interval>,
    /// Null if too few events end in a second to decide.
    stalled_s: Option<u32>,
    longest_stall_s: Option<u32>,
    /// Whether `ratio` agrees with `rqps`; null if one of them has no interval.
    agrees: Option<bool>,
    events: u64,
    seconds: Number,
    turns: u32,
    turns_planned: u32,
    instances: u32,
    series: Vec<Number>,
}

impl SoakRow {
    pub(crate) fn new(soak: &SoakJudgement) -> Self {
        let [turns, turns_planned] = soak.rounds;
        Self {
            qps: soak.qps.into(),
            ratio: soak.ratio.map(Into::into),
            decay: soak.decay.map(Into::into),
            decay_ratio: soak.decay_ratio.map(Into::into),
            stalled_s: soak.stalls.map(|it| it.seconds),
            longest_stall_s: soak.stalls.map(|it| it.longest_s),
            agrees: soak.agrees,
            events: soak.events,
            seconds: soak.seconds.into(),
            turns,
            turns_planned,
            instances: soak.instances,
            series: soak.series.iter().map(|rate| Number::from(rate.round())).collect(),
        }
    }
}
