//! pgbench scripts: one test on the tables that `pgbench -i` makes.

mod expression;
mod tables;

use std::collections::BTreeMap;
use std::ops::Range;

use assay_model::limits::own::{STEPS, VARIABLES};
use assay_model::{
    Class, Generator, OwnData, OwnStep, PerProduct, Scalar, Sql, Test, Transaction, Variable,
};
use assay_workloads::define;

use self::expression::{Expression, Found, Known};
use super::read::definition;
use crate::document::Fault;
use crate::nearest::nearest;
use assay_workloads::sql::{
    Syntax, backslash, leading_name, only_reads, outline, quoted_use, statement, statements,
    unterminated, uses,
};

/// pgbench's scale factor: the number of branches, each with 10 tellers and 100,000 accounts.
const SCALE: i64 = 1;

/// Most bytes of a script.
const BYTES_MAX: usize = 1024 * 1024;

/// The longest pause, and all pauses of a script together, microseconds.
const SLEEP_MAX_US: i64 = 60_000_000;

/// Reads the one test of a script, which has the script's name.
pub(super) fn tests(name: &str, text: &str) -> Result<Vec<Test>, Fault> {
    if text.len() > BYTES_MAX {
        return Err(Fault::of_file(format!("a script may have at most {BYTES_MAX} bytes")));
    }
    let mut script = Script::default();
    script.known.insert("scale".to_owned(), Known::Constant(SCALE));
    for part in parts(text) {
        match part {
            Part::Command(place) => script.command(text, place)?,
            Part::Statements(place) => script.add_statements(text, place)?,
        }
    }
    let Script { variables, steps, is_write, .. } = script;
    let transaction = Transaction { name: name.to_owned(), weight: 1.0, variables, steps };
    match transaction.statements() {
        0 => return Err(Fault::of_file("the script has no statement")),
        1.. if transaction.steps.len() <= STEPS => {}
        _ => {
            return Err(Fault::of_file(format!(
                "a script may have at most {STEPS} statements and pauses"
            )));
        }
    }
    if transaction.most_pause_us() > SLEEP_MAX_US as u64 {
        return Err(Fault::of_file("the pauses of a script may last 60 seconds in all"));
    }
    let does = outline(&transaction);
    let class = if is_write { Class::Write } else { Class::Read };
    let data = OwnData { name: name.to_owned(), tables: tables::tables() };
    Ok(vec![define(definition(name, does, class, vec![transaction], &data))])
}

const COMMANDS: &str = "of pgbench's commands, `\\set` and `\\sleep` can be used";

/// A part of a script, and where it is.
enum Part {
    /// A line that begins with a backslash.
    Command(Range<usize>),
    /// Lines in between.
    Statements(Range<usize>),
}

/// The lines with commands, and what is between them. A command goes on in the next line if its line ends in a
/// backslash.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let begin = at;
        at += line.len();
        if !line.trim_start().starts_with('\\') {
            continue;
        }
        parts.push(Part::Statements(start..begin));
        let mut last = line;
        while last.trim_end().ends_with('\\')
            && let Some(next) = lines.next()
        {
            at += next.len();
            last = next;
        }
        parts.push(Part::Command(begin..at));
        start = at;
    }
    parts.push(Part::Statements(start..text.len()));
    parts
}

/// What was read of a script.
#[derive(Default)]
struct Script {
    known: BTreeMap<String, Known>,
    variables: Vec<Variable>,
    steps: Vec<OwnStep>,
    is_write: bool,
}

impl Script {
    /// Reads a command; `place` is that of its line or lines.
    fn command(&mut self, text: &str, place: Range<usize>) -> Result<(), Fault> {
        let line = text.get(place.clone()).unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        let word = line.split_whitespace().next().unwrap_or_default();
        let begin = place.start + indent;
        let after = begin + word.len();
        let end = place.start + line.trim_end().len();
        match word {
            "\\set" => self.set(text, after, end),
            "\\sleep" => self.sleep(text, after, end),
            _ => Err(Fault::at(begin..after, format!("`{word}` cannot be used")).hint(COMMANDS)),
        }
    }

    fn set(&mut self, text: &str, begin: usize, end: usize) -> Result<(), Fault> {
        let rest = text.get(begin..end).unwrap_or_default();
        let begin = begin + (rest.len() - rest.trim_start().len());
        let name = leading_name(text.get(begin..end).unwrap_or_default());
        let after = begin + name.len();
        if name.is_empty() {
            return Err(Fault::at(
                begin..after.max(begin + 1).min(end),
                "`\\set` needs a variable",
            )
            .hint("for example `\\set aid random(1, 100000 * :scale)`"));
        }
        if self.variables.len() >= VARIABLES {
            let message = format!("a script may have at most {VARIABLES} variables");
            return Err(Fault::at(begin..after, message));
        }
        let found = Expression::new(text, after..end, &self.known).whole()?;
        let known = match found {
            Found::Integer(value) => Known::Constant(value),
            Found::Drawn(range) => {
                let values = Some(Generator::Integer(range));
                self.variables.push(Variable { name: name.to_owned(), values });
                Known::Drawn(self.variables.len() as u32 - 1)
            }
        };
        self.known.insert(name.to_owned(), known);
        Ok(())
    }

