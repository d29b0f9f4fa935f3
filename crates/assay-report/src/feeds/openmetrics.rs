//! OpenMetrics text.
//!
//! All families are gauges, so that readers of the older text format of Prometheus, such as the textfile collector of
//! its node exporter and its Pushgateway, accept them. They refuse samples with a time, so there are none. No label
//! names the study, so that the next study continues the series of this one; `assay_study_info` names it.

use std::fmt::Write as _;

use assay_model::{Estimate, Product, StudyRecord, Verdict, printable};
use assay_verdict::Judgement;

use super::feed::{
    FEED_FIGURES, Feed, FeedCell, FeedFigure, FeedRender, FeedText, QPS, RQPS, cells, finite, value,
};
use crate::number::Digits;
use crate::sections::study::JudgedStudy;

pub(super) static FEED: Feed = Feed {
    word: "openmetrics",
    about: "OpenMetrics text, for Prometheus and others: gauges with units",
    reader: "Prometheus and what reads its text format, such as the textfile collector and the Pushgateway",
    endings: &[".prom", ".openmetrics"],
    undecided: "the estimate and both ends of its interval; `assay_verdict` has the verdict, `assay_reason_info` the \
                reason",
    failed: "no estimate; verdict and reason as for undecided",
    render: FeedRender::Study(render),
};

const VERDICTS: [Verdict; 6] = [
    Verdict::Faster,
    Verdict::Slower,
    Verdict::Same,
    Verdict::Uneven,
    Verdict::Undecided,
    Verdict::Failed,
];

type EstimatePart = fn(Estimate) -> Option<f64>;

type Label<'a> = (&'static str, &'a str);

/// A cell and system with labels that identify them in every study.
struct Identity<'a> {
    cell: &'a FeedCell<'a>,
    clients: String,
    tables: String,
    rows: String,
}

impl<'a> Identity<'a> {
    fn new(cell: &'a FeedCell<'a>) -> Self {
        let setup = cell.judged.cell.setup;
        let [clients, tables, rows] =
            [setup.clients, setup.tables, setup.rows].map(|count| count.to_string());
        Self { cell, clients, tables, rows }
    }

    fn labels(&self) -> [Label<'_>; 6] {
        [
            ("system", &self.cell.system.name),
            ("test", self.cell.test()),
            ("group", &self.cell.judged.group.word),
            ("clients", &self.clients),
            ("tables", &self.tables),
            ("rows", &self.rows),
        ]
    }
}

#[derive(Default)]
struct Families(String);

