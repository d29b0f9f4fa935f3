//! Tests of a workload file: transactions, and mixes of them.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::limits::captured::{FILE_BYTES, WIDTH};
use assay_model::{
    CapturedDraw, CapturedKind, CapturedValues, Dialect, Distribution, Generator, LogShare,
    PerDialect, Range as Integers, Scalar, Sending, SessionSetting, SettingError, Sql, Transaction,
    UserRowsFile, UserStep, Variable,
};
use toml::de::DeValue;

use super::fields::{MYSQL, POSTGRES, check_name, one_statement, parts_of, try_each};
use super::files::{FileExtent, ReadFile, UserFile};
use super::table::{TableRows, file};
use super::values::{ValueContext, generator, weight};
use crate::document::{FileFault, FileResult, FileTable, FileValue, all};
use crate::nearest::nearest;
use assay_model::limits::user::{EVENT_BYTES, SETTINGS, STATEMENTS, STEPS, TIMES, USES, VARIABLES};
use assay_options::parse_duration_s;
use assay_workloads::sql::{
    VariableUse, leading_name, leaves_open, only_reads, other_mark, quoted_uses, statement, uses,
};
use assay_workloads::{CapturedLines, keep_captured, unrepeatable};

pub(super) const KEYS: [&str; 8] =
    ["does", "let", "values", "steps", "mix", "writes", "session", "log"];

pub(super) const STEP_KEYS: [&str; 6] = ["sql", MYSQL, POSTGRES, "keep", "times", "think"];

/// Longest pause, and total of an event's pauses. A client that is silent for longer seems stuck.
const THINK_MAX_S: f64 = 60.0;

const EXPECTED: &str = "tests, each written `[test.NAME]`";

pub(super) struct TestEntry<'t> {
    pub(super) value: FileValue<'t>,
    pub(super) does: Option<&'t str>,
    pub(super) writes: Option<bool>,
    pub(super) work: TestWork<'t>,
}

pub(super) enum TestWork<'t> {
    /// The same steps in every event.
    Steps { transaction: Transaction, only_reads: bool },
    /// Events of other tests, with their weights.
    Mix(Vec<(FileValue<'t>, f64)>),
}

pub(super) fn test<'t>(
    value: &FileValue<'t>,
    counts: &TableRows,
    files: ReadFile<'_>,
) -> FileResult<TestEntry<'t>> {
    check_name(value, "test", "_-.=")?;
    let table = value.table(EXPECTED)?;
    table.refuse_unknown(&KEYS)?;
    let work = match (table.get("steps"), table.get("mix")) {
        (Some(steps), None) => steps_of((value.key, &table), &steps, counts, files)?,
        (None, Some(mix)) => {
            let keys = ["let", "values", "session", "log"];
            if let Some(beside) = keys.into_iter().find_map(|key| table.get(key)) {
                let message = format!("`{}` has no meaning beside `mix`", beside.key);
                let fault = FileFault::at(beside.key_span, message);
                return Err(fault.hint("it belongs to the tests that are mixed"));
            }
            TestWork::Mix(mixed(&mix)?)
        }
        (Some(_), Some(mix)) => {
            return Err(FileFault::at(mix.key_span, "a test has either `steps` or `mix`"));
        }
        (None, None) => {
            let message = format!("test `{}` lacks `steps`", value.key);
            return Err(FileFault::at(value.key_span.clone(), message)
                .hint("for example `steps = [\"SELECT 1\"]`; or mix other tests with `mix`"));
        }
    };
    let does = table.get("does").map(|it| it.text("a text")).transpose()?;
    let writes = table.get("writes").map(|value| value.flag()).transpose()?;
    Ok(TestEntry { value: value.clone(), does, writes, work })
}

fn mixed<'t>(value: &FileValue<'t>) -> FileResult<Vec<(FileValue<'t>, f64)>> {
    let parts = value.table("a table such as `{ browse = 80, buy = 20 }`")?.values();
    if parts.is_empty() {
        return Err(value.fault("`mix` is empty"));
    }
    parts.into_iter().map(|it| weight(&it).map(|weight| (it, weight))).collect()
}

