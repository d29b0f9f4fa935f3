//! Carries out whole studies without a server. The driver is the real one; the machine and the faults that strike at
//! random are simulated. A seed decides everything.

mod closed;
mod faults;
mod invariants;
mod machine;
mod noise;
mod scenario;
mod shards;
mod speed;
mod strike;

pub use faults::Faults;
pub use machine::Machine;
pub use noise::Noise;
pub use scenario::{Scenario, Truth, study, system};
pub use shards::{Collected, on_nodes};
pub use speed::{SpeedModel, is_special};
pub use strike::Strike;

use assay_model::{StudyRecord, Verdict};
use assay_study::{Driver, End, Executor as _, Shard, carry_out};

/// The largest number of runs of a study. A study that needs more counts as one that never ends.
const RUNS_MAX: u32 = 2000;

/// The result of a simulated study.
#[derive(Debug)]
pub struct Ended {
    /// The record of the study.
    pub record: StudyRecord,
    /// The end of its last run.
    pub end: End,
    /// The number of runs: the first one, and one more for each time it was resumed.
    pub runs: u32,
    /// Time spent on the study, seconds.
    pub used_s: f64,
    /// Each decision before a further block: when, seconds used, and the verdicts on the systems that are compared.
    pub looks: Vec<(f64, Vec<Verdict>)>,
}

/// Carries out a study to its end, resuming it whenever a fault stops it.
pub fn simulate(scenario: Scenario) -> Result<Ended, String> {
    let mut machine = Machine::new(scenario, Shard::WHOLE);
    let mut runs = 0;
    loop {
        runs += 1;
        if runs > RUNS_MAX {
            return Err(format!("does not end in {RUNS_MAX} runs"));
        }
        machine.restart();
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let end = match carry_out(&mut driver, &mut machine) {
            Ok(end) => end,
            Err(Strike::Broken(what)) => return Err(what),
            Err(_) => continue,
        };
        if machine.has_left_out() != (end == End::Unfinished) {
            return Err(format!("a run that ends as {end:?} says otherwise in its events"));
        }
        // The fault that keeps servers from starting ends.
        match end {
            End::Unfinished => machine.mend(),
            End::Abandoned => {
                machine.check_abandoned()?;
                machine.mend();
            }
            End::WrongOutcome(what) => return Err(what),
            End::Complete => {
                machine.finish();
                invariants::check(&machine)?;
                let used_s = machine.used_s();
                let looks = std::mem::take(&mut machine.looks);
                return Ok(Ended { record: machine.into_record(), end, runs, used_s, looks });
            }
        }
    }
}
