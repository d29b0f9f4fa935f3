//! The driver, and the loop in which an executor performs its actions.

use std::ops::ControlFlow;

use assay_model::{Experiment, StudyRecord};
use assay_plan::Fitting;

use crate::interleaved::Interleaved;
use crate::sequential::Sequential;
use crate::stepwise::Stepwise;
use crate::{Forecast, Outcome, Shard, StudyAction, StudyEnd};

#[derive(Debug, Clone)]
pub struct Driver {
    policy: Policy,
    next: ControlFlow<StudyEnd, StudyAction>,
}

#[derive(Debug, Clone)]
enum Policy {
    Interleaved(Box<Interleaved>),
    Sequential(Box<Sequential>),
    Stepwise(Box<Stepwise>),
}

impl Driver {
    /// Continues where a record ends; a new study's record has no slices.
    pub fn new(record: &StudyRecord, shard: Shard) -> Self {
        let policy = match record.study.experiment {
            Experiment::Interleaved => {
                Policy::Interleaved(Box::new(Interleaved::new(record, shard)))
            }
            Experiment::Sequential => Policy::Sequential(Box::new(Sequential::new(record, shard))),
            Experiment::Stepwise | Experiment::Consecutive => {
                Policy::Stepwise(Box::new(Stepwise::new(record, shard)))
            }
            // Counting needs no turns, so the executor counts after the driver has ended.
            Experiment::Counted => {
                Policy::Sequential(Box::new(Sequential::without_tests(record, shard)))
            }
        };
        Self { next: policy.next(), policy }
    }

    /// The next action, or how the study ends, unchanged until [`Self::receive`] gets an outcome.
    pub fn next(&self) -> ControlFlow<StudyEnd, StudyAction> {
        self.next.clone()
    }

    /// Receives the outcome of the action named by [`Self::next`]. `used_s`: seconds spent on the study, earlier runs
    /// included.
    pub fn receive(&mut self, outcome: &Outcome, used_s: f64) {
        let ControlFlow::Continue(asked) = &self.next else { return };
        let fits = match &mut self.policy {
            Policy::Interleaved(policy) => policy.receive(asked, outcome, used_s),
            Policy::Sequential(policy) => policy.receive(asked, outcome),
            Policy::Stepwise(policy) => policy.receive(asked, outcome),
        };
        self.next = if fits {
            self.policy.next()
        } else {
            let what = format!("{asked:?} was answered with {outcome:?}");
            ControlFlow::Break(StudyEnd::WrongOutcome(what))
        };
    }
}

impl Policy {
    fn next(&self) -> ControlFlow<StudyEnd, StudyAction> {
        match self {
            Self::Interleaved(policy) => policy.next(),
            Self::Sequential(policy) => policy.next(),
            Self::Stepwise(policy) => policy.next(),
        }
    }
}

/// The blocks that fit into the study after `used_s` seconds, as its driver will plan them.
pub fn forecast(record: &StudyRecord, used_s: f64) -> Forecast {
    if record.study.experiment == Experiment::Interleaved {
        return Interleaved::new(record, record.into()).forecast(used_s);
    }
    let left_s = record.budget_s() - used_s;
    Forecast {
        cells: (0..record.study.cells.len()).collect(),
        is_begun: false,
        fitting: Fitting::planned(&record.study, record.systems.len(), left_s),
    }
}

pub trait Executor {
    /// Reason why a study cannot continue, such as a full ledger or an interrupt.
    type Error;

    fn used_s(&self) -> f64;

    /// Performs an action and returns one of its outcomes as specified by [`StudyAction`]. After an error, a resumed
    /// study continues from the state of the ledger.
    fn act(&mut self, action: StudyAction) -> Result<Outcome, Self::Error>;
}

pub fn carry_out<E: Executor>(driver: &mut Driver, executor: &mut E) -> Result<StudyEnd, E::Error> {
    loop {
        match driver.next() {
            ControlFlow::Break(end) => return Ok(end),
            ControlFlow::Continue(action) => {
                let outcome = executor.act(action)?;
                driver.receive(&outcome, executor.used_s());
            }
        }
    }
}
