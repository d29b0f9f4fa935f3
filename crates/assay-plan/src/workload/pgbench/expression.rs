//! Expressions of `\set`, `\if` and `\elif`, as pgbench has them.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_model::limits::user::{TERMS, ZIPF_S};
use assay_model::{Distribution, Function, Range as Integers, Term};
use assay_workloads::sql::leading_name;
use assay_workloads::{Number, constant};

use crate::document::Fault;
use crate::nearest::nearest;

/// A variable that the script has defined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Known {
    /// Always the same.
    Constant(Number),
    /// Computed when an event begins: its number among the variables.
    Computed(u32),
    /// Taken from the result of a statement: its number among the variables.
    Kept(u32),
    /// Pgbench's variable with the number of the client.
    Client,
    /// Pgbench's variables that depend on the seed.
    Seed,
    /// Defined by a line with a mistake.
    Mistaken,
}

/// The variables that the script has defined so far.
pub(super) type Variables = BTreeMap<String, Known>;

/// Parentheses in each other at most.
const DEPTH_MAX: u32 = 50;

/// A reader of one expression in a script.
pub(super) struct Expression<'a> {
    text: &'a str,
    at: usize,
    end: usize,
    known: &'a Variables,
    depth: u32,
    terms: Vec<Term>,
}

/// Operators of two operands: how they are written, how tightly they bind, and what they compute. Those that are the
/// begin of others come after them.
const OPERATORS: [(&str, u32, Function); 19] = [
    ("or", 1, Function::Or),
    ("and", 2, Function::And),
    ("<<", 6, Function::ShiftLeft),
    (">>", 6, Function::ShiftRight),
    ("<=", 5, Function::LessOrEqual),
    (">=", 5, Function::Less),
    ("<>", 5, Function::Equal),
    ("!=", 5, Function::Equal),
    ("<", 5, Function::Less),
    (">", 5, Function::LessOrEqual),
    ("=", 5, Function::Equal),
    ("|", 6, Function::BitOr),
    ("#", 6, Function::BitXor),
    ("&", 6, Function::BitAnd),
    ("+", 7, Function::Add),
    ("-", 7, Function::Subtract),
    ("*", 8, Function::Multiply),
    ("/", 8, Function::Divide),
    ("%", 8, Function::Modulo),
];

/// Operators that are the opposite of their function.
const OPPOSITES: [&str; 4] = [">=", ">", "<>", "!="];

/// Binding of `NOT`, of `IS`, and of signs.
const NOT: u32 = 3;
const IS: u32 = 4;
const SIGN: u32 = 9;