/// In the order in which they are set.
fn session_settings(value: &FileValue<'_>) -> FileResult<Vec<SessionSetting>> {
    let table = value.table("a table such as `{ sql_mode = \"ANSI_QUOTES\" }`")?;
    if table.values().len() > SETTINGS {
        return Err(value.fault(format!("a session may have at most {SETTINGS} settings")));
    }
    let mut read = all(table.values().iter().map(setting))?;
    read.sort();
    if let Some(pair) = read.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
        return Err(value.fault(format!("`{}` is set twice", pair[0].name())));
    }
    Ok(read)
}

fn setting(value: &FileValue<'_>) -> FileResult<SessionSetting> {
    let text = match &value.value {
        DeValue::String(text) => text.to_string(),
        DeValue::Boolean(true) => "ON".to_owned(),
        DeValue::Boolean(false) => "OFF".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        _ => return Err(value.is_not("a text, a number, `true` or `false`")),
    };
    SessionSetting::new(value.key, &text).map_err(|error| match error {
        SettingError::Value(takes) => value.fault(format!("`{}` takes {takes}", value.key)),
        SettingError::Unknown => {
            let fault = FileFault::at(
                value.key_span.clone(),
                format!("`{}` is no setting that assay sets in sessions", value.key),
            );
            let name = value.key.to_ascii_lowercase();
            let known = Dialect::ALL.into_iter().flat_map(SessionSetting::names);
            fault.hint_nearest(
                &name,
                known,
                "docs/reference/workload-files.md lists them; an option of the server stands in the name of the \
                 system, such as `mysql@8.0+max_connections=500`",
            )
        }
    })
}

pub(super) const VALUES_KEYS: [&str; 3] = ["file", "names", "draw"];

const VALUES_EXPECTED: &str = "a table such as `{ file = \"values.jsonl\", names = [\"id\"] }`";

fn captured_names<'t>(value: &FileValue<'t>) -> FileResult<Vec<FileValue<'t>>> {
    let table = value.table(VALUES_EXPECTED)?;
    table.refuse_unknown(&VALUES_KEYS)?;
    let lacks = || {
        value.fault("`values` lacks `names`").hint("they name the values of a line, in its order")
    };
    let listed = table.get("names").ok_or_else(lacks)?;
    let names = listed.list("a list of names")?;
    if names.is_empty() || names.len() > WIDTH {
        return Err(listed.fault(format!("a line has 1 to {WIDTH} values")));
    }
    let check = |(number, it): (usize, &FileValue<'t>)| {
        let name = it.text("the name of a variable, in quotes")?;
        if name.is_empty() || leading_name(name) != name {
            return Err(it.fault(format!(
                "`{name}` cannot name a variable: use letters, digits and `_`, and begin with no digit"
            )));
        }
        let before = names.iter().take(number);
        if before.filter_map(|it| it.value.as_str()).any(|other| other == name) {
            return Err(it.fault(format!("`{name}` is named twice")));
        }
        Ok(())
    };
    all(names.iter().enumerate().map(check))?;
    Ok(names)
}

