//! pgbench scripts: one test on the tables that `pgbench -i` makes.

mod commands;
mod expression;
mod tables;

use std::ops::Range;

use assay_model::limits::user::{STEPS, VARIABLES};
use assay_model::{
    Class, Dialect, Function, Generator, PerDialect, Scalar, Schema, Sql, Term, Test, Transaction,
    UserData, UserStep, Variable,
};
use assay_workloads::sql::{
    backslash, leading_name, leaves_open, marks, only_reads, outline, quoted_use, statement,
    statements, unterminated, uses,
};
use assay_workloads::{Number, column_names, define, unrepeatable};

use self::commands::{Command, refused};
use self::expression::{Expression, Known, Variables, simple_draw, to_constant, unknown};
use super::read::definition;
use crate::document::Fault;

/// pgbench's scale factor: the number of branches, each with 10 tellers and 100,000 accounts.
const SCALE: i64 = 1;

/// Most bytes of a script.
const BYTES_MAX: usize = 16 << 20;

/// The longest pause, and all pauses of a script together, microseconds.
const SLEEP_MAX_US: i64 = 60_000_000;

/// Reads the one test of a script, which has the script's name.
pub(super) fn tests(name: &str, text: &str) -> Result<Vec<Test>, Fault> {
    if text.len() > BYTES_MAX {
        return Err(Fault::of_file(format!("a script may have at most {BYTES_MAX} bytes")));
    }
    let mut script = Script::new(text);
    script.read();
    let Script { variables, steps, is_write, faults, .. } = script;
    if let Some(fault) = Fault::of_all(faults) {
        return Err(fault);
    }
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
    if transaction.variables.len() > VARIABLES {
        return Err(Fault::of_file(format!("a script may have at most {VARIABLES} variables")));
    }
    if transaction.most_pause_us() > SLEEP_MAX_US as u64 {
        return Err(Fault::of_file("the pauses of a script may last 60 seconds in all"));
    }
    let does = outline(&transaction);
    let class = if is_write { Class::Write } else { Class::Read };
    let data = UserData { name: name.to_owned(), tables: tables::tables() };
    let schema = Schema::User(data);
    Ok(vec![define(definition(name, does, class, vec![transaction], name, schema))])
}

/// What was read of a script.
struct Script<'t> {
    text: &'t str,
    known: Variables,
    variables: Vec<Variable>,
    steps: Vec<UserStep>,
    is_write: bool,
    /// The places of the statements that are always sent, by step.
    places: Vec<(usize, Range<usize>)>,
    /// The place of the last statement, and its step, if nothing came after it.
    last: Option<(usize, Range<usize>)>,
    /// The variable that must be true for what comes now.
    when: Option<u32>,
    branches: Vec<Branch>,
    faults: Vec<Fault>,
}

/// An `\if` without its `\endif`.
struct Branch {
    /// The place of the `\if`.
    place: Range<usize>,
    /// The variable that must be true for the whole of it.
    outer: Option<u32>,
    /// The variables of which one is true if an earlier branch was taken.
    before: Vec<u32>,
    has_else: bool,
}

