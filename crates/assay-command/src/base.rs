//! Rebases a study on another of its systems.

use assay_model::{EventKind, JudgedFigures, StudyRecord, labels};
use assay_run::advice::HintedError;

/// Rebases a study on the system with this name or label, else on the only one whose name ends like this (`11.4` for
/// `mariadb@11.4`), else on the one with this number, from 1.
///
/// Drops the twin of the old base, the limits, and the settings of the old base that undo changes.
pub fn rebased(mut record: StudyRecord, words: &str) -> Result<StudyRecord, HintedError> {
    let base = position(&record, words)?;
    if record.systems[base].is_base {
        return Ok(record);
    }
    for (number, system) in record.systems.iter_mut().enumerate() {
        system.is_base = number == base;
    }
    record.study.limits = None;
    record.events.retain(|event| !matches!(event.what, EventKind::SettingsTried(_)));
    match record.systems.iter().position(|system| system.is_twin) {
        Some(twin) => Ok(without(record, twin)),
        None => Ok(record),
    }
}

/// Answers by other figures than the study chose. A study with limits keeps its figure, which it chose in advance.
pub fn judged_by(
    mut record: StudyRecord,
    judge: Option<JudgedFigures>,
) -> Result<StudyRecord, HintedError> {
    let Some(judge) = judge.filter(|judge| *judge != record.study.judge) else {
        return Ok(record);
    };
    if record.study.limits.is_some() {
        return Err(HintedError::new(
            format!(
                "study `{}` has limits for a figure that was chosen in advance",
                record.study.id
            ),
            "leave `--judge` out, or run a new study with it",
        ));
    }
    record.study.judge = judge;
    Ok(record)
}

pub fn position(record: &StudyRecord, words: &str) -> Result<usize, HintedError> {
    find(record, words).ok_or_else(|| {
        let names = shown(record).zip(1..).map(|((_, name), number)| format!("{number} `{name}`"));
        HintedError::new(
            format!("study `{}` has no single system `{words}`", record.study.id),
            format!("its systems are {}", names.collect::<Vec<_>>().join(", ")),
        )
    })
}

fn shown(record: &StudyRecord) -> impl Iterator<Item = (usize, &str)> {
    let systems = record.systems.iter().enumerate().filter(|(_, system)| !system.is_twin);
    systems.map(|(index, system)| (index, system.name.as_str()))
}

fn find(record: &StudyRecord, words: &str) -> Option<usize> {
    let named = |fits: &dyn Fn(&str) -> bool| {
        let mut fitting = shown(record).filter(|(_, name)| fits(name)).map(|(index, _)| index);
        fitting.next().filter(|_| fitting.next().is_none())
    };
    let names: Vec<&str> = shown(record).map(|(_, name)| name).collect();
    let labelled = || labels(&names).iter().position(|label| label == words);
    let version = format!("@{words}");
    let number = || words.parse::<usize>().ok()?.checked_sub(1);
    named(&|name| name == words)
        .or_else(|| Some(shown(record).nth(labelled()?)?.0))
        .or_else(|| named(&|name| name.ends_with(&version)))
        .or_else(|| Some(shown(record).nth(number()?)?.0))
}

fn without(mut record: StudyRecord, removed: usize) -> StudyRecord {
    let after = |index: usize| if index > removed { index - 1 } else { index };
    record.systems.remove(removed);
    record.slices.retain(|slice| slice.system != removed);
    record.slices.iter_mut().for_each(|slice| slice.system = after(slice.system));
    record.series.retain(|(slice, _)| slice.system != removed);
    record.series.iter_mut().for_each(|(slice, _)| slice.system = after(slice.system));
    record.instances.retain(|instance| instance.system != removed);
    record.instances.iter_mut().for_each(|instance| instance.system = after(instance.system));
    record.data.retain(|data| data.system != removed);
    record.data.iter_mut().for_each(|data| data.system = after(data.system));
    record.events.retain(|event| event.system != Some(removed));
    record.events.iter_mut().for_each(|event| event.system = event.system.map(after));
    for finding in record.audit.iter_mut().filter(|finding| removed < finding.values.len()) {
        finding.values.remove(removed);
    }
    record
}
