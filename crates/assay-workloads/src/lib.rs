//! The work sent to servers: schema, data, tests and random distributions. No threads, clocks, input or output.
//!
//! Everything random is a pure function of a seed and of its coordinates: row *i* of table *t*, or event *n* of client
//! *c* in a test. So all systems of a study get the same data and the same requests, whatever their speed.

mod answers;
mod captured_lines;
mod digest;
mod distribution;
mod draws;
mod dump;
mod event;
mod expression;
mod generate;
mod ibench;
mod literal;
mod lua;
mod micro;
mod mix;
mod number;
mod oltp;
mod open;
mod program;
mod random;
mod repeat;
mod sbtest;
mod script;
mod session;
pub mod sql;
mod statement;
mod steps;
mod tpcc;
mod user_rows;
mod workload;

pub use answers::{LoadedData, is_ordered};
pub use captured_lines::{CapturedColumn, CapturedError, CapturedLines, captured, keep_captured};
pub use draws::RandomDraws;
pub use dump::{
    Definer, DumpError, DumpPart, DumpParts, DumpedLogin, Fate, NoDump, SplitStop,
    StatementSplitter, begins_copy, dump_dialect, dumped_login, fate, first_line,
    is_drop_if_exists, table_database, without_database, without_definer,
};
pub use event::{Argument, EventBuf, Operation, OperationArguments, ProgramClient};
pub use expression::constant;
pub use ibench::{
    IbenchKeys, IbenchPace, IbenchQueryText, IbenchRows, IbenchSizes, IbenchStatement, IbenchTable,
    RandomText, ibench_counted_tests, ibench_statements, ibench_steps,
};
pub use literal::{push_quoted, quoted_literal, quoted_name};
pub use micro::{WARMS_LOAD, WARMS_READS, published_test, test_by_name, tests_of};
pub use number::ExpressionValue;
pub use oltp::{OLTP_HEADING, OLTP_SCRIPTS, OltpOptions, oltp_tests};
pub use open::{
    OpenChoice, ShuffledForms, groups_rows, open_choice, orders_rows, rounded, shuffled,
    undetermined, without_limits,
};
pub use program::EventProgram;
pub use repeat::{column_names, unrepeatable};
pub use sbtest::{
    ContentQuery, InsertBatches, RowsChecksum, SbtestRow, cache_queries, content_query,
    create_index, create_table, row_checksum, user_row_checksum,
};
pub use script::{ScriptError, check_script, script_statements};
pub use session::{modes_of, set_statements};
pub use statement::{ArgumentType, ProgramStatement};
pub use steps::{define, needs_numbering, statementless, without_kinds};
pub use tpcc::{
    CustomerKey, NewOrder, OrderLine, Payment, TPCC, TPCC_CONDITIONS, TPCC_HEADING, TPCC_TABLES,
    TpccBatch, TpccBatches, TpccClient, TpccCondition, TpccForm, TpccInput, TpccOptions,
    TpccProcedure, TpccStatement, TpccTable, tpcc_calls, tpcc_data, tpcc_example, tpcc_procedures,
    tpcc_statements, tpcc_tests,
};
pub use user_rows::{CsvBatches, CsvError, CsvRows, UserBatches};
pub use workload::{outline, outline_of};
