//! Reads logs into fingerprints and transactions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead};
use std::ops::Range;

use assay_model::limits::captured::{LIST, WIDTH};
use assay_model::limits::user::STATEMENT_BYTES;
use assay_model::{Dialect, SessionSetting};

use crate::fingerprints::{
    BETWEEN, Fingerprint, Fingerprints, ParameterRow, ROW_BYTES, StatementCall,
};
use crate::probe::LogProbe;
use crate::reader::{EntrySink, LogEntry, LogHints, Skip, each_line, without_mark};
use crate::sessions::{SentStatement, Sessions, TransactionShape, Transactions};
use crate::settings::{LostSettings, SettingsTracker};
use crate::sql::kind::{StatementEffect, does};
use crate::sql::normal::Normalizer;
use crate::sql::set::changes;
use crate::sql::token::{SqlToken, TokenView, tokenize};
use crate::sql::value::combined;

const TOKENS_MAX: usize = 1 << 20;

const SESSIONS: usize = 1_000_000;

/// Exact first statements of assay's own sessions (`assay_wire::OWN_FIRST`). Users may write the same comment
/// elsewhere.
const OWN_FIRST: [&[u8]; 3] = [
    b"/* assay */ SELECT 1",
    b"/* assay */ SET SESSION max_execution_time = 0",
    b"/* assay */ SET statement_timeout = 0",
];

const SCRIPT: &str = "sql";

const DATABASES: usize = 10_000;

#[derive(Debug, Default)]
pub struct Capture {
    given: LogHints,
    intake: Intake,
}

#[derive(Debug)]
pub struct CapturedLogs {
    pub counts: LogCounts,
    /// Sessions that sent a statement; 0 if the logs do not show it.
    pub sessions: u64,
    pub(crate) transactions: Transactions,
    pub(crate) fingerprints: Vec<Fingerprint>,
    pub(crate) shapes: Vec<TransactionShape>,
    pub(crate) databases: Vec<String>,
    /// Distinct sets of session settings, by number.
    pub(crate) settings: Vec<Vec<SessionSetting>>,
    pub(crate) not_carried: LostSettings,
    /// Sessions that began before the logs, and their calls.
    pub(crate) begun_before: (u64, u64),
}

impl Capture {
    pub fn new(given: LogHints) -> Self {
        Self { given, intake: Intake::default() }
    }

    /// Reads a log to its end. `head` is its beginning, from which `probe` follows.
    pub fn read(
        &mut self,
        name: &str,
        head: &[u8],
        probe: &LogProbe,
        source: &mut dyn BufRead,
    ) -> io::Result<()> {
        self.intake.counts.begin(name, probe.format.name);
        self.intake.is_script = probe.format.name == SCRIPT;
        let mut reader = (probe.format.open)(without_mark(head), &self.given);
        let intake = &mut self.intake;
        // The reader counts lines that were truncated because of their length.
        let result = each_line(source, |line| {
            intake.counts.line();
            reader.line(line, intake);
        });
        reader.end(intake);
        result
    }

    /// Records that the last log is truncated.
    pub fn cut_off(&mut self) {
        self.intake.counts.cut();
    }

    pub fn finish(mut self) -> CapturedLogs {
        self.intake.sessions.forget_all();
        let Intake { counts, fingerprints, sessions, databases, seen, settings, .. } = self.intake;
        CapturedLogs {
            counts,
            sessions: seen.len() as u64,
            transactions: sessions.transactions,
            shapes: sessions.shapes,
            fingerprints: fingerprints.into_all(),
            databases: databases.names,
            not_carried: settings.not_carried.clone(),
            begun_before: (settings.begun_before, settings.calls_of_begun_before),
            settings: settings.into_sets(),
        }
    }
}

#[derive(Debug, Default)]
struct Databases {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Databases {
    fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let number =
            u32::try_from(self.names.len()).ok().filter(|_| self.names.len() < DATABASES)?;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Some(number)
    }
}

