//! Loads tables and drives clients: pacing, latency, retried errors, slices.
//!
//! [`survey()`] lists what a load would replace, [`fill`] creates and loads the tables, and [`content()`] reads back
//! what they hold. A [`Session`] keeps the clients of one test on one server connected and prepared, and runs slice
//! after slice.

mod bound;
mod cancel;
mod check;
mod client_thread;
mod content;
mod error;
mod fill;
mod live;
mod own;
mod policy;
mod prepared;
mod queue;
mod rehearsal;
mod run;
mod session;
mod share;
mod survey;
mod tally;
mod unfit;
mod watchdog;
mod worker;

pub use bound::Bound;
pub use check::{Check, TestAnswers, answers, check_loaded};
pub use content::{Content, content, fill_cache};
pub use error::{Error, Result};
pub use fill::{LoadProgress, LoadReport, Tables, fill, fill_over};
pub use live::{IntervalLatencies, RunProgress};
pub use own::{
    OwnTables, ReadOwnFile, fill_own, fill_own_cache, own_content, own_names, refuse_others_tables,
};
pub use policy::{ClientPolicy, Ignored};
pub use queue::{
    QUEUE_CONNECTIONS, QueueProgress, QueueRun, QueueSession, QueueWork, create_queue_tables,
};
pub use rehearsal::{Rehearsal, connect_as_client};
pub use session::{Finished, Session, Stretch, TurnWork, Work};
pub use survey::{Survey, check_engine, check_numbering, numbers, survey};
pub use tally::latencies;
pub use unfit::UnfitReason;
pub use watchdog::RunMonitor;
