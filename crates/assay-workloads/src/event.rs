//! The operations of one event: statements with their parameters.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use assay_model::{CapturedDraw, Fill, PipelineMark, TableChoice};

use crate::captured_lines::CapturedValue;
use crate::expression::{Inputs, evaluate};
use crate::generate::ValueSource;
use crate::literal::{push_bytes, push_decimal, push_integer, push_quoted};
use crate::mix::{KindStep, MixKind};
use crate::number::{EventValue, ExpressionValue};
use crate::program::{EventProgram, EventRecipe, Pattern};
use crate::random::{RandomStream, mix, mix_word};
use crate::sql::Quotes;
use crate::statement::ProgramStatement;

/// Uses flat buffers that are reused: no allocation once they have grown.
#[derive(Debug, Default)]
pub struct EventBuf {
    operations: Vec<PlannedOperation>,
    values: Vec<EventValue>,
    bytes: Vec<u8>,
    variables: Vec<EventValue>,
    /// Values before a repeated statement; kept to reuse its memory.
    before: Vec<EventValue>,
    rows_added: u64,
    ids_taken: u32,
    /// The part of the event that needs the results of its operations.
    rest: Option<EventRest>,
    session: usize,
}

#[derive(Debug, Clone, Copy)]
struct EventRest {
    key: u64,
    kind: usize,
    step: usize,
}

#[derive(Debug, Clone)]
enum PlannedOperation {
    Execute { statement: usize, values: Range<usize> },
    Query { statement: usize, bytes: Range<usize> },
    Sleep(Duration),
    Pipeline(PipelineMark),
}

#[derive(Debug, Clone)]
pub enum Operation<'a> {
    Execute { statement: usize, arguments: OperationArguments<'a> },
    Query { statement: usize, sql: &'a [u8] },
    Sleep(Duration),
    Pipeline(PipelineMark),
}

impl Operation<'_> {
    /// Index in [`EventProgram::statements`], if it sends a statement.
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
    /// A value returned by an earlier statement of the event, by its place in [`ProgramStatement::keep`]; NULL if
    /// missing.
    ///
    /// [`ProgramStatement::keep`]: crate::ProgramStatement::keep
    Kept(u32),
}

#[derive(Debug, Clone)]
pub struct OperationArguments<'a> {
    values: std::slice::Iter<'a, EventValue>,
    bytes: &'a [u8],
}

impl<'a> Iterator for OperationArguments<'a> {
    type Item = Argument<'a>;

