//! Detects the form of a file by its content.

use crate::document::parse;
use assay_model::Dialect;
use assay_workloads::sql::{first_word, leading_name};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileForm {
    Toml,
    Pgbench,
    Lua,
    /// Output of `mysqldump` or `pg_dump`.
    Dump,
    Unknown,
}

const STATEMENTS: [&str; 25] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "BEGIN", "START", "COMMIT",
    "ROLLBACK", "END", "SET", "CREATE", "DROP", "ALTER", "TRUNCATE", "VALUES", "TABLE", "EXPLAIN",
    "CALL", "EXECUTE", "PREPARE", "COPY", "VACUUM", "REPLACE",
];

impl FileForm {
    /// Form of a file. Its extension decides if the content is ambiguous; only scripts of sysbench end in `.lua`.
    pub(super) fn detect(path: &str, text: &str) -> Self {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let by_ending = match ending {
            "pgbench" | "sql" => Self::Pgbench,
            "toml" => Self::Toml,
            "lua" => Self::Lua,
            _ => Self::Unknown,
        };
        if by_ending == Self::Lua {
            return Self::Lua;
        }
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        if lines.clone().take(DUMP_LINES).any(is_of_dump) {
            return Self::Dump;
        }
        if lines.clone().any(|line| line.starts_with('\\') && !line.starts_with("\\\\")) {
            return if looks_like_toml(text) { Self::Toml } else { Self::Pgbench };
        }
        let word = leading_name(first_word(text, Dialect::Postgres)).to_ascii_uppercase();
        if lines.clone().any(is_lua) && parse(text).is_err() {
            return Self::Lua;
        }
        if looks_like_toml(text) {
            return Self::Toml;
        }
        if STATEMENTS.contains(&word.as_str()) {
            return Self::Pgbench;
        }
        // At most comments.
        let is_blank = lines.all(|line| line.starts_with('#') || line.starts_with("--"));
        match by_ending {
            Self::Unknown if is_blank => Self::Toml,
            other => other,
        }
    }
}

/// Maximum lines before a dump identifies itself.
const DUMP_LINES: usize = 20;

fn is_of_dump(line: &str) -> bool {
    const BEGINS: [&str; 5] = [
        "-- MySQL dump",
        "-- MariaDB dump",
        "-- PostgreSQL database dump",
        // Without comments, as of `mysqldump --compact`.
        "/*!40101 SET ",
        "/*M!999999\\- enable the sandbox mode",
    ];
    BEGINS.iter().any(|begin| line.starts_with(begin))
}

/// Whether the first line that is no comment is TOML: `[table]`, or a key and its value.
fn looks_like_toml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    let is_key =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '"' | '\'' | ' ');
    let key = first.split_once('=').map(|(key, _)| key.trim_end());
    first.starts_with('[')
        || key.is_some_and(|key| !key.is_empty() && !key.contains(' ') && key.chars().all(is_key))
}

fn is_lua(line: &str) -> bool {
    const BEGINS: [&str; 8] = [
        "#!/usr/bin/env sysbench",
        "function event",
        "function prepare",
        "function thread_init",
        "sysbench.",
        "require(",
        "require \"",
        "require '",
    ];
    BEGINS.iter().any(|begin| line.starts_with(begin))
        || line.starts_with("local ") && line.contains('=')
        || line.starts_with("function ") && line.contains('(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_says_what_a_file_is() {
        let script =
            "\\set row random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts;\n";
        let lua = "require(\"oltp_common\")\nfunction event() con:query(\"SELECT 1\") end\n";
        let toml = "# shop\n[table.t]\nrows = 1\n";
        for path in ["read.pgbench", "read.bench", "read.toml", "read", "read.sql"] {
            assert_eq!(FileForm::detect(path, script), FileForm::Pgbench, "{path}");
            assert_eq!(FileForm::detect(path, "-- one\nselect 1;\n"), FileForm::Pgbench, "{path}");
            assert_eq!(FileForm::detect(path, lua), FileForm::Lua, "{path}");
            assert_eq!(
                FileForm::detect(path, "local t = {}\nfunction event()\nend\n"),
                FileForm::Lua,
                "{path}"
            );
            assert_eq!(FileForm::detect(path, toml), FileForm::Toml, "{path}");
            assert_eq!(FileForm::detect(path, "table.n = 3\n["), FileForm::Toml, "{path}");
        }
        for text in [script, lua, toml, "event = 42\n", "-- MySQL dump 10.13\n", ""] {
            assert_eq!(FileForm::detect("read.lua", text), FileForm::Lua, "{text}");
        }
        for dump in [
            "-- MySQL dump 10.13  Distrib 8.0.40\n--\nDROP TABLE IF EXISTS `t`;\n",
            "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\nSELECT 1;\n",
            "--\n-- PostgreSQL database dump\n--\n\n\\restrict x\n",
            "/*!40101 SET @saved_cs_client     = @@character_set_client */;\nCREATE TABLE `t` (\n",
        ] {
            for path in ["shop.sql", "shop.toml", "shop"] {
                assert_eq!(FileForm::detect(path, dump), FileForm::Dump, "{dump}");
            }
        }
        assert_eq!(FileForm::detect("a.txt", "Dear all,\n"), FileForm::Unknown);
        assert_eq!(FileForm::detect("a.pgbench", ""), FileForm::Pgbench);
        assert_eq!(FileForm::detect("a", "# nothing\n"), FileForm::Toml);
    }
}