#[derive(Debug, Default)]
struct Intake {
    counts: LogCounts,
    fingerprints: Fingerprints,
    sessions: Sessions,
    settings: SettingsTracker,
    databases: Databases,
    seen: HashSet<u64>,
    /// Sessions that sent a statement since they began, or whose beginning is unknown.
    begun: HashSet<u64>,
    own: HashSet<u64>,
    /// The statements come from a file written by users.
    is_script: bool,
    // Reused buffers.
    tokens: Vec<SqlToken>,
    normalizer: Normalizer,
    values: Vec<(bool, u64)>,
}

impl EntrySink for Intake {
    fn entry(&mut self, entry: &LogEntry<'_>) {
        if let Some(at) = entry.at_us {
            self.counts.time(at);
        }
        if self.is_own(entry) {
            return self.counts.skip(Skip::Own, entry.calls);
        }
        if let Some(session) = entry.session.filter(|_| self.seen.len() < SESSIONS) {
            self.seen.insert(session);
        }
        if entry.text.len() > STATEMENT_BYTES {
            return self.skip_entry(Skip::TooLong, entry);
        }
        let mut tokens = std::mem::take(&mut self.tokens);
        let is_open = tokenize(entry.text, entry.dialect, &mut tokens);
        if entry.is_cut || is_open {
            self.skip_entry(Skip::Cut, entry);
        } else if tokens.len() > TOKENS_MAX {
            self.skip_entry(Skip::TooLong, entry);
        } else {
            let parts = parts(entry.text, &tokens);
            let time_us = entry.time_us.map(|time_us| time_us / parts.len().max(1) as f64);
            parts.into_iter().for_each(|part| self.statement(entry, &tokens[part], time_us));
        }
        self.tokens = tokens;
    }

    fn skip(&mut self, why: Skip) {
        self.counts.skip(why, 1);
    }

    fn unreadable_before(&mut self, lines: u64, line: &[u8]) {
        self.counts.unreadable(lines, line);
    }

    fn failed(&mut self, session: Option<u64>) {
        if let Some(session) = session {
            self.sessions.break_off(session);
        }
    }

    fn ended(&mut self, session: u64) {
        self.forget_own(session);
        self.sessions.forget(session);
        self.settings.forget(session);
    }

    fn began(&mut self, session: u64) {
        self.forget_own(session);
        self.sessions.forget(session);
        self.settings.begin(session);
    }

    fn restarted(&mut self) {
        self.own.clear();
        self.begun.clear();
        self.sessions.forget_all();
        self.settings.forget_all();
    }
}

impl Intake {
    /// Whether assay itself sent a statement: the first one of its session is in [`OWN_FIRST`].
    fn is_own(&mut self, entry: &LogEntry<'_>) -> bool {
        let Some(session) = entry.session.filter(|_| !self.is_script) else { return false };
        if self.own.contains(&session) {
            return true;
        }
        let is_first = self.begun.len() < SESSIONS && self.begun.insert(session);
        let text = entry.text.trim_ascii();
        let text = text.strip_suffix(b";").unwrap_or(text).trim_ascii_end();
        if !is_first || entry.is_cut || !OWN_FIRST.contains(&text) {
            return false;
        }
        // An earlier session with the same number ended its transaction.
        self.sessions.forget(session);
        self.settings.forget(session);
        self.own.insert(session)
    }

    /// A session begins or ends: its number no longer identifies assay's session.
    fn forget_own(&mut self, session: u64) {
        self.own.remove(&session);
        self.begun.remove(&session);
    }

    /// Counts a statement that is not measured. It makes the transaction around it unusable.
    fn skip_entry(&mut self, why: Skip, entry: &LogEntry<'_>) {
        self.counts.skip(why, entry.calls);
        if let Some(session) = entry.session {
            self.sessions.break_off(session);
        }
    }

