//! Says how long a study takes and what it can decide.

use assay_plan::Needs;

use super::recorder::Recorder;

/// Says how long the study takes and what it can decide, before it costs anything.
pub(super) fn outlook(recorder: &Recorder) -> String {
    let study = recorder.study();
    let needs =
        Needs { blocks: assay_verdict::BLOCKS_MIN, threshold: assay_verdict::threshold(study) };
    let left_s = recorder.record().budget_s() - recorder.used_s();
    assay_plan::outlook(study, recorder.record().systems.len(), left_s, needs)
}
