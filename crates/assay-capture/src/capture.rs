//! Reads logs into fingerprints and transactions.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};
use std::ops::Range;

use assay_model::{Dialect, SessionSetting};

use crate::counts::Counts;
use crate::entry::{Entry, Sink, Skip};
use crate::fingerprints::{Call, Fingerprint, Fingerprints};
use crate::lines;
use crate::probe::Probe;
use crate::reader::{Given, without_mark};
use crate::sample::{BETWEEN, ROW_BYTES, Row};
use crate::sessions::{Sent, Sessions, Shape, Transactions, VALUES_MAX};
use crate::settings::{NotCarried, Settings};
use crate::sql::kind::{Does, does};
use crate::sql::normal::Normalizer;
use crate::sql::set::changes;
use crate::sql::token::{Kind, Token, tokenize};
use crate::sql::value::combined;

/// Maximum length of a workload's statement, bytes.
const TEXT_MAX: usize = 4 << 20;

const TOKENS_MAX: usize = 1 << 20;

const LIST_MAX: usize = 10_000;

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
    given: Given,
    intake: Intake,
}

#[derive(Debug)]
pub struct Captured {
    pub counts: Counts,
    /// Sessions that sent a statement; 0 if the logs do not show it.
    pub sessions: u64,
    pub(crate) transactions: Transactions,
    pub(crate) fingerprints: Vec<Fingerprint>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) databases: Vec<String>,
    /// Distinct sets of session settings, by number.
    pub(crate) settings: Vec<Vec<SessionSetting>>,
    pub(crate) not_carried: NotCarried,
    /// Sessions that began before the logs, and their calls.
    pub(crate) begun_before: (u64, u64),
}

impl Capture {
    #[must_use]
    pub fn new(given: Given) -> Self {
        Self { given, intake: Intake::default() }
    }

