//! The statements of a test, each with the values of the first events that have it, and their short forms.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use anyhow::Result;
use assay_model::{DataSet, Dialect, Sending, Setup, StatementMode, Test, thousands};
use assay_wire::Connection;
use assay_workloads::sql::{is_control, only_reads, statements};
use assay_workloads::{EventBuf, EventProgram, Operation, ProgramClient, ProgramStatement};

use super::study_tables::Warm;

/// The questions of an audit.
pub struct Questions<'a> {
    pub data: DataSet,
    pub tests: &'a [Test],
    pub statements: StatementMode,
    pub seed: u64,
    /// Proof of filled caches; without it, no statement is explained.
    pub warm: Option<&'a Warm>,
}

/// Clients and tables do not affect plans.
pub(super) fn setup(data: DataSet) -> Setup {
    Setup { clients: 1, tables: 1, rows: data.rows }
}

/// Events of a user's test that are searched for its statements: some kinds of events are rare.
const EVENTS: u64 = 1000;

/// The same for further values of known statements.
const EVENTS_OF_VALUES: u64 = 200;

pub(super) struct VisitedStatement<'a> {
    pub(super) event: u64,
    pub(super) statement: &'a ProgramStatement,
    pub(super) operation: Operation<'a>,
    /// Results of earlier statements of the event.
    pub(super) kept: &'a [Option<Vec<u8>>],
}

