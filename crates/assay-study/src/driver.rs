//! The driver, and the loop that lets an executor do what it says.

use std::ops::ControlFlow;

use assay_model::{CellId, Experiment, StudyRecord, Verdict};

use crate::interleaved::Interleaved;
use crate::sequential::Sequential;
use crate::{Action, End, Outcome, Shard};

/// Decides what a study does next.
#[derive(Debug)]
pub struct Driver {
    policy: Policy,
    /// The action in progress.
    asked: Option<Action>,
}

#[derive(Debug)]
enum Policy {
    Interleaved(Box<Interleaved>),
    Sequential(Sequential),
}

impl Driver {
    /// Replays a record: the driver goes on where it ends. A study that has just been created is one without slices.
    #[must_use]
    pub fn new(record: &StudyRecord, shard: Shard) -> Self {
        let policy = match record.study.experiment {
            Experiment::Interleaved => {
                Policy::Interleaved(Box::new(Interleaved::new(record, shard)))
            }
            Experiment::Sequential => Policy::Sequential(Sequential::new(record)),
        };
        Self { policy, asked: None }
    }

    /// What to do next, or how the study ends. `used_s` is the time spent on the study, earlier runs included, seconds.
    ///
    /// Pass the outcome of each action to [`Self::came`] before asking for the next one.
    pub fn next(&mut self, used_s: f64) -> ControlFlow<End, Action> {
        let next = match &mut self.policy {
            Policy::Interleaved(policy) => policy.next(used_s),
            Policy::Sequential(policy) => policy.next(),
        };
        if let ControlFlow::Continue(action) = &next {
            self.asked = Some(action.clone());
        }
        next
    }

    /// The verdicts so far on every cell and system; none of a sequential study, which compares nothing.
    pub fn verdicts(&mut self) -> Vec<(CellId, usize, Verdict)> {
        match &mut self.policy {
            Policy::Interleaved(policy) => policy.verdicts(),
            Policy::Sequential(_) => Vec::new(),
        }
    }

    /// Takes the outcome of the last action.
    pub fn came(&mut self, outcome: &Outcome) {
        let Some(asked) = self.asked.take() else { return };
        match &mut self.policy {
            Policy::Interleaved(policy) => policy.came(&asked, outcome),
            Policy::Sequential(policy) => policy.came(&asked, outcome),
        }
    }
}

/// Carries out the actions of a driver.
pub trait Executor {
    /// Why a study cannot go on, such as a full ledger or an interrupt.
    type Error;

    /// Time spent on the study, earlier runs included, seconds.
    fn used_s(&self) -> f64;

    /// Carries out one action and returns its outcome.
    ///
    /// # Errors
    /// When the study cannot go on. A resumed study continues from what is in the ledger by then.
    fn act(&mut self, action: Action) -> Result<Outcome, Self::Error>;
}

/// Carries out a study to its end.
///
/// # Errors
/// Those of the executor.
pub fn carry_out<E: Executor>(driver: &mut Driver, executor: &mut E) -> Result<End, E::Error> {
    loop {
        match driver.next(executor.used_s()) {
            ControlFlow::Break(end) => return Ok(end),
            ControlFlow::Continue(action) => driver.came(&executor.act(action)?),
        }
    }
}
