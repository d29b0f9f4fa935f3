//! Postgres messages about statements: their texts, durations and parameters.

use std::collections::HashMap;

use assay_model::Dialect;

use crate::reader::{EntrySink, LogEntry, Skip};
use crate::sql::token::find;

const SESSIONS: usize = 100_000;

const DUMPS: [&[u8]; 4] = [b"pg_dump", b"pg_dumpall", b"pg_basebackup", b"pg_restore"];

/// Severities of messages about failed statements.
const FAILURES: [&[u8]; 3] = [b"ERROR", b"FATAL", b"PANIC"];

#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'m> {
    pub(super) at_us: Option<i64>,
    pub(super) session: u64,
    pub(super) database: Option<&'m str>,
    pub(super) application: &'m [u8],
    pub(super) severity: &'m [u8],
    pub(super) text: &'m [u8],
    pub(super) detail: &'m [u8],
}

/// A statement whose duration is not known yet.
#[derive(Debug)]
struct WaitingStatement {
    at_us: Option<i64>,
    database: Option<String>,
    text: Vec<u8>,
    parameters: Vec<Option<Vec<u8>>>,
    is_prepared: bool,
    is_dump: bool,
}

#[derive(Debug, Default)]
struct MessageSession {
    waiting: Option<WaitingStatement>,
    /// Time of parsing and binding, which belongs to the next execution.
    before_us: f64,
    /// The logged-in program dumps databases.
    is_dump: bool,
}

/// Combines statements, durations and parameters.
#[derive(Debug, Default)]
pub(super) struct StatementMessages {
    sessions: HashMap<u64, MessageSession>,
}

impl StatementMessages {
    pub(super) fn take(&mut self, message: &Message<'_>, out: &mut dyn EntrySink) {
        if FAILURES.contains(&message.severity) {
            if let Some(session) = self.sessions.get_mut(&message.session) {
                session.waiting = None;
                session.before_us = 0.0;
            }
            out.skip(Skip::Failed);
            return out.failed(Some(message.session));
        }
        if message.text.starts_with(b"disconnection: ") {
            self.flush(message.session, None, out);
            self.sessions.remove(&message.session);
            return out.ended(message.session);
        }
        if message.text.starts_with(b"connection authorized: ") {
            out.began(message.session);
            let name =
                find(message.text, b"application_name=").map(|at| at + b"application_name=".len());
            let name = name.and_then(|at| message.text.get(at..)).unwrap_or_default();
            let end = name.iter().position(|byte| *byte == b' ').unwrap_or(name.len());
            let is_dump = DUMPS.contains(&name.get(..end).unwrap_or_default());
            self.session(message.session, out).is_dump = is_dump;
            return;
        }
        let (duration, rest) = match duration(message.text) {
            Some((us, rest)) => (Some(us), rest),
            None => (None, message.text),
        };
        let Some((step, text)) = step(rest) else {
            // A duration alone belongs to the statement logged before it.
            if let Some(us) = duration {
                let session = self.session(message.session, out);
                match session.waiting {
                    Some(_) => self.flush(message.session, Some(us), out),
                    None => session.before_us += us,
                }
            }
            return;
        };
        self.flush(message.session, None, out);
        let session = self.session(message.session, out);
        if matches!(step, ProtocolStep::Parse | ProtocolStep::Bind) {
            session.before_us += duration.unwrap_or(0.0);
            return;
        }
        let replication = [b"START_REPLICATION".as_slice(), b"IDENTIFY_SYSTEM", b"BASE_BACKUP"];
        if replication.iter().any(|it| text.starts_with(it)) {
            return out.skip(Skip::Replication);
        }
        session.waiting = Some(WaitingStatement {
            at_us: message.at_us,
            database: message.database.map(str::to_owned),
            text: text.to_vec(),
            parameters: parameters(message.detail),
            is_prepared: step == ProtocolStep::Execute,
            is_dump: session.is_dump || DUMPS.contains(&message.application),
        });
        if duration.is_some() {
            self.flush(message.session, duration, out);
        }
    }

    pub(super) fn end(&mut self, out: &mut dyn EntrySink) {
        let mut left: Vec<u64> = self.sessions.keys().copied().collect();
        left.sort_unstable();
        for session in left {
            self.flush(session, None, out);
        }
        self.sessions.clear();
    }

