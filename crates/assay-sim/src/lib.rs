//! Whole studies without a server: the real driver, a simulated machine, faults that strike at random. A seed decides
//! everything.

mod faults;
mod invariants;
mod machine;
mod noise;
mod scenario;

pub use faults::Faults;
pub use machine::{Machine, Strike};
pub use noise::Noise;
pub use scenario::{Scenario, Truth, study, system};

use assay_model::StudyRecord;
use assay_study::{Driver, End, Executor as _, Shard, carry_out};

/// Runs that a study may take, resumed again and again, before it counts as never ending.
const RUNS_MAX: u32 = 2000;

/// The result of a simulated study.
#[derive(Debug)]
pub struct Ended {
    /// Its record.
    pub record: StudyRecord,
    /// How the last run ended.
    pub end: End,
    /// How often it was started or resumed.
    pub runs: u32,
    /// Time used, seconds.
    pub used_s: f64,
}

/// Carries a study out to its end, resuming it whenever a fault stops it.
///
/// # Errors
/// The invariant that was broken, in words.
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
        // The fault that keeps servers from starting ends.
        if end == End::Unfinished {
            machine.mend();
            continue;
        }
        if end == End::Abandoned && machine.may_be_abandoned()? {
            machine.mend();
            continue;
        }
        invariants::check(&machine, &mut driver)?;
        let used_s = machine.used_s();
        return Ok(Ended { record: machine.into_record(), end, runs, used_s });
    }
}
