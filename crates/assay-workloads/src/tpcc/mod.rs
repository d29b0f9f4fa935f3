//! A TPC-C-like workload, from the public specification (revision 5.11): tables, rows, transaction inputs, their
//! statements, stored procedures, and consistency conditions.
//!
//! Clauses in comments are those of the specification. Its measurements are no TPC results: they are not audited, there
//! are no terminals, and by default no keying and think times.

mod conditions;
mod draw;
mod input;
mod options;
mod procedures;
mod row;
mod rows;
mod schema;
mod sizes;
mod statements;
mod test;

pub use conditions::{TPCC_CONDITIONS, TpccCondition};
pub use input::{CustomerKey, NewOrder, OrderLine, Payment, TpccClient, TpccInput};
pub use options::{HEADING as TPCC_HEADING, TpccOptions};
pub use procedures::{TpccProcedure, tpcc_calls, tpcc_procedures};
pub use row::TpccForm;
pub use rows::{TpccBatch, TpccBatches};
pub use schema::{TPCC_TABLES, TpccTable, tpcc_data};
pub use sizes::TPCC;
pub use statements::{TpccStatement, tpcc_example, tpcc_statements};
pub use test::tpcc_tests;
