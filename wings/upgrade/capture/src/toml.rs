//! Writes the workload file and the files of values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use assay_model::{Dialect, SessionSetting, counted, thousands};
use assay_workloads::without_database;

use crate::capture::CapturedLogs;
use crate::fingerprints::{Fingerprint, ParameterRow};
use crate::plan::{CapturePlan, CapturedWork, EVERYTHING, TestContent};
use crate::render::{key, quoted, rendered};
use crate::row_numbers::{GeneratedNumber, generated_numbers};
use crate::schema::{DumpSchema, tables};
use crate::sessions::TransactionShape;
use crate::summary::{duration, percent};

/// Minimum calls with known values for a constant literal to become part of the statement.
const SAME_CALLS: u64 = 20;

/// Words after which a constant literal always becomes part of the statement.
const SAME_AFTER: [&str; 4] = ["LIMIT ", "OFFSET ", "SELECT ", "DISTINCT "];

/// First letters of variables: the first one that cannot be confused with a literal of the statement is used.
const LETTERS: [&str; 6] = ["p", "v", "w", "x", "y", "z"];

#[derive(Debug, Clone)]
pub struct WorkloadTarget {
    /// Name of the workload file without extension.
    pub stem: String,
    /// Path of the dump, relative to the workload file.
    pub dump: Option<String>,
    /// The tables of the dump, if their rows are generated.
    pub schema: Option<DumpSchema>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuesFile {
    /// Relative to the workload file.
    pub path: String,
    /// A JSON array on each line.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadFiles {
    pub text: String,
    pub values: Vec<ValuesFile>,
}

pub fn workload(
    captured: &CapturedLogs,
    plan: &CapturePlan,
    target: &WorkloadTarget,
) -> WorkloadFiles {
    let mut text = heading(captured, plan);
    match &target.dump {
        Some(dump) => {
            let _ = writeln!(text, "dump = {}", quoted(dump));
        }
        None => text.push_str(
            "# Name a dump of the schema and the data: dump = \"dump.sql\". Or describe tables: [table.NAME].\n",
        ),
    }
    if let Some(schema) = &target.schema {
        text.push_str(&tables(schema));
    }
    let mut values = Vec::new();
    for work in &plan.works {
        let sent = match work.what {
            TestContent::Statement(number) => of_statement(&captured.fingerprints[number]),
            TestContent::Transaction(number) => {
                of_transaction(&captured.shapes[number], &captured.fingerprints, plan.dialect)
            }
        };
        let path = format!("{}.values/{}.jsonl", target.stem, work.name);
        text.push('\n');
        let settings = captured.settings_of(work.what);
        test(work, plan, (&sent, settings), &path, &mut text);
        if !sent.names.is_empty() {
            values.push(ValuesFile { path, text: sent.lines });
        }
    }
    if plan.works.len() > 1 {
        let parts: Vec<String> =
            plan.works.iter().map(|it| format!("{} = {}", key(&it.name), it.calls)).collect();
        let _ = write!(
            text,
            "\n[test.{EVERYTHING}]\ndoes = \"all tests, as often as the log has them\"\n\
             mix = {{ {} }}\n",
            parts.join(", ")
        );
    }
    unknown(captured, plan, &mut text);
    WorkloadFiles { text, values }
}

fn heading(captured: &CapturedLogs, plan: &CapturePlan) -> String {
    let mut text = "# Made by `assay workload from` of a log. Values are in the folder beside this file: they are data \
                    of your users.\n"
        .to_owned();
    let read = thousands(captured.counts.statements);
    let _ = writeln!(
        text,
        "# The log has {read} statements; these tests are what assay can measure of them."
    );
    if plan.prepared < 0.5 {
        text.push_str(
            "# Most of them were sent as text, with their values in it. Measure with `--db-ps-mode disable`, which \
             does the same.\n",
        );
    }
    text.push('\n');
    text
}

struct SentSteps {
    /// Statements, each with the kept column names of its result.
    steps: Vec<(String, Vec<String>)>,
    names: Vec<String>,
    lines: String,
}

fn of_statement(it: &Fingerprint) -> SentSteps {
    let samples = it.sample.rows();
    let rows = usual_rows(&samples);
    let samples: Vec<&ParameterRow> = samples.into_iter().filter(|row| row.rows == rows).collect();
    let letter = letter(std::iter::once(it));
    let mut columns = Vec::new();
    let sql = rendered(&it.text, rows, |number, before| match same(it, number, rows, before) {
        Some(literal) => literal,
        None => {
            columns.push(number);
            format!(":{letter}{}", columns.len())
        }
    });
    SentSteps {
        steps: vec![(sql, Vec::new())],
        names: (1..=columns.len()).map(|number| format!("{letter}{number}")).collect(),
        lines: lines(&samples, &columns),
    }
}

fn of_transaction(shape: &TransactionShape, all: &[Fingerprint], dialect: Dialect) -> SentSteps {
    let statements: Vec<(&Fingerprint, usize)> =
        shape.statements.iter().map(|(number, rows)| (&all[*number], *rows)).collect();
    let letter = letter(statements.iter().map(|(it, _)| *it));
    // The first value of each group of equal ones has the variable.
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut columns = Vec::new();
    let mut first = 0;
    let generated = generated_numbers(shape, &statements, dialect);
    let kept = |group: usize| {
        let at = generated.iter().position(|it| it.group == group)?;
        Some(format!("{letter}new{}", at + 1))
    };
    let mut steps = vec![("BEGIN".to_owned(), Vec::new())];
    for (statement, (it, rows)) in statements.into_iter().enumerate() {
        let mut count = 0;
        let sql = rendered(&it.text, rows, |number, before| {
            count += 1;
            let position = first + number;
            if let Some(literal) = same(it, number, rows, before) {
                return literal;
            }
            // The user's SQL may have a byte that marks a parameter.
            let group = shape.equal.get(position).copied().unwrap_or(position);
            if let Some(name) = kept(group) {
                return format!(":{name}");
            }
            let variable = *numbers.entry(group).or_insert_with(|| {
                columns.push(group);
                columns.len()
            });
            format!(":{letter}{variable}")
        });
        steps.push((sql, kept_names(statement, &generated, letter)));
        first += count;
    }
    let end = if shape.is_rolled_back { "ROLLBACK" } else { "COMMIT" };
    steps.push((end.to_owned(), Vec::new()));
    SentSteps {
        steps,
        names: (1..=columns.len()).map(|number| format!("{letter}{number}")).collect(),
        lines: lines(&shape.sample.rows(), &columns),
    }
}

fn kept_names(statement: usize, generated: &[GeneratedNumber], letter: &str) -> Vec<String> {
    let own = || generated.iter().enumerate().filter(|(_, it)| it.statement == statement);
    let Some(last) = own().map(|(_, it)| it.column).max() else { return Vec::new() };
    let name = |column: usize| match own().find(|(_, it)| it.column == column) {
        Some((at, _)) => format!("{letter}new{}", at + 1),
        None => format!("{letter}other{statement}_{column}"),
    };
    (0..=last).map(name).collect()
}

/// The most common number of rows of `VALUES`.
fn usual_rows(samples: &[&ParameterRow]) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    samples.iter().for_each(|row| *counts.entry(row.rows).or_default() += 1);
    // Ties go to the smaller number.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(0, |(rows, _)| rows)
}

