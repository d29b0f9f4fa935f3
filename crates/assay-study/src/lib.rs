//! Decides what a study does next.
//!
//! The [`Driver`] decides and an [`Executor`] acts. The executor holds the servers, the clients, the counters and the
//! ledger. It performs one [`StudyAction`] after the other and answers each with an [`Outcome`]. The driver is pure,
//! without clock or randomness, so the same record and outcomes give the same actions. A study is resumed by replaying
//! its record into a new driver. Interleaved, sequential and stepwise studies are policies of one driver.

mod action;
mod block;
mod budget;
mod driver;
mod interleaved;
mod parts;
mod sequential;
mod sizing;
mod stepwise;

pub use action::{Outcome, SilentEvent, StudyAction, StudyEnd};
pub use budget::Forecast;
pub use driver::{Driver, Executor, carry_out, forecast};
pub use parts::{Phase, Shard};
pub use sizing::{TurnLength, TurnTrace, mean_rate, turn_length};
