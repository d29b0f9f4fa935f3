//! Commands that assign variables, and pauses.

use std::ops::Range;

use assay_model::{Function, Generator, Scalar, Term, UserStep};
use assay_workloads::Number;
use assay_workloads::sql::leading_name;

use super::commands::Command;
use super::expression::Expression;
use super::known::{Known, to_constant, unknown};
use super::state::Script;
use crate::document::Fault;

/// Longest pause, and total of a script's pauses.
pub(super) const SLEEP_MAX_US: i64 = 60_000_000;

impl<'t> Script<'t> {
    /// `\set NAME EXPRESSION`.
    pub(super) fn set(&mut self, command: &Command<'t>) -> Result<(), Fault> {
        let rest = command.rest();
        let name = leading_name(self.text.get(rest.clone()).unwrap_or_default());
        if name.is_empty() {
            let span = rest.start..(rest.start + 1).min(rest.end).max(rest.start);
            return Err(Fault::at(span, "`\\set` needs a variable")
                .hint("for example `\\set aid random(1, 100000 * :scale)`"));
        }
        let value = rest.start + name.len()..rest.end;
        let terms = Expression::new(self.text, value, &self.known).whole();
        self.assign(name, terms, rest)
    }

    /// `\setrandom NAME LOW HIGH [uniform | gaussian PARAMETER | exponential PARAMETER]`, up to pgbench 9.5.
    pub(super) fn set_random(&mut self, command: &Command<'t>) -> Result<(), Fault> {
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
            self.known.insert(name.to_owned(), Known::Mistaken);
            return Err(Fault::at(
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
        terms: Result<Vec<Term>, Fault>,
        place: Range<usize>,
    ) -> Result<(), Fault> {
        let terms = match terms {
            Ok(terms) => terms,
            Err(fault) => {
                self.known.insert(name.to_owned(), Known::Mistaken);
                return Err(fault);
            }
        };
        let terms = match self.when {
            None => terms,
            // The previous value if the branch is not taken.
            Some(when) => {
                let before = match self.known.get(name) {
                    None | Some(Known::Mistaken) => Term::Null,
                    Some(known) => known.term().ok_or_else(|| {
                        let message =
                            format!("`{name}` has a text from `-D`, which the branch would change");
                        Fault::at(place.clone(), message).hint("use another name in the branch")
                    })?,
                };
                let head = [Term::Variable(when)].into_iter().chain(terms);
                head.chain([before, Term::Call(Function::Case, 3)]).collect()
            }
        };
        let known = match terms.as_slice() {
            [only] if let Some(constant) = to_constant(only) => Known::Constant(constant),
            _ => Known::Computed(self.compute(name, terms, place)),
        };
        self.known.insert(name.to_owned(), known);
        Ok(())
    }

    /// `\sleep N [us|ms|s]`.
    pub(super) fn sleep(&mut self, command: &Command<'t>) -> Result<(), Fault> {
        let place = command.rest();
        let words: Vec<&str> = command.words().into_iter().map(|(_, word)| word).collect();
        let fail = |message: &str| Fault::at(place.clone(), message.to_owned());
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
            Some(name) => match self.known.get(name).map(Known::term) {
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

pub(super) fn constant_text(value: Number) -> String {
    in_statement(&value.to_string())
}