/// Reads the file of `values`, and keeps its lines for the sender. Returns it and the generators of its names.
fn read_captured(
    value: &FileValue<'_>,
    width: usize,
    files: ReadFile<'_>,
) -> FileResult<(CapturedValues, Vec<Generator>)> {
    let table = value.table(VALUES_EXPECTED)?;
    let draw = match table.get("draw") {
        None => CapturedDraw::Random,
        Some(draw) => match draw.text("`\"random\"` or `\"in-order\"`")? {
            "random" => CapturedDraw::Random,
            "in-order" => CapturedDraw::InOrder,
            _ => return Err(draw.fault("`draw` must be `random` or `in-order`")),
        },
    };
    let lacks = || {
        value
            .fault("`values` lacks `file`")
            .hint("each line of the file is a JSON array, such as `[42, \"DE\"]`")
    };
    let named = table.get("file").ok_or_else(lacks)?;
    let name = named.text("the name of a file, in quotes")?;
    let UserFile { path, sha256, content, .. } = file(&named, files, FileExtent::Whole)?;
    if content.len() as u64 > FILE_BYTES {
        return Err(named.fault(format!("`{name}` has more than {FILE_BYTES} bytes")));
    }
    let lines = CapturedLines::parse(&content, width).map_err(|errors| {
        let faults = errors.iter().map(|error| named.fault(format!("`{name}`, {error}")));
        let hint = "each line is a JSON array with a value for each of `names`; a value is a number, a text, `null`, \
                    `true`, `false`, `{\"hex\": \"ff00\"}` or an array of those";
        let faults = FileFault::of_all(faults.map(|fault| fault.hint(hint)));
        faults.unwrap_or_else(|| named.fault("a mistake"))
    })?;
    let generators = (0..).zip(lines.columns()).map(|(column, it)| Generator::Captured {
        column,
        of: it.kind.unwrap_or(CapturedKind::Texts),
        most_bytes: it.most_bytes,
    });
    let generators = generators.collect();
    let file = UserRowsFile { path, sha256 };
    let captured = CapturedValues { lines: lines.count(), width: width as u32, draw, file };
    keep_captured(&captured.file.sha256, lines);
    Ok((captured, generators))
}

/// `{ calls = 4810, share = 0.35 }`: frequency of the events in a log.
fn logged(value: &FileValue<'_>) -> FileResult<LogShare> {
    const EXPECTED: &str = "a table such as `{ calls = 4810, share = 0.35 }`";
    let table = value.table(EXPECTED)?;
    table.refuse_unknown(&["calls", "share"])?;
    let (Some(calls), Some(share)) = (table.get("calls"), table.get("share")) else {
        return Err(value.is_not(EXPECTED));
    };
    Ok(LogShare { calls: calls.number(&(0..=u64::MAX))?, share: share.fraction(&(0.0..=1.0))? })
}

struct StepReader<'c> {
    counts: &'c TableRows,
    variables: Vec<Variable>,
    numbers: BTreeMap<String, u32>,
    mistaken: BTreeSet<String>,
    only_reads: bool,
}

fn steps_of<'t>(
    (name, table): (&str, &FileTable<'t>),
    steps: &FileValue<'t>,
    counts: &TableRows,
    files: ReadFile<'_>,
) -> FileResult<TestWork<'t>> {
    let mut reader = StepReader {
        counts,
        variables: Vec::new(),
        numbers: BTreeMap::new(),
        mistaken: BTreeSet::new(),
        only_reads: true,
    };
    let mut faults = Vec::new();
    let mut captured = None;
    if let Some(values) = table.get("values") {
        match reader.add_captured(&values, files) {
            Ok(read) => captured = Some(read),
            Err(fault) => faults.push(fault),
        }
    }
    if let Some(variables) = table.get("let") {
        for value in variables.table("a table of variables and their values")?.values() {
            if let Err(fault) = reader.add_drawn(&value) {
                reader.mistaken.insert(value.key.to_owned());
                faults.push(fault);
            }
        }
    }
    let session = table.get("session").map(|it| session_settings(&it)).transpose();
    let session = session.unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    let listed = steps.list("a list of SQL statements")?;
    if listed.len() > STEPS {
        return Err(steps.fault(format!("a test may have at most {STEPS} steps")));
    }
    let read = all(listed.iter().map(|value| reader.step(value)));
    let read: Vec<UserStep> = match read {
        Ok(read) if faults.is_empty() => read,
        read => {
            let all = FileFault::of_all(faults.into_iter().chain(read.err()));
            return Err(all.unwrap_or_else(|| steps.fault("a mistake")));
        }
    };
    refuse_unrepeatable(&read, &listed)?;
    let StepReader { variables, only_reads, .. } = reader;
    refuse_unused(&read, &variables, table, steps)?;
    let (name, weight) = (name.to_owned(), 1.0);
    let session = session.unwrap_or_default();
    let logged = table.get("log").map(|it| logged(&it)).transpose()?;
    let transaction =
        Transaction { name, weight, variables, steps: read, captured, session, logged };
    match transaction.statements() {
        0 => Err(steps.fault("there is no statement among the steps")),
        count if count > STATEMENTS => Err(steps.fault(format!(
            "an event may send at most {STATEMENTS} statements, repetitions included"
        ))),
        _ if transaction.most_pause_us() > (THINK_MAX_S * 1e6) as u64 => Err(steps.fault(format!(
            "the pauses of an event may last at most {THINK_MAX_S} seconds in all"
        ))),
        _ if transaction.most_bytes() > EVENT_BYTES => Err(steps
            .fault("the values of an event may have at most 256 MiB in all, repetitions included")),
        _ if leaves_transaction_open(&transaction) => Err(steps
            .fault("a transaction begins among the steps and does not end")
            .hint("end it with `COMMIT` or `ROLLBACK`")),
        _ => Ok(TestWork::Steps { transaction, only_reads }),
    }
}

