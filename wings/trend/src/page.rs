//! One test over versions and time, as a page. Pure: no I/O, no clock.

use assay_model::{Setup, Verdict, counted};
use assay_report::blocks::{
    Block, Column, Heading, Interval, Number, PageContent, PageDocument, Rate, Ratio, Row,
    Separated as _, SequenceChart, Table, Wish, began, change_in_words, confidence, fields_csv,
    rfc3339, stem, versioned,
};
use assay_report::{ChartFile, Page};
use assay_verdict::{ComparablePoint, ComparableTerms};
use serde::Serialize;

use crate::line::{TrendLine, is_doubtful};
use crate::shifts::{DOUBT, MOST, Shift};

#[derive(Debug)]
pub(crate) struct TrendResult<'a> {
    pub(crate) test: &'a str,
    /// Each line has comparable values.
    pub(crate) lines: &'a [TrendLine],
    pub(crate) studies: usize,
}

pub(crate) fn trend<'a>(trend: &'a TrendResult<'a>) -> Page<'a> {
    Page::new(trend)
}

impl PageContent for &TrendResult<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let mut blocks = vec![Block::Answer(vec![answer(self)])];
        blocks.extend(Block::notes((self.lines.len() > 1).then(|| APART.to_owned())));
        blocks.push(wish.charts());
        blocks.extend(self.lines.iter().flat_map(section));
        let has_changes =
            self.lines.iter().any(|line| line.shifts.as_ref().is_some_and(|it| !it.is_empty()));
        let notes = [has_changes.then(|| format!("◆: {LEGEND}")), bounds(self), doubt(self)];
        blocks.extend(Block::notes(notes.into_iter().flatten()));
        then(&PageDocument {
            title: format!("{} over versions and time", self.test),
            heading: Heading {
                before: self.test.to_owned(),
                small: "over versions and time",
                ..Heading::default()
            },
            blocks,
            ..PageDocument::default()
        });
    }

    fn json(&self) -> Option<String> {
        Some(versioned(document(self)))
    }

    fn csv(&self) -> Option<String> {
        Some(table(self))
    }

    fn charts(&self) -> Vec<ChartFile> {
        self.lines.iter().zip(1..).filter_map(|(line, number)| file(self, line, number)).collect()
    }
}

fn section(line: &TrendLine) -> Vec<Block<'static>> {
    let [title, rest @ ..] = terms(line);
    let mut columns = vec![Column::words("")];
    columns.extend(COLUMNS.map(|name| match name {
        "relative QPS" | "QPS" => Column::numbers(name),
        _ => Column::words(name),
    }));
    let rows = all(line).map(|(point, is_change)| {
        let mark = if is_change { "◆" } else { "" };
        Row::new(std::iter::once(mark.to_owned()).chain(row(point)))
    });
    let mut blocks = Block::list(rest.to_vec());
    blocks.extend(chart(line).inline());
    blocks.push(Block::Table(Table::new(columns, rows).flush()));
    blocks.extend(Block::list(changes(line)));
    Block::section(title, blocks)
}

fn chart(line: &TrendLine) -> SequenceChart<'_> {
    let changes = line.shifts.iter().flatten().map(|shift| shift.at).collect();
    let points = line.points.iter().map(Into::into).collect();
    SequenceChart { points, changes, note: note(line) }
}

fn note(line: &TrendLine) -> String {
    let bars = match line.points.iter().any(|point| point.rqps.has_interval()) {
        true => " Bars are 95% intervals.",
        false => " No interval is known.",
    };
    let diamond = match line.shifts.as_ref().is_some_and(|shifts| !shifts.is_empty()) {
        true => " A diamond marks the first value after a change.",
        false => "",
    };
    format!("Relative QPS in the order of the table; the axis does not start at 0.{bars}{diamond}")
}

fn file(trend: &TrendResult<'_>, line: &TrendLine, number: u32) -> Option<ChartFile> {
    let [title, rest @ ..] = terms(line);
    let name = stem("trend", [Some(trend.test.to_owned()), Some(number.to_string())]);
    let mut notes = vec![rest.join("; "), changes(line).join("; ")];
    notes.retain(|note| !note.is_empty());
    let value = |point: &ComparablePoint| {
        let [version, when, rqps, verdict, ..] = row(point);
        format!("{version}, {when}: {rqps} {verdict}")
    };
    let values: Vec<String> = line.points.iter().map(value).collect();
    chart(line).file(name, format!("{}: {title}", trend.test), notes, &values)
}

const LEGEND: &str = "a change is called if noise alone would make such a difference anywhere in its line \
    in less than 5% of the cases, as far as base and system vary alike; its place is the most likely one";

