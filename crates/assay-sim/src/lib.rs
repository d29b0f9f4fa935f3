//! Simulates whole studies without servers: the driver is real, the machine and random faults are simulated. A seed
//! determines everything.

mod faults;
mod invariants;
mod machine;
mod scenario;
mod shards;
mod speed;

pub use faults::{NoiseSource, SimFaults, Strike};
pub use machine::SimMachine;
pub use scenario::{CpuNoise, Scenario, Truth, study, system};
pub use shards::{CollectedShards, on_nodes};
pub use speed::{SpeedModel, is_special};

use assay_model::{StudyRecord, Verdict};
use assay_study::{Driver, Executor as _, Shard, StudyEnd, carry_out};

/// Maximum runs per study; more count as a study that never ends.
const RUNS_MAX: u32 = 2000;

#[derive(Debug)]
pub struct SimulatedEnd {
    pub record: StudyRecord,
    pub end: StudyEnd,
    /// The first run and all resumptions.
    pub runs: u32,
    pub used_s: f64,
    /// Decisions before each further block: time, seconds used, and verdicts on the compared systems.
    pub looks: Vec<(f64, Vec<Verdict>)>,
}

pub fn simulate(scenario: Scenario) -> Result<SimulatedEnd, String> {
    let mut machine = SimMachine::new(scenario, Shard::WHOLE);
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
        if machine.has_left_out() != (end == StudyEnd::Unfinished) {
            return Err(format!("a run that ends as {end:?} says otherwise in its events"));
        }
        // Ends the fault that keeps servers from starting.
        match end {
            StudyEnd::Unfinished => machine.mend(),
            StudyEnd::Abandoned => {
                machine.check_abandoned()?;
                machine.mend();
            }
            StudyEnd::WrongOutcome(what) => return Err(what),
            StudyEnd::Complete => {
                machine.finish();
                invariants::check(&machine)?;
                let used_s = machine.used_s();
                let looks = std::mem::take(&mut machine.looks);
                return Ok(SimulatedEnd {
                    record: machine.into_record(),
                    end,
                    runs,
                    used_s,
                    looks,
                });
            }
        }
    }
}
