//! The facts of a study, as text and JSON.

use std::collections::BTreeSet;

use assay_model::{Host, StudyRecord, counted};
use assay_report::Page;
use assay_report::blocks::{
    Block, JsonValue, Number, PageContent, PageDocument, Wish, began, duration, rfc3339, source,
    thousands, versioned,
};
use assay_verdict::{Judgement, SystemSummary};
use serde::Serialize;

#[derive(Debug, Clone)]
pub struct ShownStudy<'a> {
    pub record: &'a StudyRecord,
    pub judgement: &'a Judgement,
    pub name: Option<String>,
    pub bytes: u64,
}

#[derive(Serialize)]
struct ShownDocument<'a> {
    id: &'a str,
    name: Option<&'a str>,
    started: Option<String>,
    state: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foreign: bool,
    elapsed_s: Number,
    preset: &'static str,
    experiment: &'static str,
    workload_version: Option<u32>,
    assay_version: &'a str,
    tests: Vec<&'a str>,
    setups: &'a [assay_model::Setup],
    systems: JsonValue,
    machines: Vec<&'a Host>,
    blocks: usize,
    slices: usize,
    bytes: u64,
}

impl ShownStudy<'_> {
    fn state(&self) -> &'static str {
        match self.record {
            StudyRecord { running: true, .. } => "running",
            StudyRecord { finished: true, .. } => "finished",
            _ => "unfinished",
        }
    }

    fn tests(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let names = self.record.study.cells.iter().map(|cell| cell.id.test.name());
        names.filter(|name| seen.insert(*name)).collect()
    }

    fn machines(&self) -> Vec<&Host> {
        let mut hosts: Vec<&Host> = Vec::new();
        for run in &self.record.runs {
            if !hosts.iter().any(|host| description(host) == description(&run.host)) {
                hosts.push(&run.host);
            }
        }
        hosts
    }

    /// `None` for published results.
    fn summary(&self, system: usize) -> Option<&SystemSummary> {
        if self.record.is_reported() || self.record.counts_only() {
            return None;
        }
        self.judgement.systems.iter().find(|it| it.system == system)
    }
}

pub fn study(shown: ShownStudy<'_>) -> Page<'_> {
    Page::new(shown)
}

impl PageContent for ShownStudy<'_> {
    fn document(&self, _: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let blocks = vec![Block::Lines(lines(self))];
        then(&PageDocument { blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        Some(versioned(document(self)))
    }
}

fn document<'a>(shown: &'a ShownStudy<'_>) -> ShownDocument<'a> {
    let ShownStudy { record, name, bytes, .. } = shown;
    let study = &record.study;
    let systems = record.systems.iter().enumerate().map(|(index, system)| {
        let verdicts = shown.summary(index).map(verdicts);
        let verdicts =
            verdicts.map(|it| JsonValue::object(it.map(|(word, count)| (word, count.into()))));
        JsonValue::object([
            ("name", system.name.as_str().into()),
            ("version", system.artifact.version().into()),
            ("source", source(system).into()),
            ("is_base", system.is_base.into()),
            ("is_twin", system.is_twin.into()),
            // Counts of cells by verdict; null for the base and for published results.
            ("verdicts", verdicts.into()),
        ])
    });
    ShownDocument {
        id: &study.id,
        name: name.as_deref(),
        started: record.began_ms().and_then(rfc3339),
        state: shown.state(),
        foreign: record.foreign,
        elapsed_s: Number(record.spent_s()),
        preset: study.preset.word(),
        experiment: study.experiment.word(),
        workload_version: (!record.is_reported()).then_some(study.workload_version),
        assay_version: &study.assay_version,
        tests: shown.tests(),
        setups: &study.setups,
        systems: systems.collect(),
        machines: shown.machines(),
        blocks: record.blocks.len(),
        slices: record.slices.len(),
        bytes: *bytes,
    }
}

fn lines(shown: &ShownStudy<'_>) -> Vec<String> {
    let ShownStudy { record, name, bytes, .. } = shown;
    let study = &record.study;
    let name = name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
    let moment = began(study.started_ms, false);
    let when = match record.spent_s() {
        Some(seconds) => {
            format!("started: {moment} UTC, {}, took {}", shown.state(), duration(seconds))
        }
        None => format!("imported: {moment} UTC"),
    };
    let mut lines = vec![
        format!("study {}{name}", study.id),
        format!("  {when}"),
        format!(
            "  preset: {}, {}, assay {}",
            study.preset.word(),
            study.experiment.word(),
            study.assay_version
        ),
    ];
    let tests = shown.tests();
    let few = if tests.len() <= 6 { format!(": {}", tests.join(", ")) } else { String::new() };
    lines.push(format!("  tests: {}{few}", tests.len()));
    lines.extend(study.setups.iter().map(|setup| match study.has_known_tables() {
        true => format!("  clients × tables × rows: {setup}"),
        false => format!("  clients: {}", setup.clients),
    }));
    for (index, system) in record.systems.iter().enumerate() {
        let role = if system.is_base { " (base)" } else { "" };
        let verdicts = shown.summary(index).into_iter().flat_map(verdicts);
        // `, 3 faster, 2 slower`
        let verdicts: String = verdicts
            .filter(|(_, count)| *count > 0)
            .map(|(word, count)| format!(", {count} {word}"))
            .collect();
        let version = system.artifact.version();
        lines.push(format!(
            "  system: {}{role}, {version}, {}{verdicts}",
            system.name,
            source(system)
        ));
    }
    lines.extend(
        shown.machines().into_iter().map(|host| format!("  measured on: {}", description(host))),
    );
    let (blocks, slices) = (record.blocks.len() as u64, record.slices.len() as u64);
    let size = *bytes as f64 / 1024.0;
    let (blocks, slices) = (counted(blocks, "block"), counted(slices, "slice"));
    lines.push(format!("  in the ledger: {blocks}, {slices}, {} KiB", thousands(size)));
    lines
}

/// Tests by verdict.
fn verdicts(summary: &SystemSummary) -> [(&'static str, u32); 6] {
    [
        ("faster", summary.faster),
        ("slower", summary.slower),
        ("same", summary.same),
        ("uneven", summary.uneven),
        ("undecided", summary.undecided),
        ("failed", summary.failed),
    ]
}

/// `AMD EPYC, 2 CPUs, 8 GiB, Debian GNU/Linux 13, Linux 6.12`.
fn description(host: &Host) -> String {
    if !host.is_known() {
        return "unknown".to_owned();
    }
    let gib = host.memory_kb as f64 / f64::from(1 << 20);
    let Host { cpu, os, kernel, .. } = host;
    format!("{cpu}, {}, {gib:.0} GiB, {os}, kernel {kernel}", counted(host.cpus, "CPU"))
}
