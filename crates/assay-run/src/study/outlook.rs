//! Duration of a study, and the changes it can detect.

use assay_model::{Examination, Noise, Study};
use assay_plan::{Needs, Outlook, StudyPlan};
use assay_study::forecast;

use super::recorder::Recorder;

/// The planned study, with shorter slices if this machine is too noisy to decide by time. The shards of a study stay
/// alike.
pub(super) fn suited(plan: &StudyPlan, systems: usize, doctor: Option<&Examination>) -> Study {
    let study = &plan.study;
    let noise = noise(study, doctor).filter(|_| plan.shard.is_none());
    let needs = needs(study, study.blocks, false);
    let short = noise.and_then(|noise| assay_plan::shortened(study, systems, needs, noise));
    short.unwrap_or_else(|| study.clone())
}

fn noise<'d>(study: &Study, doctor: Option<&'d Examination>) -> Option<&'d Noise> {
    let priority = study.cells.first().map(|cell| cell.priority).unwrap_or_default();
    doctor?.noise_at(priority)
}

fn needs(study: &Study, blocks_max: u32, is_resumed: bool) -> Needs {
    Needs {
        block_sd: assay_verdict::BLOCK_SD,
        last_level: assay_verdict::last_level(blocks_max),
        threshold: assay_verdict::threshold(study),
        is_resumed,
    }
}

/// Writes the outlook of a study, before and after the data are loaded. Only the first one suggests another length,
/// because the second suggestion would differ.
#[derive(Debug, Default)]
pub(super) struct OutlookText {
    has_suggested: bool,
}

impl OutlookText {
    /// `aging_s`: seconds of the budget for aging the data.
    pub(super) fn write(&mut self, recorder: &Recorder, aging_s: f64) -> String {
        let (study, record) = (recorder.study(), recorder.record());
        let needs = needs(study, record.blocks_max(), record.runs.len() > 1);
        let forecast = forecast(record, recorder.used_s() + aging_s);
        let cells = forecast.cells.iter().filter_map(|cell| study.cells.get(*cell).cloned());
        let further = Study { cells: cells.collect(), ..study.clone() };
        let doctor = record.runs.last().and_then(|run| run.host.doctor.as_ref());
        let noise = noise(&further, doctor);
        let outlook = assay_plan::outlook(&further, forecast.fitting, needs, noise);
        self.in_words(outlook, aging_s)
    }

    fn in_words(&mut self, outlook: Outlook, aging_s: f64) -> String {
        let mut text = outlook.text;
        if aging_s >= 1.0 {
            text = format!("aging the data takes about {aging_s:.0} s of the budget first; {text}");
        }
        if let Some(remedy) = outlook.remedy.filter(|_| !self.has_suggested) {
            self.has_suggested = true;
            text += &format!("; use {remedy}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_length_is_suggested_once() {
        let outlook = |remedy: Option<&str>| Outlook {
            text: "one pass takes 2 s".to_owned(),
            remedy: remedy.map(str::to_owned),
        };
        let mut text = OutlookText::default();
        assert_eq!(text.in_words(outlook(None), 0.0), "one pass takes 2 s");
        let first = text.in_words(outlook(Some("`--budget 40s`")), 12.0);
        let expected = "aging the data takes about 12 s of the budget first; one pass takes 2 s; \
                        use `--budget 40s`";
        assert_eq!(first, expected);
        assert_eq!(text.in_words(outlook(Some("`--budget 50s`")), 0.0), "one pass takes 2 s");
    }
}
