//! A study beside another one: common findings and disagreements.

use std::collections::BTreeSet;

use assay_model::{Estimate, Product, PublishedGroup, Setup, StudyRecord, System, counted};
use assay_verdict::{Agreement, Judged, PairBeside, TestBeside, beside};

use crate::ratio::{Ratio, short};
use assay_model::labels;

const DISAGREEMENTS: usize = 10;

pub(crate) struct Beside<'a> {
    pub(crate) ours: &'a StudyRecord,
    pub(crate) theirs: &'a StudyRecord,
    /// Differences of the conditions, in words.
    pub(crate) differences: Vec<String>,
    pub(crate) pairs: Vec<Pair<'a>>,
}

pub(crate) struct Pair<'a> {
    pub(crate) found: PairBeside,
    /// Labels of base and system in the first study.
    pub(crate) names: [String; 2],
    pub(crate) their_names: [&'a str; 2],
    pub(crate) answer: String,
    pub(crate) disagreements: Vec<String>,
}

impl<'a> Beside<'a> {
    pub(crate) fn new(
        ours: Judged<'a>,
        theirs: Judged<'a>,
        groups: &[PublishedGroup],
        note: Option<&str>,
    ) -> Self {
        let names: Vec<&str> = ours.record.systems.iter().map(|it| it.name.as_str()).collect();
        let labels = labels(&names);
        let pairs: Vec<Pair> = beside(ours, theirs, groups)
            .into_iter()
            .map(|found| pair(found, &labels, theirs.record, ours.record))
            .collect();
        let mut differences: Vec<String> = note.into_iter().map(str::to_owned).collect();
        differences.extend(self::differences(ours.record, theirs.record, &pairs));
        Self { ours: ours.record, theirs: theirs.record, differences, pairs }
    }
}

fn pair<'a>(
    found: PairBeside,
    labels: &[String],
    theirs: &'a StudyRecord,
    ours: &StudyRecord,
) -> Pair<'a> {
    let label = |index: usize| labels.get(index).cloned().unwrap_or_default();
    let name = |index: usize| theirs.systems.get(index).map_or("", |it| it.name.as_str());
    let mut differing: Vec<&TestBeside> =
        found.tests.iter().filter(|test| test.agreement == Agreement::Differs).collect();
    differing.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let several = ours.study.setups.len() > 1;
    let line = |test: &&TestBeside| {
        let setup = if several { format!(" at {}", test.cell.setup) } else { String::new() };
        format!(
            "{}{setup}: {} here, {} there",
            test.cell.test.name(),
            Ratio(Some(test.ours)).value_with_interval(),
            Ratio(Some(test.theirs)).value_with_interval()
        )
    };
    let mut disagreements: Vec<String> = differing.iter().take(DISAGREEMENTS).map(line).collect();
    if let Some(more @ 1..) = differing.len().checked_sub(DISAGREEMENTS) {
        disagreements.push(format!("and {}", counted(more as u64, "more test")));
    }
    Pair {
        names: found.ours.map(label),
        their_names: found.theirs.map(name),
        answer: answer(&found, &label(found.ours[1])),
        disagreements,
        found,
    }
}

fn size(test: &TestBeside) -> f64 {
    let size = test.quotient.value.ln().abs();
    if size.is_nan() { 0.0 } else { size }
}

