//! Words and symbols that formats share.

use std::borrow::Cow;

use assay_model::{Artifact, Origin, StudyRecord, System, Verdict};
use assay_verdict::{CellJudgement, Judgement};

use crate::doubt;
use crate::headline::compared;
use crate::label::label;

/// The symbol of a verdict.
pub(crate) fn symbol(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "▲",
        Verdict::Slower => "▼",
        Verdict::Same => "=",
        Verdict::Undecided => "?",
        Verdict::Failed => "✗",
    }
}

/// Index of the base among the systems.
pub(crate) fn base_index(record: &StudyRecord) -> usize {
    record.systems.iter().position(|system| system.is_base).unwrap_or(0)
}

/// The whole name of a system by index.
pub(crate) fn system_name(record: &StudyRecord, index: usize) -> &str {
    record.systems.get(index).map_or("?", |system| &system.name)
}

/// Where a build comes from: `apt bookworm-security`.
pub(crate) fn source(system: &System) -> String {
    let artifact = &system.artifact;
    format!("{} {}", artifact.source(), artifact.channel()).trim().to_owned()
}

/// The same for people, who know a running server by its name.
pub(crate) fn origin(system: &System) -> String {
    match system.spec.origin {
        Origin::Url(_) => "a running server".to_owned(),
        _ => source(system),
    }
}

/// `binaries 0123456789ab`: the beginning of their checksum, where anything is known of them.
pub(crate) fn binaries(artifact: &Artifact) -> String {
    let known: Option<String> = artifact.sha256().map(|digest| digest.chars().take(12).collect());
    format!("binaries {}", known.as_deref().unwrap_or("not known"))
}

/// A moment as RFC 3339; none outside the years that has.
pub(crate) fn rfc3339(milliseconds: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(milliseconds).ok().map(|moment| moment.to_string())
}

/// A moment to the minute, in UTC: `2026-11-21 07:19`; none outside the years that RFC 3339 has.
pub(crate) fn minute(milliseconds: i64) -> Option<String> {
    Some(rfc3339(milliseconds)?.get(..16)?.replace('T', " "))
}

/// Why a cell failed, changed or is undecided.
pub(crate) fn why<'a>(record: &StudyRecord, judged: &'a CellJudgement) -> Option<Cow<'a, str>> {
    let known = judged.failure.as_deref().or(judged.why.as_deref());
    known.map(Cow::Borrowed).or_else(|| doubt::of_cell(record, judged).map(Cow::Owned))
}

/// Cells that are explained or failed, with their names (and, of several, the system's) and the sentence: failures,
/// then the largest changes, first.
pub(crate) fn causes<'a>(
    record: &'a StudyRecord,
    judgement: &'a Judgement,
) -> Vec<(&'a CellJudgement, String, &'a str)> {
    let systems = compared(record);
    let several_setups = record.study.setups.len() > 1;
    let told = judgement.cells.iter().filter_map(|judged| {
        let why = judged.failure.as_deref().or(judged.why.as_deref())?;
        // A twin has no causes; that it failed is worth telling.
        if judged.failure.is_none() && !systems.contains(&judged.system) {
            return None;
        }
        let mut name = judged.cell.test.name.clone();
        if several_setups {
            name += &format!(" at {}", judged.cell.setup);
        }
        if systems.len() > 1 || judged.failure.is_some() {
            name += &format!(" {}", label(record, judged.system));
        }
        Some((judged, name, why))
    });
    let mut causes: Vec<_> = told.collect();
    let size = |judged: &CellJudgement| match judged.rqps {
        _ if judged.failure.is_some() => f64::INFINITY,
        Some(rqps) => rqps.value.ln().abs(),
        None => 0.0,
    };
    causes.sort_by(|(a, ..), (b, ..)| size(b).total_cmp(&size(a)));
    causes
}

/// The command that asks for the same study, where one command can; it stands on top of the study's file.
pub(crate) fn command(record: &StudyRecord) -> Option<&str> {
    record.study.recipe.lines().next()?.strip_prefix("# ").filter(|it| it.starts_with("assay "))
}
