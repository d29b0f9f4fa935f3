//! Expressions of `\set`: arithmetic with whole numbers, and draws.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_model::{Distribution, Range as Integers};

use crate::document::Fault;
use assay_workloads::sql::leading_name;

/// A variable that `\set` has defined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Known {
    /// Always the same number.
    Constant(i64),
    /// Drawn for each event: its number among the variables.
    Drawn(u32),
}

/// The value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    Integer(i64),
    Drawn(Integers),
}

/// Parentheses in each other at most.
const DEPTH_MAX: u32 = 50;

/// A reader of one expression in a script.
pub(super) struct Expression<'a> {
    text: &'a str,
    at: usize,
    end: usize,
    known: &'a BTreeMap<String, Known>,
    depth: u32,
}

impl<'a> Expression<'a> {
    /// The expression at this place of the text.
    pub(super) fn new(
        text: &'a str,
        place: Range<usize>,
        known: &'a BTreeMap<String, Known>,
    ) -> Self {
        Self { text, at: place.start, end: place.end, known, depth: 0 }
    }

    /// The value of the expression, which ends where the place ends.
    pub(super) fn whole(mut self) -> Result<Found, Fault> {
        self.skip_blanks();
        let drawn = match self.name() {
            "random" => Some(Distribution::Uniform),
            "random_zipfian" => Some(Distribution::Zipfian { s: 0.0 }),
            _ => None,
        };
        let found = match drawn {
            Some(draw) => Found::Drawn(self.draw(draw)?),
            None => Found::Integer(self.sum()?),
        };
        self.skip_blanks();
        if self.at < self.end {
            return Err(self.fault("this part of the expression cannot be used").hint(CAN));
        }
        Ok(found)
    }

    /// `random(low, high)` or `random_zipfian(low, high, s)`.
    fn draw(&mut self, draw: Distribution) -> Result<Integers, Fault> {
        let start = self.at;
        self.at += self.name().len();
        self.take('(')?;
        let low = self.sum()?;
        self.take(',')?;
        let high = self.sum()?;
        let draw = match draw {
            Distribution::Zipfian { .. } => {
                self.take(',')?;
                Distribution::Zipfian { s: self.exponent()? }
            }
            other => other,
        };
        self.take(')')?;
        if low > high {
            return Err(Fault::at(start..self.at, "the range is empty"));
        }
        Ok(Integers { low, high, draw, is_reversed: false })
    }

    /// A number such as `1.07`. pgbench takes those from 1.001 to 1000; above 100, one value is all that is drawn.
    fn exponent(&mut self) -> Result<f64, Fault> {
        self.skip_blanks();
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: Option<f64> = rest.get(..length).and_then(|digits| digits.parse().ok());
        match number.filter(|number| (1.001..=100.0).contains(number)) {
            Some(number) => {
                self.at += length;
                Ok(number)
            }
            None => Err(self.fault("the parameter must be a number from 1.001 to 100")),
        }
    }

    fn sum(&mut self) -> Result<i64, Fault> {
        let mut sum = self.product()?;
        loop {
            self.skip_blanks();
            let (start, sign) = (self.at, self.rest().chars().next());
            let Some(sign @ ('+' | '-')) = sign else { return Ok(sum) };
            self.at += 1;
            let other = self.product()?;
            let result = if sign == '+' { sum.checked_add(other) } else { sum.checked_sub(other) };
            sum = result.ok_or_else(|| self.too_large(start))?;
        }
    }

    fn product(&mut self) -> Result<i64, Fault> {
        let mut product = self.value()?;
        loop {
            self.skip_blanks();
            let (start, sign) = (self.at, self.rest().chars().next());
            let Some(sign @ ('*' | '/' | '%')) = sign else { return Ok(product) };
            self.at += 1;
            let other = self.value()?;
            let result = match sign {
                '*' => product.checked_mul(other),
                '/' => product.checked_div(other),
                _ => product.checked_rem(other),
            };
            product = result.ok_or_else(|| self.too_large(start))?;
        }
    }

    fn too_large(&self, start: usize) -> Fault {
        let what = "the result is no 64-bit integer, or a division by zero";
        Fault::at(start..self.at, what)
    }

    /// A number, a variable with a number, a sign and a value, or an expression in parentheses.
    fn value(&mut self) -> Result<i64, Fault> {
        self.skip_blanks();
        let (start, rest) = (self.at, self.rest());
        match rest.chars().next() {
            Some('(') => self.nested(|it| {
                it.take('(')?;
                let sum = it.sum()?;
                it.take(')')?;
                Ok(sum)
            }),
            Some('-') => self.nested(|it| {
                it.at += 1;
                let value = it.value()?;
                value.checked_neg().ok_or_else(|| it.too_large(start))
            }),
            Some(':') => {
                let name = leading_name(rest.get(1..).unwrap_or_default());
                let span = start..start + 1 + name.len();
                self.at = span.end;
                match self.known.get(name) {
                    Some(Known::Constant(value)) => Ok(*value),
                    Some(Known::Drawn(_)) => Err(Fault::at(
                        span,
                        format!(
                            "`{name}` is drawn for each event, and cannot be part of an expression"
                        ),
                    )),
                    None => Err(Fault::at(span, format!("no variable is called `{name}` so far"))),
                }
            }
            Some(digit) if digit.is_ascii_digit() => {
                let is_digit = |c: char| c.is_ascii_digit();
                let length = rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
                self.at += length;
                let number = rest.get(..length).and_then(|digits| digits.parse().ok());
                number.ok_or_else(|| self.too_large(start))
            }
            _ => Err(self.fault("this cannot be used here").hint(CAN)),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<i64, Fault>) -> Result<i64, Fault> {
        if self.depth >= DEPTH_MAX {
            return Err(self.fault("the expression is nested too deeply"));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn take(&mut self, char: char) -> Result<(), Fault> {
        self.skip_blanks();
        if !self.rest().starts_with(char) {
            return Err(self.fault(format!("`{char}` is missing here")).hint(CAN));
        }
        self.at += char.len_utf8();
        Ok(())
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    fn name(&self) -> &'a str {
        leading_name(self.rest())
    }

    /// Blanks, and backslashes at the ends of lines.
    fn skip_blanks(&mut self) {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
        self.at += rest.len() - trimmed.len();
    }

    /// A mistake at the next word or character.
    fn fault(&self, message: impl Into<String>) -> Fault {
        let rest = self.rest();
        let word = leading_name(rest).len();
        let length = word.max(rest.chars().next().map_or(0, char::len_utf8));
        Fault::at(self.at..self.at + length, message)
    }
}

const CAN: &str = "`\\set` takes whole numbers with `+ - * / %`, `random(low, high)` and \
                   `random_zipfian(low, high, s)`";