    /// `\sleep N [us|ms|s]`.
    fn sleep(&mut self, text: &str, begin: usize, end: usize) -> Result<(), Fault> {
        let rest = text.get(begin..end).unwrap_or_default();
        let indent = rest.len() - rest.trim_start().len();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let place = begin + indent..begin + rest.trim_end().len().max(indent);
        let fail = |message: &str| Fault::at(place.clone(), message.to_owned());
        let (number, unit) = match words.as_slice() {
            [number] => (*number, "s"),
            [number, unit] => (*number, *unit),
            _ => return Err(fail("`\\sleep` needs a time").hint("for example `\\sleep 10 ms`")),
        };
        let number = match number.strip_prefix(':') {
            None => number.parse().ok(),
            Some(name) => match self.known.get(name) {
                Some(Known::Constant(value)) => Some(*value),
                _ => None,
            },
        };
        let factor = match unit {
            "us" => 1,
            "ms" => 1000,
            "s" => 1_000_000,
            _ => return Err(fail("the units of `\\sleep` are `us`, `ms` and `s`")),
        };
        let us = number.and_then(|number: i64| number.checked_mul(factor));
        let us = us.filter(|us| (0..=SLEEP_MAX_US).contains(us));
        let us = us.ok_or_else(|| fail("`\\sleep` takes a whole number, up to 60 seconds"))?;
        self.steps.push(OwnStep::Sleep { us: Generator::Constant(Scalar::Integer(us)) });
        Ok(())
    }

    fn add_statements(&mut self, text: &str, place: Range<usize>) -> Result<(), Fault> {
        let within = text.get(place.clone()).unwrap_or_default();
        if let Some(at) = unterminated(within, Syntax::Postgres) {
            let at = place.start + at;
            return Err(Fault::at(at..at + 1, "what begins here has no end"));
        }
        for part in statements(within, Syntax::Postgres) {
            let at = place.start + part.start;
            let sql = self.sql(within.get(part).unwrap_or_default(), at)?;
            let sql = PerProduct { mysql: None, postgres: Some(sql) };
            self.steps.push(OwnStep::Send { sql, times: 1, keep: Vec::new() });
        }
        Ok(())
    }

    /// A statement that begins at this byte of the script. Constants become part of its text.
    fn sql(&mut self, text: &str, at: usize) -> Result<Sql, Fault> {
        if let Some(place) = backslash(text, Syntax::Postgres) {
            let rest = text.get(place..).unwrap_or_default();
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let span = at + place..at + place + length;
            return Err(Fault::at(span, "a command must begin a line").hint(COMMANDS));
        }
        let found = uses(text, Syntax::Postgres);
        let is_known = |name: &str| self.known.contains_key(name);
        if let Some(span) = quoted_use(text, Syntax::Postgres, is_known) {
            let span = at + span.start..at + span.end;
            return Err(Fault::at(span, "a variable in quotes or in a comment cannot be used"));
        }
        let mut whole = String::with_capacity(text.len());
        let mut numbered = Vec::new();
        let mut copied = 0;
        for it in &found {
            let span = at + it.span.start..at + it.span.end;
            let known = self.known.get(it.name).ok_or_else(|| self.unknown(it.name, span))?;
            whole += text.get(copied..it.span.start).unwrap_or_default();
            copied = it.span.end;
            match known {
                // A minus sign before it would make a comment.
                Known::Constant(value) if *value < 0 => whole += &format!("({value})"),
                Known::Constant(value) => whole += &value.to_string(),
                Known::Drawn(number) => numbered.push((whole.len()..whole.len(), *number)),
            }
        }
        whole += text.get(copied..).unwrap_or_default();
        self.is_write |= !only_reads(text, Syntax::Postgres);
        Ok(statement(&whole, &numbered))
    }

    fn unknown(&self, name: &str, span: Range<usize>) -> Fault {
        let fault = Fault::at(span, format!("no variable is called `{name}` so far"));
        match nearest(name, self.known.keys()) {
            Some(meant) => fault.hint(format!("did you mean `:{meant}`")),
            None => fault.hint(format!("`\\set {name} ...` would define it")),
        }
    }
}
