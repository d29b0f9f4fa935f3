//! Runs the read-only statements of a user's tests to compare the answers of servers, each with enough values to find
//! differences that only few of them show, in bounded time.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{Class, Dialect, Setup, StatementMode, Test};
use assay_wire::{
    AnswerColumn, AnswerSummary, ConnectOptions, Connection, TakeRow, TakeValues, WireError,
    code_name,
};
use assay_workloads::sql::{is_control, only_reads, statements};
use assay_workloads::{
    EventBuf, EventProgram, Operation, ProgramClient, ProgramStatement, open_choice, orders_rows,
    rounded, undetermined,
};

use crate::control::{cancel, end_connections, execute, query};
use crate::error::{LoadError, Result};
use crate::prepared_program::connect_as_client;
use crate::statement_answer::{AnswerColumns, AnswerOutcome, AnswerRows, StatementAnswer, shown};

const LIMIT: Duration = Duration::from_secs(10);

/// Timeout of the connection, longer than `LIMIT`: a statement is ended before that.
const SILENCE: Duration = Duration::from_secs(15);

/// Events to look at: some kinds of events, and some values, are rare.
const EVENTS: u64 = 2000;

/// A test ends after this many events without anything new.
const STALE: u64 = 500;

const WARNINGS: usize = 20;

/// Slow statements are each asked a few times, but may exceed the time at most by this factor.
const OVER: u32 = 3;

/// Bytes of rows kept from all answers of a system. Beyond that, one row per answer is kept.
const ROOM: usize = 64 << 20;

/// The read-only tests of a user's workload, without mixes of tests that are among them.
fn comparable(tests: &[Test]) -> Vec<Test> {
    let is_read = |test: &&Test| test.class == Class::Read && test.user_data().is_some();
    let names: BTreeSet<&str> = tests.iter().map(|test| test.name()).collect();
    let is_covered = |test: &Test| {
        let mut kinds = test.definition().roles.iter().flat_map(|role| &role.script.mix);
        kinds.all(|kind| kind.name != test.name && names.contains(kind.name.as_str()))
    };
    tests.iter().filter(is_read).filter(|test| !is_covered(test)).copied().collect()
}

/// Asks a server the read-only statements of these tests, with as many values as fit the time. Slow statements may
/// exceed it, up to a bound.
pub fn ask_statements(
    options: &ConnectOptions,
    dialect: Dialect,
    tests: &[Test],
    seed: u64,
    time: Duration,
) -> Result<Vec<StatementAnswer>> {
    let began = Instant::now();
    let mut answers = Vec::new();
    let mut room = ROOM;
    let setup = Setup { clients: 1, tables: 1, rows: 1 };
    let program = |test| Arc::new(EventProgram::new(dialect, test, setup, StatementMode::Text));
    let programs: Vec<(Test, Arc<EventProgram>)> =
        comparable(tests).into_iter().map(|test| (test, program(test))).collect();
    let mut statements: usize =
        programs.iter().map(|(_, program)| program.statements().len()).sum();
    for (test, program) in programs {
        if began.elapsed() > time * OVER {
            break;
        }
        for session in 0..program.sessions().len() {
            let own = program.statements().iter().filter(|own| own.session == session).count();
            let each = share(time.saturating_sub(began.elapsed()), statements);
            statements = statements.saturating_sub(own);
            let program = (Arc::clone(&program), session);
            let mut asking = AnswerSession::new(options, dialect, test, program, (each, room))?;
            asking.events(seed, each * u32::try_from(own).unwrap_or(u32::MAX) * 2)?;
            room = asking.room;
            answers.append(&mut asking.answers);
        }
    }
    Ok(answers)
}

#[derive(Clone, Copy)]
pub(crate) struct RepeatForm<'a> {
    pub(crate) number: usize,
    /// Rewrites the statement; `None` if it has no such form.
    pub(crate) form: &'a dyn Fn(&str) -> Option<String>,
}

/// The statements of a test that share session settings, on one connection.
pub(crate) struct AnswerSession {
    options: ConnectOptions,
    dialect: Dialect,
    test: Arc<str>,
    program: Arc<EventProgram>,
    session: usize,
    wire: Connection,
    event: EventBuf,
    wanted: WantedValues,
    /// Bytes of rows that may still be kept.
    room: usize,
    columns: BTreeMap<usize, Arc<AnswerColumns>>,
    /// Postgres type names by OID.
    types: BTreeMap<String, String>,
    collation: Option<String>,
    answers: Vec<StatementAnswer>,
    has_only_rows: bool,
}

