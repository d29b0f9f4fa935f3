//! The operations of one event: which statement, with which parameters.

use std::ops::Range;
use std::sync::Arc;

use crate::program::{Program, Recipe};
use crate::random::{Stream, mix, mix_word};
use crate::rows::push_decimal;
use crate::step::{Fill, Table};

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

    fn clear(&mut self) {
        self.operations.clear();
        self.values.clear();
        self.bytes.clear();
    }
}

/// One client of a program: what it asks is a pure function of seed, test, client number and
/// sequence number.
#[derive(Debug, Clone)]
pub struct Client {
    program: Arc<Program>,
    key: u64,
    number: u32,
}

/// What fills a parameter.
enum Drawn {
    Int(u32),
    /// A string of this many groups of digits.
    Digits(usize),
}

/// What the steps of one event share.
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
        let key = mix(mix_word(seed, &program.test.name()), u64::from(number));
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
        let (first_value, first_byte) = (event.values.len(), event.bytes.len());
        let operation = if let Some(pieces) = &recipe.pieces {
            self.write_text(recipe, &pieces[self.table], event);
            Planned::Query { statement, bytes: first_byte..event.bytes.len() }
        } else {
            recipe.fill.iter().for_each(|fill| self.write_values(*fill, event));
            Planned::Execute { statement, values: first_value..event.values.len() }
        };
        event.operations.push(operation);
    }

    /// Draws what fills some parameters, one after the other.
    fn draw(&mut self, fill: Fill, mut take: impl FnMut(Drawn, &mut Stream)) {
        match fill {
            Fill::Drawn(count) => {
                for _ in 0..count {
                    self.last = self.program.draw.draw(&mut self.stream);
                    take(Drawn::Int(self.last), &mut self.stream);
                }
            }
            Fill::Again => take(Drawn::Int(self.last), &mut self.stream),
            Fill::Plus(span) => {
                take(Drawn::Int(self.last.saturating_add(span)), &mut self.stream);
            }
            Fill::Hot(count) => {
                let middle = self.program.rows / 2;
                (1..=count).for_each(|i| take(Drawn::Int(middle + i), &mut self.stream));
            }
            Fill::Digits(groups) => take(Drawn::Digits(groups), &mut self.stream),
        }
    }

    fn write_values(&mut self, fill: Fill, event: &mut EventBuf) {
        let EventBuf { values, bytes, .. } = event;
        self.draw(fill, |drawn, stream| match drawn {
            Drawn::Int(value) => values.push(Value::Int(i64::from(value))),
            Drawn::Digits(groups) => {
                let start = bytes.len();
                stream.digit_groups(groups, bytes);
                values.push(Value::Text(start..bytes.len()));
            }
        });
    }

    /// A statement as text: its pieces with the parameters between them.
    fn write_text(&mut self, recipe: &Recipe, pieces: &[String], event: &mut EventBuf) {
        let bytes = &mut event.bytes;
        let mut pieces = pieces.iter().map(String::as_bytes);
        bytes.extend_from_slice(pieces.next().unwrap_or_default());
        for fill in &recipe.fill {
            self.draw(*fill, |drawn, stream| {
                match drawn {
                    Drawn::Int(value) => push_decimal(bytes, value),
                    Drawn::Digits(groups) => stream.digit_groups(groups, bytes),
                }
                bytes.extend_from_slice(pieces.next().unwrap_or_default());
            });
        }
    }
}
