//! Actions of the driver and answers of the executor.

use assay_model::{DataSet, EventKind, PlannedCell, StepSegment, Verdict};
use assay_verdict::SliceSample;

use crate::{Phase, TurnLength, TurnTrace};

/// The next action. Cells and systems are indices into the study's. The executor answers [`Outcome::Done`] unless the
/// action names other outcomes.
#[derive(Debug, Clone, PartialEq)]
pub enum StudyAction {
    /// Load and age the data of all systems, or find them in the cache. Answer: [`Outcome::Loaded`].
    Load,
    /// Read the effective settings of a system, on an instance started and stopped for this purpose.
    Audit {
        system: usize,
        data: DataSet,
    },
    Calibrate {
        cell: usize,
        events: u64,
    },
    Begin {
        block: u32,
        /// Blocks expected to fit the remaining time, this one included.
        left: u32,
        /// Participating cells in order, with their wanted good rounds.
        cells: Vec<(usize, u32)>,
        /// Whether the ledger has the block from an earlier run.
        is_recorded: bool,
        so_far: Vec<Verdict>,
    },
    /// Start an instance of every system in this order, fill all caches concurrently, and freeze the instances. If one
    /// does not start, end the others. Answer: [`Outcome::Done`] or [`Outcome::Failed`].
    StartAll {
        block: u32,
        phase: Phase,
        order: Vec<usize>,
    },
    /// Start an instance of one system on freshly loaded data, without freezing it. Answer: [`Outcome::Done`] or
    /// [`Outcome::Failed`].
    StartOne {
        system: usize,
        data: DataSet,
    },
    /// Connect the clients of a cell to every system, in this order. Answer: [`Outcome::Done`] or [`Outcome::Failed`].
    Connect {
        cell: usize,
        block: u32,
        order: Vec<usize>,
    },
    /// Run this many events on every system, unrecorded, to learn the systems' speed. Answer: [`Outcome::Sized`] or
    /// [`Outcome::Failed`].
    Size {
        cell: usize,
        events: u64,
    },
    /// Run a few unrecorded turns of every system alternately, the same number for each, to learn how soon after a
    /// hand-over they run at full speed. Answer: [`Outcome::Traced`] or [`Outcome::Failed`].
    Trace {
        cell: usize,
        block: u32,
    },
    SetTurn {
        cell: usize,
        length: TurnLength,
    },
    /// Measure one slice of every system, in turns that begin with this order, and record the slices at once. A slice
    /// that fails or lacks an answer ends the round. Answer: [`Outcome::Measured`].
    Round {
        cell: usize,
        block: u32,
        round: u32,
        order: Vec<usize>,
    },
    /// Close the connections of a cell, and check the conditions of its tables, if any. Answer: [`Outcome::Done`] or
    /// [`Outcome::Failed`].
    Disconnect,
    RecordFailure {
        cell: usize,
        system: usize,
        block: u32,
        round: u32,
        why: String,
    },
    RecordSilence {
        cell: usize,
        system: usize,
        block: u32,
        round: u32,
        silence: SilentEvent,
    },
    Note {
        /// `None` for all systems.
        system: Option<usize>,
        what: EventKind,
    },
    /// Connect, measure one slice of one system, and disconnect. Answer: [`Outcome::Measured`].
    Once {
        cell: usize,
        system: usize,
        /// Otherwise, repeats the writes of a recorded slice.
        is_recorded: bool,
    },
    /// Execute and record a segment of a step on one system, whose instance is frozen before and after. The first
    /// segment prepares the tables and connects the clients, the last one disconnects them. Answer:
    /// [`Outcome::Measured`].
    Step {
        cell: usize,
        system: usize,
        block: u32,
        /// Of the slice. Rounds of later attempts at a step follow those of earlier ones.
        round: u32,
        segment: StepSegment,
        /// Position of the system in the order of this segment, from 0.
        position: u32,
        is_recorded: bool,
    },
    /// Run a test for the time of a slice, unrecorded.
    Warm {
        system: usize,
        cell: Box<PlannedCell>,
    },
    /// Let a server settle (statistics, dirty pages, compaction or vacuum) for at least `seconds`.
    Maintain {
        system: usize,
        data: DataSet,
        seconds: u32,
    },
    /// Check that a server still answers after a failed slice. Otherwise, the executor returns an error.
    CheckAlive {
        system: usize,
        cell: usize,
    },
    Rest {
        ms: u64,
    },
    Shutdown {
        system: usize,
    },
    Stop,
    /// End all running instances after the last cell of the phase.
    EndPhase,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SilentEvent {
    pub why: String,
    pub events: u64,
    pub elapsed_ns: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Done,
    Loaded {
        /// Events per second of one client during aging, for each cell of the study: the geometric mean over systems; 0
        /// where unknown.
        rates: Vec<f64>,
    },
    Sized {
        /// Events per second, geometric mean over the systems.
        rate: f64,
    },
    Traced {
        systems: Vec<Vec<TurnTrace>>,
        seconds: f64,
    },
    /// Recorded, unless they only repeat writes.
    Measured {
        /// Slices in measuring order. Only those at the end may have failed, and only the last may lack an answer.
        samples: Vec<SliceSample>,
        seconds: f64,
    },
    /// An event of [`StudyAction::Size`] or [`StudyAction::Trace`] took too long on a system and was killed. The cell
    /// continues without this system.
    Silent {
        system: usize,
        silence: SilentEvent,
    },
    /// A system failed, and the driver decides what follows: another attempt, a failed cell, postponed tests, or the
    /// end of the study. Only [`StudyAction::StartAll`], [`StudyAction::StartOne`], [`StudyAction::Connect`],
    /// [`StudyAction::Size`], [`StudyAction::Trace`] and [`StudyAction::Disconnect`] may fail this way. Every other
    /// obstacle, above all an interrupt or an unwritable ledger, is an error of the executor and ends the run. A slice
    /// that fails is a measured slice.
    Failed {
        system: usize,
        why: String,
        /// Other systems that could not begin the cell either, with reasons. A failure on all systems is not the fault
        /// of one.
        also: Vec<(usize, String)>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StudyEnd {
    Complete,
    /// A system did not start for some tests. The study can be resumed.
    Unfinished,
    Abandoned,
    /// The executor broke its contract by answering an action with an impossible outcome. The text names both.
    WrongOutcome(String),
}
