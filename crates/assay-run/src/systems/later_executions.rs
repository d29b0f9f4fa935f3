//! Later executions of prepared statements: a server may execute them differently from the text, and differently from
//! the first time.
//!
//! Postgres is asked for the plans of enough executions to choose between a generic plan and plans for these values.
//! MySQL and MariaDB cannot explain prepared statements, so they are executed, and the rows that each execution reads
//! are counted. Their writes are rolled back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use assay_load::{Rehearsal, connect_as_client};
use assay_model::{Dialect, StatementMode};
use assay_wire::{ConnectOptions, Connection, WireError};
use assay_workloads::sql::only_reads;
use assay_workloads::{Argument, ArgumentType, EventProgram, Operation};

use super::statements::{Questions, VisitedStatement, walk};

/// Executions after which Postgres may choose a generic plan.
const OF_POSTGRES: usize = 6;

const EXECUTIONS: usize = 3;

/// A statement that takes longer is not executed again.
const LONG: Duration = Duration::from_secs(2);

const PATIENCE: Duration = Duration::from_secs(10);

/// Numbers of rows differ if one exceeds the other by more than this factor and this number.
const TIMES: u64 = 2;
const MORE: u64 = 100;

pub(super) struct LaterExecution {
    /// Text without figures, so that it is equal for two versions that do the same.
    pub(super) does: String,
    pub(super) note: Option<String>,
}

/// Statements whose later executions differ from the text or the first execution, by number.
pub(super) fn later_executions(
    options: &ConnectOptions,
    dialect: Dialect,
    program: &Arc<EventProgram>,
    asked: &Questions,
) -> Result<Vec<(usize, LaterExecution)>> {
    let options = ConnectOptions { timeout: PATIENCE, ..options.clone() };
    let mut found = Vec::new();
    for session in 0..program.sessions().len() {
        let program = (program, session);
        found.extend(match dialect {
            Dialect::Postgres => of_postgres(&options, program, asked)?,
            Dialect::MySql => of_mysql(&options, program, asked)?,
        });
    }
    Ok(found)
}

