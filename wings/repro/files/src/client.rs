//! Statements and values of a user's test for the plain client.

use std::sync::Arc;

use assay_model::{Class, Dialect, StatementMode, UserStep, thousands};
use assay_workloads::sql::first_word;
use assay_workloads::{
    Argument, EventBuf, EventProgram, Operation, ProgramClient, ProgramStatement, push_quoted,
};

use crate::finding::{Finding, ReproFile, ReproRefusal, SEND_PACK};
use crate::safe;
use crate::user::push_statement;

/// Turns with distinct statements if the test changes data. Further turns repeat them on new data.
const TURNS: u32 = 12;

/// The same if the test only reads.
const TURNS_OF_READS: u32 = 3;

/// Seconds that the events of a turn should take on the faster side, and may take on the slower one, at the rates of
/// the study.
const TURN_S: [f64; 2] = [1.5, 5.0];

/// Events per second of a side with unknown rate.
const RATE: f64 = 1000.0;

const EVENTS_MAX: f64 = 20_000.0;

const BYTES_MAX: usize = 96 << 20;

pub(crate) struct ClientStatements {
    pub(crate) files: Vec<ReproFile>,
    pub(crate) events: u64,
    /// Turn 0 does not count.
    pub(crate) turns: u32,
    pub(crate) without_pauses: bool,
    pub(crate) keeps: bool,
}

pub(crate) fn statements(finding: &Finding<'_>) -> Result<ClientStatements, ReproRefusal> {
    let dialect = finding.dialect();
    let test = finding.cell.test;
    let clients = finding.cell.setup.clients.max(1);
    let turns = if test.class == Class::Read { TURNS_OF_READS } else { TURNS };
    let program = EventProgram::new(dialect, test, finding.cell.setup, StatementMode::Text);
    check(finding, &program)?;
    let program = Arc::new(program);
    let files_count = (turns + 1) * clients;
    let mut writer = StatementWriter::new(dialect, &program);
    let of_client =
        |number| ProgramClient::new(Arc::clone(&program), finding.record.study.seed, number);
    let rate = |system| finding.judged(system).and_then(|judged| judged.tps).unwrap_or(RATE);
    let [base, other] = [finding.base, finding.other].map(rate);
    let events = (base.max(other) * TURN_S[0]).min(base.min(other) * TURN_S[1]);
    let wanted = (events / f64::from(clients)).clamp(1.0, EVENTS_MAX) as u64;
    let room = BYTES_MAX / (files_count as usize).max(1);
    // Events differ in length; estimate it from a few.
    let (mut few, mut length) = (0, 0);
    while few < wanted.min(100) && length <= room {
        length += writer.events(&of_client(0), few..few + 1, room).len();
        few += 1;
    }
    let fitting = (room as u64).saturating_mul(few) / (length as u64).max(1);
    if fitting == 0 {
        return Err(ReproRefusal::new(
            format!(
                "one event of `{test}` has {} kB of statements, and {files_count} files would have one each",
                thousands(length.div_ceil(1000) as u64)
            ),
            "measure the test again with fewer clients, or with fewer repetitions of its statements",
        ));
    }
    let events = wanted.min(fitting);
    let (mut files, mut bytes) = (Vec::new(), 0);
    for number in 0..clients {
        let client = of_client(number);
        for turn in 0..=turns {
            let first = u64::from(turn) * events;
            let content = writer.events(&client, first..first + events, 2 * BYTES_MAX);
            bytes += content.len();
            // Later events may be longer than the first ones.
            if bytes > 2 * BYTES_MAX {
                return Err(ReproRefusal::new(
                    format!(
                        "the statements of `{test}` take more than {} MiB",
                        (2 * BYTES_MAX) >> 20
                    ),
                    "measure the test again with fewer clients, or with fewer repetitions of its statements",
                ));
            }
            let name = format!("statements/turn-{turn}-client-{}.sql", number + 1);
            files.push(ReproFile::new(name, content));
        }
    }
    let kinds = || test.roles.iter().flat_map(|role| &role.script.mix);
    let has = |is: fn(&UserStep) -> bool| kinds().flat_map(|kind| &kind.steps).any(is);
    Ok(ClientStatements {
        files,
        events: events * u64::from(clients),
        turns,
        without_pauses: has(|step| matches!(step, UserStep::Sleep { .. })),
        keeps: has(|step| matches!(step, UserStep::Send { keep, .. } if !keep.is_empty())),
    })
}

/// Refuses statements that the plain client would alter, or whose results it cannot keep.
fn check(finding: &Finding<'_>, program: &EventProgram) -> Result<(), ReproRefusal> {
    let dialect = finding.dialect();
    if let Some(file) = program.unread() {
        return Err(ReproRefusal::new(
            format!("the values of `{}` were not read", file.path),
            "repeat the command where the file with the values is",
        ));
    }
    for statement in program.statements() {
        safe::check(dialect, &statement.pieces.join("0"))?;
    }
    let is_sent_alone =
        |statement: &ProgramStatement| statement.sending.is_usual() && statement.quotes.is_empty();
    if program.computes_from_results() || !program.statements().iter().all(is_sent_alone) {
        return Err(ReproRefusal::new(
            format!(
                "the plain client cannot carry out `{}`: it computes with results, sends several statements in one \
                 message, or has variables in quotes",
                finding.cell.test
            ),
            format!("choose another test, or {SEND_PACK}"),
        ));
    }
    for statement in program.statements().iter().filter(|statement| !statement.keep.is_empty()) {
        if let Err(why) = needs_limit(dialect, &statement.sql) {
            return Err(ReproRefusal::new(
                format!(
                    "the plain client cannot keep what a statement of `{}` returns: {why}",
                    finding.cell.test
                ),
                format!("choose a test that does not keep results, or {SEND_PACK}"),
            ));
        }
    }
    Ok(())
}

