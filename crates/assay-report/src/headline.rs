//! The answer in words, and what a reader must know before believing it.

use std::collections::BTreeSet;

use assay_model::{DataContent, Experiment, Origin, StudyRecord, System, Verdict, counted};
use assay_verdict::{Judgement, SystemSummary, threshold};

use crate::label::label;
use crate::number::{duration, share, told};
use crate::words::{base_index, origin};
use crate::{findings, trouble};

/// The answer, then what the twin says, warnings, and what the answer rests on.
pub(crate) fn lines(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let mut lines = answers(record, judgement);
    lines.extend(stamp(record));
    if !is_against_itself(record) {
        lines.extend(twin_lines(record, judgement));
    }
    lines.extend(warnings(record, judgement).into_iter().map(|it| format!("warning: {it}")));
    lines.extend(notes(record).into_iter().map(|it| format!("note: {it}")));
    lines.push(basis(record, judgement));
    lines
}

/// One line per system that is compared with the base; of a system against itself its false calls. The first is
/// stamped where the audit is suspicious.
pub(crate) fn answers(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let mut lines = if is_against_itself(record) {
        twin_lines(record, judgement)
    } else {
        let others = judgement.systems.iter().filter(|other| !is_twin(record, other.system));
        others.map(|other| verdict_line(record, other)).collect()
    };
    if let (Some(first), Some(_)) = (lines.first_mut(), stamp(record)) {
        *first = format!("[suspicious audit] {first}");
    }
    lines
}

/// Whether nothing but the base's twin is compared with it.
fn is_against_itself(record: &StudyRecord) -> bool {
    record.systems.iter().all(|system| system.is_base || system.is_twin)
}

fn twin_lines(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let twins = judgement.systems.iter().filter(|summary| is_twin(record, summary.system));
    twins.map(|twin| twin_line(record, judgement, twin)).collect()
}

/// What a reader must know before believing the answer, besides the audit.
pub(crate) fn warnings(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let mut warnings: Vec<String> = makers(record).into_iter().collect();
    warnings.extend(data_differ(record));
    warnings.extend(trouble::warnings(record, judgement));
    let disturbed: BTreeSet<_> =
        judgement.cells.iter().filter(|cell| cell.is_disturbed).map(|cell| cell.cell).collect();
    if !disturbed.is_empty() {
        warnings.push(format!(
            "the machine was busy all the time in {} of {}: all slices were disturbed, so disturbed slices count",
            disturbed.len(),
            counted(record.study.cells.len() as u64, "test")
        ));
    }
    if record.running {
        warnings.push("the study is still running; verdicts rest on what there is".into());
    } else if !record.finished {
        warnings.push("the study has not run to its end; verdicts rest on what there is".into());
    }
    warnings
}

/// Whether a system is the base's twin.
pub(crate) fn is_twin(record: &StudyRecord, system: usize) -> bool {
    record.systems.get(system).is_some_and(|system| system.is_twin)
}

/// Systems that are compared with the base: without its twin, unless there is nothing else.
pub(crate) fn compared(record: &StudyRecord) -> Vec<usize> {
    let base = base_index(record);
    let (twins, others): (Vec<usize>, Vec<usize>) = (0..record.systems.len())
        .filter(|&system| system != base)
        .partition(|&system| is_twin(record, system));
    if others.is_empty() { twins } else { others }
}

/// Data sets of which not all systems hold the same.
fn data_differ(record: &StudyRecord) -> Option<String> {
    let differs = |one: &DataContent| {
        record.data.iter().any(|other| {
            (other.data, other.start_from) == (one.data, one.start_from)
                && (other.rows, &other.checksum) != (one.rows, &one.checksum)
        })
    };
    let systems: BTreeSet<String> = record
        .data
        .iter()
        .filter(|content| differs(content))
        .map(|content| label(record, content.system))
        .collect();
    let names: Vec<String> = systems.into_iter().collect();
    (!names.is_empty()).then(|| format!("the data differ between {}", names.join(", ")))
}

/// What the twin says.
pub(crate) fn twin_line(
    record: &StudyRecord,
    judgement: &Judgement,
    summary: &SystemSummary,
) -> String {
    let base = label(record, base_index(record));
    let calls = summary.slower + summary.faster;
    let tests = counted(summary.cells(), "test");
    let smallest = smallest_change(judgement, &[summary.system])
        .map_or_else(String::new, |words| format!("; {words}"));
    let calls = counted(calls, "false call");
    format!("A/A twin: {calls} in {tests} of {base} against itself{smallest}")
}

/// The smallest change that the study could have seen of these systems, in words.
pub(crate) fn smallest_change(judgement: &Judgement, systems: &[usize]) -> Option<String> {
    let (half, all) = detectable(judgement, systems)?;
    // A larger number is nothing that anybody could use.
    let is_blind = |part: f64| part > 1.0;
    let seen = "the smallest change this study could have seen is";
    let [of_half, of_all] = [half, all].map(share);
    Some(match (is_blind(half), is_blind(all)) {
        (true, _) => {
            "in half of the tests this study could not have seen even a doubling".to_owned()
        }
        (false, true) => {
            format!("{seen} {of_half} in half of the tests, more than a doubling in some")
        }
        (false, false) if of_half == of_all => format!("{seen} {of_all}"),
        (false, false) => format!("{seen} {of_half} in half of the tests, {of_all} in all"),
    })
}

