//! Tests of a workload file: transactions, and mixes of them.

use assay_model::Distribution;
use assay_model::{
    Generator, OwnStep, PerProduct, Range as Integers, Scalar, Sql, Transaction, Variable,
};
use toml::de::DeValue;

use super::fields::{MYSQL, POSTGRES, check_name, one_statement, parts_of, try_each};
use super::table::Counts;
use super::values::{Context, generator, weight};
use crate::document::{Fault, Table, Value};
use crate::nearest::nearest;
use crate::units::parse_duration_s;
use assay_model::limits::own::{EVENT_BYTES, STATEMENTS, STEPS, TIMES, USES, VARIABLES};
use assay_workloads::sql::{
    Syntax, leading_name, leaves_open, only_reads, other_mark, quoted_use, statement, uses,
};

/// The keys of `[test.NAME]`.
pub(super) const KEYS: [&str; 5] = ["does", "let", "steps", "mix", "writes"];

/// The keys of a step that is a table.
pub(super) const STEP_KEYS: [&str; 6] = ["sql", MYSQL, POSTGRES, "keep", "times", "think"];

/// The longest pause, and all pauses of an event together, seconds. A client that is silent for longer seems stuck.
const THINK_MAX_S: f64 = 60.0;

/// The form of a test.
const EXPECTED: &str = "tests, each written `[test.NAME]`";

/// A test of the file.
pub(super) struct Written<'t> {
    pub(super) value: Value<'t>,
    pub(super) does: Option<&'t str>,
    pub(super) writes: Option<bool>,
    pub(super) work: Work<'t>,
}

/// What the clients of a test do.
pub(super) enum Work<'t> {
    /// The same steps in every event.
    Steps { transaction: Transaction, only_reads: bool },
    /// Events of other tests, with their weights.
    Mix(Vec<(Value<'t>, f64)>),
}

/// Reads a test.
pub(super) fn test<'t>(value: &Value<'t>, counts: &Counts) -> Result<Written<'t>, Fault> {
    check_name(value, "test", "_-.=")?;
    let table = value.table(EXPECTED)?;
    table.refuse_unknown(&KEYS)?;
    let work = match (table.get("steps"), table.get("mix")) {
        (Some(steps), None) => steps_of(value.key, &table, &steps, counts)?,
        (None, Some(mix)) => {
            if let Some(variables) = table.get("let") {
                let fault = Fault::at(variables.key_span, "`let` has no meaning beside `mix`");
                return Err(fault.hint("define variables in the tests that are mixed"));
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

/// Names of other tests and their weights.
fn mixed<'t>(value: &Value<'t>) -> Result<Vec<(Value<'t>, f64)>, Fault> {
    let parts = value.table("a table such as `{ browse = 80, buy = 20 }`")?.values();
    if parts.is_empty() {
        return Err(value.fault("`mix` is empty"));
    }
    parts.into_iter().map(|it| weight(&it).map(|weight| (it, weight))).collect()
}

/// What a transaction has so far.
struct Reader<'c> {
    counts: &'c Counts,
    variables: Vec<Variable>,
    only_reads: bool,
}

fn steps_of<'t>(
    name: &str,
    table: &Table<'t>,
    steps: &Value<'t>,
    counts: &Counts,
) -> Result<Work<'t>, Fault> {
    let mut reader = Reader { counts, variables: Vec::new(), only_reads: true };
    if let Some(variables) = table.get("let") {
        for value in variables.table("a table of variables and their values")?.values() {
            reader.add_drawn(&value)?;
        }
    }
    let listed = steps.list("a list of SQL statements")?;
    if listed.len() > STEPS {
        return Err(steps.fault(format!("a test may have at most {STEPS} steps")));
    }
    let read: Vec<OwnStep> =
        listed.iter().map(|value| reader.step(value)).collect::<Result<_, _>>()?;
    let Reader { variables, only_reads, .. } = reader;
    if let Some(unused) =
        variables.iter().position(|it| it.values.is_some() && !is_used(it, &variables, &read))
    {
        let name = &variables[unused].name;
        let place = table.get("let").and_then(|it| it.table("").ok()?.get(name));
        let place = place.map_or(steps.span.clone(), |it| it.key_span);
        return Err(Fault::at(place, format!("no statement uses `{name}`"))
            .hint(format!("in a statement, `:{name}` is its value")));
    }
    let transaction = Transaction { name: name.to_owned(), weight: 1.0, variables, steps: read };
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

/// Whether the steps leave a transaction open for the next event on any product.
fn leaves_transaction_open(transaction: &Transaction) -> bool {
    type OfProduct = fn(&PerProduct<Sql>) -> Option<&Sql>;
    let products: [(Syntax, OfProduct); 2] = [
        (Syntax::MySql, |sql| sql.mysql.as_ref()),
        (Syntax::Postgres, |sql| sql.postgres.as_ref()),
    ];
    products.into_iter().any(|(syntax, of)| {
        let begins = transaction.steps.iter().filter_map(|step| match step {
            OwnStep::Send { sql, .. } => of(sql)?.pieces.first(),
            OwnStep::Sleep { .. } => None,
        });
        leaves_open(begins.map(String::as_str), syntax)
    })
}

