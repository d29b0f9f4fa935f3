//! The operations of one event: which statement, with which parameters.

use std::ops::Range;
use std::sync::Arc;

use assay_model::{Fill, Table};

use crate::decimal::push_decimal;
use crate::program::{Pattern, Program, Recipe};
use crate::random::{Stream, mix, mix_word};

/// The operations of one event in flat buffers that are reused: no allocation once they have grown.
#[derive(Debug, Default)]
pub struct EventBuf {
    operations: Vec<Planned>,
    values: Vec<Value>,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Planned {
    Execute { statement: usize, values: Range<usize> },
    Query { statement: usize, bytes: Range<usize> },
}

#[derive(Debug, Clone)]
enum Value {
    /// Never negative.
    Int(i64),
    Text(Range<usize>),
}

/// One operation of an event.
#[derive(Debug, Clone)]
pub enum Operation<'a> {
    /// Execute a prepared statement.
    Execute {
        /// Index into [`Program::statements`].
        statement: usize,
        /// Its parameters in order.
        arguments: Arguments<'a>,
    },
    /// Send text.
    Query {
        /// Index into [`Program::statements`].
        statement: usize,
        /// The whole statement.
        sql: &'a [u8],
    },
}

impl Operation<'_> {
    /// Index of its statement in [`Program::statements`].
    #[must_use]
    pub fn statement(&self) -> usize {
        match self {
            Self::Execute { statement, .. } | Self::Query { statement, .. } => *statement,
        }
    }
}

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument<'a> {
    /// Bound as a 64-bit integer.
    Int(i64),
    /// Bound as a string.
    Text(&'a [u8]),
}

/// The parameters of one operation.
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
            Value::Text(range) => Argument::Text(&self.bytes[range.clone()]),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl ExactSizeIterator for Arguments<'_> {}

impl EventBuf {
    /// The operations in order.
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
        })
    }

    /// Appends a statement as text, with its parameters, and returns its place. Strings are quoted but not escaped:
    /// they hold nothing but digits and dashes.
    fn render(&mut self, pattern: &Pattern, values: Range<usize>) -> Range<usize> {
        let start = self.bytes.len();
        let (pieces, last) = pattern.pieces();
        for (piece, value) in pieces.zip(&self.values[values]) {
            self.bytes.extend_from_slice(piece.as_bytes());
            match value {
                Value::Int(value) => push_decimal(&mut self.bytes, value.unsigned_abs()),
                Value::Text(range) => {
                    self.bytes.push(b'\'');
                    self.bytes.extend_from_within(range.clone());
                    self.bytes.push(b'\'');
                }
            }
        }
        self.bytes.extend_from_slice(last.as_bytes());
        start..self.bytes.len()
    }

    fn clear(&mut self) {
        self.operations.clear();
        self.values.clear();
        self.bytes.clear();
    }
}

/// One client of a program. Its requests are a pure function of seed, test, client number and sequence number.
#[derive(Debug, Clone)]
pub struct Client {
    program: Arc<Program>,
    key: u64,
    number: u32,
}

/// State that the steps of one event share.
struct Draws<'a> {
    program: &'a Program,
    stream: Stream,
    /// The last draw over the rows.
    last: u32,
    /// Zero-based number of the table last used.
    table: usize,
}

impl Client {
    /// Client `number` (from 0) of a study with that seed.
    #[must_use]
    pub fn new(program: Arc<Program>, seed: u64, number: u32) -> Self {
        let key = mix(mix_word(seed, &program.name), u64::from(number));
        Self { program, key, number }
    }

    /// Replaces the content of `event` with event number `sequence`.
    ///
    /// `attempt` counts from 0 and rises when the event is restarted after an error: a restart
    /// draws anew.
    pub fn write_event(&self, sequence: u64, attempt: u32, event: &mut EventBuf) {
        event.clear();
        let mut draws = Draws {
            program: &self.program,
            stream: Stream::new(mix(mix(self.key, sequence), u64::from(attempt))),
            last: 1,
            table: 0,
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
