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