    fn next(&mut self) -> Option<Argument<'a>> {
        self.values.next().map(|value| match value {
            EventValue::Int(value) => Argument::Int(*value),
            EventValue::Text(range) | EventValue::Rows(range) => {
                Argument::Text(&self.bytes[range.clone()])
            }
            EventValue::Computed(_, range) => Argument::Bare(&self.bytes[range.clone()]),
            EventValue::Raw(range) => Argument::Raw(&self.bytes[range.clone()]),
            EventValue::Null => Argument::Null,
            EventValue::Kept(place) => Argument::Kept(*place),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl ExactSizeIterator for OperationArguments<'_> {}

impl EventBuf {
    pub fn operations(&self) -> impl ExactSizeIterator<Item = Operation<'_>> {
        self.operations.iter().map(|operation| match operation {
            PlannedOperation::Execute { statement, values } => Operation::Execute {
                statement: *statement,
                arguments: OperationArguments {
                    values: self.values[values.clone()].iter(),
                    bytes: &self.bytes,
                },
            },
            PlannedOperation::Query { statement, bytes } => {
                Operation::Query { statement: *statement, sql: &self.bytes[bytes.clone()] }
            }
            PlannedOperation::Sleep(time) => Operation::Sleep(*time),
            PlannedOperation::Pipeline(mark) => Operation::Pipeline(*mark),
        })
    }

    pub fn session(&self) -> usize {
        self.session
    }

    fn number(&self, variable: u32, kept: &[Option<Vec<u8>>]) -> ExpressionValue {
        let read = |text: &[u8]| std::str::from_utf8(text).ok().and_then(ExpressionValue::of_text);
        let found = match self.variables.get(variable as usize) {
            Some(EventValue::Int(value)) => Some(ExpressionValue::Integer(*value)),
            Some(EventValue::Computed(value, _)) => Some(*value),
            Some(EventValue::Text(range)) => self.bytes.get(range.clone()).and_then(read),
            Some(EventValue::Kept(place)) => kept_value(kept, *place).and_then(read),
            Some(EventValue::Rows(_) | EventValue::Raw(_) | EventValue::Null) | None => None,
        };
        found.unwrap_or(ExpressionValue::Null)
    }

    pub(crate) fn execute_with(&mut self, statement: usize, variables: &[u32]) {
        let first = self.values.len();
        let value = |number: &u32| self.variables.get(*number as usize).cloned();
        self.values
            .extend(variables.iter().map(|number| value(number).unwrap_or(EventValue::Null)));
        self.operations
            .push(PlannedOperation::Execute { statement, values: first..self.values.len() });
    }

    /// Appends a statement with its parameters as text. Strings are quoted but not escaped: they contain only digits
    /// and dashes.
    fn render(&mut self, pattern: &Pattern, values: Range<usize>) -> Range<usize> {
        let start = self.bytes.len();
        let (pieces, last) = pattern.pieces();
        for (piece, value) in pieces.zip(&self.values[values]) {
            self.bytes.extend_from_slice(piece.as_bytes());
            match value {
                EventValue::Int(value) => push_integer(&mut self.bytes, *value),
                EventValue::Null | EventValue::Kept(_) => self.bytes.extend_from_slice(b"NULL"),
                EventValue::Rows(range) | EventValue::Raw(range) => {
                    self.bytes.extend_from_within(range.clone());
                }
                EventValue::Text(range) | EventValue::Computed(_, range) => {
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
pub struct ProgramClient {
    program: Arc<EventProgram>,
    seed: u64,
    key: u64,
    number: u32,
}

struct EventDraws<'a> {
    program: &'a EventProgram,
    stream: RandomStream,
    last: u32,
    table: usize,
    client: u32,
}

impl ProgramClient {
    pub fn new(program: Arc<EventProgram>, seed: u64, number: u32) -> Self {
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
        let mut draws = EventDraws {
            program: &self.program,
            stream: RandomStream::new(key),
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

    fn choose_table(&self, recipe: &EventRecipe, draws: &mut EventDraws<'_>) -> usize {
        match recipe.table {
            TableChoice::None => 0,
            TableChoice::Drawn => draws.stream.below(u64::from(self.program.tables)) as usize,
            TableChoice::Same => draws.table,
            TableChoice::OfClient => (self.number % self.program.tables) as usize,
            TableChoice::Scratch => (self.number % self.program.clients) as usize,
        }
    }
}

impl EventDraws<'_> {
    fn write_operation(&mut self, recipe: &EventRecipe, event: &mut EventBuf) {
        let statement = recipe.first_statement + self.table;
        let first = event.values.len();
        recipe.fill.iter().for_each(|fill| self.write_values(*fill, event));
        let values = first..event.values.len();
        let operation = match &recipe.patterns {
            Some(patterns) => PlannedOperation::Query {
                statement,
                bytes: event.render(&patterns[self.table], values),
            },
            None => PlannedOperation::Execute { statement, values },
        };
        event.operations.push(operation);
    }

    fn write_values(&mut self, fill: Fill, event: &mut EventBuf) {
        match fill {
            Fill::Drawn(count) => {
                for _ in 0..count {
                    self.last = self.program.draw.draw(&mut self.stream);
                    event.values.push(EventValue::Int(i64::from(self.last)));
                }
            }
            Fill::InPart(count) => {
                let part = &self.program.part;
                for _ in 0..count {
                    self.last = part.first_of(self.client) + part.draw.draw(&mut self.stream);
                    event.values.push(EventValue::Int(i64::from(self.last)));
                }
            }
            Fill::Rows(count) => {
                let rows = event.push_rows(count);
                event.values.push(EventValue::Rows(rows));
            }
            Fill::Unused => {
                let id = event.unused_id(self.client, self.program.clients);
                event.values.push(EventValue::Int(id));
            }
            Fill::Again => event.values.push(EventValue::Int(i64::from(self.last))),
            Fill::Plus(span) => {
                event.values.push(EventValue::Int(i64::from(self.last) + i64::from(span)));
            }
            Fill::Hot(count) => {
                let middle = i64::from(self.program.rows / 2);
                event.values.extend((1..=i64::from(count)).map(|i| EventValue::Int(middle + i)));
            }
            Fill::Digits(groups) => {
                let start = event.bytes.len();
                self.stream.digit_groups(groups, &mut event.bytes);
                event.values.push(EventValue::Text(start..event.bytes.len()));
            }
        }
    }
}

impl ProgramClient {
    /// Replaces the operations of a user's event by those that depend on the results so far; false if no more remain.
    /// `kept` has the returned values by place.
    pub fn write_rest(&self, kept: &[Option<Vec<u8>>], event: &mut EventBuf) -> bool {
        let Some(EventRest { key, kind: number, step }) = event.rest.take() else { return false };
        let kind = &self.program.mix[number];
        event.operations.clear();
        event.values.clear();
        for variable in kind.late.iter().filter(|it| it.before == step).flat_map(|it| &it.variables)
        {
            let Some(Some(source)) = kind.variables.get(*variable as usize) else { continue };
            let mut stream = RandomStream::new(mix(mix(key, LATE), (*variable).into()));
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
        let mut stream = RandomStream::new(key);
        let unit = stream.unit();
        let kinds = &self.program.mix;
        let at = kinds.partition_point(|kind| kind.up_to <= unit).min(kinds.len() - 1);
        let kind = &kinds[at];
        event.session = kind.session;
        let line = self.line(kind, sequence, key);
        for (number, source) in (0..).zip(&kind.variables) {
            let value = match source {
                None => EventValue::Kept(number),
                Some(ValueSource::Captured(column)) => self.captured(kind, line, *column, event),
                Some(ValueSource::Computed(_)) if kind.is_late(number) => EventValue::Null,
                Some(source) => self.value(source, &mut stream, &[], event),
            };
            event.variables.push(value);
        }
        self.write_steps(at, 0, key, event);
    }

    fn line(&self, kind: &MixKind, sequence: u64, key: u64) -> u32 {
        let Some((lines, draw)) = &kind.captured else { return 0 };
        let count = u64::from(lines.count()).max(1);
        let line = match draw {
            CapturedDraw::Random => RandomStream::new(mix(key, LINE)).below(count),
            CapturedDraw::InOrder => {
                let clients = u64::from(self.program.clients);
                // Event numbers do not wrap in practice.
                sequence.wrapping_mul(clients).wrapping_add(self.number.into()) % count
            }
        };
        line as u32
    }

    fn captured(&self, kind: &MixKind, line: u32, column: u32, event: &mut EventBuf) -> EventValue {
        let Some((lines, _)) = &kind.captured else { return EventValue::Null };
        let (start, has_escapes) = (event.bytes.len(), self.program.has_escapes);
        match lines.value(line, column) {
            CapturedValue::Null => EventValue::Null,
            CapturedValue::Integer(value) => EventValue::Int(value),
            CapturedValue::Number(text) => {
                event.bytes.extend_from_slice(text);
                EventValue::Computed(ExpressionValue::Null, start..event.bytes.len())
            }
            CapturedValue::Text(text) => {
                event.bytes.extend_from_slice(text);
                EventValue::Text(start..event.bytes.len())
            }
            CapturedValue::Bytes(digits) if has_escapes => {
                push_bytes(&mut event.bytes, has_escapes, digits);
                EventValue::Raw(start..event.bytes.len())
            }
            CapturedValue::Bytes(digits) => {
                event.bytes.extend_from_slice(digits);
                EventValue::Text(start..event.bytes.len())
            }
            CapturedValue::List(list) => {
                list.push_sql(has_escapes, &mut event.bytes);
                EventValue::Raw(start..event.bytes.len())
            }
        }
    }

    fn write_steps(&self, number: usize, first: usize, key: u64, event: &mut EventBuf) {
        let kind = &self.program.mix[number];
        for (at, step) in kind.steps.iter().enumerate().skip(first) {
            if at > first && kind.late.iter().any(|late| late.before == at) {
                event.rest = Some(EventRest { key, kind: number, step: at });
                return;
            }
            if let Some(when) = step.when()
                && event.number(when, &[]) != ExpressionValue::Boolean(true)
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
                    let mut stream = RandomStream::new(mix(key, 1 + *step));
                    let us = match us {
                        ValueSource::Computed(_) => self.value(us, &mut stream, &[], event),
                        us => us.value(0, &mut stream, &mut event.bytes),
                    };
                    if let EventValue::Int(us) = us {
                        let us = us.clamp(0, SLEEP_MAX_US).unsigned_abs();
                        event.operations.push(PlannedOperation::Sleep(Duration::from_micros(us)));
                    }
                }
                KindStep::Pipeline { mark, .. } => {
                    event.operations.push(PlannedOperation::Pipeline(*mark))
                }
            }
        }
    }

    /// The next value of a variable, which may depend on earlier ones.
    fn value(
        &self,
        source: &ValueSource,
        stream: &mut RandomStream,
        kept: &[Option<Vec<u8>>],
        event: &mut EventBuf,
    ) -> EventValue {
        let ValueSource::Computed(terms) = source else {
            return source.value(0, stream, &mut event.bytes);
        };
        let variable = |number| event.number(number, kept);
        let inputs = Inputs { variable: &variable, client: self.number, seed: self.seed };
        match evaluate(terms, &inputs, stream) {
            ExpressionValue::Integer(value) => EventValue::Int(value),
            ExpressionValue::Null => EventValue::Null,
            value @ (ExpressionValue::Real(_) | ExpressionValue::Boolean(_)) => {
                let start = event.bytes.len();
                event.bytes.extend_from_slice(value.to_string().as_bytes());
                EventValue::Computed(value, start..event.bytes.len())
            }
        }
    }

    /// Repeats a statement. Its variables that do not come from results are redrawn each time, and get their first
    /// values back afterwards.
    fn repeat(
        &self,
        kind: &MixKind,
        statement: usize,
        variables: &[u32],
        times: Range<u32>,
        key: u64,
        event: &mut EventBuf,
    ) {
        let mut before = std::mem::take(&mut event.before);
        before.clone_from(&event.variables);
        for time in times {
            for number in variables {
                let Some(Some(source)) = kind.variables.get(*number as usize) else { continue };
                // All statements of an event share its line.
                if matches!(source, ValueSource::Captured(_)) {
                    continue;
                }
                // A variable used twice gets the same value.
                let key = mix(mix(key, time.into()), (*number).into());
                let value = self.value(source, &mut RandomStream::new(key), &[], event);
                if let Some(variable) = event.variables.get_mut(*number as usize) {
                    *variable = value;
                }
            }
            event.execute_with(statement, variables);
        }
        event.variables.clone_from(&before);
        event.before = before;
    }
}

impl ProgramStatement {
    /// Appends the statement with the values of an operation. `kept` has the values returned by earlier statements of
    /// the event, by place. `has_escapes`: the dialect has backslash escapes in string literals.
    pub fn push_text(
        &self,
        has_escapes: bool,
        arguments: OperationArguments<'_>,
        kept: &[Option<Vec<u8>>],
        text: &mut Vec<u8>,
    ) {
        let Some((first, rest)) = self.pieces.split_first() else {
            return text.extend_from_slice(self.sql.as_bytes());
        };
        text.extend_from_slice(first.as_bytes());
        for (place, (argument, piece)) in arguments.zip(rest).enumerate() {
            match self.quotes.get(place).copied().flatten() {
                Some(quotes) => push_inside(text, quotes, argument, kept),
                None => push_value(text, has_escapes, argument, kept),
            }
            text.extend_from_slice(piece.as_bytes());
        }
    }
}

/// A value that an earlier statement of the event returned, unless it is NULL or missing.
fn kept_value(kept: &[Option<Vec<u8>>], place: u32) -> Option<&[u8]> {
    kept.get(place as usize)?.as_deref()
}

fn push_value(
    text: &mut Vec<u8>,
    has_escapes: bool,
    argument: Argument<'_>,
    kept: &[Option<Vec<u8>>],
) {
    match argument {
        // A preceding minus sign would start a comment.
        Argument::Int(value) if value < 0 => {
            text.push(b'(');
            push_integer(text, value);
            text.push(b')');
        }
        Argument::Int(value) => push_integer(text, value),
        Argument::Text(value) => push_quoted(text, has_escapes, value),
        Argument::Bare(value) => push_bare(text, value),
        Argument::Raw(sql) => text.extend_from_slice(sql),
        Argument::Null => text.extend_from_slice(b"NULL"),
        Argument::Kept(place) => match kept_value(kept, place) {
            Some(value) => push_quoted(text, has_escapes, value),
            None => text.extend_from_slice(b"NULL"),
        },
    }
}

/// Appends a value inside a quoted text, escaped so that it does not end it.
fn push_inside(
    text: &mut Vec<u8>,
    quotes: Quotes,
    argument: Argument<'_>,
    kept: &[Option<Vec<u8>>],
) {
    let value = match argument {
        Argument::Int(value) => return push_integer(text, value),
        Argument::Text(value) | Argument::Bare(value) | Argument::Raw(value) => value,
        Argument::Null => b"NULL",
        Argument::Kept(place) => kept_value(kept, place).unwrap_or(b"NULL"),
    };
    for byte in value {
        let is_doubled = match quotes {
            Quotes::Text => *byte == b'\'',
            Quotes::Escaped => matches!(byte, b'\'' | b'\\'),
            Quotes::Name => *byte == b'"',
            Quotes::Dollar => false,
        };
        text.extend(std::iter::repeat_n(*byte, 1 + usize::from(is_doubled)));
    }
}

/// Appends a number. A preceding minus sign would start a comment.
fn push_bare(out: &mut Vec<u8>, number: &[u8]) {
    let is_negative = number.starts_with(b"-");
    out.extend_from_slice(if is_negative { b"(" } else { b"" });
    out.extend_from_slice(number);
    out.extend_from_slice(if is_negative { b")" } else { b"" });
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