fn refuse_unused(
    read: &[UserStep],
    variables: &[Variable],
    table: &FileTable<'_>,
    steps: &FileValue<'_>,
) -> FileResult<()> {
    let used = used(read);
    let mut numbered = (0..).zip(variables);
    let unused = numbered.find(|(number, it)| it.values.is_some() && !used.contains(number));
    if let Some((_, Variable { name, .. })) = unused {
        let place = table.get("let").and_then(|it| it.table("").ok()?.get(name));
        let captured = || {
            let names = captured_names(&table.get("values")?).ok()?;
            Some(names.into_iter().find(|it| it.value.as_str() == Some(name))?.span)
        };
        let place = place.map(|it| it.key_span).or_else(captured);
        let place = place.unwrap_or_else(|| steps.span.clone());
        return Err(FileFault::at(place, format!("no statement uses `{name}`"))
            .hint(format!("in a statement, `:{name}` is its value")));
    }
    Ok(())
}

/// Whether the steps leave a transaction open for the next event on any product.
fn leaves_transaction_open(transaction: &Transaction) -> bool {
    Dialect::ALL.into_iter().any(|dialect| {
        let begins = transaction.steps.iter().filter_map(|step| match step {
            UserStep::Send { sql, .. } => sql.for_dialect(dialect)?.pieces.first(),
            UserStep::Sleep { .. } | UserStep::Pipeline { .. } => None,
        });
        leaves_open(begins.map(String::as_str), dialect)
    })
}

