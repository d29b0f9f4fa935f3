//! A sysbench Lua script as the work of a study.

use serde::{Deserialize, Serialize};

use crate::Setup;
use crate::limits::{name, within};
use crate::workload::WorkloadFacts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LuaScript {
    pub name: String,
    /// The script first, then the modules it reads.
    pub files: Vec<LuaFile>,
    pub options: Vec<(String, String)>,
    /// Whether it may use files outside its directory and run programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_use_all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LuaFile {
    pub path: String,
    /// A changed checksum means different work.
    pub sha256: String,
}

impl LuaScript {
    pub fn path(&self) -> &str {
        self.files.first().map_or("", |file| &file.path)
    }

    /// Estimated rows of its tables, from its options: those of stock scripts give tables and rows per table. Used to
    /// configure servers.
    pub fn rows(&self) -> u64 {
        let number = |names: &[&str]| {
            let named = |(name, _): &&(String, String)| names.contains(&name.as_str());
            self.options.iter().find(named).and_then(|(_, value)| value.parse::<u64>().ok())
        };
        let tables = number(&["tables", "oltp-tables-count", "num-tables"]).unwrap_or(1);
        match (number(&["table-size", "oltp-table-size", "rows"]), number(&["scale", "warehouses"]))
        {
            (Some(rows), _) => tables.saturating_mul(rows),
            // A warehouse of TPC-C has about half a million rows.
            (None, Some(scale)) => tables.saturating_mul(scale).saturating_mul(500_000),
            (None, None) => tables.saturating_mul(100_000),
        }
    }

    /// Everything that determines its behaviour and tables: the contents of its files, and its options.
    pub fn work(&self) -> String {
        let mut work = String::new();
        for file in &self.files {
            work += &file.sha256;
            work.push('\n');
        }
        for (name, value) in &self.options {
            work += &format!("{name}={value}\n");
        }
        work
    }
}

impl WorkloadFacts for LuaScript {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn own_rows(&self) -> Option<u64> {
        Some(self.rows())
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

    fn irreproducible(&self, test: &str) -> Option<[String; 2]> {
        Some([
            format!("`{test}` is a script of sysbench, which shows the finding itself"),
            format!("send `{}` with the options of the study's recipe", self.path()),
        ])
    }

    fn check_bounds(&self) -> Result<(), String> {
        name("script", &self.name)?;
        within("files", self.files.len(), &(1..=256))?;
        within("options", self.options.len(), &(0..=1000))?;
        for (option, value) in &self.options {
            name("option", option).and(within("bytes", value.len(), &(0..=64 << 10)))?;
        }
        Ok(())
    }
}
