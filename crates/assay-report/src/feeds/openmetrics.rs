//! OpenMetrics text.
//!
//! All families are gauges, so that readers of the older text format of Prometheus, such as the textfile collector of
//! its node exporter and its Pushgateway, accept them. They refuse samples with a time, so there are none. No label
//! names the study, so that the next study continues the series of this one; `assay_study_info` names it.

use std::fmt::Write as _;

use assay_model::{Estimate, Product, StudyRecord, Verdict, printable};
use assay_verdict::Judgement;

use super::cells::{Cell, cells, finite, value};
use super::feed::{Fed, Feed, Made};
use crate::number::Digits;

pub(super) static FEED: Feed = Feed {
    word: "openmetrics",
    about: "OpenMetrics text, for Prometheus and others: gauges with units",
    reader: "Prometheus and what reads its text format, such as the textfile collector and the Pushgateway",
    endings: &[".prom", ".openmetrics"],
    undecided: "the estimate and both ends of its interval; `assay_verdict` has the verdict, `assay_reason_info` the \
                reason",
    failed: "no estimate; verdict and reason as for undecided",
    made: Made::Study(render),
};

const VERDICTS: [Verdict; 6] = [
    Verdict::Faster,
    Verdict::Slower,
    Verdict::Same,
    Verdict::Uneven,
    Verdict::Undecided,
    Verdict::Failed,
];

type Label<'a> = (&'static str, &'a str);

/// Becomes three families: the value and both ends of its interval.
struct Estimated {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: fn(&Cell<'_>) -> Option<Estimate>,
}

const ESTIMATED: [Estimated; 3] = [
    Estimated {
        name: "throughput",
        unit: "operations_per_second",
        about: "Operations per second",
        of: |cell| cell.qps(),
    },
    Estimated {
        name: "relative_throughput",
        unit: "ratio",
        about: "Operations per second divided by those of the base",
        of: |cell| cell.rqps(),
    },
    Estimated {
        name: "server_cpu",
        unit: "ratio",
        about: "Server CPU time per operation divided by that of the base",
        of: |cell| cell.cpu_ratio(),
    },
];

struct Figure {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: fn(&Cell<'_>) -> Option<f64>,
}

fn seconds(us: Option<f64>) -> Option<f64> {
    us.map(|us| us / 1e6)
}

const FIGURES: [Figure; 7] = [
    Figure {
        name: "latency_mean",
        unit: "seconds",
        about: "Mean latency of events",
        of: |cell| seconds(cell.latency()?.mean),
    },
    Figure {
        name: "latency_p50",
        unit: "seconds",
        about: "Median latency of events",
        of: |cell| seconds(cell.latency()?.p50),
    },
    Figure {
        name: "latency_p95",
        unit: "seconds",
        about: "95th percentile of the latency of events",
        of: |cell| seconds(cell.latency()?.p95),
    },
    Figure {
        name: "latency_p99",
        unit: "seconds",
        about: "99th percentile of the latency of events",
        of: |cell| seconds(cell.latency()?.p99),
    },
    Figure {
        name: "latency_max",
        unit: "seconds",
        about: "Largest latency of events",
        of: |cell| seconds(cell.latency()?.max),
    },
    Figure {
        name: "operation_server_cpu",
        unit: "seconds",
        about: "CPU time per operation of the server's threads that serve connections",
        of: |cell| seconds(cell.per_op()?.get("server_cpu_us")),
    },
    Figure {
        name: "detectable_change",
        unit: "ratio",
        about: "Smallest relative change that 4 of 5 such studies would call",
        of: |cell| cell.judged.detectable,
    },
];

#[derive(Default)]
struct Text(String);

impl Text {
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
        let Some(digits) = Digits::of(value) else { return };
        let labels =
            labels.into_iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text)));
        let labels = labels.collect::<Vec<String>>().join(",");
        let braced = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "{name}{braced} {digits}");
    }
}

fn escaped(text: &str) -> String {
    printable(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// Identifies a cell and system in every study.
struct Identity<'a> {
    cell: &'a Cell<'a>,
    clients: String,
    tables: String,
    rows: String,
}

impl<'a> Identity<'a> {
    fn new(cell: &'a Cell<'a>) -> Self {
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

fn render(record: &StudyRecord, judgement: &Judgement) -> Fed {
    let cells = cells(record, judgement);
    let identities: Vec<Identity<'_>> = cells.iter().map(Identity::new).collect();
    let mut text = Text::default();
    study(&mut text, record);
    systems(&mut text, record);
    for estimated in &ESTIMATED {
        estimates(&mut text, estimated, &identities);
    }
    for Figure { name, unit, about, of } in &FIGURES {
        let name = text.family(name, unit, about);
        for it in &identities {
            if let Some(value) = of(it.cell) {
                text.sample(&name, it.labels(), value);
            }
        }
    }
    verdicts(&mut text, &identities);
    text.0.push_str("# EOF\n");
    let is_empty = |cell: &&Cell<'_>| value(cell.qps()).is_none() && value(cell.rqps()).is_none();
    let left_out = cells.iter().filter(is_empty).map(Cell::left_out).collect();
    Fed { text: text.0, left_out }
}

fn study(text: &mut Text, record: &StudyRecord) {
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

fn systems(text: &mut Text, record: &StudyRecord) {
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

/// An end of the interval, or else the value, and the words for the names of its family.
type Part = (&'static str, &'static str, fn(Estimate) -> Option<f64>);

fn estimates(text: &mut Text, estimated: &Estimated, identities: &[Identity<'_>]) {
    let Estimated { name, unit, about, of } = estimated;
    let parts: [Part; 3] = [
        ("", "", |it| value(Some(it))),
        ("_lower", ", lower end of the 95% interval", |it| finite(it.low)),
        ("_upper", ", upper end of the 95% interval", |it| finite(it.high)),
    ];
    for (suffix, addition, part) in parts {
        let name = text.family(&format!("{name}{suffix}"), unit, &format!("{about}{addition}"));
        for it in identities {
            if let Some(value) = of(it.cell).and_then(part) {
                text.sample(&name, it.labels(), value);
            }
        }
    }
}

fn verdicts(text: &mut Text, identities: &[Identity<'_>]) {
    let name = text.family("verdict", "", "1 for the verdict of the cell, 0 for all others");
    for it in identities {
        let Some(found) = it.cell.verdict() else { continue };
        for verdict in VERDICTS {
            let labels = it.labels().into_iter().chain([("verdict", verdict.word())]);
            text.sample(&name, labels, f64::from(u8::from(verdict == found)));
        }
    }
    let name = text.family("reason_info", "", "Why a cell has no decision or no value");
    for it in identities {
        let Some(verdict) = it.cell.verdict() else { continue };
        let is_open = matches!(verdict, Verdict::Undecided | Verdict::Failed);
        if let Some(why) = it.cell.why().filter(|_| is_open) {
            let labels = [("verdict", verdict.word()), ("reason", &why)];
            text.sample(&name, it.labels().into_iter().chain(labels), 1.0);
        }
    }
}
