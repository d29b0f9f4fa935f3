//! Finds other processes that used the machine during measurements, so that the user can stop them.

use anyhow::Result;
use assay_model::{EventKind, Trouble};
use assay_probe::ProcessCensus;

use super::recorder::Recorder;
use crate::systems::Instance;

pub(crate) struct OtherProcesses {
    /// `None` if processes cannot be read, which is no reason not to measure.
    before: Option<ProcessCensus>,
    slices: usize,
    /// Participating processes, running or not.
    ours: Vec<i32>,
}

impl OtherProcesses {
    pub(crate) fn begin(recorder: &Recorder) -> Self {
        Self {
            before: ProcessCensus::take().ok(),
            slices: recorder.record().slices.len(),
            ours: vec![rustix::process::getpid().as_raw_nonzero().get()],
        }
    }

    /// Adds servers to the participating processes. An attached server runs on after its part in the study.
    pub(crate) fn know<'a>(&mut self, servers: impl Iterator<Item = &'a Instance>) {
        self.ours.extend(servers.filter_map(Instance::pid));
    }

    pub(crate) fn note(self, recorder: &mut Recorder) -> Result<()> {
        let mut slices = recorder.record().slices.iter().skip(self.slices);
        if !slices.any(|slice| slice.trouble.contains(&Trouble::OtherProcess)) {
            return Ok(());
        }
        let Some((before, after)) = self.before.zip(ProcessCensus::take().ok()) else {
            return Ok(());
        };
        let processes = after.named_since(&before, &self.ours);
        let events = &recorder.record().events;
        if processes.iter().all(|busy| events.iter().any(|event| event.what.names(&busy.name))) {
            return Ok(());
        }
        recorder.event(None, EventKind::OtherProcesses { processes })
    }
}