/// Whether the statement needs a limit to return at most one row. The error says why its result cannot be kept.
fn needs_limit(dialect: Dialect, sql: &str) -> Result<bool, &'static str> {
    if dialect == Dialect::Postgres {
        return Ok(false);
    }
    let upper = sql.to_ascii_uppercase().split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    if !first_word(sql, dialect).to_ascii_uppercase().starts_with("SELECT") {
        return Err("it is no SELECT");
    }
    let unlimited = ["FOR UPDATE", "FOR SHARE", "LOCK IN SHARE MODE", " INTO ", "UNION"];
    if unlimited.iter().any(|words| upper.contains(words)) {
        return Err("it locks rows, is a UNION, or has INTO");
    }
    Ok(!upper.contains("LIMIT "))
}

struct StatementWriter<'p> {
    dialect: Dialect,
    program: &'p EventProgram,
    event: EventBuf,
}

impl<'p> StatementWriter<'p> {
    fn new(dialect: Dialect, program: &'p EventProgram) -> Self {
        Self { dialect, program, event: EventBuf::default() }
    }

    /// Stops after the statement that exceeds `most` bytes.
    fn events(
        &mut self,
        client: &ProgramClient,
        numbers: std::ops::Range<u64>,
        most: usize,
    ) -> Vec<u8> {
        let mut sql = Vec::new();
        let mut statement = Vec::new();
        for number in numbers {
            client.write_event(number, 0, &mut self.event);
            let mut known: Vec<u32> = Vec::new();
            for operation in self.event.operations() {
                if sql.len() > most {
                    return sql;
                }
                statement.clear();
                match operation {
                    Operation::Sleep(_) | Operation::Pipeline(_) => {}
                    Operation::Query { sql: text, .. } => push_statement(&mut sql, text),
                    Operation::Execute { statement: index, arguments } => {
                        let prepared = &self.program.statements()[index];
                        let Some((first, rest)) = prepared.pieces.split_first() else { continue };
                        statement.extend_from_slice(first.as_bytes());
                        for (argument, piece) in arguments.zip(rest) {
                            self.push_value(argument, &known, &mut statement);
                            statement.extend_from_slice(piece.as_bytes());
                        }
                        self.push_keeping(&statement, &prepared.keep, &mut sql);
                        known.extend(&prepared.keep);
                    }
                }
            }
        }
        sql
    }

    fn push_value(&self, argument: Argument<'_>, known: &[u32], statement: &mut Vec<u8>) {
        match argument {
            // Two minus signs would begin a comment.
            Argument::Int(value) if value < 0 => {
                statement.extend_from_slice(format!("({value})").as_bytes());
            }
            Argument::Int(value) => statement.extend_from_slice(value.to_string().as_bytes()),
            Argument::Text(value) => push_quoted(statement, self.dialect.has_escapes(), value),
            Argument::Bare(value) => {
                statement.push(b'(');
                statement.extend_from_slice(value);
                statement.push(b')');
            }
            Argument::Raw(sql) => statement.extend_from_slice(sql),
            Argument::Kept(place) if known.contains(&place) => {
                let name = match self.dialect {
                    Dialect::Postgres => format!(":'kept_{place}'"),
                    Dialect::MySql => format!("@kept_{place}"),
                };
                statement.extend_from_slice(name.as_bytes());
            }
            Argument::Kept(_) | Argument::Null => statement.extend_from_slice(b"NULL"),
        }
    }

    /// Keeps the first row of the result.
    fn push_keeping(&self, statement: &[u8], keep: &[u32], sql: &mut Vec<u8>) {
        if keep.is_empty() {
            return push_statement(sql, statement);
        }
        let named = |mark: &str| {
            let names: Vec<String> =
                keep.iter().map(|place| format!("{mark}kept_{place}")).collect();
            names.join(", ")
        };
        let text = statement.trim_ascii_end();
        if self.dialect == Dialect::Postgres {
            // The columns of the result need known names.
            sql.extend_from_slice(format!("WITH result ({}) AS (\n", named("")).as_bytes());
            sql.extend_from_slice(text);
            sql.extend_from_slice(b"\n) SELECT * FROM result LIMIT 1 \\gset\n");
            return;
        }
        let needs_limit =
            needs_limit(self.dialect, &String::from_utf8_lossy(text)).unwrap_or(false);
        sql.extend_from_slice(text);
        sql.extend_from_slice(if needs_limit { b"\nLIMIT 1 INTO " } else { b"\nINTO " });
        sql.extend_from_slice(named("@").as_bytes());
        sql.extend_from_slice(b";\n");
    }
}
