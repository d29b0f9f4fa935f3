//! Carries out the statements of a user's tests that only read, to compare the answers of servers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::{Class, Dialect, Setup, StatementMode, Test};
use assay_wire::{ConnectOptions, Connection, Described, Error as WireError, Told, code_name};
use assay_workloads::sql::{is_control, statements};
use assay_workloads::{
    Client, EventBuf, Operation, Program, Statement, orders_rows, rounded, undetermined,
};

use crate::answered::{AnswerOutcome, Answered, RowsAnswered};
use crate::cancel::cancel;
use crate::error::{Error, Result};
use crate::rehearsal::connect_as_client;

/// How long a server may be silent before it answers.
const LIMIT: Duration = Duration::from_secs(10);

/// Events in which a statement is carried out at least.
const TIMES: u32 = 3;

/// The same where it takes little time: some answers differ for a few values only.
const TIMES_QUICK: u32 = 24;

/// A statement that takes longer in all is carried out no more than it must be.
const QUICK: Duration = Duration::from_millis(300);

/// Events that are looked at: some kinds of events are rare.
const EVENTS: u64 = 200;

/// Nothing more is asked after this time.
const ALL: Duration = Duration::from_secs(120);

/// The tests of a user's workload that only read, without mixes of tests that are among them.
fn asked(tests: &[Test]) -> Vec<Test> {
    let is_read = |test: &&Test| test.class == Class::Read && test.user_data().is_some();
    let names: BTreeSet<&str> = tests.iter().map(|test| test.name()).collect();
    let is_covered = |test: &Test| {
        let mut kinds = test.definition().roles.iter().flat_map(|role| &role.script.mix);
        kinds.all(|kind| kind.name != test.name && names.contains(kind.name.as_str()))
    };
    tests.iter().filter(is_read).filter(|test| !is_covered(test)).copied().collect()
}

/// The answers of a server to the statements of these tests that only read, with the values of their first events.
pub fn ask_statements(
    options: &ConnectOptions,
    dialect: Dialect,
    tests: &[Test],
    seed: u64,
) -> Result<Vec<Answered>> {
    let began = Instant::now();
    let mut answers = Vec::new();
    for test in asked(tests) {
        let setup = Setup { clients: 1, tables: 1, rows: 1 };
        let program = Arc::new(Program::new(dialect, test, setup, StatementMode::Text));
        let mut asking = Asking::new(options, dialect, test, program)?;
        let client = Client::new(Arc::clone(&asking.program), seed, 0);
        for sequence in 0..EVENTS {
            if asking.left.is_empty() || began.elapsed() > ALL {
                break;
            }
            asking.event(&client, sequence)?;
        }
        answers.append(&mut asking.answers);
    }
    Ok(answers)
}

/// The statements of a test on a connection.
struct Asking {
    options: ConnectOptions,
    dialect: Dialect,
    test: Test,
    program: Arc<Program>,
    wire: Connection,
    event: EventBuf,
    /// How often each statement is still to be carried out.
    left: BTreeMap<usize, Left>,
    /// Types of Postgres by their numbers.
    types: BTreeMap<String, String>,
    answers: Vec<Answered>,
}

/// How often a statement is still to be carried out.
struct Left {
    times: u32,
    /// While this lasts.
    time: Duration,
}

impl Left {
    /// Counts an execution that took so long. Whether it was the last one.
    fn is_done_after(&mut self, took: Duration) -> bool {
        self.times = self.times.saturating_sub(1);
        self.time = self.time.saturating_sub(took);
        let has_enough = self.times + TIMES <= TIMES_QUICK;
        self.times == 0 || (has_enough && self.time.is_zero())
    }
}

impl Asking {
    fn new(
        options: &ConnectOptions,
        dialect: Dialect,
        test: Test,
        program: Arc<Program>,
    ) -> Result<Self> {
        let options = ConnectOptions { timeout: LIMIT, ..options.clone() };
        let wire = connect_as_client(&options, &program)?;
        let is_work = |(_, it): &(usize, &Statement)| !is_control(&it.sql, dialect);
        let all = program.statements().iter().enumerate().filter(is_work);
        let left =
            all.map(|(number, _)| (number, Left { times: TIMES_QUICK, time: QUICK })).collect();
        let (types, answers) = (BTreeMap::new(), Vec::new());
        Ok(Self {
            options,
            dialect,
            test,
            program,
            wire,
            event: EventBuf::default(),
            left,
            types,
            answers,
        })
    }

