//! Commands of pgbench and psql: variables, pauses, branches and results, and why some are unsupported.

use std::ops::Range;

use assay_model::{Dialect, Function, Generator, Scalar, Sending, Term, UserStep};
use assay_workloads::sql::{first_word, leading_name, words};
use assay_workloads::{ExpressionValue, column_names};

use super::expression::Expression;
use super::state::{Branch, LastStatement, ScriptState};
use super::variables::{KnownValue, to_constant, unknown};
use crate::document::{FileFault, FileResult};

const COMMANDS: &str = "pgbench's commands are `\\set`, `\\setrandom`, `\\sleep`, `\\gset`, `\\aset`, `\\if` to \
                        `\\endif`, `\\startpipeline` to `\\endpipeline`, and `\\;` between statements";

pub(super) struct MetaCommand<'t> {
    text: &'t str,
    pub(super) word: &'t str,
    /// Lower case: pgbench's commands are case-insensitive.
    pub(super) name: String,
    /// Byte range from the backslash to the last non-blank character.
    whole: Range<usize>,
}

impl<'t> MetaCommand<'t> {
    pub(super) fn at(text: &'t str, place: Range<usize>) -> Self {
        let line = text.get(place.clone()).unwrap_or_default();
        let end =
            line.char_indices().skip(1).find(|(_, c)| !c.is_ascii_alphanumeric() && *c != '_');
        // A sign may follow the backslash, as in `\;`.
        let least =
            1 + line.chars().nth(1).filter(|c| !c.is_whitespace()).map_or(0, char::len_utf8);
        let word = line.get(..end.map_or(line.len(), |(at, _)| at).max(least)).unwrap_or(line);
        let whole = place.start..place.start + line.trim_end().len().max(word.len());
        Self { text, word, name: word.to_ascii_lowercase(), whole }
    }

    pub(super) fn place(&self) -> Range<usize> {
        self.whole.start..self.whole.start + self.word.len()
    }

    pub(super) fn rest(&self) -> Range<usize> {
        let begin = self.whole.start + self.word.len();
        let rest = self.text.get(begin..self.whole.end).unwrap_or_default();
        begin + (rest.len() - rest.trim_start().len())..self.whole.end
    }

    pub(super) fn words(&self) -> Vec<(Range<usize>, &'t str)> {
        let rest = self.rest();
        let mut at = rest.start;
        let text = self.text.get(rest).unwrap_or_default();
        let parts = text.split_inclusive(char::is_whitespace).map(|part| {
            let word = part.trim_end();
            let place = at..at + word.len();
            at += part.len();
            (place, word)
        });
        parts.filter(|(_, word)| !word.is_empty()).collect()
    }

    pub(super) fn defines(&self) -> Option<&'t str> {
        let defines = self.name == "\\setshell";
        self.words().first().filter(|_| defines).map(|(_, word)| *word)
    }
}

pub(super) fn refused(command: &MetaCommand<'_>) -> FileFault {
    let word = command.word;
    let fault = |message: String| FileFault::at(command.place(), message);
    match command.name.as_str() {
        "\\shell" | "\\setshell" => fault(format!("`{word}`: assay runs no programs"))
            .hint("`\\set` and SQL can compute values"),
        _ => fault(format!("`{word}` is no command that assay knows")).hint(COMMANDS),
    }
}

/// Longest pause, and total of a script's pauses.
pub(super) const SLEEP_MAX_US: i64 = 60_000_000;

impl<'t> ScriptState<'t> {
    /// `\set NAME EXPRESSION`.
    pub(super) fn set(&mut self, command: &MetaCommand<'t>) -> FileResult<()> {
        let rest = command.rest();
        let name = leading_name(self.text.get(rest.clone()).unwrap_or_default());
        if name.is_empty() {
            let span = rest.start..(rest.start + 1).min(rest.end).max(rest.start);
            return Err(FileFault::at(span, "`\\set` needs a variable")
                .hint("for example `\\set aid random(1, 100000 * :scale)`"));
        }
        let value = rest.start + name.len()..rest.end;
        let terms = Expression::new(self.text, value, &self.known).whole();
        self.assign(name, terms, rest)
    }

    /// `\setrandom NAME LOW HIGH [uniform | gaussian PARAMETER | exponential PARAMETER]`, up to pgbench 9.5.
    pub(super) fn set_random(&mut self, command: &MetaCommand<'t>) -> FileResult<()> {
        let words = command.words();
        let name = words.first().map_or("", |(_, word)| leading_name(word));
        let texts: Vec<&str> = words.iter().skip(3).map(|(_, word)| *word).collect();
        let function = match texts.as_slice() {
            [] | ["uniform"] => Some((Function::Random, 2)),
            ["gaussian", _] => Some((Function::RandomGaussian, 3)),
            ["exponential", _] => Some((Function::RandomExponential, 3)),
            _ => None,
        };
        let (Some((function, operands)), [_, low, high, rest @ ..]) = (function, words.as_slice())
        else {
            self.known.insert(name.to_owned(), KnownValue::Mistaken);
            return Err(FileFault::at(
                command.place(),
                "`\\setrandom` has a name, the ends of a range, and a shape",
            )
            .hint(
                "for example `\\setrandom aid 1 100000` or `\\setrandom aid 1 100000 gaussian 5.0`",
            ));
        };
        let places = [low, high].into_iter().chain(rest.get(1));
        let places: Vec<Range<usize>> =
            places.take(operands).map(|(place, _)| place.clone()).collect();
        let terms = Expression::of_operands(self.text, function, &places, &self.known);
        self.assign(name, terms, command.rest())
    }

