//! A step of the Insert Benchmark over all its slices.

use assay_model::{LowestQueries, Slice, Statements};

#[derive(Debug, Clone, PartialEq)]
pub struct StepSummary {
    pub seconds: f64,
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
    let count = all.len() as f64;
    let mut summary = StepSummary {
        seconds: seconds / count,
        ips: 0.0,
        dps: 0.0,
        qps: 0.0,
        target_ips: first.background_rate().map(|(_, target)| target),
        sla_met: first.background_rate().map(|_| !slices.iter().any(|slice| slice.misses_sla())),
        indexes_s: None,
        within: match all.as_slice() {
            [(_, only)] => only.relative_error.map(|error| T_9 * error),
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

pub(crate) fn missed(slice: &Slice) -> String {
    let Some((rate, target)) = slice.background_rate() else { return String::new() };
    let broke = slice.step.as_ref().and_then(|step| step.broke);
    let since = broke.map_or_else(String::new, |broke| {
        let seconds = |us: u64| us as f64 / 1e6;
        let since = format!(" from second {} on", broke.second);
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
