//! The Insert Benchmark: its tables, statements, values and pace.

mod query;
mod rows;
mod schema;
mod steps;

use std::sync::Arc;

use assay_model::{Dialect, IbenchStep, Product};
use sha2::{Digest as _, Sha256};

pub use query::{IbenchKeys, IbenchQueryText, IbenchStatement, ibench_statements};
pub use rows::{IbenchRows, RandomText};
pub use schema::IbenchTable;
pub use steps::{IbenchPace, IbenchSizes, ibench_counted_tests, ibench_steps};

use crate::workload::{EXAMPLES, WorkloadDefinition, json};

/// Exclusive upper bounds of the random columns.
const CASH_REGISTERS: u64 = 1000;
const CUSTOMERS: u64 = 100_000;
const PRODUCTS: u64 = 10_000;
const PRICES: u64 = 500;

impl WorkloadDefinition for IbenchStep {
    fn add_data(&self, digest: &mut Sha256) {
        digest.update(json(self));
        let text = RandomText::new(1);
        for dialect in Dialect::ALL {
            let table = IbenchTable::new(dialect, 1);
            let engine = Product::of_dialect(dialect).default_engine();
            let created = table.create(engine, &self.tables);
            let indexes = table.create_indexes(engine, self.tables.indexes);
            let reads = [table.lowest(), table.highest(), table.read_one()];
            for statement in created.iter().chain(&indexes).chain(&reads) {
                digest.update(statement);
            }
            let rows = IbenchRows::new(&table, 1, "step", 1, Arc::clone(&text));
            let (place, each) = ((1, "step", 1), self.rows_per_statement());
            let query = |it| IbenchQueryText::new(&table, self.tables.indexes, it, place);
            let queries = self.queries.map(query);
            let mut statement = Vec::new();
            for number in 0..u64::from(EXAMPLES) {
                rows.write(number, each, "2026-05-01 12:00:00", &mut statement);
                digest.update(&statement);
                table.delete(number, each, &mut statement);
                digest.update(&statement);
                if let Some(queries) = &queries {
                    queries.write(number, IbenchKeys { lowest: 1, highest: 1000 }, &mut statement);
                    digest.update(&statement);
                }
            }
        }
    }
}