/// Functions: name, fewest and most operands.
const FUNCTIONS: [(&str, Function, u32, u32); 19] = [
    ("abs", Function::Abs, 1, 1),
    ("double", Function::Double, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("greatest", Function::Greatest, 1, 100),
    ("hash", Function::HashMurmur2, 1, 2),
    ("hash_fnv1a", Function::HashFnv1a, 1, 2),
    ("hash_murmur2", Function::HashMurmur2, 1, 2),
    ("int", Function::Int, 1, 1),
    ("least", Function::Least, 1, 100),
    ("ln", Function::Ln, 1, 1),
    ("mod", Function::Modulo, 2, 2),
    ("pow", Function::Power, 2, 2),
    ("power", Function::Power, 2, 2),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("sqrt", Function::Sqrt, 1, 1),
    ("pi", Function::Double, 0, 0),
];

/// Words that have a meaning of their own.
const KEYWORDS: [&str; 10] =
    ["and", "or", "not", "is", "isnull", "notnull", "when", "then", "else", "end"];

impl<'a> Expression<'a> {
    /// The expression at this place of the text.
    pub(super) fn new(text: &'a str, place: Range<usize>, known: &'a Variables) -> Self {
        Self { text, at: place.start, end: place.end, known, depth: 0, terms: Vec::new() }
    }

    /// The terms of the expression, which ends where the place ends.
    pub(super) fn whole(mut self) -> Result<Vec<Term>, Fault> {
        let start = self.at;
        self.operation(0)?;
        self.skip_blanks();
        if self.at < self.end {
            return Err(self.fault("this part of the expression cannot be used").hint(CAN));
        }
        if self.terms.len() > TERMS {
            let message = format!("an expression may have at most {TERMS} terms");
            return Err(Fault::at(start..self.end, message));
        }
        Ok(self.terms)
    }

    /// A value, and the operators after it that bind at least as tightly.
    fn operation(&mut self, least: u32) -> Result<(), Fault> {
        self.skip_blanks();
        let start = self.at;
        self.nested(Self::value)?;
        loop {
            self.skip_blanks();
            if least <= IS && self.is_test(start)? {
                continue;
            }
            let Some((written, binding, function)) = self.operator() else { return Ok(()) };
            if binding < least {
                return Ok(());
            }
            self.at += written.len();
            self.nested(|it| it.operation(binding + 1))?;
            self.call(function, 2, start)?;
            if OPPOSITES.contains(&written) {
                self.call(Function::Not, 1, start)?;
            }
        }
    }

    fn operator(&self) -> Option<(&'static str, u32, Function)> {
        let rest = self.rest();
        let word = leading_name(rest);
        OPERATORS.into_iter().find(|(written, ..)| match word {
            "" => rest.starts_with(written),
            word => word.eq_ignore_ascii_case(written),
        })
    }

    /// `IS [NOT] NULL`, `IS [NOT] TRUE`, `ISNULL` and the like after a value.
    fn is_test(&mut self, start: usize) -> Result<bool, Fault> {
        let (function, is_not) = if self.take_word("isnull") {
            (Function::IsNull, false)
        } else if self.take_word("notnull") {
            (Function::IsNull, true)
        } else if self.take_word("is") {
            let is_not = self.take_word("not");
            if self.take_word("null") {
                (Function::IsNull, is_not)
            } else if self.take_word("true") {
                (Function::IsTrue, is_not)
            } else if self.take_word("false") {
                (Function::IsFalse, is_not)
            } else {
                return Err(self.fault("`IS` tests for `NULL`, `TRUE` or `FALSE`"));
            }
        } else {
            return Ok(false);
        };
        self.call(function, 1, start)?;
        if is_not {
            self.call(Function::Not, 1, start)?;
        }
        Ok(true)
    }

    /// A number, a variable, a function, a sign and a value, or an expression in parentheses.
    fn value(&mut self) -> Result<(), Fault> {
        self.skip_blanks();
        let (start, rest) = (self.at, self.rest());
        match rest.chars().next() {
            Some('(') => {
                self.take('(')?;
                self.operation(0)?;
                self.take(')')
            }
            Some('-') => self.negative(start),
            Some('+') => {
                self.at += 1;
                self.operation(SIGN)
            }
            Some('~') => {
                self.at += 1;
                self.operation(SIGN)?;
                self.call(Function::BitNot, 1, start)
            }
            Some(':') => self.variable(start),
            Some(first) if first.is_ascii_digit() || first == '.' => self.number(),
            Some(_) if !self.name().is_empty() => self.word(start),
            _ => Err(self.fault("this cannot be used here").hint(CAN)),
        }
    }

    fn negative(&mut self, start: usize) -> Result<(), Fault> {
        self.at += 1;
        self.skip_blanks();
        // The smallest number has no positive counterpart.
        if let Some(rest) = self.rest().strip_prefix("9223372036854775808") {
            self.at = self.end - rest.len();
            self.terms.push(Term::Integer(i64::MIN));
            return Ok(());
        }
        self.terms.push(Term::Integer(0));
        self.nested(|it| it.operation(SIGN))?;
        self.call(Function::Subtract, 2, start)
    }

    fn number(&mut self) -> Result<(), Fault> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let mut length = digits(0);
        let is_real =
            bytes.get(length) == Some(&b'.') || matches!(bytes.get(length), Some(b'e' | b'E'));
        if bytes.get(length) == Some(&b'.') {
            length = digits(length + 1);
        }
        if let Some(b'e' | b'E') = bytes.get(length) {
            let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            length = digits(length + 1 + sign);
        }
        let written = rest.get(..length).unwrap_or_default();
        let term = match is_real {
            true => written.parse().ok().filter(|it: &f64| it.is_finite()).map(Term::Real),
            false => written.parse().ok().map(Term::Integer),
        };
        let span = self.at..self.at + length;
        self.at = span.end;
        let term = term.ok_or_else(|| Fault::at(span, "this number is too large"))?;
        self.terms.push(term);
        Ok(())
    }

    fn variable(&mut self, start: usize) -> Result<(), Fault> {
        let name = leading_name(self.rest().get(1..).unwrap_or_default());
        let span = start..start + 1 + name.len();
        self.at = span.end;
        let term = match self.known.get(name) {
            Some(Known::Constant(value)) => of_constant(*value),
            Some(Known::Computed(number)) => Term::Variable(*number),
            Some(Known::Client) => Term::Client,
            Some(Known::Seed) => Term::Seed,
            Some(Known::Mistaken) => Term::Null,
            Some(Known::Kept(_)) => {
                let message = format!(
                    "`{name}` comes from a result, which is not known when an event begins"
                );
                return Err(Fault::at(span, message)
                    .hint("compute with it in SQL, where it is a value like any other"));
            }
            None => return Err(unknown(name, span, self.known)),
        };
        self.terms.push(term);
        Ok(())
    }

    fn word(&mut self, start: usize) -> Result<(), Fault> {
        let name = self.name().to_ascii_lowercase();
        let constant = match name.as_str() {
            "null" => Some(Term::Null),
            "true" => Some(Term::Boolean(true)),
            "false" => Some(Term::Boolean(false)),
            _ => None,
        };
        if let Some(term) = constant {
            self.at += name.len();
            self.terms.push(term);
            return Ok(());
        }
        match name.as_str() {
            "case" => {
                self.at += name.len();
                self.case(start)
            }
            "not" => {
                self.at += name.len();
                self.operation(NOT)?;
                self.call(Function::Not, 1, start)
            }
            name if KEYWORDS.contains(&name) => {
                Err(self.fault("this cannot be used here").hint(CAN))
            }
            _ => self.function(start),
        }
    }

    fn case(&mut self, start: usize) -> Result<(), Fault> {
        let mut operands = 0;
        while self.take_word("when") {
            self.operation(0)?;
            if !self.take_word("then") {
                return Err(self.fault("`THEN` is missing here"));
            }
            self.operation(0)?;
            operands += 2;
        }
        match self.take_word("else") {
            true => self.operation(0)?,
            false => self.terms.push(Term::Null),
        }
        if operands == 0 || !self.take_word("end") {
            return Err(self.fault("`CASE WHEN ... THEN ... ELSE ... END` is incomplete here"));
        }
        self.call(Function::Case, operands + 1, start)
    }

    fn function(&mut self, start: usize) -> Result<(), Fault> {
        let written = self.name();
        let name = written.to_ascii_lowercase();
        let found = FUNCTIONS.into_iter().find(|(it, ..)| *it == name);
        let Some((_, function, least, most)) = found else {
            let names = FUNCTIONS.into_iter().map(|(name, ..)| name);
            let fault = self.fault(format!("the function `{written}` cannot be used"));
            return Err(match nearest(&name, names) {
                Some(meant) => fault.hint(format!("did you mean `{meant}`")),
                None => fault.hint(CAN),
            });
        };
        self.at += written.len();
        self.take('(')?;
        let mut operands = 0;
        self.skip_blanks();
        while !self.rest().starts_with(')') {
            if operands > 0 {
                self.take(',')?;
            }
            self.operation(0)?;
            operands += 1;
            self.skip_blanks();
        }
        self.take(')')?;
        if !(least..=most).contains(&operands) {
            let count =
                if least == most { least.to_string() } else { format!("{least} to {most}") };
            let message = format!("`{name}` takes {count} arguments");
            return Err(Fault::at(start..self.at, message));
        }
        match (function, operands) {
            (_, 0) => {
                self.terms.push(Term::Real(std::f64::consts::PI));
                Ok(())
            }
            (Function::HashFnv1a | Function::HashMurmur2, 1) => {
                self.terms.push(Term::Seed);
                self.call(function, 2, start)
            }
            _ => self.call(function, operands, start),
        }
    }

    /// Adds a function of the last terms, or its value if they are constants.
    fn call(&mut self, function: Function, operands: u32, start: usize) -> Result<(), Fault> {
        let first = self.terms.len().saturating_sub(operands as usize);
        let last = self.terms.get(first..).unwrap_or_default();
        let constants: Option<Vec<Number>> = last.iter().map(to_constant).collect();
        let Some(constants) = constants else {
            self.terms.push(Term::Call(function, operands));
            return Ok(());
        };
        let value = constant(function, &constants);
        let has_value = value != Number::Null || constants.contains(&Number::Null);
        if function.draws() {
            if !has_value {
                return Err(Fault::at(start..self.at, cannot_draw(function, &constants)));
            }
            self.terms.push(Term::Call(function, operands));
            return Ok(());
        }
        if !has_value && function != Function::Case {
            let message = "this has no value: a division by zero, a number that is too large, or of another kind";
            return Err(Fault::at(start..self.at, message));
        }
        self.terms.truncate(first);
        self.terms.push(of_constant(value));
        Ok(())
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        if self.depth >= DEPTH_MAX {
            return Err(self.fault("the expression is nested too deeply"));
        }
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn take(&mut self, char: char) -> Result<(), Fault> {
        self.skip_blanks();
        if !self.rest().starts_with(char) {
            return Err(self.fault(format!("`{char}` is missing here")).hint(CAN));
        }
        self.at += char.len_utf8();
        Ok(())
    }

    /// Whether the next word is this one, which is then passed.
    fn take_word(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let is_next = self.name().eq_ignore_ascii_case(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
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

pub(super) fn to_constant(term: &Term) -> Option<Number> {
    match *term {
        Term::Integer(value) => Some(Number::Integer(value)),
        Term::Real(value) => Some(Number::Real(value)),
        Term::Boolean(value) => Some(Number::Boolean(value)),
        Term::Null => Some(Number::Null),
        Term::Variable(_) | Term::Client | Term::Seed | Term::Call(..) => None,
    }
}

fn of_constant(value: Number) -> Term {
    match value {
        Number::Integer(value) => Term::Integer(value),
        Number::Real(value) => Term::Real(value),
        Number::Boolean(value) => Term::Boolean(value),
        Number::Null => Term::Null,
    }
}

/// The draw that an expression is as a whole, if its ends are constants. Such a draw needs no expression.
pub(super) fn simple_draw(terms: &[Term]) -> Option<Integers> {
    let (low, high, draw) = match *terms {
        [Term::Integer(low), Term::Integer(high), Term::Call(Function::Random, 2)] => {
            (low, high, Distribution::Uniform)
        }
        [Term::Integer(low), Term::Integer(high), s, Term::Call(Function::RandomZipfian, 3)] => {
            let s = match s {
                Term::Integer(s) => s as f64,
                Term::Real(s) => s,
                _ => return None,
            };
            // Above, the first value is all that is drawn.
            (low, high, Distribution::Zipfian { s: s.min(*ZIPF_S.end()) })
        }
        _ => return None,
    };
    Some(Integers { low, high, draw, is_reversed: false })
}

/// The reason why nothing can be drawn.
fn cannot_draw(function: Function, operands: &[Number]) -> &'static str {
    if let [Number::Integer(low), Number::Integer(high), ..] = operands
        && low > high
    {
        return "the range is empty";
    }
    match function {
        Function::RandomGaussian => "the parameter must be at least 2.0",
        Function::RandomExponential => "the parameter must be more than zero",
        Function::RandomZipfian => "the parameter must be a number from 1.001 to 1000",
        _ => "the ends of the range must be whole numbers",
    }
}

/// The mistake that a variable is not defined.
pub(super) fn unknown(name: &str, span: Range<usize>, known: &Variables) -> Fault {
    let fault = Fault::at(span, format!("no variable is called `{name}` so far"));
    match nearest(name, known.keys()) {
        Some(meant) => fault.hint(format!("did you mean `:{meant}`")),
        None => fault.hint(format!(
            "`\\set {name} ...` before this line defines it, and `\\gset` after a query takes it from a column \
             with this name"
        )),
    }
}

const CAN: &str = "an expression has numbers, `:variables`, the operators of pgbench, `CASE`, and its functions \
                   except `debug` and `permute`";