/// `mariadb@11.8: both studies agree in 24 of 26 tests; r = 0.92 [0.83, 0.96]; ...`.
fn answer(found: &PairBeside, name: &str) -> String {
    if found.tests.is_empty() && !found.groups.is_empty() {
        let of = counted(found.groups.len() as u64, "group");
        return format!("{name}: {of} in common, without tests");
    }
    if found.tests.is_empty() {
        return format!("{name}: the studies have no test in common");
    }
    let of = counted(found.tests.len() as u64, "test");
    let count = |kind| found.tests.iter().filter(|test| test.agreement == kind).count();
    let (unknown, too_wide) = (count(Agreement::Unknown), count(Agreement::TooWide));
    let agree = match found.tests.len() - unknown {
        0 => format!("{of} in common, without intervals"),
        known if known == too_wide => format!(
            "{of} in common, but no interval is narrow enough for a disagreement to show; longer studies would tell"
        ),
        known => {
            let agree = count(Agreement::Agrees);
            let bounds = |it: &&TestBeside| it.agreement == Agreement::Unknown && it.has_bound();
            let more = match found.tests.iter().filter(bounds).count() {
                _ if unknown == 0 => String::new(),
                0 => format!(", {unknown} without an interval"),
                bounds if bounds == unknown => format!(", {unknown} known only as a bound"),
                _ => format!(", {unknown} without an interval or known only as a bound"),
            };
            let wide = match too_wide {
                0 => String::new(),
                wide => format!(", {wide} with intervals too wide for a disagreement to show"),
            };
            let known = counted((known - too_wide) as u64, "test");
            format!("both studies agree in {agree} of {known}{wide}{more}")
        }
    };
    let correlation = found.correlation.map(|r| format!("; {}", correlation(r)));
    let rms = found.rms.map(|rms| {
        format!("; relative QPS differs by {:.1}% (root mean square)", 100.0 * rms.exp_m1())
    });
    let medians = found.medians.filter(|_| found.tests.len() > 1);
    let medians = medians.map(|[here, there]| {
        format!("; median over tests {} here, {} there", short(here), short(there))
    });
    [Some(format!("{name}: {agree}")), correlation, medians, rms].into_iter().flatten().collect()
}

/// `r = 0.92 [0.83, 0.96]`.
pub(crate) fn correlation(r: Estimate) -> String {
    format!("r = {:.2} [{:.2}, {:.2}]", r.value, r.low, r.high)
}

/// Differing terms of servers. Published results have none, but their settings, where assay knows them, are close to
/// its terms `published`.
fn terms(ours: &StudyRecord, theirs: &StudyRecord) -> Option<String> {
    match (ours.study.terms.as_deref(), theirs.study.terms.as_deref()) {
        (Some(here), Some(there)) if here != there => {
            Some(format!("the terms differ: {here} here, {there} there"))
        }
        (Some(here), None) if here != PUBLISHED_TERMS && theirs.is_reported() => Some(format!(
            "the terms differ: {here} here; a study with `--terms {PUBLISHED_TERMS}` is closer to the author's"
        )),
        _ => None,
    }
}

const PUBLISHED_TERMS: &str = "published";

fn differences(ours: &StudyRecord, theirs: &StudyRecord, pairs: &[Pair]) -> Vec<String> {
    let mut lines = Vec::new();
    if ours.counts_only() {
        lines.push(
            "here, relative QPS is instructions of the base divided by those of the system: what QPS would be if every \
             instruction took the same time"
                .to_owned(),
        );
    }
    if theirs.is_reported() {
        lines.push(
            "there, each value is a published single run, whose uncertainty is unknown".to_owned(),
        );
        lines.push("machine and settings there are those of the author".to_owned());
    } else if !ours.host().is_machine_of(theirs.host()) {
        lines.push("the studies ran on different machines".to_owned());
    }
    lines.extend(terms(ours, theirs));
    let setups = |pair: &Pair| -> BTreeSet<(Setup, Setup)> {
        let tests = pair.found.tests.iter();
        tests
            .map(|it| (it.cell.setup, it.their_setup))
            .filter(|(our, their)| our != their)
            .collect()
    };
    let setups: BTreeSet<(Setup, Setup)> = pairs.iter().flat_map(setups).collect();
    // Unspecified tables and rows are 1.
    let is_unknown = |setup: Setup| theirs.is_reported() && setup.rows == 1;
    let mut message = BTreeSet::new();
    for (our, their) in setups {
        message.insert(match is_unknown(their) {
            true => format!(
                "clients: {} here, {} there, whose tables and rows are not known",
                our.clients, their.clients
            ),
            false => format!("clients × tables × rows: {our} here, {their} there"),
        });
    }
    lines.extend(message);
    let version =
        |system: Option<&System>| system.map_or("", |it| it.artifact.version()).to_owned();
    let mut seen = Vec::new();
    for pair in pairs {
        for (our, their) in pair.found.ours.into_iter().zip(pair.found.theirs) {
            let (here, there) =
                (version(ours.systems.get(our)), version(theirs.systems.get(their)));
            if here != there && !seen.contains(&our) {
                seen.push(our);
                let product = ours.systems.get(our).and_then(|it| it.artifact.product());
                let product = product.map_or("", Product::word);
                lines.push(format!("{product} {here} here, {there} there").trim_start().to_owned());
            }
        }
    }
    lines
}
