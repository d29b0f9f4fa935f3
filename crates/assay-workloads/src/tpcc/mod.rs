//! A workload in the manner of TPC-C, from the public specification (revision 5.11): tables, rows, inputs of
//! transactions, their statements, stored procedures, and the conditions that the tables must meet.
//!
//! Clauses in comments are those of the specification. What is measured with it is no TPC result: nobody audits it,
//! there are no terminals, and by default nobody keys or thinks.

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