    /// Carries out the statements of an event, up to one that fails.
    fn event(&mut self, client: &Client, sequence: u64) -> Result<()> {
        let mut event = std::mem::take(&mut self.event);
        client.write_event(sequence, 0, &mut event);
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
                let Some(statement) = program.statements().get(number) else { continue };
                // Several statements in one message, and repetitions, have no answer of their own.
                if statements(&statement.sql, self.dialect).len() > 1 || !seen.insert(number) {
                    continue;
                }
                let mut sql = Vec::new();
                statement.push_text(self.dialect.has_escapes(), arguments, &kept, &mut sql);
                goes_on = self.statement(number, statement, &sql, sequence, &mut kept)?;
                if !goes_on {
                    self.begin_again()?;
                    break;
                }
            }
            goes_on = goes_on && client.write_rest(&kept, &mut event);
        }
        self.event = event;
        Ok(())
    }

    /// Carries out a statement, and notes its answer if it is wanted. Returns whether the event can go on.
    fn statement(
        &mut self,
        number: usize,
        statement: &Statement,
        sql: &[u8],
        event: u64,
        kept: &mut [Option<Vec<u8>>],
    ) -> Result<bool> {
        let text = String::from_utf8_lossy(sql).into_owned();
        let is_wanted = self.left.contains_key(&number);
        let (mut rows, mut first) = (RowsAnswered::default(), None);
        let began = Instant::now();
        let answer = self.wire.answer(sql, &mut |columns, values| {
            if first.is_none() {
                let row = values.iter().map(|value| value.map(<[u8]>::to_vec));
                first = Some(row.collect::<Vec<_>>());
            }
            if is_wanted {
                rows.add(&compared(columns, values));
            }
        });
        let outcome = match answer {
            Ok(told) => {
                for (place, value) in statement.keep.iter().zip(first.unwrap_or_default()) {
                    if let Some(place) = kept.get_mut(*place as usize) {
                        *place = value;
                    }
                }
                if !is_wanted {
                    return Ok(true);
                }
                AnswerOutcome::Answer(Box::new(self.described(&text, told, rows)?))
            }
            Err(WireError::Server { code, message, .. }) => {
                let message = format!("error {}: {message}", code_name(code));
                AnswerOutcome::Refused { code, message }
            }
            Err(WireError::Timeout { .. }) => {
                self.end_statement(began)?;
                AnswerOutcome::Late
            }
            Err(cause) => return Err(Error::query(sql, cause)),
        };
        let goes_on = matches!(outcome, AnswerOutcome::Answer(_));
        if is_wanted {
            // A statement without an answer is not asked again.
            let is_done = |left: &mut Left| left.is_done_after(began.elapsed());
            if outcome == AnswerOutcome::Late || self.left.get_mut(&number).is_none_or(is_done) {
                self.left.remove(&number);
            }
            self.answers.push(Answered {
                test: self.test.name.clone(),
                statement: statement.sql.clone(),
                is_ordered: orders_rows(&text, self.dialect),
                undetermined: undetermined(&text, self.dialect),
                sent: text,
                event,
                outcome,
            });
        }
        Ok(goes_on)
    }

    /// Ends a statement that has no answer in time, and connects again.
    fn end_statement(&mut self, began: Instant) -> Result<()> {
        let id = self.wire.connection_id();
        // A server that does not end it either has no answer all the same.
        drop(cancel(&self.options, self.dialect, &[id.into()], began.elapsed()));
        self.wire = connect_as_client(&self.options, &self.program)?;
        Ok(())
    }

    /// Ends whatever transaction the last statement left, so that the next event finds the session as it was.
    fn begin_again(&mut self) -> Result<()> {
        match self.wire.execute_text(b"ROLLBACK") {
            Ok(_) | Err(WireError::Server { .. }) => Ok(()),
            Err(cause) => Err(Error::query(b"ROLLBACK", cause)),
        }
    }

    /// The rows with names, types, collations and warnings.
    fn described(
        &mut self,
        sql: &str,
        told: Told,
        mut answer: RowsAnswered,
    ) -> Result<RowsAnswered> {
        let mut warnings = match self.dialect {
            Dialect::MySql => self.warnings()?,
            Dialect::Postgres => {
                let notices = told.notices.into_iter();
                notices.map(|it| (it.state, format!("{}: {}", it.severity, it.message))).collect()
            }
        };
        warnings.sort();
        warnings.dedup();
        answer.warnings = warnings;
        for column in told.columns {
            let kind = match self.dialect {
                Dialect::MySql => column.kind,
                Dialect::Postgres => self.type_name(column.kind)?,
            };
            answer.names.push(column.name);
            answer.types.push(kind);
        }
        if self.dialect == Dialect::MySql {
            answer.collations = self.collations(sql, &answer.names)?;
        }
        Ok(answer)
    }

    /// Code and text of each warning of the last statement.
    fn warnings(&mut self) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        let asked = self.wire.answer(b"SHOW WARNINGS", &mut |_, row| {
            found.push((text_at(row, 1), text_at(row, 2)));
        });
        asked.map_err(|cause| Error::query(b"SHOW WARNINGS", cause))?;
        Ok(found)
    }

    /// The collations of the columns of a query. Replies do not tell them, so a table without rows is made of it. Where
    /// that cannot be done, nothing is told.
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
            Err(cause) => return Err(Error::query(create.as_bytes(), cause)),
        }
        let mut found = Vec::new();
        let show = format!("SHOW FULL COLUMNS FROM {TABLE}");
        let asked = self.wire.answer(show.as_bytes(), &mut |_, row| {
            found.push((text_at(row, 0), row.get(2).copied().flatten().map(lossy)));
        });
        asked.map_err(|cause| Error::query(show.as_bytes(), cause))?;
        let drop = format!("DROP TEMPORARY TABLE {TABLE}");
        let dropped = self.wire.execute_text(drop.as_bytes());
        dropped.map_err(|cause| Error::query(drop.as_bytes(), cause))?;
        let is_same = found.len() == names.len();
        Ok(if is_same { found.into_iter().map(|it| it.1).collect() } else { Vec::new() })
    }

    /// The name of a type of Postgres: those that users make have another number on each server.
    fn type_name(&mut self, kind: String) -> Result<String> {
        if let Some(known) = self.types.get(&kind) {
            return Ok(known.clone());
        }
        let (number, modifier) = kind.split_once(' ').unwrap_or((&kind, "-1"));
        let sql = format!("SELECT pg_catalog.format_type({number}::oid, {modifier})");
        let found = self.wire.query(&sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
        let name = found.first_string().unwrap_or_default();
        self.types.insert(kind, name.clone());
        Ok(name)
    }
}

/// The values of a row as they are compared: numbers with a floating point are rounded.
fn compared<'v>(columns: &[Described], values: &[Option<&'v [u8]>]) -> Vec<Option<Cow<'v, [u8]>>> {
    let value = |(number, value): (usize, &Option<&'v [u8]>)| {
        let is_short = columns.get(number).and_then(|column| is_short_float(&column.kind));
        value.map(|value| match is_short {
            Some(is_short) => Cow::Owned(rounded(value, is_short)),
            None => Cow::Borrowed(value),
        })
    };
    values.iter().enumerate().map(value).collect()
}

/// Whether numbers of a type have a floating point, and if so, whether they have only 4 bytes.
fn is_short_float(kind: &str) -> Option<bool> {
    // Postgres gives types numbers.
    match kind.split(' ').next().unwrap_or_default() {
        "float" | "700" => Some(true),
        "double" | "701" => Some(false),
        _ => None,
    }
}

fn text_at(row: &[Option<&[u8]>], place: usize) -> String {
    row.get(place).copied().flatten().map(lossy).unwrap_or_default()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
