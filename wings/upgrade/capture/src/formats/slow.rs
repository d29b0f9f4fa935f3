//! The slow query log of MySQL, MariaDB and Percona Server.

use assay_model::Dialect;

use crate::reader::{EntrySink, LogEntry, LogFormat, LogHints, LogReader, Skip, lines, shown};
use crate::sql::token::find;
use crate::time;

pub(super) const FORMAT: LogFormat = LogFormat {
    name: "slow",
    about: "slow query log of MySQL, MariaDB or Percona Server",
    dialect: Some(Dialect::MySql),
    looks,
    open: |_, _| Box::new(SlowLog::default()),
};

const TEXT_MAX: usize = 32 << 20;

const REPLICATION: [&str; 2] = ["[SQL_SLAVE]", "system user"];

fn looks(head: &[u8], _: &LogHints) -> bool {
    lines(head).any(|line| line.starts_with(b"# Query_time: "))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SlowLogPart {
    /// Before the first entry, and between two runs of a server.
    #[default]
    Outside,
    /// In its lines that begin with `#`.
    Header,
    /// In `use` and `SET timestamp`, before the statement.
    Preamble,
    Statement,
}

#[derive(Debug, Default)]
struct SlowLog {
    part: SlowLogPart,
    text: Vec<u8>,
    is_long: bool,
    logged_us: Option<i64>,
    at_us: Option<i64>,
    session: Option<u64>,
    /// The database in the entry's extra fields.
    schema: Option<String>,
    /// The database of the last `use`.
    database: Option<String>,
    time_us: Option<f64>,
    calls: u64,
    /// The header's line of times was seen, which each entry has once.
    has_times: bool,
    is_replication: bool,
    has_failed: bool,
}

impl LogReader for SlowLog {
    fn line(&mut self, line: &[u8], out: &mut dyn EntrySink) {
        if line.starts_with(b"# Time: ") {
            self.finish(false, out);
            self.part = SlowLogPart::Header;
            let rest = line.get(8..).unwrap_or_default();
            self.logged_us = time::leading(rest).map(|(at, _)| at).or(self.logged_us);
            self.user(b"");
            if time::leading(rest).is_none() {
                out.unreadable(line);
            }
        } else if line.starts_with(b"# User@Host: ") {
            self.finish(false, out);
            self.part = SlowLogPart::Header;
            self.user(line);
        } else if self.begins_without_user(line) {
            self.finish(false, out);
            self.part = SlowLogPart::Header;
            self.user(b"");
            self.header(line);
        } else if is_banner(line) {
            self.finish(false, out);
            out.restarted();
            self.part = SlowLogPart::Outside;
        } else {
            match self.part {
                SlowLogPart::Outside => {
                    let is_known = line.is_empty()
                        || line.starts_with(b"Tcp port")
                        || line.starts_with(b"TCP Port")
                        || line.starts_with(b"Time ")
                        || line.starts_with(b"Time\t")
                        || line.starts_with(b"#");
                    if !is_known {
                        out.unreadable(line);
                    }
                }
                SlowLogPart::Header | SlowLogPart::Preamble => self.before(line, out),
                SlowLogPart::Statement => self.more(line),
            }
        }
    }

    fn end(&mut self, out: &mut dyn EntrySink) {
        self.finish(true, out);
        self.part = SlowLogPart::Outside;
    }
}

impl SlowLog {
    fn begins_without_user(&self, line: &[u8]) -> bool {
        const BEGINS: [&[u8]; 4] =
            [b"# Query_time: ", b"# Thread_id: ", b"# Schema: ", b"# Client: "];
        BEGINS.iter().any(|begin| line.starts_with(begin))
            && match self.part {
                SlowLogPart::Outside | SlowLogPart::Preamble => true,
                SlowLogPart::Header => self.has_times && line.starts_with(b"# Query_time: "),
                SlowLogPart::Statement => self.text.trim_ascii_end().ends_with(b";"),
            }
    }

    /// `# User@Host: root[root] @ localhost []  Id:    12`
    fn user(&mut self, line: &[u8]) {
        // Entries may lack the line of the user.
        let text = shown(line);
        self.is_replication = REPLICATION.iter().any(|user| text.contains(user));
        self.session = field(&text, "Id").and_then(|it| it.parse().ok());
        self.schema = None;
        self.time_us = None;
        self.calls = 1;
        self.has_failed = false;
        self.has_times = false;
        self.at_us = self.logged_us;
    }

    fn before(&mut self, line: &[u8], out: &mut dyn EntrySink) {
        if line.starts_with(b"# administrator command: ") {
            self.administration(line, out);
            out.skip(if find(line, b"Binlog Dump").is_some() {
                Skip::Replication
            } else {
                Skip::Administration
            });
            self.part = SlowLogPart::Outside;
        } else if line.starts_with(b"#") && self.part == SlowLogPart::Header {
            self.header(line);
        } else if let Some(name) = used(line).filter(|_| self.part == SlowLogPart::Header) {
            self.database = Some(name);
            // The entry's own database is that of `use`.
            self.schema = self.schema.take().filter(|it| !it.is_empty());
        } else if line.starts_with(b"SET ")
            && find(line, b"timestamp=").is_some()
            && line.ends_with(b";")
        {
            let at = find(line, b"timestamp=").unwrap_or_default() + b"timestamp=".len();
            let rest = line.get(at..line.len() - 1).unwrap_or_default();
            self.at_us = self.logged_us.or_else(|| time::epoch(rest));
            // A server that omits the time from some headers writes it here.
            if let Some(at) = time::epoch(rest) {
                self.at_us =
                    Some(self.at_us.filter(|it| (it - at).abs() < 3_600_000_000).unwrap_or(at));
            }
            self.part = SlowLogPart::Preamble;
        } else {
            self.part = SlowLogPart::Statement;
            self.text.clear();
            self.is_long = false;
            self.more(line);
        }
    }

    /// `# administrator command: Quit;`
    fn administration(&self, line: &[u8], out: &mut dyn EntrySink) {
        let Some(session) = self.session else { return };
        let has = |command: &[u8]| find(line, command).is_some();
        if has(b": Quit") {
            out.ended(session);
        } else if has(b": Connect") || has(b": Change user") || has(b": Reset connection") {
            out.began(session);
        }
    }

    /// `# Query_time: 0.003731  Lock_time: 0.000000  Rows_sent: 0 ...`
    fn header(&mut self, line: &[u8]) {
        let text = shown(line);
        if text.starts_with("# explain:") {
            return;
        }
        let number = |name: &str| field(&text, name).and_then(|it| it.parse::<f64>().ok());
        if let Some(seconds) = number("Query_time") {
            self.has_times = true;
            self.time_us = Some(seconds * 1e6).filter(|it| it.is_finite() && *it >= 0.0);
        }
        if let Some(id) = field(&text, "Thread_id").and_then(|it| it.parse().ok()) {
            self.session = Some(id);
        }
        if let Some(schema) = field(&text, "Schema") {
            self.schema = Some(schema.to_owned());
        }
        if let Some(limit) = number("Log_slow_rate_limit")
            && field(&text, "Log_slow_rate_type") == Some("query")
        {
            self.calls = (limit as u64).clamp(1, 1_000_000);
        }
        let errors = ["Errno", "Last_errno"].into_iter().filter_map(number);
        self.has_failed |= errors.into_iter().any(|it| it != 0.0);
    }

    fn more(&mut self, line: &[u8]) {
        if self.text.len() + line.len() > TEXT_MAX {
            self.is_long = true;
            return;
        }
        if !self.text.is_empty() {
            self.text.push(b'\n');
        }
        self.text.extend_from_slice(line);
    }

    fn finish(&mut self, is_end: bool, out: &mut dyn EntrySink) {
        if self.part != SlowLogPart::Statement {
            return;
        }
        self.part = SlowLogPart::Outside;
        let text = self.text.trim_ascii_end();
        let is_whole = text.ends_with(b";");
        if text.starts_with(b"# administrator command") {
            return out.skip(Skip::Administration);
        }
        if self.is_replication {
            return out.skip(Skip::Replication);
        }
        if self.has_failed {
            out.skip(Skip::Failed);
            return out.failed(self.session);
        }
        if self.is_long {
            out.skip(Skip::TooLong);
            return out.failed(self.session);
        }
        let calls = self.calls.max(1);
        let schema = self.schema.as_deref().filter(|schema| !schema.is_empty());
        out.entry(&LogEntry {
            at_us: self.at_us,
            session: self.session,
            database: schema.or(self.database.as_deref()),
            calls,
            time_us: self.time_us.map(|it| it * calls as f64),
            is_cut: !is_whole && is_end,
            ..LogEntry::new(Dialect::MySql, text.strip_suffix(b";").unwrap_or(text))
        });
    }
}

/// The value after `name:` in a header, up to the next blank.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find(name)?;
        let is_begin = text.get(..at)?.ends_with([' ', '#']);
        if let Some(rest) = text.get(at + name.len()..)?.strip_prefix(':').filter(|_| is_begin) {
            let rest = rest.trim_start_matches(' ');
            let value = rest.split(' ').next().unwrap_or_default();
            // `Schema:   QC_hit: No` has no schema.
            return Some(if value.ends_with(':') { "" } else { value });
        }
        from = at + name.len();
    }
}

fn used(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix(';')?;
    let (word, name) = text.split_once(' ')?;
    let is_name = word.eq_ignore_ascii_case("use") && !name.is_empty();
    is_name.then(|| name.trim().trim_matches('`').replace("``", "`"))
}

/// Lines written by a server when it opens the log.
fn is_banner(line: &[u8]) -> bool {
    line.ends_with(b"started with:") && find(line, b", Version: ").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_names() {
        let text = "# Thread_id: 8  Schema:   QC_hit: No";
        assert_eq!(field(text, "Thread_id"), Some("8"));
        assert_eq!(field(text, "Schema"), Some(""));
        assert_eq!(field("# User@Host: a[a] @ b []  Id:    12", "Id"), Some("12"));
        assert_eq!(field("# Last_errno: 5", "errno"), None);
        assert_eq!(used(b"use `a``b`;").as_deref(), Some("a`b"));
        assert_eq!(used(b"user x;"), None);
    }
}
