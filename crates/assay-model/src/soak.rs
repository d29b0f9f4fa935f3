//! A longer look at a test: what every system did second by second, in long turns.

use serde::{Deserialize, Serialize};

use crate::CellId;

/// A long turn of a system, in which its server was not frozen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoakTurn {
    /// The round that it belongs to, from 0: each system has one turn in it.
    pub round: u32,
    /// Number of the server process, from 0: another one has none of the history of the one before.
    pub instance: u32,
    /// When it began, milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// How long it took.
    pub elapsed_ms: u64,
    /// Events of the whole turn.
    pub events: u64,
    /// Operations of these events.
    pub ops: f64,
    /// Events of each whole second.
    pub seconds: Vec<u64>,
}

/// A longer look at a system in a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Soak {
    /// Rounds that were planned.
    pub rounds: u32,
    /// The turns so far, in order.
    pub turns: Vec<SoakTurn>,
}

/// A longer look at a system in a cell of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSoak {
    /// Index into the systems.
    pub system: usize,
    /// The cell.
    pub cell: CellId,
    /// What was seen.
    pub soak: Soak,
}
