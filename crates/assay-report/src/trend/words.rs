//! Texts of a trend.

use assay_model::{Verdict, counted};
use assay_verdict::{Shift, TREND_DOUBT, TREND_VALUES_MAX, TrendLine, TrendPoint};

use crate::number::{Rate, confidence};
use crate::ratio::{Ratio, change_in_words};
use crate::words::{Separated as _, began};

pub(super) const LEGEND: &str = "a change is called if noise alone would make such a difference anywhere in its line \
    in less than 5% of the cases, as far as base and system vary alike; its place is the most likely one";

#[derive(Debug, Clone, PartialEq)]
pub struct Trend<'a> {
    pub test: &'a str,
    /// Each line has comparable values.
    pub lines: &'a [TrendLine],
    pub studies: usize,
}

/// `point-query in 12 studies: 3 lines, 1 change`.
pub(super) fn answer(trend: &Trend<'_>) -> String {
    let changes: usize =
        trend.lines.iter().filter_map(|line| line.shifts.as_ref()).map(Vec::len).sum();
    let studies = match trend.studies {
        1 => "1 study".to_owned(),
        more => format!("{more} studies"),
    };
    let lines = match trend.lines {
        [] => return format!("{} in {studies}: no system to compare", trend.test),
        lines => counted(lines.len() as u64, "comparable line"),
    };
    format!("{} in {studies}: {lines}, {}", trend.test, counted(changes as u64, "change"))
}

pub(super) fn terms(line: &TrendLine) -> [String; 4] {
    let terms = &line.terms;
    let is_reported = line.points.iter().all(|point| point.is_reported);
    let unknown = if is_reported { " (1 where it is not known)" } else { "" };
    [
        format!("{} relative to {}", terms.family, terms.base),
        format!("clients × tables × rows: {}{unknown}", terms.setup.separated()),
        format!("machine: {}", terms.machine),
        format!("work: {}", terms.work),
    ]
}

pub(super) const APART: &str = "each line has its own machine, base, setup or work, so values of different lines are \
    not comparable";

/// `at 11.4.10 (study 2026…): −6% [−8%, −4%], confidence 99%, at this place 87%`.
fn change(line: &TrendLine, shift: &Shift) -> Option<String> {
    let point = line.points.get(shift.at)?;
    let size = change_in_words(shift.ratio)?;
    Some(format!(
        "changed at {} (study {}): {size}; confidence {}, at this place {}",
        point.version,
        point.study,
        confidence(shift.confidence),
        confidence(shift.placed)
    ))
}

/// The changes of a line, or why none can be called.
pub(super) fn changes(line: &TrendLine) -> Vec<String> {
    match &line.shifts {
        _ if line.points.len() < 2 && !line.bounds.is_empty() => Vec::new(),
        None if line.points.len() > TREND_VALUES_MAX => {
            vec![format!("no change is looked for among more than {TREND_VALUES_MAX} values")]
        }
        None => vec!["no change can be called: a value has no interval".to_owned()],
        Some(_) if line.points.len() < 2 => Vec::new(),
        Some(shifts) if shifts.is_empty() => vec!["no change found".to_owned()],
        Some(shifts) => shifts.iter().filter_map(|shift| change(line, shift)).collect(),
    }
}

pub(super) fn is_shift(line: &TrendLine, number: usize) -> bool {
    line.shifts.iter().flatten().any(|shift| shift.at == number)
}

/// Values, then bounds, each with whether it is the first after a change.
pub(super) fn all(line: &TrendLine) -> impl Iterator<Item = (&TrendPoint, bool)> {
    let points = line.points.iter().enumerate();
    let points = points.map(|(number, point)| (point, is_shift(line, number)));
    points.chain(line.bounds.iter().map(|bound| (bound, false)))
}

pub(super) fn bounds(trend: &Trend<'_>) -> Option<String> {
    let has_bounds = trend.lines.iter().any(|line| !line.bounds.is_empty());
    has_bounds.then(|| {
        "where a system did not answer in time, only a bound of its relative QPS is known: it comes last in its \
         line, is not drawn, and no change is looked for at it"
            .to_owned()
    })
}

pub(super) fn row(point: &TrendPoint) -> [String; WIDTH] {
    [
        point.version.clone(),
        began(point.started_ms, point.is_reported),
        Ratio(Some(point.rqps)).to_string(),
        verdict(point),
        Rate(point.qps).to_string(),
        point.study.clone(),
    ]
}

/// Empty for published results without a verdict.
fn verdict(point: &TrendPoint) -> String {
    match point.verdict {
        Verdict::Undecided if point.is_reported => String::new(),
        verdict if point.is_disturbed => format!("{}, disturbed", verdict.word()),
        verdict => verdict.word().to_owned(),
    }
}

pub(super) const WIDTH: usize = 6;

pub(super) const COLUMNS: [&str; WIDTH] =
    ["version", "started (UTC)", "relative QPS", "verdict", "QPS", "study"];

pub(super) fn doubt(trend: &Trend<'_>) -> Option<String> {
    let mut points = trend.lines.iter().flat_map(|line| &line.points);
    points.any(TrendPoint::is_doubtful).then(|| {
        format!(
            "a value that its study left undecided, found uneven or measured on a disturbed machine counts with \
             {TREND_DOUBT} times its error, and such values of a single study show no change"
        )
    })
}