    fn session(&mut self, id: u64, out: &mut dyn EntrySink) -> &mut MessageSession {
        if self.sessions.len() >= SESSIONS && !self.sessions.contains_key(&id) {
            self.end(out);
        }
        self.sessions.entry(id).or_default()
    }

    fn flush(&mut self, id: u64, time_us: Option<f64>, out: &mut dyn EntrySink) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(waiting) = session.waiting.take() else { return };
        let before_us = std::mem::take(&mut session.before_us);
        if waiting.is_dump {
            return out.skip(Skip::Dump);
        }
        out.entry(&LogEntry {
            at_us: waiting.at_us,
            session: Some(id),
            database: waiting.database.as_deref(),
            parameters: &waiting.parameters,
            is_prepared: waiting.is_prepared,
            time_us: time_us.map(|it| it + before_us),
            ..LogEntry::new(Dialect::Postgres, &waiting.text)
        });
    }
}

/// `duration: 0.343 ms` as microseconds, and the following text.
fn duration(text: &[u8]) -> Option<(f64, &[u8])> {
    let rest = text.strip_prefix(b"duration: ")?;
    let end = find(rest, b" ms")?;
    let number = std::str::from_utf8(rest.get(..end)?).ok()?;
    let ms: f64 = number.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0)?;
    Some((ms * 1e3, rest.get(end + 3..)?.trim_ascii_start()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProtocolStep {
    /// The simple protocol.
    Statement,
    Parse,
    Bind,
    Execute,
}

/// `statement: SELECT 1`, `execute <unnamed>: SELECT 1` and so on.
fn step(text: &[u8]) -> Option<(ProtocolStep, &[u8])> {
    if let Some(rest) = text.strip_prefix(b"statement: ") {
        return Some((ProtocolStep::Statement, rest));
    }
    let kinds = [
        (b"parse ".as_slice(), ProtocolStep::Parse),
        (b"bind ", ProtocolStep::Bind),
        (b"execute ", ProtocolStep::Execute),
    ];
    let (rest, step) =
        kinds.into_iter().find_map(|(word, step)| Some((text.strip_prefix(word)?, step)))?;
    // The rest of a result, which a portal returns in parts.
    let step = if rest.starts_with(b"fetch from ") { ProtocolStep::Bind } else { step };
    let colon = find(rest, b": ")?;
    Some((step, rest.get(colon + 2..)?))
}

/// `parameters: $1 = '16', $2 = NULL`
fn parameters(detail: &[u8]) -> Vec<Option<Vec<u8>>> {
    let lower = detail.get(..12).map(<[u8]>::to_ascii_lowercase);
    let is_parameters = lower.as_deref() == Some(b"parameters: ");
    let mut rest = detail.get(12..).filter(|_| is_parameters).unwrap_or_default();
    let mut found = Vec::new();
    while rest.first() == Some(&b'$') {
        let Some(at) = find(rest, b" = ") else { break };
        rest = rest.get(at + 3..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix(b"NULL") {
            found.push(None);
            rest = after;
        } else {
            let (mut value, mut at) = (Vec::new(), 1);
            loop {
                match (rest.get(at), rest.get(at + 1)) {
                    (Some(b'\''), Some(b'\'')) => {
                        value.push(b'\'');
                        at += 2;
                    }
                    (Some(b'\'') | None, _) => break,
                    (Some(byte), _) => {
                        value.push(*byte);
                        at += 1;
                    }
                }
            }
            found.push(Some(value));
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        rest = rest.strip_prefix(b", ").unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_apart() {
        assert_eq!(
            duration(b"duration: 0.5 ms  statement: X"),
            Some((500.0, b"statement: X".as_slice()))
        );
        assert_eq!(duration(b"duration: x ms"), None);
        assert_eq!(
            step(b"execute <unnamed>: SELECT 1"),
            Some((ProtocolStep::Execute, b"SELECT 1".as_slice()))
        );
        assert_eq!(
            step(b"execute S_1/C_2: SELECT 1"),
            Some((ProtocolStep::Execute, b"SELECT 1".as_slice()))
        );
        assert_eq!(step(b"connection received: host=[local]"), None);
        let value = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(
            parameters(b"Parameters: $1 = 'it''s', $2 = NULL, $3 = ''"),
            [value("it's"), None, value("")]
        );
        assert!(parameters(b"key exists").is_empty());
        assert_eq!(parameters(b"parameters: $1 = 'cut"), [value("cut")]);
    }
}