/// `point-query in 12 studies: 3 lines, 1 change`.
fn answer(trend: &TrendResult<'_>) -> String {
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

fn terms(line: &TrendLine) -> [String; 4] {
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

const APART: &str = "each line has its own machine, base, setup or work, so values of different lines are \
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
fn changes(line: &TrendLine) -> Vec<String> {
    match &line.shifts {
        _ if line.points.len() < 2 && !line.bounds.is_empty() => Vec::new(),
        None if line.points.len() > MOST => {
            vec![format!("no change is looked for among more than {MOST} values")]
        }
        None => vec!["no change can be called: a value has no interval".to_owned()],
        Some(_) if line.points.len() < 2 => Vec::new(),
        Some(shifts) if shifts.is_empty() => vec!["no change found".to_owned()],
        Some(shifts) => shifts.iter().filter_map(|shift| change(line, shift)).collect(),
    }
}

fn is_shift(line: &TrendLine, number: usize) -> bool {
    line.shifts.iter().flatten().any(|shift| shift.at == number)
}

/// Values, then bounds, each with whether it is the first after a change.
fn all(line: &TrendLine) -> impl Iterator<Item = (&ComparablePoint, bool)> {
    let points = line.points.iter().enumerate();
    let points = points.map(|(number, point)| (point, is_shift(line, number)));
    points.chain(line.bounds.iter().map(|bound| (bound, false)))
}

fn bounds(trend: &TrendResult<'_>) -> Option<String> {
    let has_bounds = trend.lines.iter().any(|line| !line.bounds.is_empty());
    has_bounds.then(|| {
        "where a system did not answer in time, only a bound of its relative QPS is known: it comes last in its \
         line, is not drawn, and no change is looked for at it"
            .to_owned()
    })
}

fn row(point: &ComparablePoint) -> [String; WIDTH] {
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
fn verdict(point: &ComparablePoint) -> String {
    match point.verdict {
        Verdict::Undecided if point.is_reported => String::new(),
        verdict if point.is_disturbed => format!("{}, disturbed", verdict.word()),
        verdict => verdict.word().to_owned(),
    }
}

const WIDTH: usize = 6;

const COLUMNS: [&str; WIDTH] =
    ["version", "started (UTC)", "relative QPS", "verdict", "QPS", "study"];

fn doubt(trend: &TrendResult<'_>) -> Option<String> {
    let mut points = trend.lines.iter().flat_map(|line| &line.points);
    points.any(is_doubtful).then(|| {
        format!(
            "a value that its study left undecided, found uneven or measured on a disturbed machine counts with \
             {DOUBT} times its error, and such values of a single study show no change"
        )
    })
}

#[derive(Serialize)]
struct TrendDocument<'a> {
    test: &'a str,
    studies: usize,
    lines: Vec<TrendLineRow<'a>>,
}

#[derive(Serialize)]
struct TrendTermsRow<'a> {
    family: &'a str,
    base: &'a str,
    machine: &'a str,
    work: &'a str,
    #[serde(flatten)]
    setup: Setup,
}

#[derive(Serialize)]
struct TrendLineRow<'a> {
    #[serde(flatten)]
    terms: TrendTermsRow<'a>,
    points: Vec<PointRow<'a>>,
    /// Values with only a known bound, because a side did not answer. They are ignored in `changes`.
    bounds: Vec<PointRow<'a>>,
    /// Null if a value has no interval, so that nothing can be concluded.
    changes: Option<Vec<ShiftRow>>,
}

#[derive(Serialize)]
struct PointRow<'a> {
    study: &'a str,
    /// Null for published results.
    started: Option<String>,
    system: &'a str,
    version: &'a str,
    rqps: Interval,
    qps: Option<Interval>,
    /// Null for published results.
    verdict: Option<&'static str>,
    /// Null for published results.
    disturbed: Option<bool>,
}

#[derive(Serialize)]
struct ShiftRow {
    /// Number of the first value after the change, from 0.
    at: usize,
    ratio: Interval,
    confidence: Number,
    placed: Number,
}

fn document<'a>(trend: &TrendResult<'a>) -> TrendDocument<'a> {
    let lines = trend.lines.iter().map(line_row).collect();
    TrendDocument { test: trend.test, studies: trend.studies, lines }
}

fn terms_row(line: &TrendLine) -> TrendTermsRow<'_> {
    let ComparableTerms { family, setup, machine, work, base } = &line.terms;
    TrendTermsRow { family, base, machine, work, setup: *setup }
}

fn line_row(line: &TrendLine) -> TrendLineRow<'_> {
    TrendLineRow {
        terms: terms_row(line),
        points: line.points.iter().map(point).collect(),
        bounds: line.bounds.iter().map(point).collect(),
        changes: line.shifts.as_ref().map(|shifts| shifts.iter().map(shift_row).collect()),
    }
}

fn point(point: &ComparablePoint) -> PointRow<'_> {
    PointRow {
        study: &point.study,
        started: rfc3339(point.started_ms).filter(|_| !point.is_reported),
        system: &point.system,
        version: &point.version,
        rqps: point.rqps.into(),
        qps: point.qps.map(Interval::from),
        verdict: (!point.is_reported).then(|| point.verdict.word()),
        disturbed: (!point.is_reported).then_some(point.is_disturbed),
    }
}

fn shift_row(shift: &Shift) -> ShiftRow {
    ShiftRow {
        at: shift.at,
        ratio: shift.ratio.into(),
        confidence: shift.confidence.into(),
        placed: shift.placed.into(),
    }
}

const FIELDS: &str = "test family base machine work clients tables rows study started system version rqps \
    rqps_low rqps_high qps verdict disturbed is_change";

#[derive(Serialize)]
struct ValueRow<'a> {
    test: &'a str,
    #[serde(flatten)]
    terms: TrendTermsRow<'a>,
    #[serde(flatten)]
    point: PointRow<'a>,
    is_change: bool,
}

fn table(trend: &TrendResult<'_>) -> String {
    let values = trend.lines.iter().flat_map(|line| {
        all(line).map(|(value, is_change)| ValueRow {
            test: trend.test,
            terms: terms_row(line),
            point: point(value),
            is_change,
        })
    });
    fields_csv(FIELDS, values)
}

#[cfg(test)]
mod tests;