/// The smallest change that would be called of these systems in half of the tests, and in all.
pub(crate) fn detectable(judgement: &Judgement, systems: &[usize]) -> Option<(f64, f64)> {
    let mut detectable: Vec<f64> = judgement
        .cells
        .iter()
        .filter(|cell| systems.contains(&cell.system))
        .filter_map(|cell| cell.detectable)
        .collect();
    detectable.sort_by(f64::total_cmp);
    Some((*detectable.get(detectable.len() / 2)?, *detectable.last()?))
}

fn verdict_line(record: &StudyRecord, summary: &SystemSummary) -> String {
    let name = label(record, summary.system);
    let base = label(record, base_index(record));
    let tests = counted(summary.cells(), "test");
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
    let mut found = counts.into_iter().filter(|(count, _)| *count > 0);
    let Some((number, word)) = found.next() else {
        return format!("{name} was not compared with {base}");
    };
    let first = match word {
        "slower" | "faster" => format!("{name} is {word} than {base} in {number} of {tests}"),
        "same" => format!("{name} is the same as {base} in {number} of {tests}"),
        _ => format!("{name} against {base}: {word} in {number} of {tests}"),
    };
    let rest: String = found.map(|(number, word)| format!(", {word} in {number}")).collect();
    let median = median(summary).map_or_else(String::new, |it| format!(" ({it})"));
    format!("{first}{rest}{median}")
}

/// The median over tests in words; nothing where one test is the answer, or where its uncertainty is not known.
pub(crate) fn median(summary: &SystemSummary) -> Option<String> {
    Some(format!("median over tests: {}", told(summary.median.filter(|_| summary.cells() > 1)?)?))
}

/// What differs though nobody asked for it, and needs no caution: releases of one maker, and what no option removes.
pub(crate) fn notes(record: &StudyRecord) -> Vec<String> {
    let what = findings::unremovable(&record.audit);
    let unremovable = (!what.is_empty()).then(|| {
        format!("differs between the versions, and no option changes it: {}", what.join(", "))
    });
    releases(record).into_iter().chain(unremovable).collect()
}

fn stamp(record: &StudyRecord) -> Option<String> {
    let what = findings::suspicious(&record.audit);
    (!what.is_empty())
        .then(|| format!("suspicious: settings that matter differ: {}", what.join(", ")))
}

/// The release a build was made for: its compiler and libraries come with it.
fn builder(system: &System) -> (&str, &str) {
    let artifact = &system.artifact;
    (artifact.source(), artifact.channel().split('-').next().unwrap_or_default())
}

/// Builds of several makers: a reason for caution.
fn makers(record: &StudyRecord) -> Option<String> {
    let what = "compilers and flags change too, so the comparison is not of versions alone";
    (!is_one_maker(record)).then(|| builds_differ(record, what))
}

/// Builds of several releases of one maker: every user who upgrades gets them.
fn releases(record: &StudyRecord) -> Option<String> {
    let first = builder(record.systems.first()?);
    let differ = record.systems.iter().any(|system| builder(system) != first);
    let what = "compiler and libraries change together with the version";
    (differ && is_one_maker(record)).then(|| builds_differ(record, what))
}

fn is_one_maker(record: &StudyRecord) -> bool {
    let mut makers = record.systems.iter().map(|system| builder(system).0);
    let first = makers.next();
    makers.all(|maker| Some(maker) == first)
}

fn builds_differ(record: &StudyRecord, what: &str) -> String {
    let systems = record.systems.iter().enumerate().filter(|(_, system)| !system.is_twin);
    let each: Vec<String> = systems
        .map(|(index, system)| format!("{} from {}", label(record, index), origin(system)))
        .collect();
    format!("the builds differ ({}): {what}", each.join(", "))
}

/// On how much the answer rests.
pub(crate) fn basis(record: &StudyRecord, judgement: &Judgement) -> String {
    let blocks = judgement.cells.iter().map(|cell| cell.blocks).max().unwrap_or(0);
    let slices: u32 = judgement.cells.iter().map(|cell| cell.slices).sum();
    let called = judgement
        .cells
        .iter()
        .any(|cell| matches!(cell.verdict, Verdict::Slower | Verdict::Faster));
    let false_alarms =
        if called { "; of the calls at most 5 % are expected to be false" } else { "" };
    let has_twin = record.systems.iter().any(|system| system.is_twin);
    let smallest = smallest_change(judgement, &compared(record)).filter(|_| !has_twin);
    let smallest = smallest.map_or_else(String::new, |words| format!("; {words}"));
    let how = match record.study.experiment {
        Experiment::Interleaved => format!("in {}{}", counted(blocks, "block"), of_servers(record)),
        Experiment::Sequential => "one system after the other, each test once".to_owned(),
    };
    format!(
        "{} {how}, {}; changes under {} do not count{smallest}{false_alarms}",
        counted(slices, "slice"),
        duration(record.elapsed_s()),
        share(threshold(&record.study)),
    )
}

/// What a block has anew: a server that runs already is the same in all of them, and only its tables are loaded again.
fn of_servers(record: &StudyRecord) -> &'static str {
    let is_running = |system: &System| matches!(system.spec.origin, Origin::Url(_));
    let running = record.systems.iter().filter(|system| is_running(system)).count();
    match running {
        0 => " of fresh servers",
        some if some < record.systems.len() => {
            " of fresh servers, or fresh data where one runs already"
        }
        _ => " of fresh data on servers that run already",
    }
}