    fn statement(&mut self, entry: &LogEntry<'_>, tokens: &[SqlToken], time_us: Option<f64>) {
        let does = does(entry.text, tokens, entry.dialect);
        let writes = match does {
            StatementEffect::Read => false,
            StatementEffect::Write => true,
            StatementEffect::Nothing => return,
            StatementEffect::Unknown => {
                let first = tokens.first().and_then(|it| entry.text.get(it.start..));
                let line = first.unwrap_or_default().split(|byte| *byte == b'\n').next();
                self.counts.unreadable(0, line.unwrap_or_default());
                return;
            }
            StatementEffect::Begin
            | StatementEffect::Commit
            | StatementEffect::Rollback
            | StatementEffect::Autocommit(_) => {
                self.counts.statements = self.counts.statements.saturating_add(entry.calls);
                self.control(entry, does);
                return self.change_settings(entry, tokens);
            }
            StatementEffect::Use | StatementEffect::Session | StatementEffect::System => {
                self.change_settings(entry, tokens);
                let why =
                    if does == StatementEffect::System { Skip::System } else { Skip::Session };
                return self.counts.skip(why, entry.calls);
            }
            StatementEffect::Dump => return self.counts.skip(Skip::Dump, entry.calls),
            StatementEffect::Outside => return self.skip_entry(Skip::Outside, entry),
            StatementEffect::Definition => {
                self.control(entry, does);
                return self.counts.skip(Skip::Definition, entry.calls);
            }
        };
        self.normalizer.normalize(entry.text, tokens, entry.dialect);
        if std::str::from_utf8(self.normalizer.text()).is_err() {
            return self.skip_entry(Skip::NotText, entry);
        }
        let is_wide = self.normalizer.params().count() > WIDTH;
        if is_wide || self.normalizer.longest_list() > LIST {
            return self.skip_entry(Skip::TooLong, entry);
        }
        let settings = self.settings.set_of(entry.session, entry.calls);
        let Some(settings) = settings else { return self.skip_entry(Skip::TooMany, entry) };
        let database = entry.database.and_then(|name| self.databases.number(name));
        let number = self.fingerprints.count(&StatementCall {
            text: self.normalizer.text(),
            dialect: entry.dialect,
            database,
            writes,
            settings,
            calls: entry.calls,
            time_us,
            is_prepared: entry.is_prepared,
        });
        let Some(number) = number else { return self.skip_entry(Skip::TooMany, entry) };
        self.counts.statements = self.counts.statements.saturating_add(entry.calls);
        self.note_values(entry, tokens, (number, settings), time_us);
    }

    /// Begins or ends a transaction of the session.
    fn control(&mut self, entry: &LogEntry<'_>, does: StatementEffect) {
        if let Some(session) = entry.session {
            self.sessions.control(session, does);
            self.settings.control(session, does);
        }
    }

    fn change_settings(&mut self, entry: &LogEntry<'_>, tokens: &[SqlToken]) {
        let changes = changes(entry.text, tokens, entry.dialect, entry.parameters);
        self.settings.change(entry.session, changes, entry.dialect);
    }

    fn note_values(
        &mut self,
        entry: &LogEntry<'_>,
        tokens: &[SqlToken],
        (number, settings): (usize, u32),
        time_us: Option<f64>,
    ) {
        let Self { normalizer, fingerprints, sessions, values, .. } = self;
        let (text, parameters) = (entry.text, entry.parameters);
        values.clear();
        let mut is_unknown = false;
        for param in normalizer.params() {
            let digests = param.literals(tokens, text).map(|literal| {
                is_unknown |= literal.is_unknown(parameters);
                literal.digest(parameters)
            });
            let digest =
                if param.is_list { combined(digests) } else { digests.fold(0, |_, it| it) };
            values.push((param.is_list, digest));
        }
        let session = entry.session.filter(|id| sessions.is_open(*id));
        if is_unknown {
            if let Some(id) = session {
                sessions.break_off(id);
            }
            return;
        }
        fingerprints.note(number, values, |at| {
            let literal =
                normalizer.params().nth(at).and_then(|it| it.literals(tokens, text).next());
            literal.map(|it| it.sql(parameters)).unwrap_or_default()
        });
        let each_us = time_us.map(|it| it / entry.calls.max(1) as f64);
        let place = fingerprints.place(number, each_us);
        if place.is_none() && session.is_none() {
            return;
        }
        let json = json(normalizer, tokens, text, entry.dialect, parameters);
        let rows = normalizer.rows();
        if let Some(id) = session {
            if json.len() > ROW_BYTES {
                sessions.break_off(id);
            } else {
                let digests = values.iter().map(|(_, digest)| *digest).collect();
                let values = json.clone();
                let order = fingerprints.calls();
                let sent = SentStatement {
                    fingerprint: number,
                    settings,
                    rows,
                    digests,
                    values,
                    time_us,
                    order,
                };
                sessions.send(id, sent);
            }
        }
        if let Some(place) = place {
            let row = ParameterRow { rows, values: json.into_boxed_str() };
            fingerprints.put(number, place, each_us, row);
        }
    }
}

