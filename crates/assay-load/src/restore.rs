//! Restores the dump of a user's workload. Statements that the server refuses are reported and do not end the load.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::time::Duration;

use assay_model::{Dialect, DumpFinding, DumpFindingKind, UserDump};
use assay_wire::{AnswerSummary, ConnectOptions, Connection, Protocol, TakeRow, WireError};
use assay_workloads::{
    Definer, DumpError, DumpPart, DumpParts, DumpedLogin, Fate, dumped_login, fate, first_line,
    is_drop_if_exists, table_database, without_database, without_definer,
};

use crate::control::{connect_control, dialect_of};
use crate::error::{LoadError, Result};
use crate::fill::OpenUserDump;

const FINDINGS: usize = 200;

/// Timeout of a statement: it may create the index of a large table.
const SILENCE: Duration = Duration::from_secs(3600);

const SYSTEM: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];

const WARNINGS: [&str; 1] = ["WARNING"];

/// Restores a dump on a separate connection, which discards its settings. `summary` is called with the number of bytes
/// read so far.
pub(crate) fn restore(
    options: &ConnectOptions,
    dump: &UserDump,
    open: OpenUserDump<'_>,
    summary: &mut dyn FnMut(u64),
) -> Result<Vec<DumpFinding>> {
    let fail = |why: String| LoadError::File { path: dump.file.path.clone(), why };
    let source = CountedReader { source: open(&dump.file).map_err(fail)?, bytes: 0 };
    let options = ConnectOptions { timeout: options.timeout.max(SILENCE), ..options.clone() };
    let wire = connect_control(&options, 0)?;
    let dialect = dialect_of(options.protocol);
    let mut restorer = Restorer {
        definers: definers(&options)?,
        plugins: login_plugins(&options)?,
        wire,
        dialect,
        path: &dump.file.path,
        line: 0,
        database: None,
        findings: Findings::new(&dump.file.path),
    };
    let mut parts = DumpParts::new(BufReader::with_capacity(1 << 20, source), dialect);
    while let Some(part) = parts.next_part().map_err(|error| fail(error.to_string()))? {
        match part {
            DumpPart::Statement { line, sql } => restorer.statement(line, sql)?,
            DumpPart::Command { line, text } => restorer.command(line, &text)?,
            DumpPart::Copy { line, sql } => restorer.copy(line, &sql, &mut parts)?,
        }
        summary(parts.source().get_ref().bytes);
    }
    // The dump may have left a transaction open.
    restorer.send(0, b"COMMIT", Fate::Try)?;
    Ok(restorer.findings.sorted())
}

pub(crate) fn without_rows(dump: &UserDump, empty: &[&str]) -> Option<DumpFinding> {
    of_tables(dump, DumpFindingKind::Empty, "tables without rows", empty)
}

pub(crate) fn with_made_rows(dump: &UserDump, made: &[&str]) -> Option<DumpFinding> {
    of_tables(dump, DumpFindingKind::Made, "tables whose rows were made", made)
}

pub(crate) fn refused_rows(dump: &UserDump, table: &str, why: &LoadError) -> DumpFinding {
    let finding = finding(DumpFindingKind::Error, &file_name(&dump.file.path), why.to_string());
    DumpFinding { statement: format!("INSERT INTO {table}"), ..finding }
}

/// A finding that concerns no line of the dump.
fn finding(what: DumpFindingKind, file: &str, message: String) -> DumpFinding {
    let (file, line, statement) = (file.to_owned(), 0, String::new());
    DumpFinding { what, file, line, statement, message, count: 1 }
}

fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

fn of_tables(
    dump: &UserDump,
    what: DumpFindingKind,
    words: &str,
    names: &[&str],
) -> Option<DumpFinding> {
    const SHOWN: usize = 10;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!("{words}: {}{more}", shown.join(", "));
    let finding = finding(what, &file_name(&dump.file.path), message);
    (!names.is_empty()).then_some(DumpFinding { count: names.len() as u64, ..finding })
}

