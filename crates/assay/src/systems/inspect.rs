//! Reads everything that the audit compares from a running server with data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;
use assay_load::{Session, Work};
use assay_model::{DataSet, Product, QueueStep, Setup, StartFrom, StatementMode, System, Test};
use assay_servers::audit::{Facts, Plan};
use assay_wire::Connection;
use assay_workloads::sql::{Syntax, is_control, only_reads};
use assay_workloads::{
    Client, EventBuf, Operation, Program, QueueStatement, QueueTable, queue_statements,
};

use super::instance::Instance;

/// The questions of an audit.
pub(crate) struct Questions<'a> {
    /// The data in the tables.
    pub(crate) data: DataSet,
    /// The tests whose statements are explained.
    pub(crate) tests: &'a [Test],
    /// How statements are sent.
    pub(crate) statements: StatementMode,
    /// Seed of the values in statements.
    pub(crate) seed: u64,
}

/// Reads the facts about a server. Its tables are not changed.
pub(crate) fn facts(server: &Instance, system: &System, asked: &Questions) -> Result<Facts> {
    let mut control = Connection::connect(&server.connect_options())?;
    let mut settings = assay_servers::effective_settings(&mut control)?;
    // If the server runs on another machine, its process is unknown.
    if let Some(pid) = server.pid() {
        match (server, assay_servers::build_facts(pid, &system.artifact)) {
            // Its files may be gone, or in a container.
            (Instance::Attached(_), Err(_)) => {}
            (_, facts) => settings.extend(facts?),
        }
    }
    let syntax = Syntax::of(system.spec.product);
    let Unprepared { statements, failing } = unprepared(server, system, asked)?;
    let (work, control_of): (Vec<_>, Vec<_>) =
        statements.into_iter().partition(|it| is_work(it, syntax));
    settings.insert("session.unprepared".to_owned(), work.join(", "));
    settings.insert("session.unprepared_control".to_owned(), control_of.join(", "));
    let mut plans = Vec::new();
    for test in asked.tests.iter().filter(|test| !failing.contains_key(*test)) {
        explain(*test, system, asked, &mut control, &mut plans)?;
    }
    let failing: Vec<String> =
        failing.into_iter().map(|(test, why)| format!("{}: {why}", test.name)).collect();
    settings.insert("session.cannot_run".to_owned(), failing.join("; "));
    Ok(Facts { settings, plans })
}

/// The content of tables, as the audit compares it.
pub(crate) fn data_fact(
    data: DataSet,
    state: StartFrom,
    rows: u64,
    checksum: &str,
) -> (String, String) {
    let state = match state {
        StartFrom::Fresh => "as loaded",
        StartFrom::Aged => "aged",
    };
    (format!("data.{data} {state}"), format!("{rows} rows, checksum {checksum}"))
}

/// Whether a statement works on rows. The others begin and end transactions, and have no plan.
fn is_work(sql: &str, syntax: Syntax) -> bool {
    !is_control(sql, syntax)
}

/// Clients and tables do not affect plans.
fn setup(data: DataSet) -> Setup {
    Setup { clients: 1, tables: 1, rows: data.rows }
}

/// What a server refuses to prepare.
#[derive(Default)]
struct Unprepared {
    /// Statements that are sent as text instead.
    statements: Vec<String>,
    /// Tests that cannot run, and the server's errors.
    failing: BTreeMap<Test, String>,
}

