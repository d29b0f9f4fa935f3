//! Facts of workloads, for code that works with all of them.

use crate::{IbenchStep, LuaScript, Schema, Setup, Test, Tpcc, UserData, counted};

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

    /// Size of the loaded tables, bytes, if it does not follow from the setup.
    fn own_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether setups give the number of tables and rows. Tables of a user's workload or script are arbitrary: a setup
    /// counts them as one table, and their rows may be an estimate.
    fn has_known_tables(&self) -> bool {
        true
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

    /// Why sysbench, pgbench and the plain client cannot reproduce a finding of this test, and advice.
    fn irreproducible(&self, test: Test) -> Option<[String; 2]> {
        let _ = test;
        None
    }
}

struct SbtestFacts;

impl WorkloadFacts for SbtestFacts {}

impl Schema {
    #[must_use]
    pub fn facts(&self) -> &dyn WorkloadFacts {
        match self {
            Self::Sbtest => &SbtestFacts,
            Self::User(data) => data,
            Self::Ibench(step) => step,
            Self::Lua(script) => script,
            Self::Tpcc(tpcc) => tpcc,
        }
    }
}

impl WorkloadFacts for UserData {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn own_rows(&self) -> Option<u64> {
        Some(self.rows())
    }

    fn own_bytes(&self) -> Option<u64> {
        Some(self.loaded_bytes())
    }

    fn has_known_tables(&self) -> bool {
        false
    }

    fn tables(&self, _: Setup) -> [Option<u32>; 2] {
        [u32::try_from(self.tables.len()).ok().filter(|tables| *tables > 0), None]
    }

    fn data_in_words(&self, _: Setup) -> String {
        if self.tables.is_empty() && self.dump.is_none() {
            return "tables that are there".to_owned();
        }
        let (rows, tables) = (self.rows(), self.tables.len() as u64);
        format!("{} in {}", counted(rows, "row"), counted(tables, "table"))
    }
}

impl WorkloadFacts for LuaScript {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn own_rows(&self) -> Option<u64> {
        Some(self.rows())
    }

    fn has_known_tables(&self) -> bool {
        false
    }

    fn tables(&self, _: Setup) -> [Option<u32>; 2] {
        [None, None]
    }

    fn data_in_words(&self, _: Setup) -> String {
        "tables of the script".to_owned()
    }

    fn chooses_mode(&self) -> bool {
        true
    }

    fn extended_refused(&self) -> Option<&'static str> {
        Some(
            "a Lua script prepares its statements or sends texts; `--db-ps-mode extended` is for scripts of pgbench",
        )
    }

    fn irreproducible(&self, test: Test) -> Option<[String; 2]> {
        Some([
            format!("`{test}` is a script of sysbench, which shows the finding itself"),
            format!("send `{}` with the options of the study's recipe", self.path()),
        ])
    }
}

impl WorkloadFacts for IbenchStep {
    fn irreproducible(&self, test: Test) -> Option<[String; 2]> {
        Some([
            format!(
                "`{test}` is a step of the Insert Benchmark, which sysbench, pgbench and the plain client cannot run"
            ),
            SEND_PACK.to_owned(),
        ])
    }
}

impl WorkloadFacts for Tpcc {
    fn title(&self) -> Option<String> {
        Some(self.in_words())
    }

    fn own_rows(&self) -> Option<u64> {
        Some(self.rows())
    }

    fn own_bytes(&self) -> Option<u64> {
        Some(self.loaded_bytes())
    }

    fn data_in_words(&self, _: Setup) -> String {
        self.in_words()
    }

    fn extended_refused(&self) -> Option<&'static str> {
        Some(
            "`--suite tpcc` prepares its statements or sends texts; `--db-ps-mode extended` is for scripts of pgbench",
        )
    }

    fn irreproducible(&self, test: Test) -> Option<[String; 2]> {
        Some([
            format!(
                "clients of `{test}` decide after each reply what to send next, which sysbench, pgbench and the plain \
                 client cannot do"
            ),
            SEND_PACK.to_owned(),
        ])
    }
}

const SEND_PACK: &str = "send the pack of the study: `assay pack` writes it";
