//! Parser of pgbench's expressions in `\set`, `\if` and `\elif`, with its operators and functions.

use std::ops::Range;

use assay_model::limits::user::{TERMS, ZIPF_S};
use assay_model::{Distribution, Function, Range as Integers, Term};
use assay_workloads::sql::leading_name;
use assay_workloads::{ExpressionValue, constant};

use super::variables::{Variables, of_constant, to_constant, unknown};
use crate::document::{FileFault, FileResult};

const DEPTH_MAX: u32 = 50;

/// Parser of one expression in a script.
pub(super) struct Expression<'a> {
    text: &'a str,
    at: usize,
    end: usize,
    known: &'a Variables,
    depth: u32,
    terms: Vec<Term>,
}

impl<'a> Expression<'a> {
    pub(super) fn new(text: &'a str, place: Range<usize>, known: &'a Variables) -> Self {
        Self { text, at: place.start, end: place.end, known, depth: 0, terms: Vec::new() }
    }

    /// Terms of the expression, which must extend to the end of the place.
    pub(super) fn whole(mut self) -> FileResult<Vec<Term>> {
        let start = self.at;
        self.operation(0)?;
        self.skip_blanks();
        if self.at < self.end {
            return Err(self.fault("this part of the expression cannot be used").hint(CAN));
        }
        if self.terms.len() > TERMS {
            let message = format!("an expression may have at most {TERMS} terms");
            return Err(FileFault::at(start..self.end, message));
        }
        Ok(self.terms)
    }

    pub(super) fn of_operands(
        text: &'a str,
        function: Function,
        places: &[Range<usize>],
        known: &'a Variables,
    ) -> FileResult<Vec<Term>> {
        let mut all = Self::new(text, 0..0, known);
        let start = places.first().map_or(0, |place| place.start);
        for place in places {
            all.terms.extend(Self::new(text, place.clone(), known).whole()?);
            (all.at, all.end) = (place.end, place.end);
        }
        all.call(function, places.len() as u32, start)?;
        Ok(all.terms)
    }

