//! Tests of a workload file: transactions, and mixes of them.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::Distribution;
use assay_model::{
    Captured, Dialect, Generator, Logged, PerDialect, Range as Integers, Scalar, Sending, Sql,
    Transaction, UserStep, Variable,
};
use toml::de::DeValue;

use super::captured;
use super::fields::{MYSQL, POSTGRES, check_name, one_statement, parts_of, try_each};
use super::files::ReadFile;
use super::session;
use super::table::Counts;
use super::values::{Context, generator, weight};
use crate::document::{Fault, Table, Value, all};
use crate::nearest::nearest;
use assay_model::limits::user::{EVENT_BYTES, STATEMENTS, STEPS, TIMES, USES, VARIABLES};
use assay_options::parse_duration_s;
use assay_workloads::sql::{
    Use, leading_name, leaves_open, only_reads, other_mark, quoted_uses, statement, uses,
};
use assay_workloads::unrepeatable;

pub(super) const KEYS: [&str; 8] =
    ["does", "let", "values", "steps", "mix", "writes", "session", "log"];

pub(super) const STEP_KEYS: [&str; 6] = ["sql", MYSQL, POSTGRES, "keep", "times", "think"];

/// Longest pause, and total of an event's pauses. A client that is silent for longer seems stuck.
const THINK_MAX_S: f64 = 60.0;

const EXPECTED: &str = "tests, each written `[test.NAME]`";

pub(super) struct Written<'t> {
    pub(super) value: Value<'t>,
    pub(super) does: Option<&'t str>,
    pub(super) writes: Option<bool>,
    pub(super) work: Work<'t>,
}

pub(super) enum Work<'t> {
    /// The same steps in every event.
    Steps { transaction: Transaction, only_reads: bool },
    /// Events of other tests, with their weights.
    Mix(Vec<(Value<'t>, f64)>),
}

pub(super) fn test<'t>(
    value: &Value<'t>,
    counts: &Counts,
    files: ReadFile<'_>,
) -> Result<Written<'t>, Fault> {
    check_name(value, "test", "_-.=")?;
    let table = value.table(EXPECTED)?;
    table.refuse_unknown(&KEYS)?;
    let work = match (table.get("steps"), table.get("mix")) {
        (Some(steps), None) => steps_of((value.key, &table), &steps, counts, files)?,
        (None, Some(mix)) => {
            let keys = ["let", "values", "session", "log"];
            if let Some(beside) = keys.into_iter().find_map(|key| table.get(key)) {
                let message = format!("`{}` has no meaning beside `mix`", beside.key);
                let fault = Fault::at(beside.key_span, message);
                return Err(fault.hint("it belongs to the tests that are mixed"));
            }
            Work::Mix(mixed(&mix)?)
        }
        (Some(_), Some(mix)) => {
            return Err(Fault::at(mix.key_span, "a test has either `steps` or `mix`"));
        }
        (None, None) => {
            let message = format!("test `{}` lacks `steps`", value.key);
            return Err(Fault::at(value.key_span.clone(), message)
                .hint("for example `steps = [\"SELECT 1\"]`; or mix other tests with `mix`"));
        }
    };
    let does = table.get("does").map(|it| it.text("a text")).transpose()?;
    let writes = table.get("writes");
    let writes = writes.map(|it| it.value.as_bool().ok_or_else(|| it.is_not("`true` or `false`")));
    Ok(Written { value: value.clone(), does, writes: writes.transpose()?, work })
}

fn mixed<'t>(value: &Value<'t>) -> Result<Vec<(Value<'t>, f64)>, Fault> {
    let parts = value.table("a table such as `{ browse = 80, buy = 20 }`")?.values();
    if parts.is_empty() {
        return Err(value.fault("`mix` is empty"));
    }
    parts.into_iter().map(|it| weight(&it).map(|weight| (it, weight))).collect()
}

/// `{ calls = 4810, share = 0.35 }`: frequency of the events in a log.
fn logged(value: &Value<'_>) -> Result<Logged, Fault> {
    const EXPECTED: &str = "a table such as `{ calls = 4810, share = 0.35 }`";
    let table = value.table(EXPECTED)?;
    table.refuse_unknown(&["calls", "share"])?;
    let (Some(calls), Some(share)) = (table.get("calls"), table.get("share")) else {
        return Err(value.is_not(EXPECTED));
    };
    Ok(Logged { calls: calls.number(&(0..=u64::MAX))?, share: share.fraction(&(0.0..=1.0))? })
}

