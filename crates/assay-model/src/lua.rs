//! A script of sysbench as the work of a study.

use serde::{Deserialize, Serialize};

/// A script, with what it was planned with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LuaScript {
    /// Its name, which is that of the file without the ending.
    pub name: String,
    /// Its files: first the script, then the modules that it reads.
    pub files: Vec<LuaFile>,
    /// Its options, as the user gave them: name and value.
    pub options: Vec<(String, String)>,
    /// Whether it may use files outside of its directory, and run programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_use_all: bool,
}

/// A file of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LuaFile {
    /// Where it is.
    pub path: String,
    /// Its checksum. Another content is other work.
    pub sha256: String,
}

impl LuaScript {
    /// Where the script is.
    #[must_use]
    pub fn path(&self) -> &str {
        self.files.first().map_or("", |file| &file.path)
    }

    /// Rows of its tables, as its options tell: those of stock scripts name tables and rows of each. It is a guess, for
    /// what servers are configured with.
    #[must_use]
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

    /// What decides what it does and which tables it makes: the contents of its files, and its options.
    #[must_use]
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
