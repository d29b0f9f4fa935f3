//! Who else used the machine while servers were measured: a user who is told can stop them.

use anyhow::Result;
use assay_model::{BusyProcess, EventKind, Trouble};
use assay_probe::Census;

use super::recorder::Recorder;
use crate::systems::Instance;

/// Names in an event at most.
const NAMES: usize = 3;

/// CPUs from which a process is named.
const CPUS_MIN: f64 = 0.02;

/// Watches over some slices.
pub(crate) struct Others {
    /// None where nothing can be seen, which is no reason not to measure.
    before: Option<Census>,
    /// Slices recorded before.
    slices: usize,
    /// Processes that take part, ended or not.
    ours: Vec<i32>,
}

impl Others {
    pub(crate) fn watch(recorder: &Recorder) -> Self {
        Self {
            before: Census::take().ok(),
            slices: recorder.record().slices.len(),
            ours: vec![rustix::process::getpid().as_raw_nonzero().get()],
        }
    }

    /// Counts servers in. One that runs already outlives its part in the study: it must be known then, too.
    pub(crate) fn know<'a>(&mut self, servers: impl Iterator<Item = &'a Instance>) {
        self.ours.extend(servers.filter_map(Instance::pid));
    }

    /// Notes who they were, once for each name, if they troubled a slice since.
    pub(crate) fn tell(self, recorder: &mut Recorder) -> Result<()> {
        let mut slices = recorder.record().slices.iter().skip(self.slices);
        if !slices.any(|slice| slice.trouble.contains(&Trouble::OtherProcess)) {
            return Ok(());
        }
        let Some((before, after)) = self.before.zip(Census::take().ok()) else { return Ok(()) };
        let mut busiest = after.busiest_since(&before, &self.ours);
        busiest.retain(|busy| busy.cpus >= CPUS_MIN);
        busiest.truncate(NAMES);
        let is_told = |name: &str| {
            recorder.record().events.iter().any(|event| match &event.what {
                EventKind::OtherProcesses { processes } => {
                    processes.iter().any(|it| it.name == name)
                }
                _ => false,
            })
        };
        if busiest.iter().all(|busy| is_told(&busy.name)) {
            return Ok(());
        }
        let processes = busiest.into_iter().map(|busy| BusyProcess {
            name: busy.name,
            cpu_percent: (100.0 * busy.cpus).round() as u32,
        });
        recorder.event(None, EventKind::OtherProcesses { processes: processes.collect() })
    }
}
