//! Says how long a study takes and what it can decide.

use assay_plan::Needs;

use super::recorder::Recorder;

/// Says how long the study takes and what it can decide, before it costs anything.
pub(super) fn outlook(recorder: &Recorder) -> String {
    let study = recorder.study();
    let record = recorder.record();
    let needs = Needs {
        block_sd: assay_verdict::BLOCK_SD,
        last_level: assay_verdict::last_level(study.blocks),
        threshold: assay_verdict::threshold(study),
        is_resumed: record.runs.len() > 1,
    };
    let left_s = record.budget_s() - recorder.used_s();
    let doctor = record.runs.last().and_then(|run| run.host.doctor.as_ref());
    let noise = doctor.and_then(|it| it.noise.as_ref());
    assay_plan::outlook(study, record.systems.len(), left_s, needs, noise)
}