    /// Assigns a variable; within a branch, only if that is taken.
    fn assign(
        &mut self,
        name: &str,
        terms: FileResult<Vec<Term>>,
        place: Range<usize>,
    ) -> FileResult<()> {
        let terms = match terms {
            Ok(terms) => terms,
            Err(fault) => {
                self.known.insert(name.to_owned(), KnownValue::Mistaken);
                return Err(fault);
            }
        };
        let terms = match self.when {
            None => terms,
            // The previous value if the branch is not taken.
            Some(when) => {
                let before = match self.known.get(name) {
                    None | Some(KnownValue::Mistaken) => Term::Null,
                    Some(known) => known.term().ok_or_else(|| {
                        let message =
                            format!("`{name}` has a text from `-D`, which the branch would change");
                        FileFault::at(place.clone(), message).hint("use another name in the branch")
                    })?,
                };
                let head = [Term::Variable(when)].into_iter().chain(terms);
                head.chain([before, Term::Call(Function::Case, 3)]).collect()
            }
        };
        let known = match terms.as_slice() {
            [only] if let Some(constant) = to_constant(only) => KnownValue::Constant(constant),
            _ => KnownValue::Computed(self.compute(name, terms, place)),
        };
        self.known.insert(name.to_owned(), known);
        Ok(())
    }

    /// `\sleep N [us|ms|s]`.
    pub(super) fn sleep(&mut self, command: &MetaCommand<'t>) -> FileResult<()> {
        let place = command.rest();
        let words: Vec<&str> = command.words().into_iter().map(|(_, word)| word).collect();
        let fail = |message: &str| FileFault::at(place.clone(), message.to_owned());
        let (number, unit) = match words.as_slice() {
            // `2ms` is `2 ms`.
            [word] => match word.split_at(digits(word)) {
                (_, "") | ("", _) => (*word, "s"),
                parts => parts,
            },
            [number, unit] => (*number, *unit),
            _ => return Err(fail("`\\sleep` needs a time").hint("for example `\\sleep 10 ms`")),
        };
        let factor = match unit.to_ascii_lowercase().as_str() {
            "us" => 1,
            "ms" => 1000,
            "s" => 1_000_000,
            _ => return Err(fail("the units of `\\sleep` are `us`, `ms` and `s`")),
        };
        let us = match number.strip_prefix(':') {
            None => number.parse().ok(),
            Some(name) => match self.known.get(name).map(KnownValue::term) {
                Some(Some(Term::Integer(value))) => Some(value),
                Some(Some(Term::Null)) => return Ok(()),
                Some(Some(term)) => {
                    let us = [term, Term::Integer(factor), Term::Call(Function::Multiply, 2)];
                    let number = self.compute("a pause", us.to_vec(), place.clone());
                    let us = Generator::Computed(vec![Term::Variable(number)]);
                    self.push_step(UserStep::Sleep { us, when: self.when }, place);
                    return Ok(());
                }
                Some(None) => None,
                None => return Err(unknown(name, place, &self.known)),
            },
        };
        let us = us.and_then(|number: i64| number.checked_mul(factor));
        let us = us.filter(|us| (0..=SLEEP_MAX_US).contains(us));
        let us = us.ok_or_else(|| fail("`\\sleep` takes a whole number, up to 60 seconds"))?;
        let us = Generator::Constant(Scalar::Integer(us));
        self.push_step(UserStep::Sleep { us, when: self.when }, place);
        Ok(())
    }
}

fn digits(word: &str) -> usize {
    word.bytes().take_while(u8::is_ascii_digit).count()
}

/// A constant within a statement. A minus sign before it would make a comment.
pub(super) fn in_statement(value: &str) -> String {
    if value.starts_with('-') { format!("({value})") } else { value.to_owned() }
}

pub(super) fn constant_text(value: ExpressionValue) -> String {
    in_statement(&value.to_string())
}

/// Maximum branches of an `\if`: each must know that no earlier one was taken.
const BRANCHES_MAX: usize = 200;