struct Reader<'c> {
    counts: &'c Counts,
    variables: Vec<Variable>,
    numbers: BTreeMap<String, u32>,
    mistaken: BTreeSet<String>,
    only_reads: bool,
}

fn steps_of<'t>(
    (name, table): (&str, &Table<'t>),
    steps: &Value<'t>,
    counts: &Counts,
    files: ReadFile<'_>,
) -> Result<Work<'t>, Fault> {
    let mut reader = Reader {
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
    let session = table.get("session").map(|it| session::settings(&it)).transpose();
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
            let all = Fault::of_all(faults.into_iter().chain(read.err()));
            return Err(all.unwrap_or_else(|| steps.fault("a mistake")));
        }
    };
    refuse_unrepeatable(&read, &listed)?;
    let Reader { variables, only_reads, .. } = reader;
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
        _ => Ok(Work::Steps { transaction, only_reads }),
    }
}

fn refuse_unused(
    read: &[UserStep],
    variables: &[Variable],
    table: &Table<'_>,
    steps: &Value<'_>,
) -> Result<(), Fault> {
    let used = used(read);
    let mut numbered = (0..).zip(variables);
    let unused = numbered.find(|(number, it)| it.values.is_some() && !used.contains(number));
    if let Some((_, Variable { name, .. })) = unused {
        let place = table.get("let").and_then(|it| it.table("").ok()?.get(name));
        let captured = || {
            let names = captured::names(&table.get("values")?).ok()?;
            Some(names.into_iter().find(|it| it.value.as_str() == Some(name))?.span)
        };
        let place = place.map(|it| it.key_span).or_else(captured);
        let place = place.unwrap_or_else(|| steps.span.clone());
        return Err(Fault::at(place, format!("no statement uses `{name}`"))
            .hint(format!("in a statement, `:{name}` is its value")));
    }
    Ok(())
}

/// Whether the steps leave a transaction open for the next event on any product.
fn leaves_transaction_open(transaction: &Transaction) -> bool {
    type OfProduct = fn(&PerDialect<Sql>) -> Option<&Sql>;
    let products: [(Dialect, OfProduct); 2] = [
        (Dialect::MySql, |sql| sql.mysql.as_ref()),
        (Dialect::Postgres, |sql| sql.postgres.as_ref()),
    ];
    products.into_iter().any(|(syntax, of)| {
        let begins = transaction.steps.iter().filter_map(|step| match step {
            UserStep::Send { sql, .. } => of(sql)?.pieces.first(),
            UserStep::Sleep { .. } | UserStep::Pipeline { .. } => None,
        });
        leaves_open(begins.map(String::as_str), syntax)
    })
}

