//! Decides what a study does next.
//!
//! The [`Driver`] decides and an [`Executor`] acts. The executor holds the servers, the clients, the counters and the
//! ledger. It performs one [`Action`] after the other and answers each with an [`Outcome`]. The driver is pure, without
//! clock or randomness, so the same record and outcomes give the same actions. A study is resumed by replaying its
//! record into a new driver. Interleaved, sequential and stepwise studies are policies of one driver. A [`Bisect`]
//! searches the version that made a change, and [`suspect`] says where a watch begins such a search.

mod action;
mod bisect;
mod block;
mod budget;
mod driver;
mod forecast;
mod interleaved;
mod learned;
mod left;
mod phase;
mod rounds;
mod sequential;
mod shard;
mod sizing;
mod stepwise;
mod turn_length;
mod watch;

pub use action::{Action, End, Outcome, Silence};
pub use bisect::{
    Bisect, BisectAction, BisectAnswer, BisectEnd, BisectNoise, BisectOutcome, BisectPlan,
    BisectStep, pooled,
};
pub use driver::{Driver, Executor, carry_out, forecast};
pub use forecast::Forecast;
pub use phase::Phase;
pub use shard::Shard;
pub use sizing::mean_rate;
pub use turn_length::{TurnLength, TurnTrace, turn_length};
pub use watch::{Suspicion, WatchNoise, WatchSearch, WatchValue, suspect};
