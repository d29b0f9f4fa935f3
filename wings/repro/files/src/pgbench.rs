//! A test on sysbench's tables as scripts for pgbench.

use std::fmt::Write as _;

use assay_model::{Distribution, Fill, Script, StatementMode, Step};

use crate::finding::{Finding, ReproFile, ReproRefusal, line};
use crate::safe;

/// pgbench's limit for a prepared statement.
const PARAMETERS_MAX: usize = 250;

/// Limit for all scripts together. A test that repeats a statement very often is still a short script for sysbench.
const BYTES_MAX: u64 = 16 << 20;

/// Approximate size of a drawn value, with its place in the statement.
const VALUE_BYTES: u64 = 60;

pub(crate) struct PgbenchScripts {
    /// One script per table; each transaction picks one at random.
    pub(crate) files: Vec<ReproFile>,
    /// `prepared` or `simple`.
    pub(crate) protocol: &'static str,
}

/// `None` if pgbench cannot draw the values of the test.
pub(crate) fn scripts(finding: &Finding<'_>) -> Result<Option<PgbenchScripts>, ReproRefusal> {
    let Some(role) = finding.cell.test.roles.first() else { return Ok(None) };
    let script = &role.script;
    if script.draw != Distribution::Uniform {
        return Ok(None);
    }
    let is_known = |fill: &Fill| !matches!(fill, Fill::InPart(_) | Fill::Rows(_) | Fill::Unused);
    let is_usual = |step: &Step| step.renews.is_none() && step.fill.iter().all(is_known);
    if !script.scratch.is_empty() || !script.steps.iter().all(is_usual) {
        return Ok(None);
    }
    // pgbench has commands that SQL could trigger, and replaces variables even within strings.
    for step in &script.steps {
        safe::check_script(step.sql(finding.dialect()))?;
    }
    if bytes(finding, script) > BYTES_MAX {
        return Ok(None);
    }
    // Digits are parts of a string, so they cannot be parameters.
    let is_bound = |step: &Step| {
        let parameters: u32 = step.fill.iter().map(|fill| fill.count()).sum();
        let has_digits = step.fill.iter().any(|fill| matches!(fill, Fill::Digits(_)));
        !step.text && !has_digits && parameters as usize <= PARAMETERS_MAX
    };
    let is_prepared = finding.record.study.statements == StatementMode::Prepared
        && script.steps.iter().all(is_bound);
    let tables = 1..=finding.cell.setup.tables;
    let file = |table| ReproFile::new(format!("test-{table}.sql"), content(finding, script, table));
    Ok(Some(PgbenchScripts {
        files: tables.map(file).collect(),
        protocol: if is_prepared { "prepared" } else { "simple" },
    }))
}

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
    let mut writer = ScriptWriter { text: String::new(), rows, names: 0, last: "1".to_owned() };
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

struct ScriptWriter {
    text: String,
    rows: u32,
    names: u32,
    last: String,
}

impl ScriptWriter {
    fn statement(&mut self, sql: &str, fill: &[Fill], table: u32) {
        let values: Vec<String> = fill.iter().flat_map(|fill| self.values(*fill)).collect();
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

    /// Sets variables; returns the text for each parameter of the statement.
    fn values(&mut self, fill: Fill) -> Vec<String> {
        match fill {
            Fill::Drawn(count) => (0..count).map(|_| self.drawn()).collect(),
            Fill::Again => vec![self.last.clone()],
            Fill::Plus(distance) => {
                let value = format!("{} + {distance}", self.last);
                vec![self.set(&value)]
            }
            Fill::Hot(count) => (1..=count).map(|n| (self.rows / 2 + n).to_string()).collect(),
            Fill::Digits(groups) => {
                let group = |_| self.set("random(10000000000, 99999999999)");
                let groups: Vec<String> = (0..groups).map(group).collect();
                vec![format!("'{}'", groups.join("-"))]
            }
            // Tests with these have no scripts.
            Fill::InPart(_) | Fill::Rows(_) | Fill::Unused => Vec::new(),
        }
    }

    fn drawn(&mut self) -> String {
        self.last = self.set(&format!("random(1, {})", self.rows));
        self.last.clone()
    }

    /// Returns the new variable as it appears in statements.
    fn set(&mut self, value: &str) -> String {
        self.names += 1;
        let _ = writeln!(self.text, "\\set v{} {value}", self.names);
        format!(":v{}", self.names)
    }
}