/// Later executions of statements that share session settings.
fn of_mysql(
    options: &ConnectOptions,
    (program, session): (&Arc<EventProgram>, usize),
    asked: &Questions,
) -> Result<Vec<(usize, LaterExecution)>> {
    let dialect = Dialect::MySql;
    let Some(mut rehearsal) = Rehearsal::open(options, Arc::clone(program), session)? else {
        return Ok(Vec::new());
    };
    let id = rehearsal.wire().connection_id();
    let may_write = is_transactional(rehearsal.wire())?;
    let mut found = Vec::new();
    let wire: fn(&mut Rehearsal) -> &mut Connection = Rehearsal::wire;
    let of_session = (program, session);
    let walked = walk(
        dialect,
        of_session,
        asked.seed,
        (&mut rehearsal, wire),
        &mut |rehearsal, number, it| {
            let is_safe = may_write && writes_rows(&it.statement.sql)
                || only_reads(&it.statement.sql, dialect);
            if is_safe && rehearsal.has_prepared(number) {
                let again = repeated(rehearsal, dialect, it)?;
                found.extend(again.map(|again| (number, again)));
            }
            Ok(false)
        },
    );
    match walked {
        Err(error) if error.downcast_ref::<WireError>().is_some_and(is_lost) => {
            // It may still be busy with the statement.
            let killed = Connection::connect(options).map(|mut it| it.query(&format!("KILL {id}")));
            log::info!("later executions of {dialect:?} are unknown: {error:#}; {killed:?}");
            Ok(found)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(found),
    }
}

fn is_lost(error: &WireError) -> bool {
    error.server_code().is_none()
}

fn is_transactional(control: &mut Connection) -> Result<bool> {
    let sql = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() \
               AND TABLE_TYPE = 'BASE TABLE' AND ENGINE NOT IN ('InnoDB', 'ROCKSDB')";
    Ok(control.query(sql)?.text(0, 0) == Some("0"))
}

/// Whether a statement only changes rows, which can be undone. Others may commit implicitly.
fn writes_rows(sql: &str) -> bool {
    let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
    ["INSERT", "UPDATE", "DELETE", "REPLACE"].iter().any(|it| word.eq_ignore_ascii_case(it))
}

const READS: [(&str, &str); 6] = [
    ("Handler_read_first", "starts at the first entry of an index"),
    ("Handler_read_key", "lookups in indexes"),
    ("Handler_read_next", "rows read along an index"),
    ("Handler_read_prev", "rows read along an index, backwards"),
    ("Handler_read_rnd", "rows read by position"),
    ("Handler_read_rnd_next", "rows read without an index"),
];

type HandlerReads = [u64; READS.len()];

fn rows_read(control: &mut Connection) -> Result<HandlerReads> {
    let found = control.query("SHOW SESSION STATUS LIKE 'Handler_read%'")?;
    let mut rows = HandlerReads::default();
    for row in 0..found.rows.len() {
        let at = READS.iter().position(|(name, _)| found.text(row, 0) == Some(name));
        let value = found.text(row, 1).and_then(|it| it.parse().ok());
        if let Some((at, value)) = at.zip(value) {
            rows[at] = value;
        }
    }
    Ok(rows)
}

fn minus(one: HandlerReads, other: HandlerReads) -> HandlerReads {
    std::array::from_fn(|at| one[at].saturating_sub(other[at]))
}

/// Executes a statement several times with the same values, and once as text, and compares the rows read.
fn repeated(
    rehearsal: &mut Rehearsal,
    dialect: Dialect,
    it: &VisitedStatement,
) -> Result<Option<LaterExecution>> {
    let (one, next) = (rows_read(rehearsal.wire())?, rows_read(rehearsal.wire())?);
    let of_reading = minus(next, one);
    let mut executions = Vec::with_capacity(EXECUTIONS);
    for _ in 0..EXECUTIONS {
        let began = Instant::now();
        let operation = it.operation.clone();
        let Some(rows) =
            undone(rehearsal, &of_reading, |rehearsal| rehearsal.execute(operation, it.kept))?
        else {
            return Ok(None);
        };
        executions.push(rows);
        if executions.len() > 1 && began.elapsed() > LONG {
            break;
        }
    }
    let text = match it.text(dialect) {
        Some(text) => undone(rehearsal, &of_reading, |rehearsal| {
            rehearsal.wire().execute_text(text.as_bytes()).map(drop)
        })?,
        None => None,
    };
    Ok(differing(&executions, text.as_ref()))
}

/// Rows read by an act, whose changes are rolled back; `None` if the server refuses it.
fn undone(
    rehearsal: &mut Rehearsal,
    of_reading: &HandlerReads,
    act: impl FnOnce(&mut Rehearsal) -> Result<(), WireError>,
) -> Result<Option<HandlerReads>> {
    rehearsal.wire().execute_text(b"BEGIN")?;
    let before = rows_read(rehearsal.wire())?;
    let done = act(rehearsal);
    if let Err(error) = &done
        && is_lost(error)
    {
        done?;
        return Ok(None);
    }
    let rows = minus(minus(rows_read(rehearsal.wire())?, before), *of_reading);
    rehearsal.wire().execute_text(b"ROLLBACK")?;
    Ok(done.is_ok().then_some(rows))
}

/// Describes executions after the first that differ from it or from the text.
fn differing(executions: &[HandlerReads], text: Option<&HandlerReads>) -> Option<LaterExecution> {
    let (first, later) = executions.split_first()?;
    let last = later.last()?;
    let are_alike = |one: &HandlerReads| later.iter().all(|it| !are_unlike(it, one));
    if are_alike(last) && later.iter().all(|it| are_unlike(it, first)) {
        return Some(message(first, last, "later executions", "the first execution"));
    }
    let text = text.filter(|text| executions.iter().all(|it| are_unlike(it, text)))?;
    Some(message(text, last, "prepared", "the statement as text"))
}

fn are_unlike(one: &HandlerReads, other: &HandlerReads) -> bool {
    let sum = |rows: &HandlerReads| rows.iter().fold(0_u64, |sum, it| sum.saturating_add(*it));
    let (one, other) = (sum(one), sum(other));
    let (less, more) = (one.min(other), one.max(other));
    more > less.saturating_mul(TIMES).saturating_add(MORE)
}

fn message(before: &HandlerReads, after: &HandlerReads, which: &str, than: &str) -> LaterExecution {
    let most = (0..READS.len()).max_by_key(|at| before[*at].abs_diff(after[*at])).unwrap_or(0);
    let ((name, words), [before, after]) = (READS[most], [before[most], after[most]]);
    let more = if after > before { "more" } else { "fewer" };
    LaterExecution {
        does: format!("{which}: {more} {words} than {than}"),
        note: Some(format!("{which}: {words} ({name}) {before} → {after}, against {than}")),
    }
}

/// The plan of the first execution and the one after which Postgres chooses.
fn of_postgres(
    options: &ConnectOptions,
    (program, session): (&Arc<EventProgram>, usize),
    asked: &Questions,
) -> Result<Vec<(usize, LaterExecution)>> {
    let mut control = connect_as_client(options, program, session)?;
    let mut found = Vec::new();
    let itself: fn(&mut Connection) -> &mut Connection = |it| it;
    let dialect = Dialect::Postgres;
    let of_session = (program, session);
    walk(dialect, of_session, asked.seed, (&mut control, itself), &mut |control, number, it| {
        if it.statement.mode == StatementMode::Prepared {
            found.extend(planned_again(control, it)?.map(|again| (number, again)));
        }
        Ok(false)
    })?;
    Ok(found)
}

fn planned_again(
    control: &mut Connection,
    it: &VisitedStatement,
) -> Result<Option<LaterExecution>> {
    let Operation::Execute { arguments, .. } = &it.operation else { return Ok(None) };
    let types = it.statement.params.iter().map(|param| match param {
        ArgumentType::Int => "bigint",
        ArgumentType::Text => "varchar",
        ArgumentType::Inferred => "unknown",
    });
    let types: Vec<&str> = types.collect();
    let values: Vec<String> = arguments.clone().map(|value| literal(value, it.kept)).collect();
    let list = |items: String| if items.is_empty() { items } else { format!("({items})") };
    let sql = format!("PREPARE assay_again {} AS {}", list(types.join(", ")), it.statement.sql);
    match control.query(&sql) {
        Ok(_) => {}
        // Only some statements can be prepared like this.
        Err(error) if error.server_code().is_some() => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let execute = format!("EXECUTE assay_again {}", list(values.join(", ")));
    let mut plans = Vec::with_capacity(OF_POSTGRES);
    for _ in 0..OF_POSTGRES {
        let explained = assay_servers::explain(control, &execute)?;
        plans.extend(explained.map(|it| it.plan));
    }
    control.query("DEALLOCATE assay_again")?;
    let ends = plans.first().zip(plans.last()).filter(|(first, last)| first != last);
    Ok(ends.map(|(_, last)| LaterExecution {
        does: format!("from the sixth execution on, for any values: {last}"),
        note: None,
    }))
}

fn literal(value: Argument, kept: &[Option<Vec<u8>>]) -> String {
    let quoted = |bytes: &[u8]| format!("'{}'", String::from_utf8_lossy(bytes).replace('\'', "''"));
    match value {
        Argument::Int(value) => format!("({value})"),
        Argument::Text(text) | Argument::Bare(text) | Argument::Raw(text) => quoted(text),
        Argument::Null => "NULL".to_owned(),
        Argument::Kept(place) => match kept.get(place as usize).and_then(Option::as_deref) {
            Some(text) => quoted(text),
            None => "NULL".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executions_that_read_other_rows_are_told() {
        let rows = |key, without| [0, key, 0, 0, 0, without];
        let index = rows(2, 0);
        let whole = rows(2, 30_001);
        let found = differing(&[index, whole, whole], Some(&index)).unwrap();
        assert_eq!(
            found.does,
            "later executions: more rows read without an index than the first execution"
        );
        let note = found.note.unwrap_or_default();
        assert!(note.contains("(Handler_read_rnd_next) 0 → 30001"), "{note}");
        let found = differing(&[whole, whole], Some(&index)).unwrap();
        assert!(found.does.starts_with("prepared: more rows"), "{}", found.does);
        assert!(differing(&[index, index, rows(5, 90)], Some(&index)).is_none());
        // Once is no rule.
        assert!(differing(&[index, whole, index], Some(&index)).is_none());
    }

    #[test]
    fn only_statements_that_can_be_undone_are_executed() {
        assert!(writes_rows(" delete FROM t") && writes_rows("REPLACE INTO t VALUES (1)"));
        assert!(!writes_rows("TRUNCATE t") && !writes_rows("CALL p()"));
    }
}
