//! Facts of workloads, for code that works with all of them.

use crate::{Setup, counted};

/// Facts that the core needs of a workload. The defaults are those of sysbench's tables.
pub trait WorkloadFacts {
    /// Name given by the user; `None` for workloads that ship with assay.
    fn name(&self) -> Option<&str> {
        None
    }

    /// Line among the conditions of a report; `None` if tests and setup say everything.
    fn title(&self) -> Option<String> {
        self.name().map(str::to_owned)
    }

    /// Rows of all tables, possibly an estimate, if the workload determines them. Otherwise the setup does.
    fn own_rows(&self) -> Option<u64> {
        None
    }

    /// Whether `--tables` and `--rows` size its tables. The content then follows from these numbers and the seed.
    fn has_rows_option(&self) -> bool {
        self.own_rows().is_none()
    }

    /// Size of the loaded tables, bytes, if it does not follow from the setup.
    fn own_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether setups give the number of tables and rows. Tables of a user's workload or script are arbitrary: a setup
    /// counts them as one table, and their rows may be an estimate.
    fn has_known_tables(&self) -> bool {
        self.name().is_none()
    }

    /// Tables, and rows of each, in results of a single run; `None` if unknown.
    fn tables(&self, setup: Setup) -> [Option<u32>; 2] {
        [Some(setup.tables), Some(setup.rows)]
    }

    fn data_in_words(&self, setup: Setup) -> String {
        format!("{} × {}", setup.tables, counted(setup.rows, "row"))
    }

    /// Whether its clients choose at run time between prepared statements and text.
    fn chooses_mode(&self) -> bool {
        false
    }

    /// What its clients do instead of `--db-ps-mode extended`, if they cannot do that.
    fn extended_refused(&self) -> Option<&'static str> {
        None
    }

    /// Why sysbench, pgbench and the plain client cannot reproduce a finding of the test with this name, and advice.
    fn irreproducible(&self, _test: &str) -> Option<[String; 2]> {
        None
    }

    /// Refuses values outside their bounds: a ledger may come from anyone.
    fn check_bounds(&self) -> Result<(), String> {
        Ok(())
    }
}

/// The tables of sysbench, which need no more than what the setup says.
pub struct Sbtest;

impl WorkloadFacts for Sbtest {}

pub(crate) const SEND_PACK: &str = "send the pack of the study: `assay pack` writes it";
