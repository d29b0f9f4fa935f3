//! The driver's actions and the executor's answers.

use assay_model::{DataSet, EventKind, PlannedCell, Verdict};
use assay_verdict::Sample;

use crate::{Phase, TurnLength, TurnTrace};

/// The next thing to do. Cells are indices into the study's cells, systems into its systems.
///
/// The executor answers [`Outcome::Done`] unless the action names another outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Load and age the data of all systems, or find them in the cache. Answer: [`Outcome::Loaded`].
    Load,
    /// Read the effective settings of a system, on an instance that is started and stopped for it.
    Audit {
        /// The system.
        system: usize,
        /// The data that the instance holds.
        data: DataSet,
    },
    /// Record the number of events that every write slice of a cell has.
    Calibrate {
        /// The cell.
        cell: usize,
        /// Events of a slice, the same for all systems.
        events: u64,
    },
    /// Begin a block, or resume one.
    Begin {
        /// Number of the block.
        block: u32,
        /// Blocks that are expected to fit the time that is left, this one included.
        left: u32,
        /// The cells that take part, in order, each with the number of good rounds wanted.
        cells: Vec<(usize, u32)>,
        /// Whether an earlier run began the block, so that the ledger already has it.
        is_recorded: bool,
        /// The verdicts so far on the systems that are compared with the base.
        so_far: Vec<Verdict>,
    },
    /// Start an instance of every system in this order, fill the caches of all of them at the same time, and freeze
    /// them. If one does not start, end the others. Answer: [`Outcome::Done`] or [`Outcome::Failed`].
    StartAll {
        /// Number of the block.
        block: u32,
        /// The data that the instances hold.
        phase: Phase,
        /// The systems.
        order: Vec<usize>,
    },
    /// Start an instance of one system on freshly loaded data. It is not frozen. Answer: [`Outcome::Done`] or
    /// [`Outcome::Failed`].
    StartOne {
        /// The system.
        system: usize,
        /// The data that the instance holds.
        data: DataSet,
    },
    /// Connect the clients of a cell to every system, in this order. Answer: [`Outcome::Done`] or [`Outcome::Failed`].
    Connect {
        /// The cell.
        cell: usize,
        /// Number of the block.
        block: u32,
        /// The systems.
        order: Vec<usize>,
    },
    /// Run this many events on every system, unrecorded, to learn how fast the systems are. Answer: [`Outcome::Sized`]
    /// or [`Outcome::Failed`].
    Size {
        /// The cell.
        cell: usize,
        /// Number of events.
        events: u64,
    },
    /// Run a few unrecorded turns of every system alternately, to learn how soon after a hand-over they run at full
    /// speed. All systems run the same number. Answer: [`Outcome::Traced`] or [`Outcome::Failed`].
    Trace {
        /// The cell.
        cell: usize,
        /// Number of the block.
        block: u32,
    },
    /// Record the length of the turns of a cell.
    SetTurn {
        /// The cell.
        cell: usize,
        /// The length, the same for all systems.
        length: TurnLength,
    },
    /// Measure one slice of every system, in turns that begin with this order, and record the slices at once. A slice
    /// that fails or lacks an answer ends the round, which then needs no other slice. Answer: [`Outcome::Measured`].
    Round {
        /// The cell.
        cell: usize,
        /// Number of the block.
        block: u32,
        /// Number of the round.
        round: u32,
        /// The systems.
        order: Vec<usize>,
    },
    /// Close the connections of a cell, and make sure that the tables meet their conditions, if they have any. Answer:
    /// [`Outcome::Done`] or [`Outcome::Failed`].
    Disconnect,
    /// Record a failed slice of a cell that could not begin on a system.
    RecordFailure {
        /// The cell.
        cell: usize,
        /// The system.
        system: usize,
        /// Number of the block.
        block: u32,
        /// Number of the round.
        round: u32,
        /// The reason why it could not begin.
        why: String,
    },
    /// Record that an event took too long on a system, before a slice could begin.
    RecordSilence {
        /// The cell.
        cell: usize,
        /// The system.
        system: usize,
        /// Number of the block.
        block: u32,
        /// Number of the round.
        round: u32,
        /// What is known of its speed.
        silence: Silence,
    },
    /// Record an event that the driver decided.
    Note {
        /// The system that it concerns; `None` if it concerns all.
        system: Option<usize>,
        /// The event.
        what: EventKind,
    },
    /// Connect, measure one slice of one system, and disconnect. Answer: [`Outcome::Measured`].
    Once {
        /// The cell.
        cell: usize,
        /// The system.
        system: usize,
        /// Whether to record the slice. If not, it repeats the writes of a slice that the ledger already has.
        is_recorded: bool,
    },
    /// Carry out one step on one system, whose instance is frozen before and after, and record it as a slice. Answer:
    /// [`Outcome::Measured`].
    Step {
        /// The cell of the step.
        cell: usize,
        /// The system.
        system: usize,
        /// Number of the block.
        block: u32,
        /// Number of the attempt, from 0: the round of the slice.
        attempt: u32,
        /// Place of the system in the order of this step, from 0.
        position: u32,
        /// Whether to record the slice. If not, it repeats a step that the ledger already has.
        is_recorded: bool,
    },
    /// Run a test for the time of a slice, unrecorded.
    Warm {
        /// The system.
        system: usize,
        /// The test and its setup.
        cell: Box<PlannedCell>,
    },
    /// Let a server come to rest: statistics, dirty pages, compaction or vacuum; then wait until the time is over.
    Maintain {
        /// The system.
        system: usize,
        /// The data that the instance holds.
        data: DataSet,
        /// The shortest duration, seconds.
        seconds: u32,
    },
    /// Make sure that a server still answers after a failed slice. If it does not, that is an error of the executor.
    CheckAlive {
        /// The system.
        system: usize,
        /// The cell whose slice failed.
        cell: usize,
    },
    /// Wait, with no server running.
    Rest {
        /// Milliseconds.
        ms: u64,
    },
    /// Stop an instance in good order.
    Shutdown {
        /// The system.
        system: usize,
    },
    /// End all instances that run, at once.
    Stop,
    /// End all instances that run, because all cells of the phase have been measured.
    EndPhase,
}