impl StepReader<'_> {
    fn add_captured(
        &mut self,
        value: &FileValue<'_>,
        files: ReadFile<'_>,
    ) -> FileResult<CapturedValues> {
        let names = captured_names(value)?;
        let texts: Vec<&str> = names.iter().filter_map(|it| it.value.as_str()).collect();
        let (captured, generators) =
            read_captured(value, texts.len(), files).inspect_err(|_| {
                self.mistaken.extend(texts.iter().map(|name| (*name).to_owned()));
            })?;
        for (name, values) in texts.into_iter().zip(generators) {
            self.add(name, Some(values)).map_err(|why| value.fault(why))?;
        }
        Ok(captured)
    }

    fn add_drawn(&mut self, value: &FileValue<'_>) -> FileResult<()> {
        if self.numbers.contains_key(value.key) {
            let message = format!("`{}` is a name of `values` too", value.key);
            return Err(FileFault::at(value.key_span.clone(), message));
        }
        let context = ValueContext { tables: self.counts, is_column: false };
        let values = Some(generator(value, context)?);
        self.add(value.key, values)
            .map_err(|why| FileFault::at(value.key_span.clone(), why))
            .map(drop)
    }

    fn add(&mut self, name: &str, values: Option<Generator>) -> Result<u32, String> {
        if name.is_empty() || leading_name(name) != name {
            return Err(format!(
                "`{name}` cannot name a variable: use letters, digits and `_`, and begin with no digit"
            ));
        }
        if self.variables.len() >= VARIABLES {
            return Err(format!("a test may have at most {VARIABLES} variables"));
        }
        let number = self.variables.len() as u32;
        self.variables.push(Variable { name: name.to_owned(), values });
        self.numbers.insert(name.to_owned(), number);
        Ok(number)
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    fn step(&mut self, value: &FileValue<'_>) -> FileResult<UserStep> {
        if value.value.is_str() {
            let parts = PerDialect::all(value.clone());
            let sql = try_each(parts, |part, syntax| self.sql(&part, syntax))?;
            return Ok(sent(sql, 1, Vec::new()));
        }
        let table = value.table("SQL in quotes, or a table such as `{ sql = \"...\" }`")?;
        table.refuse_unknown(&STEP_KEYS)?;
        if let Some(think) = table.get("think") {
            return match table.values().len() {
                1 => Ok(UserStep::Sleep { us: pause(&think)?, when: None }),
                _ => Err(FileFault::at(think.key_span, "`think` is a step of its own")
                    .hint("for example `{ think = \"10ms\" }`")),
            };
        }
        let parts = match (table.get("sql"), parts_of(&table)) {
            (Some(sql), None) => PerDialect::all(sql),
            (None, Some(parts)) => parts,
            (Some(sql), Some(_)) => {
                return Err(FileFault::at(sql.key_span, "`sql` is for all products")
                    .hint("write `mysql` and `postgres` instead, or leave them out"));
            }
            (None, None) => return Err(value.fault("the step has no statement").hint(STEP_HINT)),
        };
        let sql = try_each(parts, |part, syntax| self.sql(&part, syntax))?;
        let times = table.get("times").map(|it| it.number(&(1..=TIMES))).transpose()?;
        let keep = table.get("keep").map(|it| self.keep(&it)).transpose()?;
        let (times, keep) = (times.unwrap_or(1), keep.unwrap_or_default());
        Ok(sent(sql, times, keep))
    }

    fn sql(&mut self, value: &FileValue<'_>, syntax: Dialect) -> FileResult<Sql> {
        let (text, place) = one_statement(value, syntax)?;
        let place_of = |span: std::ops::Range<usize>| {
            value.span_of(place.start + span.start..place.start + span.end)
        };
        if let Some(span) = other_mark(text, syntax) {
            return Err(FileFault::at(place_of(span), "this is a mark of another program")
                .hint("name values: `:id` is the variable `id`, which `let.id` draws"));
        }
        let quoted = quoted_uses(text, syntax).into_iter().map(|(it, _)| it);
        if let Some(it) = quoted.into_iter().find(|it| self.number(it.name).is_some()) {
            return Err(FileFault::at(place_of(it.span), "a variable in quotes has no value")
                .hint(
                    "leave the quotes out; for a part of a text, use `CONCAT('%', :name, '%')`",
                ));
        }
        let used = uses(text, syntax);
        if used.len() > USES {
            return Err(value.fault(format!("a statement may use {USES} values")));
        }
        let unknown = |it: &VariableUse<'_>| {
            let fault = FileFault::at(
                place_of(it.span.clone()),
                format!("no variable is called `{}` so far", it.name),
            );
            match nearest(it.name, self.numbers.keys()) {
                Some(meant) => fault.hint(format!("did you mean `:{meant}`")),
                None => fault.hint(format!(
                    "`let.{name}` says how it is drawn, and `keep` in an earlier step takes it from a result",
                    name = it.name
                )),
            }
        };
        let number = |it: VariableUse<'_>| match self.number(it.name) {
            Some(number) => Ok((it.span, number)),
            None if self.mistaken.contains(it.name) => Ok((it.span, 0)),
            None => Err(unknown(&it)),
        };
        // A misspelt name is often misspelt everywhere.
        let mut note = BTreeSet::new();
        let is_new = |it: &VariableUse<'_>| {
            self.number(it.name).is_some() || note.insert(it.name.to_owned())
        };
        let numbered = all(used.into_iter().filter(is_new).map(number))?;
        self.only_reads &= only_reads(text, syntax);
        Ok(statement(text, &numbered))
    }

    fn keep(&mut self, value: &FileValue<'_>) -> FileResult<Vec<u32>> {
        let names = value.one_or_more("")?;
        let mut kept = Vec::with_capacity(names.len());
        for it in &names {
            let name = it.text("names of variables, in quotes")?;
            let number = match self.number(name) {
                None => self.add(name, None).map_err(|why| it.fault(why))?,
                Some(number) if self.variables[number as usize].values.is_some() => {
                    return Err(it
                        .fault(format!("`{name}` is drawn when an event begins"))
                        .hint("use another name for the value that is kept"));
                }
                Some(number) => number,
            };
            kept.push(number);
        }
        Ok(kept)
    }
}