impl AnswerSession {
    pub(crate) fn new(
        options: &ConnectOptions,
        dialect: Dialect,
        test: Test,
        (program, session): (Arc<EventProgram>, usize),
        (each, room): (Duration, usize),
    ) -> Result<Self> {
        let options = ConnectOptions { timeout: SILENCE, ..options.clone() };
        let wire = connect_as_client(&options, &program, session)?;
        let is_work = |(_, it): &(usize, &ProgramStatement)| {
            it.session == session && !is_control(&it.sql, dialect)
        };
        let all = program.statements().iter().enumerate().filter(is_work);
        let wanted = WantedValues::new(all.map(|(number, _)| number), each);
        Ok(Self {
            options,
            dialect,
            test: test.name.as_str().into(),
            program,
            session,
            wire,
            event: EventBuf::default(),
            wanted,
            room,
            columns: BTreeMap::new(),
            types: BTreeMap::new(),
            collation: None,
            answers: Vec::new(),
            has_only_rows: false,
        })
    }

    /// The rows of a statement of an event in another form; `None` if it has no such form or the server does not
    /// answer.
    pub(crate) fn again(
        &mut self,
        client: &ProgramClient,
        sequence: u64,
        again: RepeatForm<'_>,
    ) -> Result<Option<AnswerRows>> {
        self.has_only_rows = true;
        self.answers.clear();
        self.event(client, sequence, Some(again))?;
        Ok(match self.answers.pop().map(|answer| answer.outcome) {
            Some(AnswerOutcome::Answer(rows)) => Some(*rows),
            _ => None,
        })
    }

    pub(crate) fn connect(&self) -> Result<Connection> {
        connect_as_client(&self.options, &self.program, self.session)
    }

    fn events(&mut self, seed: u64, time: Duration) -> Result<()> {
        let began = Instant::now();
        let client = ProgramClient::new(Arc::clone(&self.program), seed, 0);
        let mut stale = 0;
        for sequence in 0..EVENTS {
            let is_late = || began.elapsed() > time && self.wanted.has_least();
            if self.wanted.is_over() || stale > STALE || is_late() {
                break;
            }
            let before = self.answers.len();
            if !self.event(&client, sequence, None)? {
                continue;
            }
            stale = if self.answers.len() > before { 0 } else { stale + 1 };
        }
        Ok(())
    }

    /// Runs the statements of an event, up to one that fails or the one of `again`. Returns false for an event of
    /// another session.
    fn event(
        &mut self,
        client: &ProgramClient,
        sequence: u64,
        again: Option<RepeatForm<'_>>,
    ) -> Result<bool> {
        let mut event = std::mem::take(&mut self.event);
        client.write_event(sequence, 0, &mut event);
        if event.session() != self.session {
            self.event = event;
            return Ok(false);
        }
        let places = self.program.statements().iter().flat_map(|it| &it.keep);
        let mut kept: Vec<Option<Vec<u8>>> =
            vec![None; places.max().map_or(0, |last| *last as usize + 1)];
        let program = Arc::clone(&self.program);
        let mut goes_on = true;
        while goes_on {
            let mut seen = BTreeSet::new();
            for operation in event.operations() {
                let Operation::Execute { statement: number, arguments } = operation else {
                    continue;
                };
                let statement = &program.statements()[number];
                // Multi-statement messages and repetitions have no separate answer.
                if statements(&statement.sql, self.dialect).len() > 1 || !seen.insert(number) {
                    continue;
                }
                let mut sql = Vec::new();
                statement.push_text(self.dialect.has_escapes(), arguments, &kept, &mut sql);
                let is_again = again.is_some_and(|it| it.number == number);
                if let Some(RepeatForm { form, .. }) = again.filter(|_| is_again) {
                    let Some(form) = form(&String::from_utf8_lossy(&sql)) else {
                        goes_on = false;
                        break;
                    };
                    sql = form.into_bytes();
                }
                let is_wanted = is_again || again.is_none() && self.wanted.takes(number, &sql);
                // Skip statements that change nothing and that nothing depends on.
                let is_needed = is_wanted
                    || !statement.keep.is_empty()
                    || is_control(&statement.sql, self.dialect)
                    || !only_reads(&statement.sql, self.dialect);
                if !is_needed {
                    continue;
                }
                let wanted = is_wanted.then_some((number, sequence));
                goes_on = self.statement(statement, &sql, wanted, &mut kept)? && !is_again;
                if !goes_on {
                    break;
                }
            }
            if !goes_on {
                self.begin_again()?;
            }
            goes_on = goes_on && client.write_rest(&kept, &mut event);
        }
        self.event = event;
        Ok(true)
    }

