//! The general query log of MySQL and MariaDB, with its old and its new timestamps.

use std::collections::HashMap;

use assay_model::Dialect;

use crate::reader::{EntrySink, LogEntry, LogFormat, LogHints, LogReader, Skip, lines, shown};
use crate::time;

pub(super) const FORMAT: LogFormat = LogFormat {
    name: "general",
    about: "general query log of MySQL or MariaDB",
    dialect: Some(Dialect::MySql),
    looks,
    open: |head, _| {
        Box::new(GeneralLog {
            separators: separators(head).unwrap_or(Separators::Tabs),
            at_us: None,
            session: 0,
            is_prepared: false,
            part: GeneralPart::Outside,
            is_long: false,
            databases: HashMap::new(),
        })
    },
};

const TEXT_MAX: usize = 32 << 20;

const SESSIONS: usize = 100_000;

const COMMANDS: [&str; 32] = [
    "Query",
    "Execute",
    "Prepare",
    "Connect",
    "Quit",
    "Init DB",
    "Close stmt",
    "Reset stmt",
    "Long Data",
    "Fetch",
    "Statistics",
    "Ping",
    "Field List",
    "Binlog Dump GTID",
    "Binlog Dump",
    "Register Slave",
    "Register Replica",
    "Change user",
    "Sleep",
    "Refresh",
    "Shutdown",
    "Processlist",
    "Kill",
    "Debug",
    "Set option",
    "Daemon",
    "Connect Out",
    "Delayed insert",
    "Create DB",
    "Drop DB",
    "Table Dump",
    "Reset Connection",
];

fn looks(head: &[u8], _: &LogHints) -> bool {
    separators(head).is_some()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separators {
    Tabs,
    /// After a terminal or an editor has replaced the tabs.
    Blanks,
}

/// The separators of a log's lines; `None` if it is no general log. A log with blanks must have lines with times: many
/// texts have numbers before words.
fn separators(head: &[u8]) -> Option<Separators> {
    if lines(head).any(|line| command(line, Separators::Tabs).is_some()) {
        return Some(Separators::Tabs);
    }
    let is_command =
        |line: &[u8]| command(line, Separators::Blanks).is_some_and(|it| it.at_us.is_some());
    lines(head).any(is_command).then_some(Separators::Blanks)
}

struct LogCommand<'l> {
    at_us: Option<i64>,
    session: u64,
    name: &'static str,
    argument: &'l [u8],
}

/// `2026-11-27T22:45:19.179537Z<tab>   11 Query<tab>SELECT 1`, or two tabs instead of a time.
fn command(line: &[u8], separators: Separators) -> Option<LogCommand<'_>> {
    let (at_us, rest) = match (time::leading(line), separators) {
        (Some((at, length)), Separators::Tabs) => {
            (Some(at), line.get(length..)?.strip_prefix(b"\t")?)
        }
        (None, Separators::Tabs) => (None, line.strip_prefix(b"\t\t")?),
        (Some((at, length)), Separators::Blanks) => {
            (Some(at), line.get(length..).filter(|rest| rest.starts_with(b" "))?)
        }
        (None, Separators::Blanks) => (None, line.strip_prefix(b"    ")?),
    };
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (id, rest) = rest.split_at_checked(digits)?;
    let session = std::str::from_utf8(id).ok()?.parse().ok()?;
    let rest = rest.strip_prefix(b" ")?;
    let (name, argument) = match separators {
        Separators::Tabs => {
            let end = rest.iter().position(|byte| *byte == b'\t').unwrap_or(rest.len());
            let (name, argument) = rest.split_at_checked(end)?;
            let name = name.trim_ascii();
            let name = COMMANDS.iter().find(|it| it.as_bytes() == name)?;
            (name, argument.get(1..).unwrap_or_default())
        }
        Separators::Blanks => {
            let rest = rest.trim_ascii_start();
            let argument = |name: &&&str| {
                let argument = rest.strip_prefix(name.as_bytes())?;
                (argument.is_empty() || argument.starts_with(b" ")).then_some(argument)
            };
            // `Binlog Dump GTID` begins like `Binlog Dump`.
            let name = COMMANDS.iter().filter(|it| argument(it).is_some());
            let name = name.max_by_key(|it| it.len())?;
            (name, argument(&name)?.trim_ascii_start())
        }
    };
    Some(LogCommand { at_us, session, name, argument })
}

#[derive(Debug, Default)]
enum GeneralPart {
    #[default]
    Outside,
    Statement(Vec<u8>),
    /// Part of a statement that is only prepared, or of another counted entry.
    Counted,
}

#[derive(Debug)]
struct GeneralLog {
    separators: Separators,
    at_us: Option<i64>,
    session: u64,
    is_prepared: bool,
    part: GeneralPart,
    is_long: bool,
    databases: HashMap<u64, String>,
}

impl LogReader for GeneralLog {
    fn line(&mut self, line: &[u8], out: &mut dyn EntrySink) {
        if let Some(command) = command(line, self.separators) {
            self.finish(out);
            self.command(&command, out);
            return;
        }
        if line.ends_with(b"started with:") {
            self.finish(out);
            out.restarted();
            self.databases.clear();
            return;
        }
        match &mut self.part {
            GeneralPart::Statement(text) if text.len() + line.len() > TEXT_MAX => {
                self.is_long = true
            }
            GeneralPart::Statement(text) => {
                text.push(b'\n');
                text.extend_from_slice(line);
            }
            GeneralPart::Counted => {}
            GeneralPart::Outside if is_heading(line) => {}
            GeneralPart::Outside => out.unreadable(line),
        }
    }

