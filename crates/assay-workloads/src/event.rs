//! The operations of one event: statements with their parameters.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use assay_model::{CapturedDraw, Fill, PipelineMark, Table};

use crate::captured::Taken;
use crate::decimal::{push_decimal, push_integer};
use crate::expression::{Inputs, evaluate};
use crate::generate::Source;
use crate::mix::{Kind, KindStep};
use crate::number::Number;
use crate::program::{Pattern, Program, Recipe};
use crate::quoted::push_bytes;
use crate::random::{Stream, mix, mix_word};
use crate::value::Value;

/// Uses flat buffers that are reused: no allocation once they have grown.
#[derive(Debug, Default)]
pub struct EventBuf {
    operations: Vec<Planned>,
    values: Vec<Value>,
    bytes: Vec<u8>,
    variables: Vec<Value>,
    /// Values before a repeated statement; kept to reuse its memory.
    before: Vec<Value>,
    rows_added: u64,
    ids_taken: u32,
    /// The part of the event that needs the results of its operations.
    rest: Option<Rest>,
    session: usize,
}

#[derive(Debug, Clone, Copy)]
struct Rest {
    key: u64,
    kind: usize,
    step: usize,
}

#[derive(Debug, Clone)]
enum Planned {
    Execute { statement: usize, values: Range<usize> },
    Query { statement: usize, bytes: Range<usize> },
    Sleep(Duration),
    Pipeline(PipelineMark),
}