    /// Runs a statement and records its answer if one is wanted for this number and event. Returns whether the event
    /// can go on.
    fn statement(
        &mut self,
        statement: &ProgramStatement,
        sql: &[u8],
        wanted: Option<(usize, u64)>,
        kept: &mut [Option<Vec<u8>>],
    ) -> Result<bool> {
        let text = String::from_utf8_lossy(sql).into_owned();
        let most = if self.room == 0 { 1 } else { usize::MAX };
        let most = wanted.map_or(0, |(number, _)| self.wanted.rows_kept(number)).min(most);
        let choice = open_choice(&text, self.dialect);
        let sums_unsorted = choice.as_ref().is_some_and(|it| it.is_within_values);
        let (mut rows, mut first) = (AnswerRows::keeping(most, sums_unsorted), None);
        let began = Instant::now();
        let (answer, is_late) = self.in_time(sql, &mut |columns, values| {
            if first.is_none() {
                let row = values.iter().map(|value| value.map(<[u8]>::to_vec));
                first = Some(row.collect::<Vec<_>>());
            }
            if wanted.is_some() {
                rows.add(&compared(columns, values));
            }
        });
        let outcome = match answer {
            Err(_) if is_late => {
                self.end_statement(began)?;
                AnswerOutcome::Late
            }
            Ok(summary) => {
                for (place, value) in statement.keep.iter().zip(first.unwrap_or_default()) {
                    kept[*place as usize] = value;
                }
                let Some((number, _)) = wanted else { return Ok(true) };
                self.room = self.room.saturating_sub(rows.bytes());
                if !self.has_only_rows {
                    rows = self.described(number, &text, summary, rows)?;
                }
                AnswerOutcome::Answer(Box::new(rows))
            }
            Err(WireError::Server { code, message, .. }) => {
                let message = shown(&format!("error {}: {message}", code_name(code)));
                AnswerOutcome::Refused { code, message }
            }
            Err(WireError::Timeout { .. }) => {
                self.end_statement(began)?;
                AnswerOutcome::Late
            }
            // The answer is unreadable, for example too long.
            Err(cause @ (WireError::Protocol(_) | WireError::Usage(_))) => {
                self.end_statement(began)?;
                AnswerOutcome::Refused { code: 0, message: shown(&cause.to_string()) }
            }
            Err(cause) => return Err(LoadError::query(sql, cause)),
        };
        let goes_on = matches!(outcome, AnswerOutcome::Answer(_));
        if let Some((number, event)) = wanted {
            self.wanted.count(number, began.elapsed());
            // Other values would be as slow, and a statement without parameters has no others.
            if outcome == AnswerOutcome::Late || statement.params.is_empty() {
                self.wanted.end(number);
            }
            self.answers.push(StatementAnswer {
                test: Arc::clone(&self.test),
                statement: statement.sql.as_str().into(),
                is_ordered: orders_rows(&text, self.dialect),
                undetermined: undetermined(&text, self.dialect),
                choice,
                sent: shown(&text),
                event,
                outcome,
            });
        }
        Ok(goes_on)
    }