fn sent(sql: PerDialect<Sql>, times: u32, keep: Vec<u32>) -> UserStep {
    UserStep::Send { sql, times, keep, sending: Sending::Alone, when: None }
}

fn used(steps: &[UserStep]) -> BTreeSet<u32> {
    let of_step = |step: &UserStep| match step {
        UserStep::Send { sql, .. } => {
            let statements = [&sql.mysql, &sql.postgres].into_iter().flatten();
            statements.flat_map(|sql| sql.variables.clone()).collect()
        }
        UserStep::Sleep { .. } | UserStep::Pipeline { .. } => Vec::new(),
    };
    steps.iter().flat_map(of_step).collect()
}

/// Refuses steps that only the first event can execute.
fn refuse_unrepeatable(steps: &[UserStep], written: &[FileValue<'_>]) -> FileResult<()> {
    for dialect in Dialect::ALL {
        let texts = (0..).zip(steps).filter_map(|(number, step)| match step {
            UserStep::Send { sql, .. } => {
                Some((number, sql.for_dialect(dialect)?.with_marks(|_| "?".to_owned())))
            }
            UserStep::Sleep { .. } | UserStep::Pipeline { .. } => None,
        });
        let texts: Vec<(usize, String)> = texts.collect();
        let found = unrepeatable(texts.iter().map(|(_, text)| text.as_str()), dialect);
        if let Some((number, why)) = found {
            return Err(written[texts[number].0].fault(why).hint(
                "an event is repeated until the time is over; what is to exist beforehand belongs into \
                 `[table.NAME]`, as `create` or `after`",
            ));
        }
    }
    Ok(())
}

const STEP_HINT: &str = "`sql` has it for all products, `mysql` and `postgres` for one of them";

fn pause(value: &FileValue<'_>) -> FileResult<Generator> {
    if !value.value.is_array() {
        return Ok(Generator::Constant(Scalar::Integer(microseconds(value)?)));
    }
    let ends = value.list("")?;
    let [least, most] = ends.as_slice() else {
        return Err(value.is_not("a time, or the shortest and the longest time"));
    };
    let (low, high) = (microseconds(least)?, microseconds(most)?);
    if low > high {
        return Err(value.fault("the shortest time is longer than the longest"));
    }
    let draw = Distribution::Uniform;
    Ok(Generator::Integer(Integers { low, high, draw, is_reversed: false }))
}

fn microseconds(value: &FileValue<'_>) -> FileResult<i64> {
    let text = match value.value {
        DeValue::String(text) => text.as_ref(),
        _ => return Err(value.is_not("a time in quotes, such as `\"10ms\"`")),
    };
    let seconds = parse_duration_s(text).map_err(|error| value.mistaken(&error.into()))?;
    if seconds > THINK_MAX_S {
        return Err(value.fault(format!("a pause may last {THINK_MAX_S} seconds")));
    }
    Ok((seconds * 1e6).round() as i64)
}
