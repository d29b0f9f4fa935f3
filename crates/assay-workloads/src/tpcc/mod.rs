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

use assay_model::{Definition, Dialect, Product, Tpcc};
use sha2::{Digest as _, Sha256};

pub use draw::TPCC;
pub use input::{CustomerKey, NewOrder, OrderLine, Payment, TpccClient, TpccInput};
pub use options::{TPCC_HEADING, TpccOptions, tpcc_tests};
pub use procedures::{TpccProcedure, tpcc_calls, tpcc_procedures};
pub use rows::{TpccBatch, TpccBatches, TpccForm};
pub use schema::{TPCC_CONDITIONS, TPCC_TABLES, TpccCondition, TpccTable, tpcc_data};
pub use statements::{TpccStatement, tpcc_example, tpcc_statements};

use crate::workload::{EXAMPLES, WorkloadDefinition, json};

impl WorkloadDefinition for Tpcc {
    /// The tables, the first rows, the statements or procedures, and the first inputs of two clients. The constants of
    /// the non-uniform distributions follow from the seed.
    fn add_data(&self, digest: &mut Sha256) {
        digest.update(json(self));
        for dialect in Dialect::ALL {
            let engine = Product::of_dialect(dialect).default_engine();
            for table in &TPCC_TABLES {
                digest.update(table.create(dialect, engine));
                digest.update(table.create_index().unwrap_or_default());
            }
            match self.procedures {
                true => tpcc_procedures(dialect).iter().for_each(|it| digest.update(&it.create)),
                false => tpcc_statements(dialect).iter().for_each(|it| digest.update(&it.sql)),
            }
        }
        digest.update(TpccBatches::examples(EXAMPLES));
        for number in 0..2 {
            let mut client = TpccClient::new(1, self.warehouses, number);
            for sequence in 0..10 * u64::from(EXAMPLES) {
                digest.update(client.input(sequence).words());
            }
        }
    }

    fn statements(&self, _: &Definition, dialect: Dialect) -> Vec<String> {
        match self.procedures {
            true => tpcc_procedures(dialect).into_iter().map(|it| it.call).collect(),
            false => tpcc_example().into_iter().map(|(sql, _)| sql).collect(),
        }
    }
}
