//! The driver's actions and the executor's answers.

use assay_model::{Block, DataSet, EventKind, PlannedCell, Verdict};
use assay_verdict::Sample;

use crate::Phase;

/// The next thing to do. Cells are indices into the study's cells, systems into its systems.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Load and age the data of all systems, or find them in the cache. Answer: [`Outcome::Loaded`].
    Load,
    /// Read the effective settings of a system that holds these data, on an instance that ends after it.
    Audit {
        /// The system.
        system: usize,
        /// Its data.
        data: DataSet,
    },
    /// Fix the number of events of a cell's write slices, in the ledger first of all.
    Fix {
        /// The cell.
        cell: usize,
        /// Events of a slice, the same for all systems.
        events: u64,
    },
    /// Begin a block, or go on with one.
    Begin {
        /// The block.
        block: Block,
        /// Whether the ledger has it already.
        is_recorded: bool,
        /// The verdicts so far on what is compared with the base.
        so_far: Vec<Verdict>,
    },
    /// Start an instance of every system in this order, fill its caches, and freeze it.
    StartAll {
        /// The block.
        block: u32,
        /// The data that the instances hold.
        phase: Phase,
        /// The systems.
        order: Vec<usize>,
    },
    /// Start an instance of one system on freshly loaded data. It is not frozen.
    StartOne {
        /// The system.
        system: usize,
        /// Its data.
        data: DataSet,
    },
    /// Connect the clients of a cell to every system.
    Connect {
        /// The cell.
        cell: usize,
        /// The block.
        block: u32,
    },
    /// Run this many events on every system, unrecorded, to learn how fast they are. Answer: [`Outcome::Sized`].
    Size {
        /// The cell.
        cell: usize,
        /// Events.
        events: u64,
    },
    /// Measure one slice of every system in this order, and record each at once. A failed slice ends the round. Answer:
    /// [`Outcome::Measured`].
    Round {
        /// The cell.
        cell: usize,
        /// The block.
        block: u32,
        /// The round.
        round: u32,
        /// The systems.
        order: Vec<usize>,
    },
    /// Close the connections of a cell.
    Disconnect,
    /// Record a failed slice of a cell that could not begin on a system.
    RecordFailure {
        /// The cell.
        cell: usize,
        /// The system.
        system: usize,
        /// The block.
        block: u32,
        /// The round.
        round: u32,
        /// Why it could not begin.
        why: String,
    },
    /// Record an event that the driver decided.
    Note {
        /// The system that it concerns.
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
        /// Whether the slice is recorded. If not, it repeats the writes of a slice that the ledger has.
        is_recorded: bool,
    },
    /// Run a test for the time of a slice, unrecorded.
    Warm {
        /// The system.
        system: usize,
        /// The test that runs, under its setup.
        cell: Box<PlannedCell>,
    },
    /// Let a server come to rest: statistics, dirty pages, compaction or vacuum; then wait until the time is over.
    Maintain {
        /// The system.
        system: usize,
        /// Its data.
        data: DataSet,
        /// Seconds.
        seconds: u32,
    },
    /// Make sure that a server still answers after a failed slice.
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
    /// End an instance in good order.
    Shutdown {
        /// The system.
        system: usize,
    },
    /// End all instances that run, at once.
    Stop,
    /// End all instances that run: what starts from the same data in this block has been measured.
    EndPhase,
}

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is done, and there is nothing more to say.
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
    /// Slices were measured, and recorded unless they only repeat writes.
    Measured {
        /// The slices in the order in which they were measured. Only the last one may have failed.
        samples: Vec<Sample>,
        /// How long it took, seconds.
        seconds: f64,
    },
    /// It could not be done.
    Failed {
        /// The system that could not do it.
        system: usize,
        /// Why.
        why: String,
    },
}

/// How a study ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Everything is decided, or the time is up.
    Complete,
    /// Some tests were left out because a system did not start for them: the study can be resumed.
    Unfinished,
    /// The last action failed in a way that leaves nothing to go on with.
    Abandoned,
}