    /// Reads a log to its end. `head` is its beginning, from which `probe` follows.
    pub fn read(
        &mut self,
        name: &str,
        head: &[u8],
        probe: &Probe,
        source: &mut dyn BufRead,
    ) -> io::Result<()> {
        self.intake.counts.begin(name, probe.format.name);
        self.intake.is_script = probe.format.name == SCRIPT;
        let mut reader = (probe.format.open)(without_mark(head), &self.given);
        let intake = &mut self.intake;
        // The reader counts lines that were truncated because of their length.
        let result = lines::each(source, |line| {
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

    #[must_use]
    pub fn finish(mut self) -> Captured {
        self.intake.sessions.forget_all();
        let Intake { counts, fingerprints, sessions, databases, seen, settings, .. } = self.intake;
        Captured {
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
    counts: Counts,
    fingerprints: Fingerprints,
    sessions: Sessions,
    settings: Settings,
    databases: Databases,
    seen: HashSet<u64>,
    /// Sessions that sent a statement since they began, or whose beginning is unknown.
    begun: HashSet<u64>,
    own: HashSet<u64>,
    /// The statements come from a file written by users.
    is_script: bool,
    // Reused buffers.
    tokens: Vec<Token>,
    normalizer: Normalizer,
    values: Vec<(bool, u64)>,
}

impl Sink for Intake {
    fn entry(&mut self, entry: &Entry<'_>) {
        if let Some(at) = entry.at_us {
            self.counts.time(at);
        }
        if self.is_own(entry) {
            return self.counts.skip(Skip::Own, entry.calls);
        }
        if let Some(session) = entry.session.filter(|_| self.seen.len() < SESSIONS) {
            self.seen.insert(session);
        }
        if entry.text.len() > TEXT_MAX {
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
            let time_us = entry.time_us.map(|it| it / parts.len().max(1) as f64);
            for part in parts {
                let part = tokens.get(part).unwrap_or_default();
                self.statement(entry, part, time_us);
            }
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
    fn is_own(&mut self, entry: &Entry<'_>) -> bool {
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
    fn skip_entry(&mut self, why: Skip, entry: &Entry<'_>) {
        self.counts.skip(why, entry.calls);
        if let Some(session) = entry.session {
            self.sessions.break_off(session);
        }
    }

    fn statement(&mut self, entry: &Entry<'_>, tokens: &[Token], time_us: Option<f64>) {
        let does = does(entry.text, tokens, entry.dialect);
        let writes = match does {
            Does::Read => false,
            Does::Write => true,
            Does::Nothing => return,
            Does::Unknown => {
                let first = tokens.first().and_then(|it| entry.text.get(it.start..));
                let line = first.unwrap_or_default().split(|byte| *byte == b'\n').next();
                self.counts.unreadable(0, line.unwrap_or_default());
                return;
            }
            Does::Begin | Does::Commit | Does::Rollback | Does::Autocommit(_) => {
                self.counts.statements = self.counts.statements.saturating_add(entry.calls);
                if let Some(session) = entry.session {
                    self.sessions.control(session, does);
                    self.settings.control(session, does);
                }
                self.change_settings(entry, tokens);
                return;
            }
            Does::Use | Does::Session | Does::System => {
                self.change_settings(entry, tokens);
                let why = if does == Does::System { Skip::System } else { Skip::Session };
                return self.counts.skip(why, entry.calls);
            }
            Does::Dump => return self.counts.skip(Skip::Dump, entry.calls),
            Does::Outside => return self.skip_entry(Skip::Outside, entry),
            Does::Definition => {
                if let Some(session) = entry.session {
                    self.sessions.control(session, does);
                    self.settings.control(session, does);
                }
                return self.counts.skip(Skip::Definition, entry.calls);
            }
        };
        self.normalizer.normalize(entry.text, tokens, entry.dialect);
        if std::str::from_utf8(self.normalizer.text()).is_err() {
            return self.skip_entry(Skip::NotText, entry);
        }
        let is_wide = self.normalizer.params().count() > VALUES_MAX;
        if is_wide || self.normalizer.longest_list() > LIST_MAX {
            return self.skip_entry(Skip::TooLong, entry);
        }
        let settings = self.settings.set_of(entry.session, entry.calls);
        let Some(settings) = settings else { return self.skip_entry(Skip::TooMany, entry) };
        let database = entry.database.and_then(|name| self.databases.number(name));
        let number = self.fingerprints.count(&Call {
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

    fn change_settings(&mut self, entry: &Entry<'_>, tokens: &[Token]) {
        let changes = changes(entry.text, tokens, entry.dialect, entry.parameters);
        self.settings.change(entry.session, changes, entry.dialect);
    }

    fn note_values(
        &mut self,
        entry: &Entry<'_>,
        tokens: &[Token],
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
                let sent =
                    Sent { fingerprint: number, settings, rows, digests, values, time_us, order };
                sessions.send(id, sent);
            }
        }
        if let Some(place) = place {
            let row = Row { rows, values: json.into_boxed_str() };
            fingerprints.put(number, place, each_us, row);
        }
    }
}

fn json(
    normalizer: &Normalizer,
    tokens: &[Token],
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
fn parts(text: &[u8], tokens: &[Token]) -> Vec<Range<usize>> {
    let first = tokens.first().map(|it| it.of(text).to_ascii_uppercase()).unwrap_or_default();
    if matches!(first.as_slice(), b"CREATE" | b"ALTER") {
        return std::iter::once(0..tokens.len()).collect();
    }
    let is_end = |token: &Token| token.kind == Kind::Symbol && token.of(text) == b";";
    let mut found = Vec::new();
    let mut start = 0;
    let ends = tokens.iter().enumerate().filter(|(_, it)| is_end(it)).map(|(at, _)| at);
    for end in ends.chain([tokens.len()]) {
        if end > start {
            found.push(start..end);
        }
        start = end + 1;
    }
    found
}
