//! Parser of workload files.

use super::fields::{MYSQL, POSTGRES};
use super::files::ReadFile;
use super::table::{self, dump, tables};
use super::test::{self, TestEntry, TestWork};
use crate::document::{FileFault, FileResult, FileTable, FileValue, all, parse};
use crate::nearest::nearest;
use assay_model::limits::user::KINDS;
use assay_model::{
    Class, Definition, Distribution, Group, Pacing, PlanningFacts, Role, Schema, Script, StartFrom,
    Transaction, UserData, UserTable,
};
use assay_workloads::statementless;

const KEYS: [&str; 3] = ["dump", "table", "test"];

const STUDY_KEYS: [&str; 6] = ["compare", "tests", "set", "preset", "budget", "workload"];

/// Maximum tests: a mix may have all of them.
const TESTS_MAX: usize = KINDS;

fn homes() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("in a `[table.NAME]` table", &table::KEYS),
        ("in a `[test.NAME]` table", &test::KEYS),
        ("in a step of a test", &test::STEP_KEYS),
        ("in `values` of a test", &test::VALUES_KEYS),
        ("where a text may differ between products", &[MYSQL, POSTGRES]),
    ]
}

/// Refuses unknown keys at the top. Their content tells what is meant, however they are misspelt.
fn refuse_unknown(file: &FileTable<'_>) -> FileResult<()> {
    let Some(value) = file.values().into_iter().find(|value| !KEYS.contains(&value.key)) else {
        return Ok(());
    };
    let key = value.key;
    let parts = value.table("").map(|table| table.values()).unwrap_or_default();
    let inner = parts.iter().filter_map(|part| Some(part.table("").ok()?.values()));
    let inner: Vec<&str> = inner.flatten().map(|it| it.key).collect();
    let outer: Vec<&str> = parts.iter().map(|it| it.key).collect();
    let has = |keys: &[&str], found: &[&str]| found.iter().any(|key| keys.contains(key));
    let fault = FileFault::at(value.key_span.clone(), format!("unknown key `{key}`"));
    let hint = |what: &str, name: &str| {
        format!("did you mean `{what}`? A {what} is written `[{what}.{name}]`")
    };
    Err(match outer.first() {
        Some(name) if has(&table::KEYS, &inner) => fault.hint(hint("table", name)),
        Some(name) if has(&test::KEYS, &inner) => fault.hint(hint("test", name)),
        Some(_) if has(&table::KEYS, &outer) => fault.hint(hint("table", key)),
        Some(_) if has(&test::KEYS, &outer) => fault.hint(hint("test", key)),
        None if STUDY_KEYS.contains(&key) => fault.hint(format!(
            "`{key}` is a key of a study file, which `assay run` takes; it names this file as `workload`"
        )),
        _ => return file.refuse_unknown(&KEYS),
    })
}

pub(super) struct WorkloadContent {
    pub(super) data: UserData,
    pub(super) tests: Vec<Definition>,
}

/// Reads a workload file. With `more`, the workload has tests outside the file; it returns the additional tables for
/// them.
pub(super) fn read(
    name: &str,
    text: &str,
    files: ReadFile<'_>,
    more: Option<Vec<UserTable>>,
) -> FileResult<WorkloadContent> {
    let document = parse(text)?;
    let file = FileTable::new(text, document.get_ref(), homes);
    refuse_unknown(&file)?;
    let dump = file.get("dump").map(|value| dump(&value, files));
    let (tables, counts) = tables(&file, files, dump.is_some())?;
    let values = match file.get("test") {
        Some(tests) => {
            let values = tests.table("tests, each written `[test.NAME]`")?.values();
            if values.is_empty() || values.len() > TESTS_MAX {
                return Err(tests.fault(format!("a workload has 1 to {TESTS_MAX} tests")));
            }
            values
        }
        None if more.is_some() => Vec::new(),
        None => {
            return Err(FileFault::of_file("the workload has no tests")
                .hint("`[test.NAME]` defines one, with `steps`")
                .hint("a script of pgbench beside the file is one too: `--workload tables.toml,script.sql`"));
        }
    };
    let written = all(values.iter().map(|value| test::test(value, &counts, files)));
    let (mut tables, written, dump) = match (tables, written, dump.transpose()) {
        (Ok(tables), Ok(written), Ok(dump)) => (tables, written, dump),
        (tables, written, dump) => {
            let faults = tables.err().into_iter().chain(written.err()).chain(dump.err());
            return Err(
                FileFault::of_all(faults).unwrap_or_else(|| FileFault::of_file("a mistake"))
            );
        }
    };
    let is_new =
        |table: &UserTable| !tables.iter().any(|it| it.name.eq_ignore_ascii_case(&table.name));
    let more: Vec<UserTable> = more.unwrap_or_default().into_iter().filter(is_new).collect();
    tables.extend(more);
    let data = UserData { name: name.to_owned(), tables, dump };
    let defined = |it: &TestEntry<'_>| {
        let (mix, only_reads) = kinds(it, &written)?;
        let class = if it.writes.unwrap_or(!only_reads) { Class::Write } else { Class::Read };
        let does = it.does.map_or_else(|| summary(&mix), str::to_owned);
        Ok(definition(it.value.key, does, class, mix, &data.name, data.clone().into()))
    };
    let tests = all(written.iter().map(defined))?;
    Ok(WorkloadContent { data, tests })
}

