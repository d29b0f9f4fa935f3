//! The answer in words, and what a reader must know before believing it.

use assay_model::{AuditClass, StudyRecord, System, Verdict};
use assay_verdict::{Judgement, SystemSummary};

use crate::number::{change, share};
use crate::words::{base_index, source, system_name};

/// One line per system other than the base, then warnings and what the answer rests on.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let stamp = stamp(record);
    let mut lines: Vec<String> =
        judgement.systems.iter().map(|summary| verdict_line(record, summary)).collect();
    if let (Some(first), Some(stamp)) = (lines.first_mut(), &stamp) {
        *first = format!("[suspicious audit] {first}");
        lines.push(stamp.clone());
    }
    lines.extend(builds(record));
    lines.push(basis(record, judgement));
    if !record.finished {
        lines.push(
            "warning: the study has not run to its end; verdicts rest on what there is".into(),
        );
    }
    lines
}

fn verdict_line(record: &StudyRecord, summary: &SystemSummary) -> String {
    let name = system_name(record, summary.system);
    let base = system_name(record, base_index(record));
    let cells = summary.cells();
    if record.systems.get(summary.system).is_some_and(|system| system.is_twin) {
        let calls = summary.slower + summary.faster;
        return format!("{name}: {calls} false calls in {cells} tests of {base} against itself");
    }
    let mut counts = [
        (summary.slower, "slower"),
        (summary.faster, "faster"),
        (summary.same, "same"),
        (summary.undecided, "undecided"),
        (summary.failed, "failed"),
    ];
    if summary.faster > summary.slower {
        counts.swap(0, 1);
    }
    let mut told = counts.into_iter().filter(|(count, _)| *count > 0);
    let Some((count, word)) = told.next() else {
        return format!("{name} was not compared with {base}");
    };
    let first = match word {
        "slower" | "faster" => format!("{name} is {word} than {base} in {count} of {cells} tests"),
        "same" => format!("{name} is the same as {base} in {count} of {cells} tests"),
        "undecided" => {
            format!("{name} against {base}: undecided in {count} of {cells} tests")
        }
        _ => format!("{name} against {base}: {word} in {count} of {cells} tests"),
    };
    let rest: String = told.map(|(count, word)| format!(", {word} in {count}")).collect();
    let median =
        summary.median.map_or_else(String::new, |m| format!(" (median over tests {})", change(m)));
    format!("{first}{rest}{median}")
}

fn stamp(record: &StudyRecord) -> Option<String> {
    let settings: Vec<&str> = record
        .audit
        .iter()
        .filter(|finding| finding.class == AuditClass::Suspicious)
        .map(|finding| finding.setting.as_str())
        .collect();
    (!settings.is_empty()).then(|| {
        format!(
            "suspicious: settings that matter differ between the systems: {}",
            settings.join(", ")
        )
    })
}

/// The release a build was made for: its compiler and libraries come with it.
fn builder(system: &System) -> (&str, &str) {
    let build = &system.prefix.build;
    (&build.source, build.channel.split('-').next().unwrap_or_default())
}

fn builds(record: &StudyRecord) -> Option<String> {
    let first = builder(record.systems.first()?);
    let differ = record.systems.iter().any(|system| builder(system) != first);
    differ.then(|| {
        let each: Vec<String> = record
            .systems
            .iter()
            .map(|system| format!("{} from {}", system.name, source(system)))
            .collect();
        format!(
            "warning: the builds differ ({}): compiler and libraries change together with the version",
            each.join(", ")
        )
    })
}

fn basis(record: &StudyRecord, judgement: &Judgement) -> String {
    let blocks = judgement.cells.iter().map(|cell| cell.blocks).max().unwrap_or(0);
    let slices: u32 = judgement.cells.iter().map(|cell| cell.slices).sum();
    let detectable = judgement.systems.iter().filter_map(|system| system.detectable);
    let detectable =
        detectable.fold(None, |most: Option<f64>, d| Some(most.map_or(d, |m| m.max(d))));
    let called = judgement
        .cells
        .iter()
        .any(|cell| matches!(cell.verdict, Verdict::Slower | Verdict::Faster));
    let false_alarms =
        if called { "; of the calls at most 5 % are expected to be false" } else { "" };
    let smallest = detectable.map_or_else(String::new, |d| {
        format!("; in half the tests a change of {} would be found", share(d))
    });
    format!(
        "{slices} slices in {blocks} blocks of fresh servers, {}; \
         changes under {} do not count{smallest}{false_alarms}",
        crate::number::duration(record.elapsed_s()),
        share(record.study.threshold),
    )
}
