//! A step of the Insert Benchmark over all its slices.

use std::collections::BTreeMap;

use assay_model::{CellId, LowestQueries, Slice, Statements, StudyRecord, Trouble};

#[derive(Debug, Clone, PartialEq)]
pub struct StepSummary {
    /// Of a whole step.
    pub seconds: f64,
    /// Operations per second over all segments; `None` for a whole step, whose rate is that of its cell.
    pub total_rate: Option<f64>,
    /// Rows inserted per second; with a background rate, per whole second ([`Slice::rate_s`]).
    pub ips: f64,
    pub dps: f64,
    pub qps: f64,
    pub target_ips: Option<f64>,
    pub sla_met: Option<bool>,
    pub indexes_s: Option<f64>,
    /// Half-width of the 95% interval of the rate within the step on its only instance, as a share of the rate; `None`
    /// for a short step, and if repeats show how instances differ.
    pub within: Option<f64>,
    pub insert: Statements,
    pub delete: Statements,
    pub query: Statements,
    pub lowest: LowestQueries,
}

/// The 97.5% quantile of Student's t with nine degrees of freedom: the error comes from ten parts of the step.
const T_9: f64 = 2.262;

/// `None` if it is no step, or was not measured.
pub(crate) fn summary(slices: &[&Slice]) -> Option<StepSummary> {
    let all: Vec<_> =
        slices.iter().filter_map(|slice| Some((*slice, slice.step.as_ref()?))).collect();
    let seconds: f64 = all.iter().map(|(slice, _)| slice.work.elapsed_ns as f64 / 1e9).sum();
    let (first, _) = all.first()?;
    let repeats = || slices.chunk_by(|one, next| one.block == next.block);
    let count = repeats().count() as f64;
    let ops: f64 = all.iter().map(|(slice, _)| slice.ops()).sum();
    let mut summary = StepSummary {
        seconds: seconds / count,
        total_rate: first.segment().filter(|_| seconds > 0.0).map(|_| ops / seconds),
        ips: 0.0,
        dps: 0.0,
        qps: 0.0,
        target_ips: Slice::background_rate(slices).map(|(_, target)| target),
        sla_met: Slice::background_rate(slices).map(|_| !repeats().any(Slice::misses_sla)),
        indexes_s: None,
        within: match all.as_slice() {
            [(_, only)] if only.segment.is_none() => only.relative_error.map(|error| T_9 * error),
            _ => None,
        },
        insert: Statements::default(),
        delete: Statements::default(),
        query: Statements::default(),
        lowest: LowestQueries::default(),
    };
    let mut indexes_ns = 0;
    for (_, step) in &all {
        summary.insert.add(&step.insert);
        summary.delete.add(&step.delete);
        summary.query.add(&step.query);
        summary.lowest.count += step.lowest.count;
        summary.lowest.ns += step.lowest.ns;
        summary.lowest.longest_ns = summary.lowest.longest_ns.max(step.lowest.longest_ns);
        indexes_ns += step.indexes_ns.unwrap_or(0);
    }
    let rate_s = all.iter().map(|(slice, _)| slice.rate_s()).sum();
    let rate = |units: u64, seconds: f64| if seconds > 0.0 { units as f64 / seconds } else { 0.0 };
    summary.ips = rate(summary.insert.rows, rate_s);
    summary.dps = rate(summary.delete.rows, rate_s);
    summary.qps = rate(summary.query.statements, seconds);
    summary.indexes_s = (indexes_ns > 0).then(|| indexes_ns as f64 / 1e9 / count);
    Some(summary)
}

/// The steps that lost their background rate: cell, system and block, each with its segments.
pub(crate) fn missed_steps(record: &StudyRecord) -> BTreeMap<(CellId, usize, u32), Vec<&Slice>> {
    let mut steps: BTreeMap<(CellId, usize, u32), Vec<&Slice>> = BTreeMap::new();
    for slice in record.slices_that_count() {
        // The time of a segment in which the clock jumped is wrong.
        let is_mistimed = slice.segment().is_some() && slice.trouble.contains(&Trouble::ClockJump);
        if slice.step.is_some() && !is_mistimed {
            steps.entry((slice.cell, slice.system, slice.block)).or_default().push(slice);
        }
    }
    steps.retain(|_, segments| Slice::misses_sla(segments));
    steps
}

pub(crate) fn missed(segments: &[&Slice]) -> String {
    let Some((rate, target)) = Slice::background_rate(segments) else { return String::new() };
    let mut seconds_before = 0;
    let mut broken = segments.iter().filter_map(|slice| {
        let broke = slice.step.as_ref().and_then(|step| step.broke);
        let broke = broke.map(|broke| (seconds_before + u64::from(broke.second), broke));
        seconds_before += slice.rate_s() as u64;
        broke
    });
    let since = broken.next().map_or_else(String::new, |(second, broke)| {
        let seconds = |us: u64| us as f64 / 1e6;
        let since = format!(" from second {second} on");
        if broke.insert_us == 0 && broke.delete_us == 0 {
            return since;
        }
        format!(
            "{since}, in which an insert took up to {:.2} s and a delete up to {:.2} s",
            seconds(broke.insert_us),
            seconds(broke.delete_us)
        )
    });
    format!(
        "missed its SLA: {rate:.0} inserts/s, {:.0}% of the background rate of {target:.0}{since}",
        100.0 * rate / target
    )
}