impl VisitedStatement<'_> {
    /// The statement as text, with its values; `None` for an operation without text.
    pub(super) fn text(&self, dialect: Dialect) -> Option<String> {
        let mut text = Vec::new();
        match &self.operation {
            Operation::Query { sql, .. } => text.extend_from_slice(sql),
            Operation::Execute { arguments, .. } => {
                if self.statement.pieces.is_empty() && !self.statement.params.is_empty() {
                    return None;
                }
                let has_escapes = dialect.has_escapes();
                self.statement.push_text(has_escapes, arguments.clone(), self.kept, &mut text);
            }
            Operation::Sleep(_) | Operation::Pipeline(_) => return None,
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

/// Called with each statement of a test: its number, and the statement with its values. Returns whether other values
/// are wanted.
pub(super) type Act<'a, C> = dyn FnMut(&mut C, usize, &VisitedStatement<'_>) -> Result<bool> + 'a;

/// Visits each statement of a test that works on rows, with the values of the first event that has it, and with other
/// values of later events while they are wanted. Statements whose results later ones need are executed, if they only
/// read. Events with other session settings than those of the connection are skipped.
pub(super) fn walk<C>(
    dialect: Dialect,
    (program, session): (&Arc<EventProgram>, usize),
    seed: u64,
    (connection, wire): (&mut C, fn(&mut C) -> &mut Connection),
    act: &mut Act<'_, C>,
) -> Result<()> {
    let own = program.statements().iter().enumerate().filter(|(_, it)| it.session == session);
    let mut wanted = WantedStatements::new(own.map(|(number, _)| number));
    let client = ProgramClient::new(Arc::clone(program), seed, 0);
    let mut event = EventBuf::default();
    let places = program.statements().iter().flat_map(|it| &it.keep);
    let places = places.max().map_or(0, |last| *last as usize + 1);
    for sequence in 0..if program.is_own() { EVENTS } else { 1 } {
        if wanted.is_over(sequence) {
            break;
        }
        client.write_event(sequence, 0, &mut event);
        if event.session() != session {
            continue;
        }
        let mut kept: Vec<Option<Vec<u8>>> = vec![None; places];
        for operation in event.operations() {
            let Some(number) = operation.statement() else { continue };
            let statement = &program.statements()[number];
            // `EXPLAIN` would explain the first of several statements, and the server would carry out the others.
            if statement.sending == Sending::Combined
                || statements(&statement.sql, dialect).len() > 1
            {
                wanted.end(number);
                continue;
            }
            let found = VisitedStatement { event: sequence, statement, operation, kept: &kept };
            let is_work = !is_control(&statement.sql, dialect);
            let is_taken =
                is_work && wanted.takes(number, sequence, found.text(dialect).as_deref());
            if !is_work || (is_taken && !act(connection, number, &found)?) {
                wanted.end(number);
            }
            // A later statement would have another plan with NULL. Writes are not carried out for that.
            if !statement.keep.is_empty() && only_reads(&statement.sql, dialect) {
                let Some(sql) = found.text(dialect) else { continue };
                let row = match wire(connection).query(&sql) {
                    Ok(found) => found.rows.into_iter().next().unwrap_or_default(),
                    // It may need results that are missing, such as the number of an inserted row.
                    Err(error) if error.server_code().is_some() => continue,
                    Err(error) => return Err(error.into()),
                };
                for (place, value) in statement.keep.iter().zip(row) {
                    kept[*place as usize] = value;
                }
            }
        }
    }
    Ok(())
}

struct WantedStatements {
    taken: BTreeMap<usize, SeenValues>,
}

#[derive(Default)]
struct SeenValues {
    texts: BTreeSet<u64>,
    /// The last event: an event may repeat a statement.
    event: Option<u64>,
}

impl WantedStatements {
    fn new(statements: impl Iterator<Item = usize>) -> Self {
        Self { taken: statements.map(|number| (number, SeenValues::default())).collect() }
    }

    fn end(&mut self, number: usize) {
        self.taken.remove(&number);
    }

    fn takes(&mut self, number: usize, event: u64, text: Option<&str>) -> bool {
        let Some(taken) = self.taken.get_mut(&number) else { return false };
        if taken.event == Some(event) {
            return false;
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let is_new = taken.texts.insert(hasher.finish());
        if is_new {
            taken.event = Some(event);
        }
        is_new
    }

    /// Whether no event from this one on is needed: all statements have been found, and there were enough events for
    /// other values.
    fn is_over(&self, sequence: u64) -> bool {
        let is_found = |taken: &SeenValues| sequence >= EVENTS_OF_VALUES && !taken.texts.is_empty();
        self.taken.values().all(is_found)
    }
}

const LISTED: usize = 3;

const SHOWN: [usize; 2] = [300, 100];

/// A statement with one mark for each list of parameters, in MySQL's form for every product, with the first values of
/// each long list of values, and without its middle where it is still long.
pub fn shortened(sql: &str) -> String {
    let sql = without_numbers(sql);
    let mut short = String::with_capacity(sql.len().min(1024));
    for piece in sql.split_inclusive(['(', ')']) {
        let list = piece.strip_suffix(')').unwrap_or_default();
        let count = list.split(',').count();
        let marks = list.split(',').filter(|mark| mark.trim() == "?");
        if list.len() > "?, ?".len() && marks.count() == count {
            short.push_str("?, ...)");
        } else if count > 3 * LISTED && list.split(',').all(is_value) {
            let first: Vec<&str> = list.split(',').map(str::trim).take(LISTED).collect();
            let rest = thousands((count - LISTED) as u64);
            short.push_str(&format!("{}, ... {rest} more)", first.join(", ")));
        } else {
            short.push_str(piece);
        }
    }
    without_middle(short)
}

/// Whether it is a number or a text, judging by its first character.
fn is_value(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(|c: char| c.is_ascii_digit() || ['\'', '-', '?'].contains(&c))
        && text.len() <= 64
}

fn without_middle(text: String) -> String {
    let [begin, end] = SHOWN;
    let count = text.chars().count();
    if count <= begin + end + 20 {
        return text;
    }
    let first: String = text.chars().take(begin).collect();
    let last: String = text.chars().skip(count - end).collect();
    format!("{first} ... ({} characters) ... {last}", thousands((count - begin - end) as u64))
}

fn without_numbers(sql: &str) -> String {
    let mut pieces = sql.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push('?');
        text.push_str(piece.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_taken_once_with_the_same_values() {
        let mut wanted = WantedStatements::new(0..2);
        assert!(wanted.takes(0, 0, Some("SELECT 1")));
        assert!(!wanted.takes(0, 0, Some("SELECT 7")), "an event has it twice");
        assert!(!wanted.takes(0, 1, Some("SELECT 1")));
        assert!(wanted.takes(0, 2, Some("SELECT 2")));
        assert!(!wanted.is_over(EVENTS_OF_VALUES), "the second statement was not found");
        assert!(wanted.takes(1, 3, Some("SELECT 1")));
        assert!(wanted.is_over(EVENTS_OF_VALUES));
        assert!(!wanted.is_over(EVENTS_OF_VALUES - 1));
        wanted.end(0);
        assert!(!wanted.takes(0, 4, Some("SELECT 3")));
        wanted.end(1);
        assert!(wanted.is_over(0));
    }

    #[test]
    fn only_lists_of_parameters_are_shortened() {
        let sql = "SELECT SUM(k) FROM sbtest1 WHERE id IN (?,?, ?,?) AND k = ?";
        assert_eq!(shortened(sql), "SELECT SUM(k) FROM sbtest1 WHERE id IN (?, ...) AND k = ?");
        assert_eq!(shortened("id > $12 AND k IN ($1,$2,$3)"), "id > ? AND k IN (?, ...)");
        assert_eq!(shortened("SELECT LENGTH(c) FROM t"), "SELECT LENGTH(c) FROM t");
    }

    #[test]
    fn long_statements_are_told_in_short() {
        let list: Vec<String> = (1..=40_000).map(|it| it.to_string()).collect();
        let sql = format!("SELECT SUM(v) FROM item WHERE owner IN ({})", list.join(","));
        assert_eq!(
            shortened(&sql),
            "SELECT SUM(v) FROM item WHERE owner IN (1, 2, 3, ... 39,997 more)"
        );
        let unions = "SELECT 1 UNION ALL ".repeat(1000) + "SELECT 2";
        let short = shortened(&unions);
        assert!(short.chars().count() < 450 && short.ends_with("SELECT 2"), "{short}");
    }
}
