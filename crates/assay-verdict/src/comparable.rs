//! The values of a test in many studies, in lines of comparable ones: the same work on the same tables with the same
//! clients, sent in the same way, on the same machine, and divided by the QPS of the same binaries. Any difference
//! makes a separate line.

use std::cmp::Ordering;

use assay_model::{CellId, Estimate, Setup, StudyRecord, System, Verdict};

use crate::{CellJudgement, Judgement};

#[derive(Debug, Clone, PartialEq)]
pub struct ComparableLine {
    pub terms: ComparableTerms,
    pub points: Vec<ComparablePoint>,
    /// Values with only a bound, because a side did not answer, in the same order. Among the points, they would hide
    /// all changes.
    pub bounds: Vec<ComparablePoint>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComparableTerms {
    /// Product, engine and options of its systems, without version: `mariadb/innodb`, `mysql/rocksdb`.
    pub family: String,
    pub setup: Setup,
    /// The machine; for published results on an unknown machine, the study.
    pub machine: String,
    /// The work: definition of the test, version of the workload, form of the tables, statement mode.
    pub work: String,
    /// The system whose QPS divides all others, with the digest of its binaries.
    pub base: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ComparablePoint {
    pub study: String,
    /// Start of the study, or import of published results, milliseconds since the Unix epoch.
    pub started_ms: i64,
    pub is_reported: bool,
    pub system: String,
    pub version: String,
    pub rqps: Estimate,
    pub qps: Option<Estimate>,
    pub verdict: Verdict,
    pub is_disturbed: bool,
}

pub fn comparable(
    studies: &[(&StudyRecord, &Judgement)],
    is_meant: impl Fn(CellId, &System) -> bool,
) -> Vec<ComparableLine> {
    let mut all: Vec<(ComparableTerms, ComparablePoint)> = Vec::new();
    for (record, judgement) in studies {
        for judged in &judgement.cells {
            let Some(system) = record.systems.get(judged.system) else { continue };
            if is_meant(judged.cell, system) && !system.is_twin {
                all.extend(point(record, judged, system));
            }
        }
    }
    all.sort_by(|(terms, one), (other_terms, other)| {
        let by_version = || compare(&one.version, &other.version);
        let by_time = || (one.started_ms, &one.study).cmp(&(other.started_ms, &other.study));
        terms.cmp(other_terms).then_with(by_version).then_with(by_time)
    });
    let mut lines: Vec<ComparableLine> = Vec::new();
    for (terms, point) in all {
        if lines.last().is_none_or(|line| line.terms != terms) {
            lines.push(ComparableLine { terms, points: Vec::new(), bounds: Vec::new() });
        }
        let Some(line) = lines.last_mut() else { continue };
        let values = if point.rqps.is_bound() { &mut line.bounds } else { &mut line.points };
        values.push(point);
    }
    lines
}

fn point(
    record: &StudyRecord,
    judged: &CellJudgement,
    system: &System,
) -> Option<(ComparableTerms, ComparablePoint)> {
    let rqps = judged.rqps.filter(|it| judged.verdict != Verdict::Failed && it.value > 0.0)?;
    let base = record.systems.iter().find(|it| it.is_base)?;
    let terms = ComparableTerms {
        family: family(system),
        setup: judged.cell.setup,
        machine: machine(record),
        work: work(record, judged.cell)?,
        base: identity(base),
    };
    let point = ComparablePoint {
        study: record.study.id.clone(),
        started_ms: record.study.started_ms,
        is_reported: record.is_reported(),
        system: system.name.clone(),
        version: system.artifact.version().to_owned(),
        rqps,
        qps: judged.qps,
        verdict: judged.verdict,
        is_disturbed: judged.is_disturbed,
    };
    Some((terms, point))
}

/// Description of a cell's work; `None` if the cell is not in the plan.
fn work(record: &StudyRecord, cell: CellId) -> Option<String> {
    if record.is_reported() {
        return Some("as published".to_owned());
    }
    let study = &record.study;
    let planned = study.cells.iter().find(|it| it.id == cell)?;
    let digest = cell.test.digest.get(..8).unwrap_or(&cell.test.digest);
    let mut work = format!(
        "definition {digest} of workload version {}, statements {}, {}, CPUs {}, priority {}",
        study.workload_version,
        study.statements.word(),
        study.experiment.word(),
        planned.placement.word(),
        planned.priority.word()
    );
    if let Some(terms) = &study.terms {
        work += &format!(", terms {terms}");
    }
    if let Some(cpus) = study.cpus.in_words() {
        work += &format!(", {cpus}");
    }
    if let Some(form) = study.table_form.in_words() {
        work += &format!(", tables with {form}");
    }
    Some(work)
}

fn family(system: &System) -> String {
    let spec = &system.spec;
    if system.artifact.product().is_none() {
        return format!("unknown server {}", system.name);
    }
    format!("{}/{}{}", spec.product, spec.engine.word(), spec.options_in_words())
}

fn identity(system: &System) -> String {
    if system.artifact.product().is_none() {
        return format!("unknown server {}", system.name);
    }
    let digest = system.artifact.sha256().map_or("", |it| it.get(..12).unwrap_or(it));
    let version = system.artifact.version();
    format!("{} {version} {digest}", system.spec).trim_end().to_owned()
}

fn machine(record: &StudyRecord) -> String {
    let host = record.host();
    if record.is_reported() || !host.is_known() {
        return format!("unknown machine of study {}", record.study.id);
    }
    let hypervisor = host.hypervisor.as_deref().unwrap_or("no hypervisor");
    let gib = (host.memory_kb as f64 / f64::from(1 << 20)).round();
    format!("{}, {} CPUs, {gib} GiB, {hypervisor}, {}", host.cpu, host.cpus, host.filesystem)
}

/// Compares versions numerically, so that 10.2 precedes 10.11, and 19beta1 or 19~beta1 precede 19 and 19.1.
fn compare(one: &str, other: &str) -> Ordering {
    let part = |part: &str| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        (number.parse::<u64>().unwrap_or(0), rest.is_empty(), rest.to_owned())
    };
    let parts = |text: &str| text.split(['.', '-', '_', '+']).map(part).collect::<Vec<_>>();
    parts(one).cmp(&parts(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_their_order() {
        let ordered = [
            "8.0.36", "10.2.30", "10.2.44", "10.11", "10.11.6", "11.8", "19beta1", "19~rc1", "19",
            "19.1", "20.1",
        ];
        let mut versions = ordered;
        versions.reverse();
        versions.sort_by(|one, other| compare(one, other));
        assert_eq!(versions, ordered);
    }
}
