//! A workload in the manner of TPC-C, from the public specification (revision 5.11): tables, rows, inputs of
//! transactions, their statements, stored procedures, and the conditions that the tables must meet.
//!
//! Clauses in comments are those of the specification. What is measured with it is no TPC result: nobody audits it, there
//! are no terminals, and by default nobody keys or thinks.

mod conditions;
mod draw;
mod input;
mod options;
mod procedures;
mod rows;
mod schema;
mod statements;

use assay_model::{Class, Definition, PlanningFacts, Schema, StartFrom, Test, Unit};

pub use conditions::{TPCC_CONDITIONS, TpccCondition};
pub use input::{CustomerKey, NewOrder, OrderLine, Payment, TpccClient, TpccInput};
pub use options::{HEADING as TPCC_HEADING, TpccOptions};
pub use procedures::{TpccProcedure, tpcc_calls, tpcc_procedures};
pub use rows::{TpccBatch, TpccBatches};
pub use schema::{TPCC_TABLES, TpccTable, tpcc_data};
pub use statements::{TpccStatement, tpcc_example, tpcc_statements};

use crate::steps::{define, group};

/// The name of the test.
pub const TPCC: &str = "tpcc";

/// Clause 1.2.1: districts of a warehouse, customers of a district, and items.
pub(crate) const DISTRICTS: u32 = 10;
pub(crate) const CUSTOMERS: u32 = 3000;
pub(crate) const ITEMS: u32 = 100_000;
/// Orders of a district after the load, and the first of those that are not delivered yet.
pub(crate) const ORDERS: u32 = 3000;
pub(crate) const FIRST_NEW: u32 = 2101;

/// The workload as the only test of its suite.
#[must_use]
pub fn tpcc_tests(options: &TpccOptions) -> Vec<Test> {
    let tpcc = options.tpcc();
    let by = if tpcc.procedures { "stored procedures" } else { "statements of the client" };
    vec![define(Definition {
        name: TPCC.to_owned(),
        group: group(0, "tpcc", "TPC-C-like"),
        groups: Vec::new(),
        does: format!("one of five transactions with the mix of TPC-C, as {by}"),
        class: Class::Write,
        start_from: StartFrom::Fresh,
        unit: Unit::Query,
        schema: Schema::Tpcc(tpcc),
        roles: Vec::new(),
        planning: PlanningFacts::default(),
        digest: String::new(),
    })]
}