#[derive(Debug, Clone)]
pub enum Operation<'a> {
    Execute { statement: usize, arguments: Arguments<'a> },
    Query { statement: usize, sql: &'a [u8] },
    Sleep(Duration),
    Pipeline(PipelineMark),
}

impl Operation<'_> {
    /// Index in [`Program::statements`], if it sends a statement.
    #[must_use]
    pub fn statement(&self) -> Option<usize> {
        match self {
            Self::Execute { statement, .. } | Self::Query { statement, .. } => Some(*statement),
            Self::Sleep(_) | Self::Pipeline(_) => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument<'a> {
    Int(i64),
    Text(&'a [u8]),
    /// Like `Text`, but unquoted in a text statement: a number or a boolean.
    Bare(&'a [u8]),
    /// SQL, such as a list of values. A statement with it is sent as text.
    Raw(&'a [u8]),
    Null,
    /// A value returned by an earlier statement of the event, by its place in [`Statement::keep`]; NULL if missing.
    ///
    /// [`Statement::keep`]: crate::Statement::keep
    Kept(u32),
}

#[derive(Debug, Clone)]
pub struct Arguments<'a> {
    values: std::slice::Iter<'a, Value>,
    bytes: &'a [u8],
}

impl<'a> Iterator for Arguments<'a> {
    type Item = Argument<'a>;

    fn next(&mut self) -> Option<Argument<'a>> {
        self.values.next().map(|value| match value {
            Value::Int(value) => Argument::Int(*value),
            Value::Text(range) | Value::Rows(range) => Argument::Text(&self.bytes[range.clone()]),
            Value::Computed(_, range) => Argument::Bare(&self.bytes[range.clone()]),
            Value::Raw(range) => Argument::Raw(&self.bytes[range.clone()]),
            Value::Null => Argument::Null,
            Value::Kept(place) => Argument::Kept(*place),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl ExactSizeIterator for Arguments<'_> {}

impl EventBuf {
    pub fn operations(&self) -> impl ExactSizeIterator<Item = Operation<'_>> {
        self.operations.iter().map(|operation| match operation {
            Planned::Execute { statement, values } => Operation::Execute {
                statement: *statement,
                arguments: Arguments {
                    values: self.values[values.clone()].iter(),
                    bytes: &self.bytes,
                },
            },
            Planned::Query { statement, bytes } => {
                Operation::Query { statement: *statement, sql: &self.bytes[bytes.clone()] }
            }
            Planned::Sleep(time) => Operation::Sleep(*time),
            Planned::Pipeline(mark) => Operation::Pipeline(*mark),
        })
    }

    #[must_use]
    pub fn session(&self) -> usize {
        self.session
    }

    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn variables(&mut self) -> &mut Vec<Value> {
        &mut self.variables
    }

    fn number(&self, variable: u32, kept: &[Option<Vec<u8>>]) -> Number {
        let read = |text: &[u8]| std::str::from_utf8(text).ok().and_then(Number::of_text);
        let found = match self.variables.get(variable as usize) {
            Some(Value::Int(value)) => Some(Number::Integer(*value)),
            Some(Value::Computed(value, _)) => Some(*value),
            Some(Value::Text(range)) => self.bytes.get(range.clone()).and_then(read),
            Some(Value::Kept(place)) => {
                kept.get(*place as usize).and_then(Option::as_deref).and_then(read)
            }
            Some(Value::Rows(_) | Value::Raw(_) | Value::Null) | None => None,
        };
        found.unwrap_or(Number::Null)
    }

    pub(crate) fn execute_with(&mut self, statement: usize, variables: &[u32]) {
        let first = self.values.len();
        let value = |number: &u32| self.variables.get(*number as usize).cloned();
        self.values.extend(variables.iter().map(|number| value(number).unwrap_or(Value::Null)));
        self.operations.push(Planned::Execute { statement, values: first..self.values.len() });
    }

    pub(crate) fn sleep(&mut self, us: u64) {
        self.operations.push(Planned::Sleep(Duration::from_micros(us)));
    }

    /// Appends a statement with its parameters as text. Strings are quoted but not escaped: they contain only digits
    /// and dashes.
    fn render(&mut self, pattern: &Pattern, values: Range<usize>) -> Range<usize> {
        let start = self.bytes.len();
        let (pieces, last) = pattern.pieces();
        for (piece, value) in pieces.zip(&self.values[values]) {
            self.bytes.extend_from_slice(piece.as_bytes());
            match value {
                Value::Int(value) => push_integer(&mut self.bytes, *value),
                Value::Null | Value::Kept(_) => self.bytes.extend_from_slice(b"NULL"),
                Value::Rows(range) | Value::Raw(range) => {
                    self.bytes.extend_from_within(range.clone());
                }
                Value::Text(range) | Value::Computed(_, range) => {
                    self.bytes.push(b'\'');
                    self.bytes.extend_from_within(range.clone());
                    self.bytes.push(b'\'');
                }
            }
        }
        self.bytes.extend_from_slice(last.as_bytes());
        start..self.bytes.len()
    }

    fn push_rows(&mut self, count: u32) -> Range<usize> {
        let start = self.bytes.len();
        for number in self.rows_added + 1..=self.rows_added + u64::from(count) {
            let before: &[u8] = if self.bytes.len() == start { b"(" } else { b", (" };
            self.bytes.extend_from_slice(before);
            push_decimal(&mut self.bytes, number);
            self.bytes.extend_from_slice(b", ");
            push_decimal(&mut self.bytes, number);
            self.bytes.push(b')');
        }
        self.rows_added += u64::from(count);
        start..self.bytes.len()
    }

    fn unused_id(&mut self, client: u32, clients: u32) -> i64 {
        let number = self.ids_taken.wrapping_mul(clients).wrapping_add(client);
        self.ids_taken = self.ids_taken.wrapping_add(1);
        -1 - i64::from(permuted(number))
    }

    fn clear(&mut self) {
        self.operations.clear();
        self.values.clear();
        self.bytes.clear();
        self.variables.clear();
        self.rest = None;
        self.session = 0;
    }
}

/// The longest computed pause, microseconds.
const SLEEP_MAX_US: i64 = 60_000_000;

/// Coordinate of the line of captured values in random keys.
const LINE: u64 = u64::MAX - 1;

/// Coordinate of variables computed from results in random keys.
const LATE: u64 = u64::MAX;

/// A permutation of the numbers below 2³¹ that looks random: quadratic residues modulo a prime (Jeff Preshing), here
/// 2³¹ − 1, as in sysbench's unique 32-bit numbers.
fn permuted(number: u32) -> u32 {
    const PRIME: u64 = (1 << 31) - 1;
    const BITS: u32 = PRIME as u32;
    let step = |number: u32| {
        let number = u64::from(number);
        let square = number * number % PRIME;
        match number {
            PRIME.. => number as u32,
            it if it <= PRIME / 2 => square as u32,
            _ => (PRIME - square) as u32,
        }
    };
    step((step(number & BITS).wrapping_add(0x2823_5E9B) & BITS) ^ 0x5BF0_3635)
}

/// One client of a program. Its requests are a pure function of seed, test, client number and sequence number, except
/// that rows added to its own table and unused ids are numbered across events.
#[derive(Debug, Clone)]
pub struct Client {
    program: Arc<Program>,
    seed: u64,
    key: u64,
    number: u32,
}

struct Draws<'a> {
    program: &'a Program,
    stream: Stream,
    last: u32,
    table: usize,
    client: u32,
}

impl Client {
    #[must_use]
    pub fn new(program: Arc<Program>, seed: u64, number: u32) -> Self {
        let key = mix(mix_word(seed, &program.name), u64::from(number));
        Self { program, seed, key, number }
    }

    /// Replaces the content of `event` with event number `sequence`. `attempt` counts from 0 and is incremented when
    /// the event is restarted after an error: a restart draws anew.
    pub fn write_event(&self, sequence: u64, attempt: u32, event: &mut EventBuf) {
        event.clear();
        let key = mix(mix(self.key, sequence), u64::from(attempt));
        if self.program.is_own() {
            return self.write_own(sequence, key, event);
        }
        let mut draws = Draws {
            program: &self.program,
            stream: Stream::new(key),
            last: 1,
            table: 0,
            client: self.number,
        };
        for recipe in &self.program.recipe {
            draws.table = self.choose_table(recipe, &mut draws);
            for _ in 0..recipe.times {
                draws.write_operation(recipe, event);
            }
        }
    }

    fn choose_table(&self, recipe: &Recipe, draws: &mut Draws<'_>) -> usize {
        match recipe.table {
            Table::None => 0,
            Table::Drawn => draws.stream.below(u64::from(self.program.tables)) as usize,
            Table::Same => draws.table,
            Table::OfClient => (self.number % self.program.tables) as usize,
            Table::Scratch => (self.number % self.program.clients) as usize,
        }
    }
}

impl Draws<'_> {
    fn write_operation(&mut self, recipe: &Recipe, event: &mut EventBuf) {
        let statement = recipe.first_statement + self.table;
        let first = event.values.len();
        recipe.fill.iter().for_each(|fill| self.write_values(*fill, event));
        let values = first..event.values.len();
        let operation = match &recipe.patterns {
            Some(patterns) => {
                Planned::Query { statement, bytes: event.render(&patterns[self.table], values) }
            }
            None => Planned::Execute { statement, values },
        };
        event.operations.push(operation);
    }

    fn write_values(&mut self, fill: Fill, event: &mut EventBuf) {
        match fill {
            Fill::Drawn(count) => {
                for _ in 0..count {
                    self.last = self.program.draw.draw(&mut self.stream);
                    event.values.push(Value::Int(i64::from(self.last)));
                }
            }
            Fill::InPart(count) => {
                let part = &self.program.part;
                for _ in 0..count {
                    self.last = part.first_of(self.client) + part.draw.draw(&mut self.stream);
                    event.values.push(Value::Int(i64::from(self.last)));
                }
            }
            Fill::Rows(count) => {
                let rows = event.push_rows(count);
                event.values.push(Value::Rows(rows));
            }
            Fill::Unused => {
                let id = event.unused_id(self.client, self.program.clients);
                event.values.push(Value::Int(id));
            }
            Fill::Again => event.values.push(Value::Int(i64::from(self.last))),
            Fill::Plus(span) => {
                event.values.push(Value::Int(i64::from(self.last) + i64::from(span)));
            }
            Fill::Hot(count) => {
                let middle = i64::from(self.program.rows / 2);
                event.values.extend((1..=i64::from(count)).map(|i| Value::Int(middle + i)));
            }
            Fill::Digits(groups) => {
                let start = event.bytes.len();
                self.stream.digit_groups(groups, &mut event.bytes);
                event.values.push(Value::Text(start..event.bytes.len()));
            }
        }
    }
}

impl Client {
    /// Replaces the operations of a user's event by those that depend on the results so far; false if no more remain.
    /// `kept` has the returned values by place.
    pub fn write_rest(&self, kept: &[Option<Vec<u8>>], event: &mut EventBuf) -> bool {
        let Some(Rest { key, kind: number, step }) = event.rest.take() else { return false };
        let Some(kind) = self.program.mix.get(number) else { return false };
        event.operations.clear();
        event.values.clear();
        for variable in kind.late.iter().filter(|it| it.before == step).flat_map(|it| &it.variables)
        {
            let Some(Some(source)) = kind.variables.get(*variable as usize) else { continue };
            let mut stream = Stream::new(mix(mix(key, LATE), (*variable).into()));
            let value = self.value(source, &mut stream, kept, event);
            if let Some(variable) = event.variables.get_mut(*variable as usize) {
                *variable = value;
            }
        }
        self.write_steps(number, step, key, event);
        true
    }

    /// Writes an event of one of the kinds. Draws depend only on the event and the step: a dialect that skips a step,
    /// or uses variables in another order, draws the same values in all others.
    fn write_own(&self, sequence: u64, key: u64, event: &mut EventBuf) {
        let mut stream = Stream::new(key);
        let unit = stream.unit();
        let kinds = &self.program.mix;
        let at =
            kinds.partition_point(|kind| kind.up_to <= unit).min(kinds.len().saturating_sub(1));
        let Some(kind) = kinds.get(at) else { return };
        event.session = kind.session;
        let line = self.line(kind, sequence, key);
        for (number, source) in (0..).zip(&kind.variables) {
            let value = match source {
                None => Value::Kept(number),
                Some(Source::Captured(column)) => self.captured(kind, line, *column, event),
                Some(Source::Computed(_)) if kind.is_late(number) => Value::Null,
                Some(source) => self.value(source, &mut stream, &[], event),
            };
            event.variables().push(value);
        }
        self.write_steps(at, 0, key, event);
    }

    fn line(&self, kind: &Kind, sequence: u64, key: u64) -> u32 {
        let Some((lines, draw)) = &kind.captured else { return 0 };
        let count = u64::from(lines.len()).max(1);
        let line = match draw {
            CapturedDraw::Random => Stream::new(mix(key, LINE)).below(count),
            CapturedDraw::InOrder => {
                let clients = u64::from(self.program.clients);
                // Event numbers do not wrap in practice.
                sequence.wrapping_mul(clients).wrapping_add(self.number.into()) % count
            }
        };
        line as u32
    }

    fn captured(&self, kind: &Kind, line: u32, column: u32, event: &mut EventBuf) -> Value {
        let Some((lines, _)) = &kind.captured else { return Value::Null };
        let (start, has_escapes) = (event.bytes.len(), self.program.has_escapes);
        match lines.value(line, column) {
            Taken::Null => Value::Null,
            Taken::Integer(value) => Value::Int(value),
            Taken::Number(text) => {
                event.bytes.extend_from_slice(text);
                Value::Computed(Number::Null, start..event.bytes.len())
            }
            Taken::Text(text) => {
                event.bytes.extend_from_slice(text);
                Value::Text(start..event.bytes.len())
            }
            Taken::Bytes(digits) if has_escapes => {
                push_bytes(&mut event.bytes, has_escapes, digits);
                Value::Raw(start..event.bytes.len())
            }
            Taken::Bytes(digits) => {
                event.bytes.extend_from_slice(digits);
                Value::Text(start..event.bytes.len())
            }
            Taken::List(list) => {
                list.push_sql(has_escapes, &mut event.bytes);
                Value::Raw(start..event.bytes.len())
            }
        }
    }

    fn write_steps(&self, number: usize, first: usize, key: u64, event: &mut EventBuf) {
        let Some(kind) = self.program.mix.get(number) else { return };
        for (at, step) in kind.steps.iter().enumerate().skip(first) {
            if at > first && kind.late.iter().any(|late| late.before == at) {
                event.rest = Some(Rest { key, kind: number, step: at });
                return;
            }
            if let Some(when) = step.when()
                && event.number(when, &[]) != Number::Boolean(true)
            {
                continue;
            }
            match step {
                KindStep::Send { step, statement, variables, times, .. } => {
                    event.execute_with(*statement, variables);
                    if *times > 1 {
                        let key = mix(key, 1 + *step);
                        self.repeat(kind, *statement, variables, 1..*times, key, event);
                    }
                }
                KindStep::Sleep { step, us, .. } => {
                    let mut stream = Stream::new(mix(key, 1 + *step));
                    let us = match us {
                        Source::Computed(_) => self.value(us, &mut stream, &[], event),
                        us => us.value(0, &mut stream, event.bytes()),
                    };
                    if let Value::Int(us) = us {
                        event.sleep(us.clamp(0, SLEEP_MAX_US).unsigned_abs());
                    }
                }
                KindStep::Pipeline { mark, .. } => event.operations.push(Planned::Pipeline(*mark)),
            }
        }
    }

    /// The next value of a variable, which may depend on earlier ones.
    fn value(
        &self,
        source: &Source,
        stream: &mut Stream,
        kept: &[Option<Vec<u8>>],
        event: &mut EventBuf,
    ) -> Value {
        let Source::Computed(terms) = source else {
            return source.value(0, stream, event.bytes());
        };
        let variable = |number| event.number(number, kept);
        let inputs = Inputs { variable: &variable, client: self.number, seed: self.seed };
        match evaluate(terms, &inputs, stream) {
            Number::Integer(value) => Value::Int(value),
            Number::Null => Value::Null,
            value @ (Number::Real(_) | Number::Boolean(_)) => {
                let start = event.bytes.len();
                event.bytes.extend_from_slice(value.to_string().as_bytes());
                Value::Computed(value, start..event.bytes.len())
            }
        }
    }

    /// Repeats a statement. Its variables that do not come from results are redrawn each time, and get their first
    /// values back afterwards.
    fn repeat(
        &self,
        kind: &Kind,
        statement: usize,
        variables: &[u32],
        times: Range<u32>,
        key: u64,
        event: &mut EventBuf,
    ) {
        let mut before = std::mem::take(&mut event.before);
        before.clone_from(event.variables());
        for time in times {
            for number in variables {
                let Some(Some(source)) = kind.variables.get(*number as usize) else { continue };
                // All statements of an event share its line.
                if matches!(source, Source::Captured(_)) {
                    continue;
                }
                // A variable used twice gets the same value.
                let key = mix(mix(key, time.into()), (*number).into());
                let value = self.value(source, &mut Stream::new(key), &[], event);
                if let Some(variable) = event.variables().get_mut(*number as usize) {
                    *variable = value;
                }
            }
            event.execute_with(statement, variables);
        }
        event.variables().clone_from(&before);
        event.before = before;
    }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