impl Families {
    /// Returns the full name.
    fn family(&mut self, name: &str, unit: &str, about: &str) -> String {
        let separator = if unit.is_empty() { "" } else { "_" };
        let name = format!("assay_{name}{separator}{unit}");
        let _ = writeln!(self.0, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {about}.");
        name
    }

    fn sample<'a>(&mut self, name: &str, labels: impl IntoIterator<Item = Label<'a>>, value: f64) {
        let Some(digits) = Digits::from_value(value) else { return };
        let labels =
            labels.into_iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text)));
        let labels = labels.collect::<Vec<String>>().join(",");
        let braced = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "{name}{braced} {digits}");
    }

    /// A family with a sample for each cell that has the figure.
    fn figures(
        &mut self,
        [name, unit, about]: [&str; 3],
        identities: &[Identity<'_>],
        figure: impl Fn(&FeedCell<'_>) -> Option<f64>,
    ) {
        let name = self.family(name, unit, about);
        for identity in identities {
            if let Some(value) = figure(identity.cell) {
                self.sample(&name, identity.labels(), value);
            }
        }
    }

    /// Three families: the value and both ends of its interval.
    fn estimates(&mut self, figure: &FeedFigure, identities: &[Identity<'_>]) {
        let [name, unit, about] = figure.metric;
        let of_cell =
            |part: EstimatePart| move |cell: &FeedCell<'_>| cell.estimate(figure).and_then(part);
        self.figures([name, unit, about], identities, of_cell(|all| value(Some(all))));
        let ends: [(&str, EstimatePart); 2] =
            [("lower", |all| finite(all.low)), ("upper", |all| finite(all.high))];
        for (end, part) in ends {
            let name = format!("{name}_{end}");
            let about = format!("{about}, {end} end of the 95% interval");
            self.figures([&name, unit, &about], identities, of_cell(part));
        }
    }
}

fn escaped(text: &str) -> String {
    printable(text).replace('\\', "\\\\").replace('"', "\\\"")
}

fn render(record: &StudyRecord, judgement: &Judgement) -> FeedText {
    let judged = JudgedStudy::new(record, judgement);
    let cells = cells(&judged);
    let identities: Vec<Identity<'_>> = cells.iter().map(Identity::new).collect();
    let mut text = Families::default();
    study(&mut text, record);
    systems(&mut text, record);
    for figure in FEED_FIGURES {
        if figure.has_ends() {
            text.estimates(figure, &identities);
            continue;
        }
        let by = if figure.is_time() { 1e6 } else { 1.0 };
        let of_cell = |cell: &FeedCell<'_>| Some(cell.estimate(figure)?.value / by);
        text.figures(figure.metric, &identities, of_cell);
    }
    verdicts(&mut text, &identities);
    text.0.push_str("# EOF\n");
    let is_empty = |cell: &&FeedCell<'_>| {
        [QPS, RQPS].iter().all(|figure| value(cell.estimate(figure)).is_none())
    };
    let left_out = cells.iter().filter(is_empty).map(FeedCell::left_out).collect();
    FeedText { text: text.0, left_out }
}

fn study(text: &mut Families, record: &StudyRecord) {
    let study = &record.study;
    let name = text.family("study_info", "", "The study");
    let labels = [
        ("study", study.id.as_str()),
        ("preset", study.preset.word()),
        ("experiment", study.experiment.word()),
        ("terms", study.terms.as_deref().unwrap_or_default()),
        ("assay_version", &study.assay_version),
    ];
    text.sample(&name, labels, 1.0);
    let name = text.family("study_started_timestamp", "seconds", "When the study began, Unix time");
    if let Some(ms) = record.began_ms() {
        text.sample(&name, [], (ms / 1000) as f64);
    }
    let about = "Smallest relative change of practical interest";
    let name = text.family("study_threshold", "ratio", about);
    text.sample(&name, [], assay_verdict::threshold(study));
}

fn systems(text: &mut Families, record: &StudyRecord) {
    let name = text.family("system_info", "", "A system of the study");
    for system in &record.systems {
        let artifact = &system.artifact;
        let role = match (system.is_base, system.is_twin) {
            (true, _) => "base",
            (_, true) => "twin",
            _ => "other",
        };
        let labels = [
            ("system", system.name.as_str()),
            ("product", artifact.product().map(Product::word).unwrap_or_default()),
            ("version", artifact.version()),
            ("source", artifact.source()),
            ("role", role),
        ];
        text.sample(&name, labels, 1.0);
    }
}

fn verdicts(text: &mut Families, identities: &[Identity<'_>]) {
    let name = text.family("verdict", "", "1 for the verdict of the cell, 0 for all others");
    for identity in identities {
        let Some(found) = identity.cell.verdict() else { continue };
        for verdict in VERDICTS {
            let labels = identity.labels().into_iter().chain([("verdict", verdict.word())]);
            text.sample(&name, labels, f64::from(u8::from(verdict == found)));
        }
    }
    let name = text.family("reason_info", "", "Why a cell has no decision or no value");
    for identity in identities {
        let Some(verdict) = identity.cell.verdict() else { continue };
        let is_open = matches!(verdict, Verdict::Undecided | Verdict::Failed);
        if let Some(why) = identity.cell.why().filter(|_| is_open) {
            let labels = [("verdict", verdict.word()), ("reason", &why)];
            text.sample(&name, identity.labels().into_iter().chain(labels), 1.0);
        }
    }
}