/// A value's constant literal, if it may be part of the statement.
fn same(it: &Fingerprint, number: usize, rows: usize, before: &str) -> Option<String> {
    let is_prepared = it.prepared.saturating_mul(2) >= it.total.calls;
    if rows > 0 || is_prepared {
        return None;
    }
    let literal = it.parameters.get(number)?.same.as_deref()?;
    let is_usual = it.sample.seen() >= SAME_CALLS || is_usual_after(before);
    let literal = std::str::from_utf8(literal).ok().filter(|_| is_usual)?;
    Some(literal.to_owned())
}

fn is_usual_after(before: &str) -> bool {
    let ends = |word: &str| {
        let tail = before.len().checked_sub(word.len()).and_then(|at| before.get(at..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(word))
    };
    SAME_AFTER.iter().any(|word| ends(word))
}

/// A letter such that no text in the statements looks like a variable.
fn letter<'f>(statements: impl Iterator<Item = &'f Fingerprint>) -> &'static str {
    let texts = |it: &'f Fingerprint| {
        let literals = it.parameters.iter().filter_map(|parameter| parameter.same.as_deref());
        std::iter::once(&*it.text).chain(literals)
    };
    free_letter(&statements.flat_map(texts).collect::<Vec<_>>())
}

fn free_letter(texts: &[&[u8]]) -> &'static str {
    let has = |letter: &str| {
        let mark = format!(":{letter}");
        texts.iter().any(|text| crate::sql::token::find(text, mark.as_bytes()).is_some())
    };
    LETTERS.into_iter().find(|letter| !has(letter)).unwrap_or("value")
}

fn lines(samples: &[&ParameterRow], columns: &[usize]) -> String {
    let mut text = String::new();
    for row in samples {
        let values = row.values();
        let kept: Vec<&str> = columns.iter().filter_map(|at| values.get(*at).copied()).collect();
        if kept.len() == columns.len() && !kept.is_empty() {
            let _ = writeln!(text, "[{}]", kept.join(", "));
        }
    }
    text
}

