//! The work sent to servers: schema, data, tests and random distributions. No threads, clocks, input or output.
//!
//! Everything random is a pure function of a seed and of its coordinates: row *i* of table *t*, or event *n* of client
//! *c* in a test. So all systems of a study get the same data and the same requests, whatever their speed.

mod answers;
mod captured;
mod content;
mod csv_rows;
mod decimal;
mod determined;
mod digest;
mod distribution;
mod draws;
mod dump;
mod event;
mod expression;
mod generate;
mod ibench;
mod json;
mod micro;
mod mix;
mod number;
mod oltp;
mod oltp_options;
mod open;
mod outline;
mod permute;
mod program;
mod quoted;
mod random;
mod repeat;
mod rows;
mod schema;
mod script;
mod session;
pub mod sql;
mod statement;
mod steps;
mod text;
mod tpcc;
mod user_rows;
mod value;

pub use answers::{Answer, LoadedData, is_ordered};
pub use captured::{CapturedColumn, CapturedError, CapturedLines, captured, keep_captured};
pub use content::{ContentQuery, content_query, row_checksum, user_row_checksum};
pub use csv_rows::{CsvError, CsvRows};
pub use determined::{rounded, undetermined};
pub use draws::Draws;
pub use dump::{
    Definer, DumpError, DumpPart, DumpParts, DumpedLogin, Fate, NoDump, dump_dialect, dumped_login,
    fate, first_line, is_drop_if_exists, table_database, without_database, without_definer,
};
pub use event::{Argument, Arguments, Client, EventBuf, Operation};
pub use expression::constant;
pub use ibench::{
    IbenchQueryText, IbenchRows, IbenchSizes, IbenchStatement, IbenchTable, Ids, Pace, RandomText,
    ibench_statements, ibench_steps,
};
pub use micro::{WARMS_LOAD, WARMS_READS, published_test, test_by_name, tests_of};
pub use number::Number;
pub use oltp::{OLTP_SCRIPTS, oltp_tests};
pub use oltp_options::{HEADING as OLTP_HEADING, OltpOptions};
pub use open::{
    OpenChoice, Shuffled, groups_rows, open_choice, orders_rows, shuffled, without_limits,
};
pub use outline::{outline, outline_of};
pub use program::Program;
pub use quoted::push_quoted;
pub use repeat::{column_names, unrepeatable};
pub use rows::{Batch, InsertBatches, Row};
pub use schema::{cache_queries, create_index, create_table};
pub use script::{ScriptError, check_script, script_statements};
pub use session::{modes_of, set_statements};
pub use statement::{Mode, ParamType, Statement};
pub use steps::{define, needs_numbering, without_kinds};
pub use tpcc::{
    CustomerKey, NewOrder, OrderLine, Payment, TPCC, TPCC_CONDITIONS, TPCC_HEADING, TPCC_TABLES,
    TpccBatch, TpccBatches, TpccClient, TpccCondition, TpccForm, TpccInput, TpccOptions,
    TpccProcedure, TpccStatement, TpccTable, tpcc_calls, tpcc_data, tpcc_example, tpcc_procedures,
    tpcc_statements, tpcc_tests,
};
pub use user_rows::{CsvBatches, UserBatches, quoted_name};