impl<'t> Script<'t> {
    fn new(text: &'t str) -> Self {
        let own = [
            ("scale", Known::Constant(Number::Integer(SCALE))),
            ("client_id", Known::Client),
            ("default_seed", Known::Seed),
            ("random_seed", Known::Seed),
        ];
        Self {
            text,
            known: own.into_iter().map(|(name, known)| (name.to_owned(), known)).collect(),
            variables: Vec::new(),
            steps: Vec::new(),
            is_write: false,
            places: Vec::new(),
            last: None,
            when: None,
            branches: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Reads statements, and commands up to the ends of their lines.
    fn read(&mut self) {
        let mut at = 0;
        while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
            let found = backslash(rest, Dialect::Postgres);
            let end = at + found.unwrap_or(rest.len());
            self.add_statements(at..end);
            if found.is_none() {
                break;
            }
            at = self.line_end(end);
            let read = self.command(Command::at(self.text, end..at));
            self.faults.extend(read.err());
        }
        for Branch { place, .. } in std::mem::take(&mut self.branches) {
            self.faults.push(Fault::at(place, "this `\\if` has no `\\endif`"));
        }
        let texts = self.places.iter().filter_map(|(_, place)| self.text.get(place.clone()));
        if let Some((number, why)) = unrepeatable(texts, Dialect::Postgres)
            && let Some((_, place)) = self.places.get(number)
        {
            self.faults.push(Fault::at(place.clone(), why).hint(REPEATED));
        }
        self.refuse_open_transaction();
    }

    /// Refuses a script that leaves a transaction open for the next event, as pgbench does.
    fn refuse_open_transaction(&mut self) {
        let sent = self.steps.iter().filter_map(|step| match step {
            UserStep::Send { sql, .. } => sql.postgres.as_ref()?.pieces.first(),
            UserStep::Sleep { .. } => None,
        });
        if leaves_open(sent.map(String::as_str), Dialect::Postgres) {
            let fault = Fault::of_file("a transaction begins in the script and does not end");
            self.faults.push(fault.hint("end it with `END;`, `COMMIT;` or `ROLLBACK;`"));
        }
    }

    /// The end of a command: that of its line, which goes on in the next one if it ends in a backslash.
    fn line_end(&self, begin: usize) -> usize {
        let mut end = begin;
        for line in self.text.get(begin..).unwrap_or_default().split_inclusive('\n') {
            end += line.len();
            if !line.trim_end().ends_with('\\') {
                break;
            }
        }
        end
    }

    fn command(&mut self, command: Command<'t>) -> Result<(), Fault> {
        let last = self.last.take();
        match command.word {
            "\\set" => self.set(&command),
            "\\sleep" => self.sleep(&command),
            "\\gset" => self.keep(&command, last),
            "\\if" | "\\elif" | "\\else" | "\\endif" => self.branch(&command),
            _ => {
                let names = command.defines();
                self.known.extend(names.map(|name| (name.to_owned(), Known::Mistaken)));
                Err(refused(&command))
            }
        }
    }

    fn set(&mut self, command: &Command<'t>) -> Result<(), Fault> {
        let rest = command.rest();
        let name = leading_name(self.text.get(rest.clone()).unwrap_or_default());
        if name.is_empty() {
            let span = rest.start..(rest.start + 1).min(rest.end).max(rest.start);
            return Err(Fault::at(span, "`\\set` needs a variable")
                .hint("for example `\\set aid random(1, 100000 * :scale)`"));
        }
        let value = rest.start + name.len()..rest.end;
        let terms = match Expression::new(self.text, value, &self.known).whole() {
            Ok(terms) => terms,
            Err(fault) => {
                self.known.insert(name.to_owned(), Known::Mistaken);
                return Err(fault);
            }
        };
        let terms = match self.when {
            None => terms,
            // The value before, where the branch is not taken.
            Some(when) => {
                let before = match self.known.get(name) {
                    Some(Known::Computed(number)) => Term::Variable(*number),
                    Some(Known::Client) => Term::Client,
                    Some(Known::Seed) => Term::Seed,
                    Some(Known::Constant(Number::Integer(value))) => Term::Integer(*value),
                    Some(Known::Constant(Number::Real(value))) => Term::Real(*value),
                    Some(Known::Constant(Number::Boolean(value))) => Term::Boolean(*value),
                    _ => Term::Null,
                };
                let head = [Term::Variable(when)].into_iter().chain(terms);
                head.chain([before, Term::Call(Function::Case, 3)]).collect()
            }
        };
        let known = match terms.as_slice() {
            [only] if let Some(constant) = to_constant(only) => Known::Constant(constant),
            _ => Known::Computed(self.compute(name, terms)),
        };
        self.known.insert(name.to_owned(), known);
        Ok(())
    }

    /// The number of a new variable that is computed when an event begins.
    fn compute(&mut self, name: &str, terms: Vec<Term>) -> u32 {
        let values = simple_draw(&terms).map_or(Generator::Computed(terms), Generator::Integer);
        self.variables.push(Variable { name: name.to_owned(), values: Some(values) });
        self.variables.len() as u32 - 1
    }

    /// `\sleep N [us|ms|s]`.
    fn sleep(&mut self, command: &Command<'t>) -> Result<(), Fault> {
        let place = command.rest();
        let words: Vec<&str> =
            self.text.get(place.clone()).unwrap_or_default().split_whitespace().collect();
        let fail = |message: &str| Fault::at(place.clone(), message.to_owned());
        let (number, unit) = match words.as_slice() {
            [number] => (*number, "s"),
            [number, unit] => (*number, *unit),
            _ => return Err(fail("`\\sleep` needs a time").hint("for example `\\sleep 10 ms`")),
        };
        let number = match number.strip_prefix(':') {
            None => number.parse().ok(),
            Some(name) => match self.known.get(name) {
                Some(Known::Constant(Number::Integer(value))) => Some(*value),
                Some(Known::Mistaken) => return Ok(()),
                Some(_) => {
                    return Err(fail("`\\sleep` takes a time that is always the same").hint(
                        "in a workload file, `{ think = [\"1ms\", \"5ms\"] }` draws a pause",
                    ));
                }
                None => return Err(unknown(name, place, &self.known)),
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
        let us = Generator::Constant(Scalar::Integer(us));
        self.steps.push(UserStep::Sleep { us, when: self.when });
        Ok(())
    }

    /// `\gset [PREFIX]`: the columns of the first row become variables.
    fn keep(
        &mut self,
        command: &Command<'t>,
        last: Option<(usize, Range<usize>)>,
    ) -> Result<(), Fault> {
        let prefix = leading_name(self.text.get(command.rest()).unwrap_or_default());
        let Some((step, place)) = last else {
            return Err(Fault::at(command.place(), "`\\gset` follows no query"));
        };
        let sql = self.text.get(place.clone()).unwrap_or_default();
        let Some(names) = column_names(sql, Dialect::Postgres) else {
            return Err(Fault::at(
                place,
                "the columns of this statement are not known before it runs",
            )
            .hint("name them: `SELECT bid, abalance AS balance ... \\gset`"));
        };
        let mut kept = Vec::with_capacity(names.len());
        for name in names {
            let name = format!("{prefix}{name}");
            self.variables.push(Variable { name: name.clone(), values: None });
            kept.push(self.variables.len() as u32 - 1);
            self.known.insert(name, Known::Kept(self.variables.len() as u32 - 1));
        }
        if let Some(UserStep::Send { keep, .. }) = self.steps.get_mut(step) {
            *keep = kept;
        }
        Ok(())
    }

    fn branch(&mut self, command: &Command<'t>) -> Result<(), Fault> {
        let lost = || Fault::at(command.place(), format!("this `{}` has no `\\if`", command.word));
        if command.word == "\\if" {
            let condition = self.condition(command);
            let outer = self.when;
            let place = command.place();
            self.branches.push(Branch { place, outer, before: Vec::new(), has_else: false });
            return self.enter(condition);
        }
        if command.word == "\\endif" {
            self.when = self.branches.pop().ok_or_else(lost)?.outer;
            return Ok(());
        }
        let condition = match command.word {
            "\\elif" => self.condition(command),
            _ => Ok(vec![Term::Boolean(true)]),
        };
        let when = self.when;
        let branch = self.branches.last_mut().ok_or_else(lost)?;
        if branch.has_else {
            return Err(Fault::at(command.place(), "nothing can follow `\\else` but `\\endif`"));
        }
        branch.has_else = command.word == "\\else";
        branch.before.extend(when);
        self.enter(condition)
    }

    fn condition(&self, command: &Command<'t>) -> Result<Vec<Term>, Fault> {
        let rest = command.rest();
        if rest.is_empty() {
            let message = format!("`{}` needs a condition", command.word);
            return Err(Fault::at(command.place(), message));
        }
        Expression::new(self.text, rest, &self.known).whole()
    }

    /// Enters a branch: its condition must be true, and none of those before it.
    fn enter(&mut self, condition: Result<Vec<Term>, Fault>) -> Result<(), Fault> {
        let (mut terms, failed) = match condition {
            Ok(terms) => (terms, Ok(())),
            Err(fault) => (vec![Term::Null], Err(fault)),
        };
        terms.push(Term::Call(Function::IsTrue, 1));
        if let Some(branch) = self.branches.last() {
            let all_of = [Term::Call(Function::And, 2)];
            for before in &branch.before {
                terms.extend([Term::Variable(*before), Term::Call(Function::Not, 1)]);
                terms.extend(all_of);
            }
            if let Some(outer) = branch.outer {
                terms.push(Term::Variable(outer));
                terms.extend(all_of);
            }
        }
        let name = format!("branch {}", self.variables.len());
        self.when = Some(self.compute(&name, terms));
        failed
    }

    fn add_statements(&mut self, place: Range<usize>) {
        let within = self.text.get(place.clone()).unwrap_or_default();
        if let Some(at) = unterminated(within, Dialect::Postgres) {
            let at = place.start + at;
            return self.faults.push(Fault::at(at..at + 1, "what begins here has no end"));
        }
        for part in statements(within, Dialect::Postgres) {
            let place = place.start + part.start..place.start + part.end;
            let sql = self.sql(within.get(part).unwrap_or_default(), place.start);
            if self.when.is_none() {
                self.places.push((self.steps.len(), place.clone()));
            }
            self.last = Some((self.steps.len(), place));
            let sql = PerDialect { mysql: None, postgres: Some(sql) };
            self.steps.push(UserStep::Send { sql, times: 1, keep: Vec::new(), when: self.when });
        }
    }

    /// A statement that begins at this byte of the script. Constants become part of its text.
    fn sql(&mut self, text: &str, at: usize) -> Sql {
        let found = uses(text, Dialect::Postgres);
        let is_known = |name: &str| self.known.contains_key(name);
        if let Some(span) = quoted_use(text, Dialect::Postgres, is_known) {
            let span = at + span.start..at + span.end;
            let fault = Fault::at(span, "a variable in quotes or in a comment cannot be used");
            self.faults.push(
                fault.hint(
                    "leave the quotes out; for a part of a text, write `'%' || :name || '%'`",
                ),
            );
        }
        for span in marks(text, Dialect::Postgres, quoted_value) {
            let place = at + span.start..at + span.end;
            let written = text.get(span).unwrap_or_default();
            let name = leading_name(written.get(2..).unwrap_or_default());
            let fault = Fault::at(place, format!("`{written}` is the syntax of psql"));
            self.faults.push(fault.hint(format!("write `:{name}`, which is a value of its own")));
        }
        let mut whole = String::with_capacity(text.len());
        let mut numbered = Vec::new();
        let mut copied = 0;
        for it in &found {
            let span = at + it.span.start..at + it.span.end;
            whole += text.get(copied..it.span.start).unwrap_or_default();
            copied = it.span.end;
            let number = match self.known.get(it.name).copied() {
                // A minus sign before it would make a comment.
                Some(Known::Constant(value)) => {
                    let is_negative = value.to_string().starts_with('-');
                    whole += &if is_negative { format!("({value})") } else { value.to_string() };
                    continue;
                }
                Some(Known::Mistaken) => continue,
                None => {
                    self.faults.push(unknown(it.name, span, &self.known));
                    continue;
                }
                Some(Known::Computed(number) | Known::Kept(number)) => number,
                // pgbench's own variables become variables when they are first sent.
                Some(Known::Client) => self.own_variable(it.name, Term::Client),
                Some(Known::Seed) => self.own_variable(it.name, Term::Seed),
            };
            let before = text.get(..it.span.start).and_then(|it| it.chars().next_back());
            if before.is_some_and(|it| it.is_alphanumeric() || matches!(it, '_' | '$')) {
                let fault = Fault::at(span, "a value cannot be a part of a name");
                self.faults.push(fault.hint(NAMES));
            }
            numbered.push((whole.len()..whole.len(), number));
        }
        whole += text.get(copied..).unwrap_or_default();
        self.is_write |= !only_reads(text, Dialect::Postgres);
        statement(&whole, &numbered)
    }

    /// The number of a variable of pgbench, from now on one of the script.
    fn own_variable(&mut self, name: &str, term: Term) -> u32 {
        let number = self.compute(name, vec![term]);
        self.known.insert(name.to_owned(), Known::Computed(number));
        number
    }
}

/// The length of psql's `:'name'` or `:"name"`.
fn quoted_value(rest: &str) -> Option<usize> {
    let quoted = rest.strip_prefix(':')?;
    let quote = quoted.chars().next().filter(|it| matches!(it, '\'' | '"'))?;
    let name = leading_name(quoted.get(1..)?);
    let end = quoted.get(1 + name.len()..)?;
    (!name.is_empty() && end.starts_with(quote)).then_some(name.len() + 3)
}

/// Advice for a statement that only the first event can carry out.
const REPEATED: &str = "every client repeats the script until its time is over; what is to exist beforehand belongs \
                        into a workload file, `[table.NAME]` with `create`";

/// Advice for a value in a name.
const NAMES: &str = "each client has a session of its own, so names of temporary tables need no number; for other \
                     tables, write a test for each name in a workload file";
