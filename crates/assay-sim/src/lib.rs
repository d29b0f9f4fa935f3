//! Simulates whole studies without servers: the driver is real, the machine and random faults are simulated. A seed
//! determines everything.

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

/// Maximum runs per study; more count as a study that never ends.
const RUNS_MAX: u32 = 2000;

#[derive(Debug)]
pub struct Ended {
    pub record: StudyRecord,
    pub end: End,
    /// The first run and all resumptions.
    pub runs: u32,
    pub used_s: f64,
    /// Decisions before each further block: time, seconds used, and verdicts on the compared systems.
    pub looks: Vec<(f64, Vec<Verdict>)>,
}

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
        // Ends the fault that keeps servers from starting.
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
