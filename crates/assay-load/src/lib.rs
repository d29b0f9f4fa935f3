//! Loads tables and drives clients: pacing, latency, retried errors, slices.
//!
//! [`existing_tables`] lists what a load would replace, [`fill`] creates and loads the tables, and [`content()`] reads
//! them back. A [`ClientSession`] keeps the clients of one test connected and prepared, and runs slice after slice.

mod actor;
mod ask;
mod check;
mod client_thread;
mod content;
mod control;
mod differences;
mod error;
mod existing;
mod fill;
mod ibench;
mod live;
mod lua;
mod openings;
mod patience;
mod policy;
mod prepared_program;
mod restore;
mod run;
mod session;
mod share;
mod statement_answer;
mod tally;
mod tpcc;
mod user;
mod watchdog;
mod worker;
mod workloads;

pub use actor::{Actor, ActorMaker, ClientWork, EventError, EventNumber, EventWire};
pub use ask::{ask_statements, time_of_answers};
pub use assay_lua::{IgnoredErrors, Leash};
pub use check::{Check, TestAnswers, answers, check_loaded};
pub use content::{TableContent, content, fill_cache};
pub use differences::{AnswerComparison, answer_differences};
pub use error::{LoadError, Result};
pub use existing::{ExistingTables, check_engine, check_numbering, existing_tables, numbers};
pub use fill::{
    LoadProgress, LoadReport, LoadTarget, OpenUserDump, ReadUserFile, Tables, fill, fill_over,
};
pub use ibench::{
    IBENCH_CONNECTIONS, IbenchProgress, IbenchSession, IbenchStepRun, IbenchWork,
    create_ibench_tables,
};
pub use live::{IntervalLatencies, RunProgress, Seconds};
pub use lua::{CommandDone, Reporter, ReporterStart, driver, run_command};
pub use openings::{AnswerDoubt, Openings, RepeatRequest, RepeatedAnswers, ask_again, doubts};
pub use patience::apart;
pub use policy::ClientPolicy;
pub use prepared_program::{RefusedSetting, Rehearsal, connect_as_client, refused_settings};
pub use run::RunBound;
pub use session::{ClientSession, SessionEnd, SessionRun, Stretch, TurnWork};
pub use statement_answer::{AnswerColumns, AnswerOutcome, AnswerRows, StatementAnswer};
pub use tally::{KindWork, StatementWork, latencies};
pub use user::{UserTables, fill_user_data};
pub use watchdog::RunMonitor;
pub use workloads::{Workload, workload_of};
