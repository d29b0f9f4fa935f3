//! Soaks of a test: per-second throughput of each system in long turns.

use serde::{Deserialize, Serialize};

use crate::CellId;

/// A long turn of a system, in which its server was not frozen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoakTurn {
    /// Round in which each system has one turn, from 0.
    pub round: u32,
    /// Number of the server process, from 0. A new process has none of the previous one's history.
    pub instance: u32,
    pub started_ms: i64,
    pub elapsed_ms: u64,
    pub events: u64,
    pub ops: f64,
    /// Events of each whole second.
    pub seconds: Vec<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Soak {
    pub rounds: u32,
    pub turns: Vec<SoakTurn>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CellSoak {
    pub system: usize,
    pub cell: CellId,
    pub soak: Soak,
}