pub(super) fn definition(
    name: &str,
    does: String,
    class: Class,
    mix: Vec<Transaction>,
    workload: &str,
    schema: Schema,
) -> Definition {
    let (steps, scratch) = (Vec::new(), Vec::new());
    let script = Script { steps, draw: Distribution::Uniform, rows: None, mix, scratch };
    let group = Group { rank: 0, word: workload.to_owned(), title: workload.to_owned() };
    Definition {
        class,
        // The order of reads and writes in the application is unknown.
        start_from: StartFrom::Fresh,
        roles: vec![Role { script, clients: None, pacing: Pacing::Closed }],
        planning: PlanningFacts {
            rows_per_event: 1,
            judges_tail: true,
            ..PlanningFacts::default()
        },
        ..statementless(name, &does, group, schema)
    }
}

fn kinds(test: &TestEntry<'_>, all: &[TestEntry<'_>]) -> FileResult<(Vec<Transaction>, bool)> {
    let parts = match &test.work {
        TestWork::Steps { transaction, only_reads } => {
            return Ok((vec![transaction.clone()], *only_reads));
        }
        TestWork::Mix(parts) => parts,
    };
    let mut mix = Vec::with_capacity(parts.len());
    let mut is_read = true;
    for (part, weight) in parts {
        let (transaction, only_reads) = part_of(part, all)?;
        mix.push(Transaction { weight: *weight, ..transaction.clone() });
        is_read &= only_reads;
    }
    Ok((mix, is_read))
}

fn part_of<'w>(
    part: &FileValue<'_>,
    all: &'w [TestEntry<'_>],
) -> FileResult<(&'w Transaction, bool)> {
    let named = all.iter().find(|it| it.value.key == part.key);
    match named.map(|it| &it.work) {
        Some(TestWork::Steps { transaction, only_reads }) => Ok((transaction, *only_reads)),
        Some(TestWork::Mix(_)) => {
            let message = format!("`{}` is a mix itself", part.key);
            Err(FileFault::at(part.key_span.clone(), message).hint("a mix has tests with `steps`"))
        }
        None => {
            let message = format!("the file has no test `{}`", part.key);
            let fault = FileFault::at(part.key_span.clone(), message);
            let names = all.iter().filter(|it| matches!(it.work, TestWork::Steps { .. }));
            let names = names.map(|it| it.value.key);
            Err(match nearest(part.key, names) {
                Some(meant) => fault.hint(format!("did you mean `{meant}`")),
                None => fault,
            })
        }
    }
}

/// One-line summary of events: first words of their statements, or parts of a mix.
pub(super) fn summary(mix: &[Transaction]) -> String {
    let [only] = mix else {
        let total: f64 = mix.iter().map(|it| it.weight).sum();
        let part = |it: &Transaction| format!("{:.0}% {}", 100.0 * it.weight / total, it.name);
        return mix.iter().map(part).collect::<Vec<_>>().join(", ");
    };
    assay_workloads::sql::outline(only)
}
