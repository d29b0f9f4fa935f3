//! Says how long a study takes and what it can decide.

use assay_model::Study;
use assay_plan::{Needs, Outlook};
use assay_study::forecast;

use super::recorder::Recorder;

/// What users are told about the time of a study. Another length is suggested once: a second suggestion, after the data
/// were loaded, would be another one.
#[derive(Debug, Default)]
pub(super) struct Told {
    has_suggested: bool,
}

impl Told {
    /// Says how long the study takes and what it can decide, before it costs anything. Its data are aged first, which
    /// takes this part of its budget, seconds.
    pub(super) fn outlook(&mut self, recorder: &Recorder, aging_s: f64) -> String {
        let (study, record) = (recorder.study(), recorder.record());
        let needs = Needs {
            block_sd: assay_verdict::BLOCK_SD,
            last_level: assay_verdict::last_level(record.blocks_max()),
            threshold: assay_verdict::threshold(study),
            is_resumed: record.runs.len() > 1,
        };
        let forecast = forecast(record, recorder.used_s() + aging_s);
        let cells = forecast.cells.iter().filter_map(|cell| study.cells.get(*cell).cloned());
        let further = Study { cells: cells.collect(), ..study.clone() };
        let doctor = record.runs.last().and_then(|run| run.host.doctor.as_ref());
        let noise = doctor.and_then(|it| it.noise.as_ref());
        let outlook = assay_plan::outlook(&further, forecast.fitting, needs, noise);
        self.in_words(outlook, aging_s)
    }

    fn in_words(&mut self, outlook: Outlook, aging_s: f64) -> String {
        let mut told = outlook.told;
        if aging_s >= 1.0 {
            told = format!("aging the data takes about {aging_s:.0} s of the budget first; {told}");
        }
        if let Some(remedy) = outlook.remedy.filter(|_| !self.has_suggested) {
            self.has_suggested = true;
            told += &format!("; use {remedy}");
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_length_is_suggested_once() {
        let outlook = |remedy: Option<&str>| Outlook {
            told: "one pass takes 2 s".to_owned(),
            remedy: remedy.map(str::to_owned),
        };
        let mut told = Told::default();
        assert_eq!(told.in_words(outlook(None), 0.0), "one pass takes 2 s");
        let first = told.in_words(outlook(Some("`--budget 40s`")), 12.0);
        let expected = "aging the data takes about 12 s of the budget first; one pass takes 2 s; \
                        use `--budget 40s`";
        assert_eq!(first, expected);
        assert_eq!(told.in_words(outlook(Some("`--budget 50s`")), 0.0), "one pass takes 2 s");
    }
}
