//! Loads tables and drives clients: pacing, latency, retried errors, slices.
//!
//! [`survey()`] lists what a load would replace, [`fill`] creates and loads the tables, and [`content()`] reads them
//! back. A [`Session`] keeps the clients of one test connected and prepared, and runs slice after slice.

mod actor;
mod answered;
mod asking;
mod bound;
mod cancel;
mod check;
mod client_thread;
mod content;
mod differences;
mod enough;
mod error;
mod fill;
mod ibench;
mod kinds;
mod live;
mod lua;
mod openings;
mod patience;
mod policy;
mod prepared;
mod rehearsal;
mod restore;
mod run;
mod seconds;
mod session;
mod settings;
mod share;
mod survey;
mod tally;
mod tpcc;
mod unfit;
mod user;
mod watchdog;
mod work;
mod worker;
mod workloads;

pub use actor::{Actor, ActorMaker, EventNumber, Line, Refused};
pub use answered::{AnswerOutcome, Answered, Columns, RowsAnswered};
pub use asking::ask_statements;
pub use assay_lua::Leash;
pub use bound::Bound;
pub use check::{Check, TestAnswers, answers, check_loaded};
pub use content::{Content, content, fill_cache};
pub use differences::{Comparison, answer_differences};
pub use enough::time_of_answers;
pub use error::{Error, Result};
pub use fill::{LoadProgress, LoadReport, Tables, fill, fill_over};
pub use ibench::{
    IBENCH_CONNECTIONS, IbenchProgress, IbenchRun, IbenchSession, IbenchWork, create_ibench_tables,
};
pub use kinds::KindWork;
pub use live::{IntervalLatencies, RunProgress};
pub use lua::{Begun, CommandDone, Reporter, driver, run_command};
pub use openings::{Asked, AskedAgain, Doubt, Openings, ask_again, doubts};
pub use patience::apart;
pub use policy::{ClientPolicy, Ignored};
pub use rehearsal::{Rehearsal, connect_as_client, refused_settings};
pub use restore::OpenUserDump;
pub use seconds::Seconds;
pub use session::{Closed, Finished, Session, Stretch, TurnWork};
pub use settings::RefusedSetting;
pub use survey::{Survey, check_engine, check_numbering, numbers, survey};
pub use tally::{StatementWork, latencies};
pub use unfit::UnfitReason;
pub use user::{ReadUserFile, UserTables, fill_user_data};
pub use watchdog::RunMonitor;
pub use work::Work;
pub use workloads::{Place, Workload, workload_of};