impl Reader<'_> {
    fn add_drawn(&mut self, value: &Value<'_>) -> Result<(), Fault> {
        let context = Context { tables: self.counts, is_column: false };
        let values = Some(generator(value, context)?);
        self.add(value.key, values).map_err(|why| Fault::at(value.key_span.clone(), why)).map(drop)
    }

    /// The number of a new variable.
    fn add(&mut self, name: &str, values: Option<Generator>) -> Result<u32, String> {
        if name.is_empty() || leading_name(name) != name {
            return Err(format!(
                "`{name}` cannot name a variable: use letters, digits and `_`, and begin with no digit"
            ));
        }
        if self.variables.len() >= VARIABLES {
            return Err(format!("a test may have at most {VARIABLES} variables"));
        }
        self.variables.push(Variable { name: name.to_owned(), values });
        Ok(self.variables.len() as u32 - 1)
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.variables.iter().position(|it| it.name == name).map(|at| at as u32)
    }

    fn step(&mut self, value: &Value<'_>) -> Result<OwnStep, Fault> {
        if value.value.is_str() {
            let parts = PerProduct::all(value.clone());
            let sql = try_each(parts, |part, syntax| self.sql(&part, syntax))?;
            return Ok(OwnStep::Send { sql, times: 1, keep: Vec::new() });
        }
        let table = value.table("SQL in quotes, or a table such as `{ sql = \"...\" }`")?;
        table.refuse_unknown(&STEP_KEYS)?;
        if let Some(think) = table.get("think") {
            return match table.values().len() {
                1 => Ok(OwnStep::Sleep { us: pause(&think)? }),
                _ => Err(Fault::at(think.key_span, "`think` is a step of its own")
                    .hint("for example `{ think = \"10ms\" }`")),
            };
        }
        let parts = match (table.get("sql"), parts_of(&table)) {
            (Some(sql), None) => PerProduct::all(sql),
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
        Ok(OwnStep::Send { sql, times: times.unwrap_or(1), keep: keep.unwrap_or_default() })
    }

    /// A statement whose variables are known.
    fn sql(&mut self, value: &Value<'_>, syntax: Syntax) -> Result<Sql, Fault> {
        let (text, place) = one_statement(value, syntax)?;
        let number = |name: &str, span: std::ops::Range<usize>| {
            let span = value.span_of(place.start + span.start..place.start + span.end);
            self.number(name).ok_or_else(|| {
                let fault = Fault::at(span, format!("no variable is called `{name}` so far"));
                match nearest(name, self.variables.iter().map(|it| &it.name)) {
                    Some(meant) => fault.hint(format!("did you mean `:{meant}`")),
                    None => fault.hint(format!(
                        "`let.{name}` says how it is drawn, and `keep` in an earlier step takes it from a result"
                    )),
                }
            })
        };
        let place_of = |span: std::ops::Range<usize>| {
            value.span_of(place.start + span.start..place.start + span.end)
        };
        if let Some(span) = other_mark(text, syntax) {
            return Err(Fault::at(place_of(span), "this is a mark of another program")
                .hint("name values: `:id` is the variable `id`, which `let.id` draws"));
        }
        let is_known = |name: &str| self.number(name).is_some();
        if let Some(span) = quoted_use(text, syntax, is_known) {
            return Err(Fault::at(place_of(span), "a variable in quotes has no value").hint(
                "leave the quotes out; for a part of a text, use `CONCAT('%', :name, '%')`",
            ));
        }
        let numbered: Vec<_> = uses(text, syntax)
            .into_iter()
            .map(|it| Ok((it.span.clone(), number(it.name, it.span)?)))
            .collect::<Result<_, Fault>>()?;
        if numbered.len() > USES {
            return Err(value.fault(format!("a statement may use {USES} values")));
        }
        self.only_reads &= only_reads(text, syntax);
        Ok(statement(text, &numbered))
    }

    /// The variables that take the columns of a result.
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

/// Whether a statement uses a variable.
fn is_used(variable: &Variable, all: &[Variable], steps: &[OwnStep]) -> bool {
    let number = all.iter().position(|it| it.name == variable.name).map(|at| at as u32);
    steps.iter().any(|step| match step {
        OwnStep::Send { sql, .. } => {
            let mut statements = [&sql.mysql, &sql.postgres].into_iter().flatten();
            statements.any(|sql| sql.variables.iter().any(|it| Some(*it) == number))
        }
        OwnStep::Sleep { .. } => false,
    })
}

const STEP_HINT: &str = "`sql` has it for all products, `mysql` and `postgres` for one of them";

fn is_drawn(variable: &Variable) -> bool {
    variable.values.is_some()
}

/// A pause: always the same, or drawn from a range.
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
    let seconds = parse_duration_s(text).map_err(|error| value.mistaken(&error))?;
    if seconds > THINK_MAX_S {
        return Err(value.fault(format!("a pause may last {THINK_MAX_S} seconds")));
    }
    Ok((seconds * 1e6).round() as i64)
}