/// What the server refuses to prepare, as the measured clients would find out. A test that cannot run fails when it is
/// measured, and prevents no other.
fn unprepared(server: &Instance, system: &System, asked: &Questions) -> Result<Unprepared> {
    let mut refused = Unprepared::default();
    for test in asked.tests {
        let work = Work {
            product: system.spec.product,
            test: *test,
            setup: setup(asked.data),
            statements: asked.statements,
            seed: asked.seed,
        };
        match Session::open(&server.connect_options(), &work, &[]) {
            Ok(session) => refused.statements.extend_from_slice(session.unprepared()),
            Err(assay_load::Error::Prepare { source, .. }) if source.server_code().is_some() => {
                refused.failing.insert(*test, source.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    refused.statements.sort_unstable();
    refused.statements.dedup();
    Ok(refused)
}

/// Events of a user's test that are looked at for its statements: some kinds of events are rare.
const EVENTS: u64 = 1000;

/// The plans of a test's statements, with the values of the first event that has them.
fn explain(
    test: Test,
    system: &System,
    asked: &Questions,
    control: &mut Connection,
    plans: &mut Vec<Plan>,
) -> Result<()> {
    let product = system.spec.product;
    let program = Arc::new(Program::new(product, test, setup(asked.data), StatementMode::Text));
    let mut left: BTreeSet<usize> = (0..program.statements().len()).collect();
    let client = Client::new(Arc::clone(&program), asked.seed, 0);
    let (mut event, mut text) = (EventBuf::default(), Vec::new());
    let syntax = Syntax::of(product);
    let places = program.statements().iter().flat_map(|it| &it.keep);
    let kept = places.max().map_or(0, |last| *last as usize + 1);
    for sequence in 0..if program.is_own() { EVENTS } else { 1 } {
        client.write_event(sequence, 0, &mut event);
        let mut kept: Vec<Option<Vec<u8>>> = vec![None; kept];
        for operation in event.operations() {
            let Some(number) = operation.statement() else { continue };
            let Some(statement) = program.statements().get(number) else { continue };
            let is_new = left.remove(&number) && is_work(&statement.sql, syntax);
            if !is_new && statement.keep.is_empty() {
                continue;
            }
            text.clear();
            match operation {
                Operation::Query { sql, .. } => text.extend_from_slice(sql),
                Operation::Execute { arguments, .. } => {
                    let has_escapes = product != Product::Postgres;
                    statement.push_text(has_escapes, arguments, &kept, &mut text);
                }
                Operation::Sleep(_) => continue,
            }
            let sql = String::from_utf8_lossy(&text);
            if is_new && let Some(plan) = assay_servers::explain(control, product, &sql)? {
                let statement = shortened(&statement.sql);
                plans.push(Plan { test: test.name.clone(), statement, plan });
            }
            // A later statement would have another plan with NULL. What writes is not carried out for that.
            if !statement.keep.is_empty() && only_reads(&statement.sql, syntax) {
                let row = match control.query(&sql) {
                    Ok(found) => found.rows.into_iter().next().unwrap_or_default(),
                    // It may need what was not carried out, such as the number of an inserted row.
                    Err(error) if error.server_code().is_some() => continue,
                    Err(error) => return Err(error.into()),
                };
                for (place, value) in statement.keep.iter().zip(row) {
                    kept[*place as usize] = value;
                }
            }
        }
        if left.is_empty() {
            break;
        }
    }
    Ok(())
}

/// The plans of [`queue_statements`].
pub(crate) fn explain_queue<'a>(
    control: &mut Connection,
    table: &QueueTable,
    steps: impl IntoIterator<Item = &'a QueueStep>,
    lowest: u64,
) -> Result<Vec<Plan>> {
    let mut plans = Vec::new();
    for QueueStatement { purpose, shape, sql } in queue_statements(table, steps, lowest) {
        if let Some(plan) = assay_servers::explain(control, table.product(), &sql)? {
            plans.push(Plan { test: purpose.to_owned(), statement: shape, plan });
        }
    }
    Ok(plans)
}

/// A statement with one mark for each list of parameters, in MySQL's form for every product.
fn shortened(sql: &str) -> String {
    let sql = without_numbers(sql);
    let mut short = String::with_capacity(sql.len());
    for piece in sql.split_inclusive(['(', ')']) {
        let list = piece.strip_suffix(')').unwrap_or_default();
        let marks = list.split(',').filter(|mark| mark.trim() == "?");
        if list.len() > "?, ?".len() && marks.count() == list.split(',').count() {
            short.push_str("?, ...)");
        } else {
            short.push_str(piece);
        }
    }
    short
}

/// Replaces `$1` by `?`.
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
    use super::shortened;

    #[test]
    fn only_lists_of_parameters_are_shortened() {
        let sql = "SELECT SUM(k) FROM sbtest1 WHERE id IN (?,?, ?,?) AND k = ?";
        assert_eq!(shortened(sql), "SELECT SUM(k) FROM sbtest1 WHERE id IN (?, ...) AND k = ?");
        assert_eq!(shortened("id > $12 AND k IN ($1,$2,$3)"), "id > ? AND k IN (?, ...)");
        assert_eq!(shortened("SELECT LENGTH(c) FROM t"), "SELECT LENGTH(c) FROM t");
    }
}
