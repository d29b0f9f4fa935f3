//! A TPC-C-like workload, from the public specification (revision 5.11): tables, rows, transaction inputs, their
//! statements, stored procedures, and consistency conditions.
//!
//! Clauses in comments are those of the specification. Its measurements are no TPC results: they are not audited, there
//! are no terminals, and by default no keying and think times.

mod draw;
mod input;
mod options;
mod procedures;
mod rows;
mod schema;
mod statements;

pub use draw::TPCC;
pub use input::{CustomerKey, NewOrder, OrderLine, Payment, TpccClient, TpccInput};
pub use options::{TPCC_HEADING, TpccOptions, tpcc_tests};
pub use procedures::{TpccProcedure, tpcc_calls, tpcc_procedures};
pub use rows::{TpccBatch, TpccBatches, TpccForm};
pub use schema::{TPCC_CONDITIONS, TPCC_TABLES, TpccCondition, TpccTable, tpcc_data};
pub use statements::{TpccStatement, tpcc_example, tpcc_statements};