    /// Runs a statement. If the answer, which may have endless rows, takes too long, its connection is ended, and the
    /// second value is true.
    fn in_time(
        &mut self,
        sql: &[u8],
        take: TakeValues<'_>,
    ) -> (Result<AnswerSummary, WireError>, bool) {
        let options = &self.options;
        let id = self.wire.connection_id().into();
        let wire = &mut self.wire;
        let (done, wait) = channel::<()>();
        thread::scope(|scope| {
            let waiter = scope.spawn(move || {
                let is_late = wait.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout);
                if is_late {
                    drop(end_connections(options, &[id]));
                }
                is_late
            });
            let answer = wire.answer(sql, take);
            drop(done);
            (answer, waiter.join().unwrap_or(false))
        })
    }

    fn end_statement(&mut self, began: Instant) -> Result<()> {
        let id = self.wire.connection_id();
        // If the server does not end it either, there is still no answer.
        drop(cancel(&self.options, &[id.into()], began.elapsed()));
        self.wire = connect_as_client(&self.options, &self.program, self.session)?;
        Ok(())
    }

    /// Ends any transaction the last statement left open, so that the next event finds a clean session.
    fn begin_again(&mut self) -> Result<()> {
        match self.wire.execute_text(b"ROLLBACK") {
            Ok(_) | Err(WireError::Server { .. }) => Ok(()),
            Err(cause) => Err(LoadError::query(b"ROLLBACK", cause)),
        }
    }

    fn described(
        &mut self,
        number: usize,
        sql: &str,
        summary: AnswerSummary,
        mut answer: AnswerRows,
    ) -> Result<AnswerRows> {
        let mut warnings = match self.dialect {
            Dialect::MySql => self.warnings()?,
            Dialect::Postgres => {
                let notices = summary.notices.into_iter();
                notices.map(|it| (it.state, format!("{}: {}", it.severity, it.message))).collect()
            }
        };
        warnings.sort();
        warnings.dedup();
        warnings.truncate(WARNINGS);
        answer.warnings = warnings;
        let (mut columns, mut of_tables) = (AnswerColumns::default(), Vec::new());
        for column in summary.columns {
            let kind = match self.dialect {
                Dialect::MySql => column.kind,
                Dialect::Postgres => self.type_name(column.kind)?,
            };
            of_tables.push(column.is_of_table);
            columns.names.push(column.name);
            columns.types.push(kind);
        }
        let known = self.columns.get(&number);
        let is_known =
            |it: &&Arc<AnswerColumns>| it.names == columns.names && it.types == columns.types;
        // Columns of the same names and types have the same collations, whatever the values.
        if let Some(known) = known.filter(is_known) {
            answer.columns = Arc::clone(known);
            return Ok(answer);
        }
        if self.dialect == Dialect::MySql {
            columns.collations = self.collations(sql, &columns.names)?;
            columns.connection = self.collation_of_connection()?;
            columns.of_connection = self.of_connection(sql, &columns, &of_tables)?;
        }
        answer.columns = Arc::new(columns);
        self.columns.insert(number, Arc::clone(&answer.columns));
        Ok(answer)
    }

    fn warnings(&mut self) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        self.take_rows("SHOW WARNINGS", &mut |row| found.push((text_at(row, 1), text_at(row, 2))))?;
        Ok(found)
    }

    fn take_rows(&mut self, sql: &str, take: &mut TakeRow<'_>) -> Result<()> {
        let taken = self.wire.answer(sql.as_bytes(), &mut |_, row| take(row));
        taken.map(drop).map_err(|cause| LoadError::query(sql.as_bytes(), cause))
    }

    /// Collations of a query's columns. Replies lack them, so an empty temporary table is made from the query. Empty if
    /// that fails.
    fn collations(&mut self, sql: &str, names: &[String]) -> Result<Vec<Option<String>>> {
        const TABLE: &str = "assay_answer";
        let query = sql.trim_end().trim_end_matches(';');
        let create = format!(
            "CREATE TEMPORARY TABLE {TABLE} AS SELECT * FROM ({query}\n) AS answer LIMIT 0"
        );
        let began = Instant::now();
        match self.wire.answer(create.as_bytes(), &mut |_, _| ()) {
            Ok(_) => {}
            Err(WireError::Server { .. }) => return Ok(Vec::new()),
            Err(WireError::Timeout { .. }) => {
                self.end_statement(began)?;
                return Ok(Vec::new());
            }
            Err(cause) => return Err(LoadError::query(create.as_bytes(), cause)),
        }
        let mut found = Vec::new();
        self.take_rows(&format!("SHOW FULL COLUMNS FROM {TABLE}"), &mut |row| {
            found.push(row.get(2).copied().flatten().map(lossy));
        })?;
        execute(&mut self.wire, format!("DROP TEMPORARY TABLE {TABLE}").as_bytes())?;
        Ok(if found.len() == names.len() { found } else { Vec::new() })
    }

    /// Which columns of a query depend on the collation of the connection. Table columns have their own, as do most
    /// expressions over them; replies do not distinguish them.
    fn of_connection(
        &mut self,
        sql: &str,
        columns: &AnswerColumns,
        of_tables: &[bool],
    ) -> Result<Vec<bool>> {
        let Some(connection) = columns.connection.as_deref() else { return Ok(Vec::new()) };
        let mut all = columns.collations.iter().zip(of_tables);
        if !all.any(|(it, is_of_table)| it.as_deref() == Some(connection) && !is_of_table) {
            return Ok(Vec::new());
        }
        if !self.set_collation(&other_collation(connection))? {
            return Ok(Vec::new());
        }
        let found = self.collations(sql, &columns.names)?;
        self.set_collation(connection)?;
        Ok(columns.collations.iter().zip(&found).map(|(one, other)| one != other).collect())
    }

    fn set_collation(&mut self, name: &str) -> Result<bool> {
        let sql = format!("SET SESSION collation_connection = {name}");
        match self.wire.execute_text(sql.as_bytes()) {
            Ok(_) => Ok(true),
            Err(WireError::Server { .. }) => Ok(false),
            Err(cause) => Err(LoadError::query(sql.as_bytes(), cause)),
        }
    }

    fn collation_of_connection(&mut self) -> Result<Option<String>> {
        if self.collation.is_none() {
            let found = query(&mut self.wire, "SELECT @@SESSION.collation_connection")?;
            self.collation = found.first_string();
        }
        Ok(self.collation.clone())
    }

    /// Name of a Postgres type: user-defined types have a different number on each server.
    fn type_name(&mut self, kind: String) -> Result<String> {
        if let Some(known) = self.types.get(&kind) {
            return Ok(known.clone());
        }
        let (number, modifier) = kind.split_once(' ').unwrap_or((&kind, "-1"));
        let sql = format!("SELECT pg_catalog.format_type({number}::oid, {modifier})");
        let name = query(&mut self.wire, &sql)?.first_string().unwrap_or_default();
        self.types.insert(kind, name.clone());
        Ok(name)
    }
}

