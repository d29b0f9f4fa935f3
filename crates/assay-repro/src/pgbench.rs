//! A test of sysbench's tables as scripts of pgbench.

use std::fmt::Write as _;

use assay_model::{Distribution, Fill, Script, StatementMode, Step};

use crate::finding::{Finding, Refused, ReproFile, line, text};
use crate::safe;

/// Parameters that a prepared statement of pgbench can have.
const PARAMETERS_MAX: usize = 250;

/// Most bytes of all scripts. A test that repeats a statement very often is a short script for sysbench.
const BYTES_MAX: u64 = 16 << 20;

/// Bytes of a value that a script draws, with its place in the statement, about.
const VALUE_BYTES: u64 = 60;

/// The scripts of a test, and how pgbench sends their statements.
pub(crate) struct Pgbench {
    /// One script for each table, of which each transaction takes one at random.
    pub(crate) files: Vec<ReproFile>,
    /// `prepared` or `simple`.
    pub(crate) protocol: &'static str,
}

/// The scripts; `None` if pgbench cannot draw what the test draws.
pub(crate) fn scripts(finding: &Finding<'_>) -> Result<Option<Pgbench>, Refused> {
    let Some(role) = finding.cell.test.roles.first() else { return Ok(None) };
    let script = &role.script;
    if script.draw != Distribution::Uniform {
        return Ok(None);
    }
    let is_known = |fill: &Fill| !matches!(fill, Fill::InPart(_) | Fill::Rows(_) | Fill::Unused);
    if script.scratch.is_some() || !script.steps.iter().flat_map(|step| &step.fill).all(is_known) {
        return Ok(None);
    }
    // pgbench has commands of its own, and replaces variables wherever they are.
    for step in &script.steps {
        safe::check_script(step.sql(finding.dialect()))?;
    }
    if bytes(finding, script) > BYTES_MAX {
        return Ok(None);
    }
    // Digits are parts of a string, so they are no parameters.
    let is_bound = |step: &Step| {
        let parameters: u32 = step.fill.iter().map(|fill| fill.count()).sum();
        let has_digits = step.fill.iter().any(|fill| matches!(fill, Fill::Digits(_)));
        !step.text && !has_digits && parameters as usize <= PARAMETERS_MAX
    };
    let is_prepared = finding.record.study.statements == StatementMode::Prepared
        && script.steps.iter().all(is_bound);
    let tables = 1..=finding.cell.setup.tables;
    let file = |table| {
        let name = format!("test-{table}.sql");
        text(&name, content(finding, script, table))
    };
    Ok(Some(Pgbench {
        files: tables.map(file).collect(),
        protocol: if is_prepared { "prepared" } else { "simple" },
    }))
}

/// Bytes of the scripts for all tables, about.
fn bytes(finding: &Finding<'_>, script: &Script) -> u64 {
    let of_step = |step: &Step| {
        let values = step.fill.iter().map(|fill| u64::from(fill.count()));
        let values = values.fold(0, u64::saturating_add).saturating_mul(VALUE_BYTES);
        let sql = step.sql(finding.dialect()).len() as u64;
        values.saturating_add(sql).saturating_mul(step.times.into())
    };
    let event = script.steps.iter().map(of_step).fold(0, u64::saturating_add);
    event.saturating_mul(finding.cell.setup.tables.into())
}

fn content(finding: &Finding<'_>, script: &Script, table: u32) -> String {
    let test = finding.cell.test;
    let rows = script.rows.unwrap_or(finding.cell.setup.rows);
    let mut writer = Writer { text: String::new(), rows, names: 0, last: "1".to_owned() };
    let [name, does] = [test.name(), &test.does].map(line);
    let _ =
        writeln!(writer.text, "-- The test {name} for pgbench, on table sbtest{table}: {does}.");
    for step in &script.steps {
        for _ in 0..step.times {
            writer.statement(step.sql(finding.dialect()), &step.fill, table);
        }
    }
    writer.text
}

/// Writes a script.
struct Writer {
    text: String,
    rows: u32,
    /// Variables so far.
    names: u32,
    /// The variable of the last draw.
    last: String,
}

impl Writer {
    fn statement(&mut self, sql: &str, fill: &[Fill], table: u32) {
        let values: Vec<String> = fill.iter().flat_map(|it| self.values(*it)).collect();
        let mut values = values.into_iter();
        let sql = sql.replace("sbtest", &format!("sbtest{table}"));
        let mut pieces = sql.split('?');
        let mut line = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            line += &values.next().unwrap_or_default();
            line += piece;
        }
        let _ = writeln!(self.text, "{line};");
    }

    /// Sets variables, and returns what stands for each parameter in the statement.
    fn values(&mut self, fill: Fill) -> Vec<String> {
        match fill {
            Fill::Drawn(count) => {
                let rows = self.rows;
                (0..count).map(|_| self.drawn(rows)).collect()
            }
            Fill::Again => vec![self.last.clone()],
            Fill::Plus(distance) => {
                let value = format!("{} + {distance}", self.last);
                vec![self.set(&value)]
            }
            Fill::Hot(count) => (1..=count).map(|it| (self.rows / 2 + it).to_string()).collect(),
            Fill::Digits(groups) => {
                let group = |_| self.set("random(10000000000, 99999999999)");
                let groups: Vec<String> = (0..groups).map(group).collect();
                vec![format!("'{}'", groups.join("-"))]
            }
            // Tests with others have no scripts.
            Fill::InPart(_) | Fill::Rows(_) | Fill::Unused => Vec::new(),
        }
    }

    fn drawn(&mut self, rows: u32) -> String {
        self.last = self.set(&format!("random(1, {rows})"));
        self.last.clone()
    }

    /// Sets a new variable, and returns it as a statement has it.
    fn set(&mut self, value: &str) -> String {
        self.names += 1;
        let _ = writeln!(self.text, "\\set v{} {value}", self.names);
        format!(":v{}", self.names)
    }
}