impl Reader<'_> {
    fn add_captured(&mut self, value: &Value<'_>, files: ReadFile<'_>) -> Result<Captured, Fault> {
        let names = captured::names(value)?;
        let texts: Vec<&str> = names.iter().filter_map(|it| it.value.as_str()).collect();
        let (captured, generators) =
            captured::read(value, texts.len(), files).inspect_err(|_| {
                self.mistaken.extend(texts.iter().map(|name| (*name).to_owned()));
            })?;
        for (name, values) in texts.into_iter().zip(generators) {
            self.add(name, Some(values)).map_err(|why| value.fault(why))?;
        }
        Ok(captured)
    }

    fn add_drawn(&mut self, value: &Value<'_>) -> Result<(), Fault> {
        if self.numbers.contains_key(value.key) {
            let message = format!("`{}` is a name of `values` too", value.key);
            return Err(Fault::at(value.key_span.clone(), message));
        }
        let context = Context { tables: self.counts, is_column: false };
        let values = Some(generator(value, context)?);
        self.add(value.key, values).map_err(|why| Fault::at(value.key_span.clone(), why)).map(drop)
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

    fn step(&mut self, value: &Value<'_>) -> Result<UserStep, Fault> {
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
                _ => Err(Fault::at(think.key_span, "`think` is a step of its own")
                    .hint("for example `{ think = \"10ms\" }`")),
            };
        }
        let parts = match (table.get("sql"), parts_of(&table)) {
            (Some(sql), None) => PerDialect::all(sql),
            (None, Some(parts)) => parts,
            (Some(sql), Some(_)) => {
                return Err(Fault::at(sql.key_span, "`sql` is for all products")
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

    fn sql(&mut self, value: &Value<'_>, syntax: Dialect) -> Result<Sql, Fault> {
        let (text, place) = one_statement(value, syntax)?;
        let place_of = |span: std::ops::Range<usize>| {
            value.span_of(place.start + span.start..place.start + span.end)
        };
        if let Some(span) = other_mark(text, syntax) {
            return Err(Fault::at(place_of(span), "this is a mark of another program")
                .hint("name values: `:id` is the variable `id`, which `let.id` draws"));
        }
        let quoted = quoted_uses(text, syntax).into_iter().map(|(it, _)| it);
        if let Some(it) = quoted.into_iter().find(|it| self.number(it.name).is_some()) {
            return Err(Fault::at(place_of(it.span), "a variable in quotes has no value").hint(
                "leave the quotes out; for a part of a text, use `CONCAT('%', :name, '%')`",
            ));
        }
        let used = uses(text, syntax);
        if used.len() > USES {
            return Err(value.fault(format!("a statement may use {USES} values")));
        }
        let unknown = |it: &Use<'_>| {
            let fault = Fault::at(
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
        let number = |it: Use<'_>| match self.number(it.name) {
            Some(number) => Ok((it.span, number)),
            None if self.mistaken.contains(it.name) => Ok((it.span, 0)),
            None => Err(unknown(&it)),
        };
        // A misspelt name is often misspelt everywhere.
        let mut note = BTreeSet::new();
        let is_new =
            |it: &Use<'_>| self.number(it.name).is_some() || note.insert(it.name.to_owned());
        let numbered = all(used.into_iter().filter(is_new).map(number))?;
        self.only_reads &= only_reads(text, syntax);
        Ok(statement(text, &numbered))
    }

    fn keep(&mut self, value: &Value<'_>) -> Result<Vec<u32>, Fault> {
        let names = if value.value.is_array() { value.list("")? } else { vec![value.clone()] };
        let mut kept = Vec::with_capacity(names.len());
        for it in &names {
            let name = it.text("names of variables, in quotes")?;
            let number = match self.number(name) {
                None => self.add(name, None).map_err(|why| it.fault(why))?,
                Some(number) if self.variables.get(number as usize).is_some_and(is_drawn) => {
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
fn refuse_unrepeatable(steps: &[UserStep], written: &[Value<'_>]) -> Result<(), Fault> {
    type OfProduct = fn(&PerDialect<Sql>) -> Option<&Sql>;
    let products: [(Dialect, OfProduct); 2] = [
        (Dialect::MySql, |sql| sql.mysql.as_ref()),
        (Dialect::Postgres, |sql| sql.postgres.as_ref()),
    ];
    for (syntax, of) in products {
        let texts = (0..).zip(steps).filter_map(|(number, step)| match step {
            UserStep::Send { sql, .. } => Some((number, of(sql)?.with_marks(|_| "?".to_owned()))),
            UserStep::Sleep { .. } | UserStep::Pipeline { .. } => None,
        });
        let texts: Vec<(usize, String)> = texts.collect();
        let found = unrepeatable(texts.iter().map(|(_, text)| text.as_str()), syntax);
        if let Some((number, why)) = found
            && let Some(value) = texts.get(number).and_then(|(step, _)| written.get(*step))
        {
            return Err(value.fault(why).hint(
                "an event is repeated until the time is over; what is to exist beforehand belongs into \
                 `[table.NAME]`, as `create` or `after`",
            ));
        }
    }
    Ok(())
}

const STEP_HINT: &str = "`sql` has it for all products, `mysql` and `postgres` for one of them";

fn is_drawn(variable: &Variable) -> bool {
    variable.values.is_some()
}

fn pause(value: &Value<'_>) -> Result<Generator, Fault> {
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

fn microseconds(value: &Value<'_>) -> Result<i64, Fault> {
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