/// An event that took too long, and what that says of the system's speed.
#[derive(Debug, Clone, PartialEq)]
pub struct Silence {
    /// What was not answered, in words.
    pub why: String,
    /// Events that ended before.
    pub events: u64,
    /// How long these and the one that did not end took, nanoseconds.
    pub elapsed_ns: u64,
}

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The action has been carried out, and there is nothing more to say.
    Done,
    /// The data are there.
    Loaded {
        /// For each cell of the study, events per second of one client while the data were aged, the geometric mean
        /// over the systems; 0 where it is unknown.
        rates: Vec<f64>,
    },
    /// The systems have run the events.
    Sized {
        /// Events per second, geometric mean over the systems.
        rate: f64,
    },
    /// The systems have run turns.
    Traced {
        /// The turns of each system.
        systems: Vec<Vec<TurnTrace>>,
        /// Duration of the action, seconds.
        seconds: f64,
    },
    /// Slices were measured. They are recorded, unless they only repeat writes.
    Measured {
        /// The slices in the order in which they were measured. Only those at the end may have failed, and only the
        /// last one may lack an answer.
        samples: Vec<Sample>,
        /// Duration of the action, seconds.
        seconds: f64,
    },
    /// An event of [`Action::Size`] or [`Action::Trace`] took too long on a system and was ended there. The cell goes
    /// on without this system.
    Silent {
        /// The system.
        system: usize,
        /// What is known of its speed.
        silence: Silence,
    },
    /// A system could not do it, and the driver decides what follows: another attempt, a failed cell, tests left for
    /// later, or the end of the study. Only [`Action::StartAll`], [`Action::StartOne`], [`Action::Connect`],
    /// [`Action::Size`], [`Action::Trace`] and [`Action::Disconnect`] may fail in this way. Everything else that keeps
    /// an action from being carried out is an error of the executor and ends the run, above all an interrupt and a
    /// ledger that cannot be written. A slice that fails is a measured slice.
    Failed {
        /// The system that could not do it.
        system: usize,
        /// The reason.
        why: String,
        /// Other systems that could not begin the cell either, with their reasons. What fails everywhere is not the
        /// fault of one system.
        also: Vec<(usize, String)>,
    },
}

/// The end of a study's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Everything is decided, or the time is up.
    Complete,
    /// Some tests were left out because a system did not start for them. The study can be resumed.
    Unfinished,
    /// The last action failed, and nothing can follow it.
    Abandoned,
    /// The executor broke its contract: it answered an action with an outcome that the action cannot have. The text
    /// names both.
    WrongOutcome(String),
}