/// Values of a row prepared for comparison: floating-point numbers are rounded.
fn compared<'v>(
    columns: &[AnswerColumn],
    values: &[Option<&'v [u8]>],
) -> Vec<Option<Cow<'v, [u8]>>> {
    let value = |(number, value): (usize, &Option<&'v [u8]>)| {
        let is_short = columns.get(number).and_then(|column| is_short_float(&column.kind));
        value.map(|value| match is_short {
            Some(is_short) => Cow::Owned(rounded(value, is_short)),
            None => Cow::Borrowed(value),
        })
    };
    values.iter().enumerate().map(value).collect()
}

/// `None` if the type is not floating-point; otherwise whether it has only 4 bytes.
fn is_short_float(kind: &str) -> Option<bool> {
    // Postgres reports types by number.
    match kind.split(' ').next().unwrap_or_default() {
        "float" | "700" => Some(true),
        "double" | "701" => Some(false),
        _ => None,
    }
}

/// Another collation of the same character set. All sets except `binary` have one.
fn other_collation(name: &str) -> String {
    let (set, rest) = name.split_once('_').unwrap_or((name, ""));
    format!("{set}_{}", if rest == "bin" { "general_ci" } else { "bin" })
}

fn text_at(row: &[Option<&[u8]>], place: usize) -> String {
    row.get(place).copied().flatten().map(lossy).unwrap_or_default()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Values tried with a statement, however slow it is.
const VALUES_LEAST: u32 = 3;

/// Values tried with a fast statement.
const VALUES_MOST: u32 = 300;

const EACH: Duration = Duration::from_secs(1);

/// Rows kept to show differences: of a statement's first answers, and of later ones.
const ROWS_FIRST: usize = 200;
const ROWS_LATER: usize = 20;
const ANSWERS_FIRST: u32 = 3;

/// Share of a study's time for asking all systems.
const BUDGET_SHARE: f64 = 0.1;

/// Bounds of the time for asking a system, seconds.
const SYSTEM_TIME_S: (f64, f64) = (10.0, 60.0);

pub fn time_of_answers(budget_s: f64, systems: usize) -> Duration {
    let (least, most) = SYSTEM_TIME_S;
    let part = budget_s * BUDGET_SHARE / systems.max(1) as f64;
    Duration::from_secs_f64(if part.is_finite() { part.clamp(least, most) } else { most })
}

/// Splits the remaining time evenly, up to `EACH`.
pub(crate) fn share(left: Duration, statements: usize) -> Duration {
    (left / u32::try_from(statements).unwrap_or(u32::MAX).max(1)).min(EACH)
}

/// Statements of a test still to be asked with other values, by number.
pub(crate) struct WantedValues {
    open: BTreeMap<usize, TriedValues>,
    each: Duration,
}

#[derive(Default)]
struct TriedValues {
    texts: BTreeSet<u64>,
    times: u32,
    time: Duration,
}

impl WantedValues {
    pub(crate) fn new(statements: impl Iterator<Item = usize>, each: Duration) -> Self {
        Self { open: statements.map(|number| (number, TriedValues::default())).collect(), each }
    }

    /// Whether a statement is wanted with these values; true only once for each text.
    pub(crate) fn takes(&mut self, number: usize, sql: &[u8]) -> bool {
        let Some(tried) = self.open.get_mut(&number) else { return false };
        let mut hasher = DefaultHasher::new();
        sql.hash(&mut hasher);
        tried.texts.insert(hasher.finish())
    }

    pub(crate) fn count(&mut self, number: usize, took: Duration) {
        let Some(tried) = self.open.get_mut(&number) else { return };
        tried.times += 1;
        tried.time = tried.time.saturating_add(took);
        if tried.times >= VALUES_MOST || (tried.times >= VALUES_LEAST && tried.time >= self.each) {
            self.end(number);
        }
    }

    pub(crate) fn end(&mut self, number: usize) {
        self.open.remove(&number);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn has_least(&self) -> bool {
        self.open.values().all(|tried| tried.times >= VALUES_LEAST)
    }

    pub(crate) fn rows_kept(&self, number: usize) -> usize {
        let is_first = self.open.get(&number).is_none_or(|tried| tried.times < ANSWERS_FIRST);
        if is_first { ROWS_FIRST } else { ROWS_LATER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn values_are_taken_once() {
        let mut wanted = WantedValues::new(0..2, EACH);
        assert!(wanted.takes(0, b"SELECT 1"));
        assert!(!wanted.takes(0, b"SELECT 1"));
        assert!(wanted.takes(1, b"SELECT 1"));
        assert!(!wanted.takes(2, b"SELECT 1"), "no such statement");
    }

    #[test]
    fn a_cheap_statement_gets_hundreds_of_values_and_a_slow_one_few() {
        let asked = |took: Duration| {
            let mut wanted = WantedValues::new(0..1, EACH);
            let mut times = 0;
            while !wanted.is_over() {
                wanted.count(0, took);
                times += 1;
            }
            times
        };
        assert_eq!([MS, 50 * MS, 5000 * MS].map(asked), [VALUES_MOST, 20, VALUES_LEAST]);
    }

    #[test]
    fn few_rows_of_later_answers_are_kept() {
        let mut wanted = WantedValues::new(0..1, EACH);
        let kept = [0, 1, 2, 3].map(|_| {
            let kept = wanted.rows_kept(0);
            wanted.count(0, MS);
            kept
        });
        assert_eq!(kept, [ROWS_FIRST, ROWS_FIRST, ROWS_FIRST, ROWS_LATER]);
    }

    #[test]
    fn the_time_follows_from_the_study_and_is_shared() {
        let seconds = |budget, systems| time_of_answers(budget, systems).as_secs();
        assert_eq!([seconds(900.0, 2), seconds(60.0, 2), seconds(1e6, 2)], [45, 10, 60]);
        assert_eq!(seconds(f64::NAN, 0), 60);
        assert_eq!(share(Duration::from_secs(45), 90), 500 * MS);
        assert_eq!(share(Duration::from_secs(45), 1), EACH);
        assert_eq!(share(Duration::ZERO, 0), Duration::ZERO);
    }
}
