//! The document of a soak: per-second throughput of a system in long turns.

use assay_model::StudyDocument;
use assay_model::limits::{COUNT_MAX, SERIES_COUNTS, within};
use serde::{Deserialize, Serialize};

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

/// The turns of a system in a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Soak {
    pub rounds: u32,
    pub turns: Vec<SoakTurn>,
}

const TURNS: usize = 1000;
const TURN_MS: u64 = 1 << 40;

impl StudyDocument for Soak {
    const NAME: &'static str = "soak";

    fn check(&self) -> Result<(), String> {
        within("rounds", self.rounds as usize, &(0..=TURNS))?;
        within("turns", self.turns.len(), &(0..=TURNS))?;
        let seconds = self.turns.iter().map(|turn| turn.seconds.len()).sum();
        within("seconds", seconds, &(0..=SERIES_COUNTS))?;
        for turn in &self.turns {
            within("round", turn.round as usize, &(0..=TURNS))?;
            within("instance", turn.instance as usize, &(0..=TURNS))?;
            within("length of a turn", turn.elapsed_ms, &(0..=TURN_MS))?;
            within("events", turn.events, &(0..=COUNT_MAX))?;
            within("ops", turn.ops, &(0.0..=COUNT_MAX as f64))?;
            turn.seconds.iter().try_for_each(|it| within("events", *it, &(0..=COUNT_MAX)))?;
        }
        Ok(())
    }
}