struct CountedReader {
    source: Box<dyn Read>,
    bytes: u64,
}

impl Read for CountedReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let length = self.source.read(out)?;
        self.bytes += length as u64;
        Ok(length)
    }
}

struct Restorer<'d> {
    wire: Connection,
    dialect: Dialect,
    path: &'d str,
    line: u64,
    definers: Vec<Definer>,
    /// Authentication plugins of the server; empty if unknown.
    plugins: Vec<String>,
    database: Option<String>,
    findings: Findings,
}

impl Restorer<'_> {
    fn statement(&mut self, line: u64, sql: Vec<u8>) -> Result<()> {
        self.line = line;
        match fate(&sql, self.dialect) {
            Fate::Leave(None) => Ok(()),
            Fate::Leave(Some(why)) => {
                self.check_login(&sql);
                self.findings.left_out(why.to_owned());
                Ok(())
            }
            Fate::Database(name) => self.is_of_database(line, name),
            fate @ (Fate::Send | Fate::Try) => {
                let sql = self.without_database(line, sql)?;
                let sql = self.with_known_definer(sql);
                self.send(line, &sql, fate)
            }
        }
    }

    /// Strips the dump's only database from table names, because the tables go to another one.
    fn without_database(&mut self, line: u64, sql: Vec<u8>) -> Result<Vec<u8>> {
        if self.dialect != Dialect::MySql {
            return Ok(sql);
        }
        if let Some(name) = table_database(&sql).filter(|it| !SYSTEM.contains(&it.as_str())) {
            self.is_of_database(line, name)?;
        }
        let database = self.database.as_deref().unwrap_or_default();
        Ok(without_database(&sql, database).unwrap_or(sql))
    }

    /// Records a user who could not log in. Users are otherwise skipped.
    fn check_login(&mut self, sql: &[u8]) {
        if self.plugins.is_empty() {
            return;
        }
        let Some(DumpedLogin { user, plugin }) = dumped_login(sql) else { return };
        if !self.plugins.iter().any(|it| it.eq_ignore_ascii_case(&plugin)) {
            self.findings.login(&user, &plugin);
        }
    }

    fn with_known_definer(&mut self, sql: Vec<u8>) -> Vec<u8> {
        if self.dialect != Dialect::MySql {
            return sql;
        }
        let knows = |definer: &Definer| self.definers.contains(definer);
        let Some((sql, Definer { user, host })) = without_definer(&sql, &knows) else { return sql };
        self.findings.left_out(format!(
            "`DEFINER` is left out where the user is not there: `{user}`@`{host}`"
        ));
        sql
    }

    fn command(&mut self, line: u64, text: &str) -> Result<()> {
        let mut words = text.split_whitespace();
        match words.next() {
            Some("\\connect" | "\\c") => {
                // `\connect -reuse-previous=on "dbname='shop'"`
                let name = words.find(|word| !word.starts_with('-')).unwrap_or_default();
                let name = name.trim_end_matches(';').trim_matches('"');
                let name = name.trim_start_matches("dbname=").trim_matches('\'');
                match name {
                    // Databases that hold the roles of a whole server.
                    "" | "postgres" | "template1" => Ok(()),
                    name => self.is_of_database(line, name.to_owned()),
                }
            }
            Some("\\restrict" | "\\unrestrict" | "\\encoding" | "\\set" | "\\pset" | "\\echo") => {
                Ok(())
            }
            Some(command) => {
                self.findings.left_out(format!("the command `{command}` of psql is left out"));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The whole dump goes to one database, so it may name only one.
    fn is_of_database(&mut self, line: u64, name: String) -> Result<()> {
        match &self.database {
            Some(known) if *known != name => Err(LoadError::File {
                path: self.path.to_owned(),
                why: format!(
                    "line {line}: it has several databases, `{known}` and `{name}`; write a dump of one of them"
                ),
            }),
            _ => {
                self.database = Some(name);
                Ok(())
            }
        }
    }

    fn send(&mut self, line: u64, sql: &[u8], fate: Fate) -> Result<()> {
        let answer = self.wire.answer(sql, &mut |_, _| ());
        self.noted(line, sql, answer, &fate)?;
        let is_setting = sql.get(..4).is_some_and(|it| it.eq_ignore_ascii_case(b"SET "))
            || (sql.starts_with(b"/*!") || sql.starts_with(b"/*M!"))
                && sql.windows(4).take(12).any(|it| it.eq_ignore_ascii_case(b"SET "));
        // The target is empty, so the dump's `DROP TABLE IF EXISTS` warns for each table.
        let has_warnings = !is_setting && !is_drop_if_exists(sql);
        if self.dialect == Dialect::MySql && has_warnings {
            let mut warnings = Vec::new();
            let asked = self.wire.answer(b"SHOW WARNINGS", &mut |_, row| {
                // The list includes the error itself.
                if text_at(row, 0) != "Error" {
                    warnings.push(format!("{} (code {})", text_at(row, 2), text_at(row, 1)));
                }
            });
            asked.map_err(|cause| self.lost(sql, cause))?;
            for warning in warnings {
                self.findings.add_message(DumpFindingKind::Warning, line, sql, warning);
            }
        }
        Ok(())
    }

    fn copy<R: std::io::BufRead>(
        &mut self,
        line: u64,
        sql: &[u8],
        parts: &mut DumpParts<R>,
    ) -> Result<()> {
        self.line = line;
        let mut failure: Option<DumpError> = None;
        let answer = self.wire.copy_in_parts(sql, &mut |out| match parts.next_rows(out) {
            Ok(has_more) => has_more,
            Err(error) => {
                failure = Some(error);
                false
            }
        });
        if let Some(error) = failure {
            return Err(LoadError::File { path: self.path.to_owned(), why: error.to_string() });
        }
        self.noted(line, sql, answer, &Fate::Send)
    }

    /// Records a server's messages about a statement. Only a lost connection ends the load.
    fn noted(
        &mut self,
        line: u64,
        sql: &[u8],
        answer: Result<AnswerSummary, WireError>,
        fate: &Fate,
    ) -> Result<()> {
        match answer {
            Ok(summary) => {
                // The final `COMMIT` is not part of the dump.
                let notices = summary.notices.into_iter().filter(|_| line > 0);
                for notice in notices.filter(|it| WARNINGS.contains(&it.severity.as_str())) {
                    self.findings.add_message(DumpFindingKind::Warning, line, sql, notice.message);
                }
                Ok(())
            }
            Err(error @ (WireError::Server { .. } | WireError::Usage(_))) => {
                match fate {
                    Fate::Try if line == 0 => {}
                    Fate::Try => {
                        let what = first_line(sql);
                        self.findings.left_out(format!("`{what}` is left out: {error}"));
                    }
                    _ => self.findings.add_message(
                        DumpFindingKind::Error,
                        line,
                        sql,
                        error.to_string(),
                    ),
                }
                Ok(())
            }
            Err(cause) => Err(self.lost(sql, cause)),
        }
    }

    fn lost(&self, sql: &[u8], cause: WireError) -> LoadError {
        let (path, line) = (self.path.to_owned(), self.line);
        LoadError::Dump { path, line, sql: first_line(sql), cause }
    }
}

fn definers(options: &ConnectOptions) -> Result<Vec<Definer>> {
    let mut found = Vec::new();
    take_rows(options, b"SELECT User, Host FROM mysql.user", &mut |row| {
        found.push(Definer { user: text_at(row, 0), host: text_at(row, 1) });
    })?;
    Ok(found)
}

fn login_plugins(options: &ConnectOptions) -> Result<Vec<String>> {
    const QUERY: &[u8] = b"SELECT PLUGIN_NAME FROM information_schema.PLUGINS \
        WHERE PLUGIN_TYPE = 'AUTHENTICATION' AND PLUGIN_STATUS = 'ACTIVE'";
    let mut found = Vec::new();
    take_rows(options, QUERY, &mut |row| found.push(text_at(row, 0)))?;
    Ok(found)
}

/// Takes the rows of a query for MySQL and MariaDB. A login without the privilege sees none.
fn take_rows(options: &ConnectOptions, sql: &[u8], take: &mut TakeRow<'_>) -> Result<()> {
    if options.protocol == Protocol::Postgres {
        return Ok(());
    }
    match connect_control(options, 0)?.answer(sql, &mut |_, row| take(row)) {
        Ok(_) | Err(WireError::Server { .. }) => Ok(()),
        Err(source) => Err(LoadError::Connect { client: 0, source }),
    }
}

fn text_at(row: &[Option<&[u8]>], column: usize) -> String {
    String::from_utf8_lossy(row.get(column).copied().flatten().unwrap_or_default()).into_owned()
}

/// Findings so far; duplicates are counted.
struct Findings {
    file: String,
    found: BTreeMap<(DumpFindingKind, String), DumpFinding>,
    more: u64,
}

impl Findings {
    fn new(path: &str) -> Self {
        Self { file: file_name(path), found: BTreeMap::new(), more: 0 }
    }

    fn add_message(&mut self, what: DumpFindingKind, line: u64, sql: &[u8], message: String) {
        let key = without_row(&message);
        let finding = finding(what, &self.file, message);
        self.add(DumpFinding { line, statement: first_line(sql), ..finding }, key);
    }

    fn left_out(&mut self, message: String) {
        let key = message.clone();
        self.add(finding(DumpFindingKind::LeftOut, &self.file, message), key);
    }

    /// Reports only the first user of each plugin.
    fn login(&mut self, user: &str, plugin: &str) {
        let message = format!(
            "user `{user}` logs in with `{plugin}`, a plugin that this server does not have or does not use"
        );
        self.add(finding(DumpFindingKind::Login, &self.file, message), plugin.to_owned());
    }

    fn add(&mut self, finding: DumpFinding, key: String) {
        let is_full = self.found.len() >= FINDINGS;
        match self.found.get_mut(&(finding.what, key.clone())) {
            Some(known) => known.count += 1,
            None if is_full => self.more += 1,
            None => drop(self.found.insert((finding.what, key), finding)),
        }
    }

    /// Errors first, in the order of the dump.
    fn sorted(self) -> Vec<DumpFinding> {
        let mut all: Vec<DumpFinding> = self.found.into_values().collect();
        all.sort_by_key(|it| (it.what, it.line));
        if self.more > 0 {
            let message = format!("{} more findings are not kept", self.more);
            let finding = finding(DumpFindingKind::LeftOut, &self.file, message);
            all.push(DumpFinding { count: self.more, ..finding });
        }
        all
    }
}

fn without_row(message: &str) -> String {
    let Some(at) = message.rfind("at row ") else { return message.to_owned() };
    let (before, after) = message.split_at(at);
    let rest = after.trim_start_matches("at row ").trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}at row{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_again_is_counted() {
        let mut findings = Findings::new("/a/dump.sql");
        findings.add_message(
            DumpFindingKind::Warning,
            9,
            b"INSERT INTO t",
            "Data truncated at row 1 (code 1265)".into(),
        );
        findings.add_message(
            DumpFindingKind::Warning,
            9,
            b"INSERT INTO t",
            "Data truncated at row 7 (code 1265)".into(),
        );
        findings.add_message(DumpFindingKind::Error, 12, b"CREATE TABLE u", "no".into());
        findings.left_out("owners".to_owned());
        findings.left_out("owners".to_owned());
        let all = findings.sorted();
        let shown: Vec<_> = all.iter().map(|it| (it.what, it.line, it.count)).collect();
        assert_eq!(
            shown,
            [
                (DumpFindingKind::Error, 12, 1),
                (DumpFindingKind::Warning, 9, 2),
                (DumpFindingKind::LeftOut, 0, 2),
            ]
        );
        assert_eq!(all[0].file, "dump.sql");
    }
}
