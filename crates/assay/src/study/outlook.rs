//! Says how long a study takes and what it can decide.

use assay_plan::Needs;

use super::recorder::Recorder;

/// Says how long the study takes and what it can decide, before it costs anything. Its data are aged first, which takes
/// this part of its budget, seconds.
pub(super) fn outlook(recorder: &Recorder, aging_s: f64) -> String {
    let study = recorder.study();
    let record = recorder.record();
    let needs = Needs {
        block_sd: assay_verdict::BLOCK_SD,
        last_level: assay_verdict::last_level(study.blocks),
        threshold: assay_verdict::threshold(study),
        is_resumed: record.runs.len() > 1,
    };
    let left_s = record.budget_s() - recorder.used_s() - aging_s;
    let doctor = record.runs.last().and_then(|run| run.host.doctor.as_ref());
    let noise = doctor.and_then(|it| it.noise.as_ref());
    let what = assay_plan::outlook(study, record.systems.len(), left_s, needs, noise);
    match aging_s >= 1.0 {
        true => format!("aging the data takes about {aging_s:.0} s of the budget first; {what}"),
        false => what,
    }
}