    fn end(&mut self, out: &mut dyn EntrySink) {
        self.finish(out);
        self.databases.clear();
    }
}

/// Lines before the first command, and empty lines.
fn is_heading(line: &[u8]) -> bool {
    const BEGINS: [&[u8]; 4] = [b"Tcp port: ", b"TCP Port: ", b"Time ", b"Time\t"];
    line.trim_ascii().is_empty() || BEGINS.iter().any(|begin| line.starts_with(begin))
}

impl GeneralLog {
    fn command(&mut self, command: &LogCommand<'_>, out: &mut dyn EntrySink) {
        self.at_us = command.at_us.or(self.at_us);
        self.session = command.session;
        self.part = match command.name {
            "Quit" | "Ping" | "Connect" | "Statistics" | "Init DB" => GeneralPart::Outside,
            _ => GeneralPart::Counted,
        };
        match command.name {
            "Query" | "Execute" => {
                self.is_prepared = command.name == "Execute";
                self.is_long = false;
                self.part = GeneralPart::Statement(command.argument.to_vec());
            }
            "Init DB" => {
                self.use_database(&shown(command.argument));
                out.skip(Skip::Session);
            }
            "Connect" => {
                let text = shown(command.argument);
                let rest = text.split_once(" on ").map_or("", |(_, rest)| rest);
                let name = rest.split(" using ").next().unwrap_or_default();
                self.databases.remove(&self.session);
                self.use_database(name);
                out.skip(Skip::Administration);
                out.began(self.session);
            }
            "Change user" | "Reset Connection" => {
                out.skip(Skip::Administration);
                out.began(self.session);
            }
            "Quit" => {
                self.databases.remove(&self.session);
                out.skip(Skip::Administration);
                out.ended(self.session);
            }
            "Binlog Dump" | "Binlog Dump GTID" | "Register Slave" | "Register Replica"
            | "Table Dump" => {
                out.skip(Skip::Replication);
            }
            _ => out.skip(Skip::Administration),
        }
    }

    fn use_database(&mut self, name: &str) {
        let name = name.trim().trim_end_matches(';').trim().trim_matches('`');
        if name.is_empty() {
            return;
        }
        if self.databases.len() >= SESSIONS {
            self.databases.clear();
        }
        self.databases.insert(self.session, name.to_owned());
    }

    fn finish(&mut self, out: &mut dyn EntrySink) {
        let GeneralPart::Statement(text) = std::mem::take(&mut self.part) else { return };
        let is_use = text.get(..4).is_some_and(|it| it.eq_ignore_ascii_case(b"use "));
        if is_use {
            self.use_database(&shown(text.get(4..).unwrap_or_default()));
        }
        out.entry(&LogEntry {
            at_us: self.at_us,
            session: Some(self.session),
            database: self.databases.get(&self.session).map(String::as_str),
            is_prepared: self.is_prepared,
            is_cut: self.is_long,
            ..LogEntry::new(Dialect::MySql, &text)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_old_and_new_timestamps() {
        for line in [
            "2026-11-27T22:45:19.179537Z\t   11 Query\tSELECT 1",
            "261127 22:45:19\t   11 Query\tSELECT 1",
            "261127  2:45:19\t   11 Query\tSELECT 1",
            "\t\t   11 Query\tSELECT 1",
        ] {
            let found = command(line.as_bytes(), Separators::Tabs).unwrap();
            assert_eq!(
                (found.session, found.name, found.argument),
                (11, "Query", b"SELECT 1".as_slice())
            );
        }
        let tabbed = |line: &'static [u8]| command(line, Separators::Tabs);
        assert_eq!(tabbed(b"\t\t   7 Quit\t").unwrap().name, "Quit");
        assert!(tabbed(b"\t\t   7 of them").is_none());
        assert!(tabbed(b"  where x = 1").is_none());
    }

    #[test]
    fn commands_may_have_blanks_in_place_of_tabs() {
        for (line, name, argument) in [
            ("2026-11-27T22:45:19.179537Z   11 Query     SELECT 1", "Query", "SELECT 1"),
            ("261127 22:45:19    11 Query    SELECT 1", "Query", "SELECT 1"),
            ("                   11 Init DB    shop", "Init DB", "shop"),
            ("                   11 Quit", "Quit", ""),
            ("                   11 Binlog Dump GTID  x", "Binlog Dump GTID", "x"),
        ] {
            let found = command(line.as_bytes(), Separators::Blanks).unwrap();
            assert_eq!((found.session, found.name), (11, name));
            assert_eq!(found.argument, argument.as_bytes(), "{line}");
        }
        assert!(command(b"    11 Queryx", Separators::Blanks).is_none());
        assert_eq!(separators(b"    11 Query  SELECT 1\n"), None);
        assert_eq!(
            separators(b"261127 22:45:19    11 Query    SELECT 1\n"),
            Some(Separators::Blanks)
        );
    }
}
