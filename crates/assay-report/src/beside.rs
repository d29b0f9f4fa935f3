//! `assay report --beside`: a study beside another one, in every format: common findings and disagreements.

use std::collections::BTreeSet;

use assay_model::{Estimate, Product, PublishedGroup, Setup, StudyRecord, counted, labels};
use assay_svg::Paper;
use assay_verdict::{BesideStudy, GroupBeside, Judgement, PairBeside, StudyAgreement, TestBeside};

use crate::charts::{ChartFile, noted, scatter, stem};
use crate::data::value::JsonValue;
use crate::data::{csv, json};
use crate::document::{Block, Column, Fold, Heading, PageDocument, Row, Section, Table, Wish};
use crate::page::{Page, PageContent};
use crate::ratio::{Quotient, Ratio, short};

#[derive(Debug, Clone, Copy)]
pub struct OtherStudy<'a> {
    /// For a table, possibly only systems.
    pub record: &'a StudyRecord,
    pub judgement: &'a Judgement,
    pub groups: &'a [PublishedGroup],
    /// Place of publication and known conditions.
    pub note: Option<&'a str>,
}

/// `None` if `other` lacks a counterpart of the base or of any further system.
pub fn beside<'a>(
    (record, judgement): (&'a StudyRecord, &'a Judgement),
    theirs: &OtherStudy<'a>,
) -> Option<Page<'a>> {
    let there = BesideStudy { record: theirs.record, judgement: theirs.judgement };
    let beside = Beside::new(BesideStudy { record, judgement }, there, theirs.groups, theirs.note);
    (!beside.pairs.is_empty()).then(|| Page::new(beside))
}

impl PageContent for Beside<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let (ours, theirs) = (&self.ours.study.id, &self.theirs.study.id);
        let mut blocks = vec![Block::Lines(prose(self))];
        blocks.push(wish.charts());
        blocks.extend(self.pairs.iter().map(|pair| section(pair, has_several(self), wish)));
        blocks.push(Block::Break);
        blocks.push(Block::Lines(vec![
            wish.sentence(&format!("here: study {ours}; there: study {theirs}")),
        ]));
        let heading = heading_of(self);
        then(&PageDocument {
            title: format!("{}: {ours} beside {theirs}", heading.line()),
            heading,
            about: vec![format!("Study {ours} (here) beside {theirs} (there)")],
            blocks,
            ..PageDocument::default()
        });
    }

    fn json(&self) -> Option<String> {
        Some(json::versioned(document(self)))
    }

    fn csv(&self) -> Option<String> {
        Some(table(self))
    }

    fn charts(&self) -> Vec<ChartFile> {
        let pairs = self.pairs.iter().filter(|pair| !pair.found.tests.is_empty());
        pairs.map(chart).collect()
    }
}

fn heading_of(beside: &Beside) -> Heading {
    let others: Vec<&str> = beside.pairs.iter().map(|pair| pair.names[1].as_str()).collect();
    beside
        .pairs
        .first()
        .map_or_else(Heading::default, |pair| Heading::for_comparison(&pair.names[0], &others))
}

fn section(pair: &BesidePair, several: bool, wish: &Wish<'_>) -> Block<'static> {
    let found = &pair.found;
    let mut blocks = Vec::new();
    if !found.tests.is_empty() {
        let (svg, note) = (scatter_plot(pair), scatter::note(&found.tests));
        blocks.push(Block::Drawing { class: "scatter", svg, note });
    }
    if !found.groups.is_empty() {
        let [count, rest @ ..] = GROUP_HEADINGS;
        let columns = [Column::words("group"), Column::numbers(count)];
        let columns = columns.into_iter().chain(rest.map(Column::words)).collect();
        let rows = found.groups.iter().map(|group| Row::new(group_cells(group, several)));
        blocks.push(Block::Table(Table::new(columns, rows)));
    }
    if !found.tests.is_empty() {
        let columns = std::iter::once("test").chain(HEADINGS).map(Column::words).collect();
        let rows = found.tests.iter().map(|test| {
            let mut row = Row::new(cells(test, several));
            let class =
                if test.agreement == StudyAgreement::Differs { "v slower" } else { "v same" };
            row.cells[HEADINGS.len()].class = class.to_owned();
            row
        });
        blocks.push(Block::Table(Table::new(columns, rows)));
    }
    let disagreements = Block::list(pair.disagreements.iter().cloned());
    blocks.extend(Block::section(
        wish.heading("where they differ, the largest differences first"),
        disagreements,
    ));
    Block::Section(Section { blocks, ..Section::new(heading(pair), Fold::Never) })
}

const DISAGREEMENTS: usize = 10;

struct Beside<'a> {
    ours: &'a StudyRecord,
    theirs: &'a StudyRecord,
    /// Differences of the conditions, in words.
    differences: Vec<String>,
    pairs: Vec<BesidePair<'a>>,
}

