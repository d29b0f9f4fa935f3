//! The driver, and the loop in which an executor carries out its actions.

use std::ops::ControlFlow;

use assay_model::{Experiment, StudyRecord};
use assay_plan::Fitting;

use crate::interleaved::Interleaved;
use crate::sequential::Sequential;
use crate::stepwise::Stepwise;
use crate::{Action, End, Forecast, Outcome, Shard};

/// Decides what a study does next.
#[derive(Debug, Clone)]
pub struct Driver {
    policy: Policy,
    /// The next action, or the end.
    next: ControlFlow<End, Action>,
}

#[derive(Debug, Clone)]
enum Policy {
    Interleaved(Box<Interleaved>),
    Sequential(Box<Sequential>),
    Stepwise(Box<Stepwise>),
}

impl Driver {
    /// A driver that continues where a record ends. A study that has just been created has a record without slices.
    #[must_use]
    pub fn new(record: &StudyRecord, shard: Shard) -> Self {
        let policy = match record.study.experiment {
            Experiment::Interleaved => {
                Policy::Interleaved(Box::new(Interleaved::new(record, shard)))
            }
            Experiment::Sequential => Policy::Sequential(Box::new(Sequential::new(record, shard))),
            Experiment::Stepwise => Policy::Stepwise(Box::new(Stepwise::new(record, shard))),
            // Counting needs no turns, so the executor does it when the driver has ended.
            Experiment::Counted => {
                Policy::Sequential(Box::new(Sequential::without_tests(record, shard)))
            }
        };
        Self { next: policy.next(), policy }
    }

    /// The next action, or how the study ends. The answer stays the same until [`Self::came`] receives an outcome.
    pub fn next(&self) -> ControlFlow<End, Action> {
        self.next.clone()
    }

    /// Receives the outcome of the action that [`Self::next`] names. `used_s` is the time spent on the study so far,
    /// earlier runs included, seconds.
    pub fn came(&mut self, outcome: &Outcome, used_s: f64) {
        let ControlFlow::Continue(asked) = &self.next else { return };
        let fits = match &mut self.policy {
            Policy::Interleaved(policy) => policy.came(asked, outcome, used_s),
            Policy::Sequential(policy) => policy.came(asked, outcome),
            Policy::Stepwise(policy) => policy.came(asked, outcome),
        };
        self.next = if fits {
            self.policy.next()
        } else {
            let what = format!("{asked:?} was answered with {outcome:?}");
            ControlFlow::Break(End::WrongOutcome(what))
        };
    }
}

impl Policy {
    fn next(&self) -> ControlFlow<End, Action> {
        match self {
            Self::Interleaved(policy) => policy.next(),
            Self::Sequential(policy) => policy.next(),
            Self::Stepwise(policy) => policy.next(),
        }
    }
}

/// What a study has time for that has used so many seconds, as its driver is going to plan it.
#[must_use]
pub fn forecast(record: &StudyRecord, used_s: f64) -> Forecast {
    match record.study.experiment {
        Experiment::Interleaved => Interleaved::new(record, record.into()).forecast(used_s),
        Experiment::Sequential | Experiment::Stepwise | Experiment::Counted => Forecast {
            cells: (0..record.study.cells.len()).collect(),
            is_begun: false,
            fitting: Fitting::planned(
                &record.study,
                record.systems.len(),
                record.budget_s() - used_s,
            ),
        },
    }
}

/// Carries out the actions of a driver.
pub trait Executor {
    /// The reason why a study cannot go on, such as a full ledger or an interrupt.
    type Error;

    /// Time spent on the study so far, earlier runs included, seconds.
    fn used_s(&self) -> f64;

    /// Carries out one action and returns its outcome. [`Action`] says which outcomes an action can have.
    ///
    /// # Errors
    /// When the study cannot go on. A resumed study continues from what is in the ledger by then.
    fn act(&mut self, action: Action) -> Result<Outcome, Self::Error>;
}

/// Carries out a study to its end.
pub fn carry_out<E: Executor>(driver: &mut Driver, executor: &mut E) -> Result<End, E::Error> {
    loop {
        match driver.next() {
            ControlFlow::Break(end) => return Ok(end),
            ControlFlow::Continue(action) => {
                let outcome = executor.act(action)?;
                driver.came(&outcome, executor.used_s());
            }
        }
    }
}