impl<'t> ScriptState<'t> {
    pub(super) fn branch(&mut self, command: &MetaCommand<'t>) -> FileResult<()> {
        let lost =
            || FileFault::at(command.place(), format!("this `{}` has no `\\if`", command.word));
        if command.name == "\\if" {
            let condition = self.condition(command);
            let outer = self.when;
            let place = command.place();
            self.branches.push(Branch { place, outer, before: Vec::new(), has_else: false });
            return self.enter(condition, command.place());
        }
        if command.name == "\\endif" {
            self.when = self.branches.pop().ok_or_else(lost)?.outer;
            return Ok(());
        }
        let condition = match command.name.as_str() {
            "\\elif" => self.condition(command),
            _ => Ok(vec![Term::Boolean(true)]),
        };
        let when = self.when;
        let branch = self.branches.last_mut().ok_or_else(lost)?;
        if branch.has_else {
            return Err(FileFault::at(
                command.place(),
                "nothing can follow `\\else` but `\\endif`",
            ));
        }
        branch.has_else = command.name == "\\else";
        branch.before.extend(when);
        if branch.before.len() >= BRANCHES_MAX {
            branch.before.truncate(1);
            let message = format!("an `\\if` may have at most {BRANCHES_MAX} branches");
            return Err(FileFault::at(command.place(), message));
        }
        self.enter(condition, command.place())
    }

    fn condition(&self, command: &MetaCommand<'t>) -> FileResult<Vec<Term>> {
        let rest = command.rest();
        if rest.is_empty() {
            let message = format!("`{}` needs a condition", command.word);
            return Err(FileFault::at(command.place(), message));
        }
        Expression::new(self.text, rest, &self.known).whole()
    }

    /// Enters a branch: its condition must be true, and no earlier one.
    fn enter(&mut self, condition: FileResult<Vec<Term>>, place: Range<usize>) -> FileResult<()> {
        let (mut terms, failed) = match condition {
            Ok(terms) => (terms, Ok(())),
            Err(fault) => (vec![Term::Null], Err(fault)),
        };
        // A number may be a condition too.
        terms.extend([Term::Boolean(true), Term::Boolean(false), Term::Call(Function::Case, 3)]);
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
        self.when = Some(self.compute(&name, terms, place));
        failed
    }
}

impl<'t> ScriptState<'t> {
    /// `\gset [PREFIX]` turns the columns of the first row into variables; `\aset [PREFIX]`, those of the last row of
    /// each result.
    pub(super) fn keep(
        &mut self,
        command: &MetaCommand<'t>,
        last: Option<LastStatement>,
    ) -> FileResult<()> {
        let word = command.word;
        let is_all = command.name == "\\aset";
        let prefix = leading_name(self.text.get(command.rest()).unwrap_or_default());
        let Some(LastStatement { step, parts }) = last else {
            return Err(FileFault::at(command.place(), format!("`{word}` follows no query")));
        };
        if self.pipeline.is_some() {
            let message = format!("`{word}` cannot stand in a pipeline, as in pgbench");
            return Err(FileFault::at(command.place(), message));
        }
        let mut kept = Vec::new();
        let queries = if is_all {
            parts.as_slice()
        } else {
            parts.last().map_or(&[][..], std::slice::from_ref)
        };
        for place in queries {
            for name in self.columns(place, is_all)? {
                kept.push(self.keep_as(format!("{prefix}{name}"), is_all, command)?);
            }
        }
        if let Some(UserStep::Send { keep, sending, .. }) = self.steps.get_mut(step) {
            *keep = kept;
            if is_all {
                *sending = Sending::LastRows;
            }
        }
        Ok(())
    }

    /// Column names of a statement's result; empty if it `may_lack` one.
    fn columns(&self, place: &Range<usize>, may_lack: bool) -> FileResult<Vec<String>> {
        const READS: [&str; 4] = ["SELECT", "WITH", "VALUES", "TABLE"];
        let sql = self.text.get(place.clone()).unwrap_or_default();
        if let Some(names) = column_names(sql, Dialect::Postgres) {
            return Ok(names);
        }
        let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
        let first = leading_name(first_word(sql, Dialect::Postgres));
        let returns = READS.iter().any(|it| is(first, it))
            || words(sql, Dialect::Postgres).iter().any(|word| is(word, "RETURNING"));
        if may_lack && !returns {
            return Ok(Vec::new());
        }
        let why = "the columns of this statement are not known before it runs";
        Err(FileFault::at(place.clone(), why)
            .hint("name them: `SELECT bid, abalance AS balance ... \\gset`"))
    }

    fn keep_as(
        &mut self,
        name: String,
        is_all: bool,
        command: &MetaCommand<'t>,
    ) -> FileResult<u32> {
        let before = self.known.get(&name).cloned();
        if self.when.is_some() && !matches!(before, None | Some(KnownValue::Mistaken)) {
            let message = format!("`{name}` has a value already, which the branch would change");
            let hint = format!("use a prefix, such as `{} new_`", command.word);
            return Err(FileFault::at(command.place(), message).hint(hint));
        }
        let number = self.add_variable(&name, None, command.place());
        // Without a row, `\aset` leaves a variable unchanged.
        let term = before.as_ref().filter(|_| is_all).and_then(KnownValue::term);
        let known = match term {
            Some(before) => {
                let kept = Term::Variable(number);
                let (is_null, case) =
                    (Term::Call(Function::IsNull, 1), Term::Call(Function::Case, 3));
                let terms = vec![kept, is_null, before, kept, case];
                KnownValue::Computed(self.compute(&name, terms, command.place()))
            }
            None => KnownValue::Kept(number),
        };
        self.known.insert(name, known);
        Ok(number)
    }
}