struct BesidePair<'a> {
    found: PairBeside,
    /// Labels of base and system in the first study.
    names: [String; 2],
    their_names: [&'a str; 2],
    answer: String,
    disagreements: Vec<String>,
}

impl<'a> Beside<'a> {
    fn new(
        ours: BesideStudy<'a>,
        theirs: BesideStudy<'a>,
        groups: &[PublishedGroup],
        note: Option<&str>,
    ) -> Self {
        let names: Vec<&str> = ours.record.systems.iter().map(|it| it.name.as_str()).collect();
        let labels = labels(&names);
        let pairs: Vec<BesidePair> = assay_verdict::beside(ours, theirs, groups)
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
) -> BesidePair<'a> {
    let label = |index: usize| labels[index].clone();
    let name = |index: usize| theirs.systems[index].name.as_str();
    let mut differing: Vec<&TestBeside> =
        found.tests.iter().filter(|test| test.agreement == StudyAgreement::Differs).collect();
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
    BesidePair {
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
        let groups = counted(found.groups.len() as u64, "group");
        return format!("{name}: {groups} in common, without tests");
    }
    if found.tests.is_empty() {
        return format!("{name}: the studies have no test in common");
    }
    let tests = counted(found.tests.len() as u64, "test");
    let count = |kind| found.tests.iter().filter(|test| test.agreement == kind).count();
    let (unknown, too_wide) = (count(StudyAgreement::Unknown), count(StudyAgreement::TooWide));
    let agree = match found.tests.len() - unknown {
        0 => format!("{tests} in common, without intervals"),
        known if known == too_wide => format!(
            "{tests} in common, but no interval is narrow enough for a disagreement to show; longer studies would tell"
        ),
        known => {
            let agree = count(StudyAgreement::Agrees);
            let bounds =
                |it: &&TestBeside| it.agreement == StudyAgreement::Unknown && it.has_bound();
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
fn correlation(r: Estimate) -> String {
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

fn differences(ours: &StudyRecord, theirs: &StudyRecord, pairs: &[BesidePair]) -> Vec<String> {
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
    let setups = |pair: &BesidePair| -> BTreeSet<(Setup, Setup)> {
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
    let mut seen = Vec::new();
    for pair in pairs {
        for (our, their) in pair.found.ours.into_iter().zip(pair.found.theirs) {
            let [ours, theirs] =
                [&ours.systems[our], &theirs.systems[their]].map(|it| &it.artifact);
            let (here, there) = (ours.version(), theirs.version());
            if here != there && !seen.contains(&our) {
                seen.push(our);
                let product = ours.product().map_or("", Product::word);
                lines.push(format!("{product} {here} here, {there} there").trim_start().to_owned());
            }
        }
    }
    lines
}

fn prose(beside: &Beside) -> Vec<String> {
    let answers = beside.pairs.iter().map(|pair| pair.answer.clone());
    answers.chain(beside.differences.iter().map(|line| format!("note: {line}"))).collect()
}

fn sign(agreement: StudyAgreement) -> &'static str {
    match agreement {
        StudyAgreement::Agrees => "= agrees",
        StudyAgreement::Differs => "≠ differs",
        StudyAgreement::TooWide => "? too wide",
        StudyAgreement::Unknown => "? unknown",
    }
}

fn word(agreement: StudyAgreement) -> &'static str {
    match agreement {
        StudyAgreement::Agrees => "agrees",
        StudyAgreement::Differs => "differs",
        StudyAgreement::TooWide => "too-wide",
        StudyAgreement::Unknown => "unknown",
    }
}

fn cells(test: &TestBeside, several: bool) -> [String; 5] {
    let setup = if several { format!(" at {}", test.cell.setup) } else { String::new() };
    [
        format!("{}{setup}", test.cell.test.name()),
        Ratio(Some(test.ours)).value_with_interval(),
        Ratio(Some(test.theirs)).value_with_interval(),
        Quotient(Some(test.quotient)).value_with_interval(),
        sign(test.agreement).to_owned(),
    ]
}

const HEADINGS: [&str; 4] = ["here", "there", "here / there", ""];

fn has_several(beside: &Beside) -> bool {
    beside.ours.study.setups.len() > 1
}

fn heading(pair: &BesidePair) -> String {
    let [base, other] = &pair.names;
    let [their_base, their_other] = pair.their_names;
    format!(
        "QPS of {other} relative to {base} here, of {their_other} relative to {their_base} there"
    )
}

const GROUP_HEADINGS: [&str; 6] =
    ["n", "median here", "there", "here / there", "range here", "range there"];

fn group_cells(group: &GroupBeside, several: bool) -> [String; 7] {
    let setup = if several { format!(" at {}", group.setup) } else { String::new() };
    let range = |[least, most]: [f64; 2]| format!("{} to {}", short(least), short(most));
    [
        format!("{}{setup}", group.group.word),
        group.tests.to_string(),
        short(group.ours),
        short(group.theirs),
        short(group.ours / group.theirs),
        range(group.our_range),
        range(group.their_range),
    ]
}

fn point_title(test: &TestBeside) -> String {
    let [name, here, there, ..] = cells(test, false);
    format!("{name}: {here} here, {there} there")
}

fn scatter_plot(pair: &BesidePair) -> String {
    let (width, height) = scatter::PLOT;
    let mut paper = Paper::new(width);
    scatter::draw(&mut paper, (0.0, 0.0), &pair.found.tests, point_title);
    let label = "Relative QPS of every test, here over there; the table below has the numbers";
    paper.inline(height, label)
}

fn chart(pair: &BesidePair) -> ChartFile {
    let [_, other] = &pair.names;
    let headline = format!("{other}: relative QPS here and there");
    let notes =
        [format!("{}.", heading(pair)), pair.answer.clone(), scatter::note(&pair.found.tests)];
    let message: Vec<String> = pair.found.tests.iter().map(point_title).collect();
    let name = stem("beside", [Some(other.clone())]);
    noted(name, headline, &notes, scatter::PLOT, &message, |paper, corner| {
        scatter::draw(paper, corner, &pair.found.tests, point_title);
    })
}

fn document(beside: &Beside) -> JsonValue {
    let pair = |pair: &BesidePair| {
        let found = &pair.found;
        let count = |kind| found.tests.iter().filter(|test| test.agreement == kind).count();
        let test = |test: &TestBeside| JsonValue::Fields(test_fields(test).into());
        let mut fields = Vec::from(system_fields(beside, found));
        fields.extend([
            // Of the logarithms of relative QPS.
            ("correlation", JsonValue::from(found.correlation)),
            // Root mean square of the logarithm of the quotient.
            ("rms_log", found.rms.into()),
            ("agrees", count(StudyAgreement::Agrees).into()),
            ("differs", count(StudyAgreement::Differs).into()),
            // Tests whose intervals are too wide for a disagreement.
            ("too_wide", count(StudyAgreement::TooWide).into()),
            ("unknown", count(StudyAgreement::Unknown).into()),
            ("tests", found.tests.iter().map(test).collect()),
            ("groups", found.groups.iter().map(group_row).collect()),
        ]);
        JsonValue::Fields(fields)
    };
    JsonValue::object([
        ("ours", beside.ours.study.id.as_str().into()),
        ("theirs", beside.theirs.study.id.as_str().into()),
        ("differences", beside.differences.iter().map(String::as_str).collect()),
        ("pairs", beside.pairs.iter().map(pair).collect()),
    ])
}

fn system_fields(beside: &Beside, found: &PairBeside) -> [(&'static str, JsonValue); 4] {
    let name = |study: &StudyRecord, system: usize| study.systems[system].name.as_str().into();
    [
        ("base", name(beside.ours, found.ours[0])),
        ("system", name(beside.ours, found.ours[1])),
        ("their_base", name(beside.theirs, found.theirs[0])),
        ("their_system", name(beside.theirs, found.theirs[1])),
    ]
}

fn test_fields(test: &TestBeside) -> [(&'static str, JsonValue); 9] {
    let Setup { clients, tables, rows } = test.cell.setup;
    [
        ("test", test.cell.test.name().into()),
        ("group", test.group.word.as_str().into()),
        ("clients", clients.into()),
        ("tables", tables.into()),
        ("rows", rows.into()),
        ("rqps", test.ours.into()),
        ("their_rqps", test.theirs.into()),
        // `rqps` divided by `their_rqps`.
        ("quotient", test.quotient.into()),
        ("agreement", word(test.agreement).into()),
    ]
}

fn group_row(beside: &GroupBeside) -> JsonValue {
    let Setup { clients, tables, rows } = beside.setup;
    let ([min, max], [their_min, their_max]) = (beside.our_range, beside.their_range);
    JsonValue::object([
        ("group", beside.group.word.as_str().into()),
        ("clients", clients.into()),
        ("tables", tables.into()),
        ("rows", rows.into()),
        ("n", beside.tests.into()),
        ("median", beside.ours.into()),
        ("min", min.into()),
        ("max", max.into()),
        ("their_median", beside.theirs.into()),
        ("their_min", their_min.into()),
        ("their_max", their_max.into()),
    ])
}

const COLUMNS: &str = "base system their_base their_system test group clients tables rows rqps rqps_low \
    rqps_high their_rqps their_rqps_low their_rqps_high quotient quotient_low quotient_high agreement";

fn table(beside: &Beside) -> String {
    let lines = beside.pairs.iter().flat_map(|pair| {
        pair.found.tests.iter().map(move |test| {
            let systems = system_fields(beside, &pair.found).into_iter();
            JsonValue::Fields(systems.chain(test_fields(test)).collect())
        })
    });
    csv::fields_csv(COLUMNS, lines)
}
