//! The general query log of MySQL and MariaDB, with its old and its new timestamps.

use std::collections::HashMap;

use assay_model::Dialect;

use crate::entry::{Entry, Sink, Skip};
use crate::reader::{Format, Given, Reader, lines, shown};
use crate::time;

pub(super) const FORMAT: Format = Format {
    name: "general",
    about: "general query log of MySQL or MariaDB",
    dialect: Some(Dialect::MySql),
    looks,
    open: |_, _| Box::new(General::default()),
};

/// Longest statement that is put together, bytes.
const TEXT_MAX: usize = 32 << 20;

/// Most sessions whose database is remembered.
const SESSIONS: usize = 100_000;

/// Commands of the protocol as the log names them.
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

fn looks(head: &[u8], _: &Given) -> bool {
    lines(head).filter(|line| command(line).is_some()).take(2).count() > 0
}

/// A line that begins an entry.
struct Command<'l> {
    at_us: Option<i64>,
    session: u64,
    name: &'static str,
    argument: &'l [u8],
}

/// `2026-11-27T22:45:19.179537Z<tab>   11 Query<tab>SELECT 1`, or without a time and two tabs instead.
fn command(line: &[u8]) -> Option<Command<'_>> {
    let (at_us, rest) = match time::leading(line) {
        Some((at, length)) => (Some(at), line.get(length..)?.strip_prefix(b"\t")?),
        None => (None, line.strip_prefix(b"\t\t")?),
    };
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (id, rest) = rest.split_at_checked(digits)?;
    let session = std::str::from_utf8(id).ok()?.parse().ok()?;
    let rest = rest.strip_prefix(b" ")?;
    let end = rest.iter().position(|byte| *byte == b'\t').unwrap_or(rest.len());
    let (name, argument) = rest.split_at_checked(end)?;
    let name = name.trim_ascii();
    let name = COMMANDS.iter().find(|it| it.as_bytes() == name)?;
    Some(Command { at_us, session, name, argument: argument.get(1..).unwrap_or_default() })
}

#[derive(Debug, Default)]
struct General {
    at_us: Option<i64>,
    session: u64,
    is_prepared: bool,
    /// The statement, if one is being read.
    text: Option<Vec<u8>>,
    is_long: bool,
    databases: HashMap<u64, String>,
    has_begun: bool,
}

impl Reader for General {
    fn line(&mut self, line: &[u8], out: &mut dyn Sink) {
        if let Some(command) = command(line) {
            self.finish(out);
            self.has_begun = true;
            self.command(&command, out);
            return;
        }
        let is_banner = line.ends_with(b"started with:");
        if is_banner {
            self.finish(out);
            self.has_begun = false;
        } else if let Some(text) = &mut self.text {
            if text.len() + line.len() > TEXT_MAX {
                self.is_long = true;
                return;
            }
            text.push(b'\n');
            text.extend_from_slice(line);
        } else if self.has_begun && !line.is_empty() {
            // The lines of a prepared statement, for example: the command itself was counted.
        }
    }

    fn end(&mut self, out: &mut dyn Sink) {
        self.finish(out);
        self.databases.clear();
    }
}

impl General {
    fn command(&mut self, command: &Command<'_>, out: &mut dyn Sink) {
        self.at_us = command.at_us.or(self.at_us);
        self.session = command.session;
        match command.name {
            "Query" | "Execute" => {
                self.is_prepared = command.name == "Execute";
                self.is_long = false;
                self.text = Some(command.argument.to_vec());
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

    fn finish(&mut self, out: &mut dyn Sink) {
        let Some(text) = self.text.take() else { return };
        let is_use = text.get(..4).is_some_and(|it| it.eq_ignore_ascii_case(b"use "));
        if is_use {
            self.use_database(&shown(text.get(4..).unwrap_or_default()));
        }
        out.entry(&Entry {
            dialect: Dialect::MySql,
            at_us: self.at_us,
            session: Some(self.session),
            database: self.databases.get(&self.session).map(String::as_str),
            text: &text,
            parameters: &[],
            is_prepared: self.is_prepared,
            calls: 1,
            time_us: None,
            is_cut: self.is_long,
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
            let found = command(line.as_bytes()).unwrap();
            assert_eq!(
                (found.session, found.name, found.argument),
                (11, "Query", b"SELECT 1".as_slice())
            );
        }
        assert_eq!(command(b"\t\t   7 Quit\t").unwrap().name, "Quit");
        assert!(command(b"\t\t   7 of them").is_none());
        assert!(command(b"  where x = 1").is_none());
    }
}