fn test(
    work: &CapturedWork,
    plan: &CapturePlan,
    (sent, settings): (&SentSteps, &[SessionSetting]),
    path: &str,
    text: &mut String,
) {
    let _ = writeln!(text, "[test.{}]", key(&work.name));
    let _ = writeln!(text, "does = {}", quoted(&does(work, plan)));
    let share = format!("{:.6}", plan.share(work).clamp(0.0, 1.0));
    let _ = writeln!(text, "log = {{ calls = {}, share = {share} }}", work.calls);
    if work.writes {
        text.push_str("writes = true\n");
    }
    text.push_str(&session(settings, ""));
    if !sent.names.is_empty() {
        let names: Vec<String> = sent.names.iter().map(|it| quoted(it)).collect();
        let _ = writeln!(
            text,
            "values = {{ file = {}, names = [{}], draw = \"random\" }}",
            quoted(path),
            names.join(", ")
        );
    }
    let unqualified = |(sql, kept): &(String, Vec<String>)| (unqualified(sql, plan), kept.clone());
    let sent: Vec<(String, Vec<String>)> = sent.steps.iter().map(unqualified).collect();
    steps(&sent, plan.dialect, "", text);
}

/// Strips the log's database from names: the tables go to another one.
fn unqualified(sql: &str, plan: &CapturePlan) -> String {
    let database = plan.database.as_deref().filter(|_| plan.dialect == Dialect::MySql);
    let without = database.and_then(|name| without_database(sql.as_bytes(), name));
    without.and_then(|it| String::from_utf8(it).ok()).unwrap_or_else(|| sql.to_owned())
}

fn steps(statements: &[(String, Vec<String>)], dialect: Dialect, before: &str, text: &mut String) {
    let product = match dialect {
        Dialect::MySql => "mysql",
        Dialect::Postgres => "postgres",
    };
    let _ = writeln!(text, "{before}steps = [");
    for (sql, kept) in statements {
        let names: Vec<String> = kept.iter().map(|it| quoted(it)).collect();
        let keep = match names.as_slice() {
            [] => String::new(),
            [only] => format!(", keep = {only}"),
            all => format!(", keep = [{}]", all.join(", ")),
        };
        let _ = writeln!(text, "{before}  {{ {product} = {}{keep} }},", quoted(sql));
    }
    let _ = writeln!(text, "{before}]");
}

/// `4,810 calls, 35% of the time, 1.2 ms each in the log`
fn does(work: &CapturedWork, plan: &CapturePlan) -> String {
    let calls = counted(work.calls, "call");
    let share = percent(plan.share(work).clamp(0.0, 1.0));
    match plan.time_us {
        Some(all) if all > 0.0 => {
            let each = duration(work.time_us / work.calls.max(1) as f64);
            format!("{calls}, {share} of the time, {each} each in the log")
        }
        _ => format!("{calls}, {share} of all in the log"),
    }
}

fn session(settings: &[SessionSetting], before: &str) -> String {
    if settings.is_empty() {
        return String::new();
    }
    let setting = |it: &SessionSetting| format!("{} = {}", key(it.name()), quoted(it.value()));
    let settings: Vec<String> = settings.iter().map(setting).collect();
    format!("{before}session = {{ {} }}\n", settings.join(", "))
}

/// Statements without known values, as comments for the user to complete.
fn unknown(captured: &CapturedLogs, plan: &CapturePlan, text: &mut String) {
    if plan.unknown.is_empty() {
        return;
    }
    text.push_str(
        "\n# The log has no values of these statements. Say how variables are drawn with `let`, and take the marks \
         away.\n",
    );
    let mut names: std::collections::HashSet<String> =
        plan.works.iter().map(|it| it.name.clone()).collect();
    for it in plan.unknown.iter().map(|number| &captured.fingerprints[*number]) {
        let name = crate::name::unique(crate::name::of_statement(&it.text, it.dialect), &mut names);
        let work = CapturedWork {
            name,
            calls: it.total.calls,
            time_us: it.total.time_us,
            writes: it.writes,
            what: TestContent::Statement(0),
        };
        let mut variables = BTreeSet::new();
        let sql = rendered(&it.text, 1, |number, _| {
            variables.insert(number + 1);
            format!(":p{}", number + 1)
        });
        let _ = writeln!(text, "#\n# [test.{}]", key(&work.name));
        let _ = writeln!(text, "# does = {}", quoted(&does(&work, plan)));
        text.push_str(&session(&captured.settings[it.settings as usize], "# "));
        for variable in variables {
            let _ = writeln!(text, "# let.p{variable} = {{ uniform = [1, 1000] }}");
        }
        steps(&[(sql, Vec::new())], it.dialect, "# ", text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_differ_from_all_texts() {
        assert_eq!(free_letter(&[b"SELECT a".as_slice()]), "p");
        assert_eq!(free_letter(&[b"SELECT ':pa', ':v1'".as_slice()]), "w");
    }
}
