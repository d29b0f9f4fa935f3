//! JSON of a search.

use assay_model::Estimate;
use serde::Serialize;

use super::found::{Bisection, FunctionUnit, SearchedRange, VersionStep};
use crate::data::number::{Interval, Number};

/// Raised when the shape below changes incompatibly.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: u32,
    id: &'a str,
    test: &'a str,
    measure: &'static str,
    /// Ends of the whole range.
    range: [&'a str; 2],
    /// The largest change; null without a certain one.
    answer: Option<StepRow<'a>>,
    /// All changes of the last range, if there are several.
    several: Vec<StepRow<'a>>,
    /// The versions of the last range.
    posterior: Vec<Probability<'a>>,
    no_step: Number,
    /// Plans before and after the change; null if equal or unknown.
    plan: Option<&'a [String; 2]>,
    /// Functions that changed most at the answer; null if nothing was counted or profiled.
    functions: Option<Vec<FunctionRow<'a>>>,
    comparisons: u32,
    builds: u32,
    elapsed_s: Number,
}

#[derive(Serialize)]
struct StepRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    after: &'a str,
    ratio: Interval,
    probability: Number,
}

#[derive(Serialize)]
struct FunctionRow<'a> {
    name: &'a str,
    /// Unit of the change per operation: `instructions` or `cpu_us`.
    unit: &'static str,
    /// Counts have no interval.
    change: Interval,
}

#[derive(Serialize)]
struct Probability<'a> {
    version: &'a str,
    probability: Number,
    /// Relative to the first version; null if not compared.
    ratio: Option<Interval>,
    skipped: Option<&'a str>,
    /// Source of its build, or the compiler of a commit if commits differ in it; null if not compared.
    source: Option<&'a str>,
}

pub(super) fn document<'a>(search: &'a Bisection<'a>) -> Document<'a> {
    let last = search.last();
    let row = |range: &'a SearchedRange, step: &VersionStep| {
        let version = range.versions.get(step.at).map(|it| &it.version);
        StepRow {
            version: Some(range.name(step.at)).filter(|_| !search.is_of_commits),
            commit: Some(range.name(step.at)).filter(|_| search.is_of_commits),
            title: version.and_then(|it| it.title.as_deref()),
            after: range.name(step.after),
            ratio: step.ratio.into(),
            probability: step.probability.into(),
        }
    };
    let found = search.found().zip(last);
    let steps = last.map_or(&[][..], |range| range.steps.as_slice());
    let versions = last.into_iter().flat_map(|range| &range.versions);
    let whole = search.ranges.first();
    let end = |at: usize| whole.map_or("", |range| range.name(at));
    Document {
        schema: SCHEMA,
        id: search.id,
        test: search.test,
        measure: search.measure.word(),
        range: [end(0), end(whole.map_or(0, |it| it.versions.len().saturating_sub(1)))],
        answer: found.map(|((_, step), range)| row(range, &step)),
        several: match (steps, last) {
            ([_, _, ..], Some(range)) => steps.iter().map(|step| row(range, step)).collect(),
            _ => Vec::new(),
        },
        posterior: versions
            .map(|it| Probability {
                version: &it.version.name,
                probability: it.probability.into(),
                ratio: it.ratio.map(Interval::from),
                skipped: it.unusable.as_deref(),
                source: it.source.as_deref(),
            })
            .collect(),
        no_step: last.map_or(1.0, |range| range.no_step).into(),
        plan: search.plan.as_ref(),
        functions: search.functions.as_ref().map(|functions| {
            let unit = match functions.unit {
                FunctionUnit::Instructions => "instructions",
                FunctionUnit::CpuMicroseconds => "cpu_us",
            };
            let row = |(name, by): &'a (String, Estimate)| FunctionRow {
                name,
                unit,
                change: (*by).into(),
            };
            functions.changes.iter().map(row).collect()
        }),
        comparisons: search.comparisons,
        builds: search.builds,
        elapsed_s: search.elapsed_s.into(),
    }
}