    fn operation(&mut self, least: u32) -> FileResult<()> {
        self.skip_blanks();
        let start = self.at;
        self.nested(Self::value)?;
        let mut is_compared = false;
        loop {
            self.skip_blanks();
            if least <= IS && self.is_test(start)? {
                continue;
            }
            let Some((written, binding, function)) = self.operator() else { return Ok(()) };
            if binding < least {
                return Ok(());
            }
            if binding == COMPARISON && std::mem::replace(&mut is_compared, true) {
                return Err(self
                    .fault("comparisons cannot follow each other")
                    .hint("put one of them in parentheses"));
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
    fn is_test(&mut self, start: usize) -> FileResult<bool> {
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

    fn value(&mut self) -> FileResult<()> {
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
                // It binds as tightly as other bitwise operators.
                self.at += 1;
                self.operation(BITS + 1)?;
                self.call(Function::BitNot, 1, start)
            }
            Some(':') => self.variable(start),
            Some(first) if first.is_ascii_digit() || first == '.' => self.number(),
            Some(_) if !self.name().is_empty() => self.word(start),
            _ => Err(self.fault("this cannot be used here").hint(CAN)),
        }
    }

    fn negative(&mut self, start: usize) -> FileResult<()> {
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

    fn number(&mut self) -> FileResult<()> {
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
        let term = if is_real {
            written.parse().ok().filter(|number: &f64| number.is_finite()).map(Term::Real)
        } else {
            written.parse().ok().map(Term::Integer)
        };
        let span = self.at..self.at + length;
        self.at = span.end;
        let term = term.ok_or_else(|| {
            let is_cut = written.ends_with(|c: char| !c.is_ascii_digit() && c != '.');
            let is_point = written == ".";
            let message =
                if is_cut || is_point { "this is no number" } else { "this number is too large" };
            FileFault::at(span, message)
        })?;
        self.terms.push(term);
        Ok(())
    }

    fn variable(&mut self, start: usize) -> FileResult<()> {
        let name = leading_name(self.rest().get(1..).unwrap_or_default());
        let span = start..start + 1 + name.len();
        self.at = span.end;
        let Some(known) = self.known.get(name) else {
            return Err(unknown(name, span, self.known));
        };
        let term = known.term().ok_or_else(|| {
            FileFault::at(
                span,
                format!("the value of `{name}` is neither a number nor a truth value"),
            )
            .hint("an expression computes with numbers; in SQL, the variable is a part of the text")
        })?;
        self.terms.push(term);
        Ok(())
    }

    fn word(&mut self, start: usize) -> FileResult<()> {
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

    fn case(&mut self, start: usize) -> FileResult<()> {
        let mut operands = 0;
        while self.take_word("when") {
            self.operation(0)?;
            if !self.take_word("then") {
                return Err(self.fault("`THEN` is missing here"));
            }
            self.operation(0)?;
            operands += 2;
        }
        if self.take_word("else") {
            self.operation(0)?;
        } else {
            self.terms.push(Term::Null);
        }
        if operands == 0 || !self.take_word("end") {
            return Err(self.fault("`CASE WHEN ... THEN ... ELSE ... END` is incomplete here"));
        }
        self.call(Function::Case, operands + 1, start)
    }

    fn function(&mut self, start: usize) -> FileResult<()> {
        let written = self.name();
        let name = written.to_ascii_lowercase();
        let found = FUNCTIONS.into_iter().find(|(it, ..)| *it == name);
        let Some((_, named, least, most)) = found else {
            let names = FUNCTIONS.into_iter().map(|(name, ..)| name);
            let fault = self.fault(format!("pgbench has no function `{written}`"));
            return Err(fault.hint_nearest(&name, names, CAN));
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
            return Err(FileFault::at(start..self.at, message));
        }
        match named {
            NamedFunction::Itself => Ok(()),
            NamedFunction::Pi => {
                self.terms.push(Term::Real(std::f64::consts::PI));
                Ok(())
            }
            NamedFunction::Of(function) => self.call(function, operands, start),
            NamedFunction::Seeded(function) if operands == most => {
                self.call(function, operands, start)
            }
            NamedFunction::Seeded(function) => {
                let seed = self.known.get("default_seed").and_then(|it| it.term());
                self.terms.push(seed.unwrap_or(Term::Seed));
                self.call(function, operands + 1, start)
            }
        }
    }

    /// Adds a function of the last terms, or its value if they are constants.
    fn call(&mut self, function: Function, operands: u32, start: usize) -> FileResult<()> {
        let first = self.terms.len().saturating_sub(operands as usize);
        let last = self.terms.get(first..).unwrap_or_default();
        let constants: Option<Vec<ExpressionValue>> = last.iter().map(to_constant).collect();
        let outermost = outermost(&self.terms, operands);
        if let Some(why) = mistaken_kind(function, &outermost) {
            return Err(FileFault::at(start..self.at, why));
        }
        let Some(constants) = constants else {
            // Its seed is known later than its size.
            if let (Function::Permute, Some(Term::Integer(..=0))) = (function, outermost.get(1)) {
                return Err(FileFault::at(
                    start..self.at,
                    "the size of a permutation must be positive",
                ));
            }
            self.terms.push(Term::Call(function, operands));
            return Ok(());
        };
        let value = constant(function, &constants);
        let is_finite = !matches!(value, ExpressionValue::Real(value) if !value.is_finite());
        let has_value = is_finite
            && (value != ExpressionValue::Null || constants.contains(&ExpressionValue::Null));
        if function.draws() {
            if !has_value {
                return Err(FileFault::at(start..self.at, cannot_draw(function, &constants)));
            }
            self.terms.push(Term::Call(function, operands));
            return Ok(());
        }
        if !has_value && (function != Function::Case || !is_finite) {
            let message = "this has no value: a division by zero, a number that is too large, or a \
                           value of another kind";
            return Err(FileFault::at(start..self.at, message));
        }
        self.terms.truncate(first);
        self.terms.push(of_constant(value));
        Ok(())
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> FileResult<()>) -> FileResult<()> {
        if self.depth >= DEPTH_MAX {
            return Err(self.fault("the expression is nested too deeply"));
        }
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn take(&mut self, char: char) -> FileResult<()> {
        self.skip_blanks();
        if !self.rest().starts_with(char) {
            return Err(self.fault(format!("`{char}` is missing here")).hint(CAN));
        }
        self.at += char.len_utf8();
        Ok(())
    }

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

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
        self.at += rest.len() - trimmed.len();
    }

    fn fault(&self, message: impl Into<String>) -> FileFault {
        let rest = self.rest();
        let word = leading_name(rest).len();
        let length = word.max(rest.chars().next().map_or(0, char::len_utf8));
        FileFault::at(self.at..self.at + length, message)
    }
}

/// The outermost term of each of the last `operands` operands: a constant, a variable, or a function.
fn outermost(terms: &[Term], operands: u32) -> Vec<&Term> {
    let mut found = Vec::new();
    let mut rest = terms.iter().rev();
    for _ in 0..operands {
        let Some(term) = rest.next() else { break };
        found.push(term);
        let mut inner = inner_operands(term);
        while inner > 0 {
            let Some(term) = rest.next() else { break };
            inner = inner - 1 + inner_operands(term);
        }
    }
    found.reverse();
    found
}

fn inner_operands(term: &Term) -> u32 {
    if let Term::Call(_, operands) = term { *operands } else { 0 }
}

fn mistaken_kind(function: Function, operands: &[&Term]) -> Option<&'static str> {
    let has = |is: fn(&Term) -> bool| operands.iter().any(|it| is(it));
    match function {
        Function::And | Function::Or | Function::Not => {
            has(|it| matches!(it, Term::Integer(_) | Term::Real(_)))
                .then_some("a number stands where a truth value belongs")
        }
        Function::IsNull | Function::IsTrue | Function::IsFalse | Function::Case => None,
        _ => has(|it| matches!(it, Term::Boolean(_)))
            .then_some("a truth value stands where a number belongs"),
    }
}

const CAN: &str =
    "an expression has numbers, `:variables`, the operators of pgbench, `CASE`, and its functions";

/// Binary operators: notation, precedence, function. Prefixes of others come after them.
const OPERATORS: [(&str, u32, Function); 19] = [
    ("or", 1, Function::Or),
    ("and", 2, Function::And),
    ("<<", BITS, Function::ShiftLeft),
    (">>", BITS, Function::ShiftRight),
    ("<=", COMPARISON, Function::LessOrEqual),
    (">=", COMPARISON, Function::Less),
    ("<>", COMPARISON, Function::Equal),
    ("!=", COMPARISON, Function::Equal),
    ("<", COMPARISON, Function::Less),
    (">", COMPARISON, Function::LessOrEqual),
    ("=", COMPARISON, Function::Equal),
    ("|", BITS, Function::BitOr),
    ("#", BITS, Function::BitXor),
    ("&", BITS, Function::BitAnd),
    ("+", 7, Function::Add),
    ("-", 7, Function::Subtract),
    ("*", 8, Function::Multiply),
    ("/", 8, Function::Divide),
    ("%", 8, Function::Modulo),
];

/// Operators that negate their function.
const OPPOSITES: [&str; 4] = [">=", ">", "<>", "!="];

/// Precedence of `NOT`, of `IS`, of comparisons, which cannot be chained, of bitwise operators, and of signs.
const NOT: u32 = 3;
const IS: u32 = 4;
const COMPARISON: u32 = 5;
const BITS: u32 = 6;
const SIGN: u32 = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamedFunction {
    Of(Function),
    /// A function with a seed as last operand.
    Seeded(Function),
    Itself,
    Pi,
}

/// Name, function, fewest and most operands.
const FUNCTIONS: [(&str, NamedFunction, u32, u32); 21] = [
    ("abs", NamedFunction::Of(Function::Abs), 1, 1),
    ("debug", NamedFunction::Itself, 1, 1),
    ("double", NamedFunction::Of(Function::Double), 1, 1),
    ("exp", NamedFunction::Of(Function::Exp), 1, 1),
    ("greatest", NamedFunction::Of(Function::Greatest), 1, 100),
    ("hash", NamedFunction::Seeded(Function::HashMurmur2), 1, 2),
    ("hash_fnv1a", NamedFunction::Seeded(Function::HashFnv1a), 1, 2),
    ("hash_murmur2", NamedFunction::Seeded(Function::HashMurmur2), 1, 2),
    ("int", NamedFunction::Of(Function::Int), 1, 1),
    ("least", NamedFunction::Of(Function::Least), 1, 100),
    ("ln", NamedFunction::Of(Function::Ln), 1, 1),
    ("mod", NamedFunction::Of(Function::Modulo), 2, 2),
    ("permute", NamedFunction::Seeded(Function::Permute), 2, 3),
    ("pi", NamedFunction::Pi, 0, 0),
    ("pow", NamedFunction::Of(Function::Power), 2, 2),
    ("power", NamedFunction::Of(Function::Power), 2, 2),
    ("random", NamedFunction::Of(Function::Random), 2, 2),
    ("random_exponential", NamedFunction::Of(Function::RandomExponential), 3, 3),
    ("random_gaussian", NamedFunction::Of(Function::RandomGaussian), 3, 3),
    ("random_zipfian", NamedFunction::Of(Function::RandomZipfian), 3, 3),
    ("sqrt", NamedFunction::Of(Function::Sqrt), 1, 1),
];

const KEYWORDS: [&str; 10] =
    ["and", "or", "not", "is", "isnull", "notnull", "when", "then", "else", "end"];

/// The draw that a whole expression amounts to, if its ends are constants. It then needs no expression.
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
            // Above, only the first value is drawn.
            (low, high, Distribution::Zipfian { s: s.min(*ZIPF_S.end()) })
        }
        _ => return None,
    };
    Some(Integers { low, high, draw, is_reversed: false })
}

fn cannot_draw(function: Function, operands: &[ExpressionValue]) -> &'static str {
    if let [ExpressionValue::Integer(low), ExpressionValue::Integer(high), ..] = operands
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