fn json(
    normalizer: &Normalizer,
    tokens: &[SqlToken],
    text: &[u8],
    dialect: Dialect,
    parameters: &[Option<Vec<u8>>],
) -> String {
    let mut out = String::new();
    for (at, param) in normalizer.params().enumerate() {
        if at > 0 {
            out.push(BETWEEN);
        }
        if !param.is_list {
            param.literals(tokens, text).for_each(|it| it.push_json(dialect, parameters, &mut out));
            continue;
        }
        out.push('[');
        for (at, literal) in param.literals(tokens, text).enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            literal.push_json(dialect, parameters, &mut out);
        }
        out.push(']');
    }
    out
}

/// Ranges of the semicolon-separated statements. A definition is one, whatever it contains.
fn parts(text: &[u8], tokens: &[SqlToken]) -> Vec<Range<usize>> {
    let view = TokenView { text, tokens };
    if view.is_any(0, &["CREATE", "ALTER"]) {
        return std::iter::once(0..tokens.len()).collect();
    }
    let mut found = Vec::new();
    let mut start = 0;
    let ends = (0..tokens.len()).filter(|at| view.is_symbol(*at, b";"));
    for end in ends.chain([tokens.len()]) {
        if end > start {
            found.push(start..end);
        }
        start = end + 1;
    }
    found
}

const NAMED: usize = 3;

/// A larger step back in time is no reordering of sessions, microseconds.
const BACK_US: i64 = 2_000_000;

const SHOWN: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    pub name: String,
    pub format: &'static str,
    pub lines: u64,
    /// Its compressed content is truncated.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableLine {
    pub file: String,
    pub line: u64,
    pub text: String,
}

#[derive(Debug, Clone, Default)]
pub struct LogCounts {
    pub files: Vec<FileRead>,
    /// Calls of statements, including skipped ones.
    pub statements: u64,
    pub skipped: BTreeMap<Skip, u64>,
    pub unreadable: u64,
    pub first_unreadable: Vec<UnreadableLine>,
    /// First and last time, microseconds since 1970.
    pub span_us: Option<(i64, i64)>,
    pub clock_changes: u64,
    last_us: Option<i64>,
}

impl LogCounts {
    pub(crate) fn begin(&mut self, name: &str, format: &'static str) {
        self.files.push(FileRead { name: name.to_owned(), format, lines: 0, is_cut: false });
        self.last_us = None;
    }

    pub(crate) fn cut(&mut self) {
        if let Some(file) = self.files.last_mut() {
            file.is_cut = true;
        }
    }

    pub(crate) fn line(&mut self) {
        if let Some(file) = self.files.last_mut() {
            file.lines += 1;
        }
    }

    pub(crate) fn skip(&mut self, why: Skip, calls: u64) {
        self.statements = self.statements.saturating_add(calls);
        let count = self.skipped.entry(why).or_default();
        *count = count.saturating_add(calls);
    }

    pub(crate) fn unreadable(&mut self, lines_before: u64, line: &[u8]) {
        self.unreadable += 1;
        if self.first_unreadable.len() < NAMED
            && let Some(file) = self.files.last()
        {
            let text: String = String::from_utf8_lossy(line).chars().take(SHOWN).collect();
            let found = UnreadableLine {
                file: file.name.clone(),
                line: file.lines.saturating_sub(lines_before).max(1),
                text,
            };
            self.first_unreadable.push(found);
        }
    }

    pub(crate) fn time(&mut self, at_us: i64) {
        self.clock_changes += u64::from(self.last_us.is_some_and(|last| at_us < last - BACK_US));
        self.last_us = Some(at_us);
        let (first, last) = self.span_us.unwrap_or((at_us, at_us));
        self.span_us = Some((first.min(at_us), last.max(at_us)));
    }
}
