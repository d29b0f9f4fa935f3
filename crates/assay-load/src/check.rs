//! Checks a server's answers against the loaded data.

use std::sync::Arc;

use assay_model::{Class, DataSet, Dialect, Setup, StatementMode, Test};
use assay_wire::{ConnectOptions, Connection, ResultSet};
use assay_workloads::{
    EventBuf, EventProgram, LoadedData, Operation, ProgramClient, RowsChecksum, is_ordered,
};

use crate::content::content;
use crate::control::{connect, connect_control, query};
use crate::error::{LoadError, Result};
use crate::prepared_program::PreparedProgram;

const EVENTS: u64 = 10;

#[derive(Debug, Clone, Copy)]
pub struct Check<'a> {
    pub dialect: Dialect,
    /// Tests that write, and those on tables other than sysbench's, are left out.
    pub tests: &'a [Test],
    pub data: DataSet,
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestAnswers {
    pub test: Test,
    pub answer: RowsChecksum,
}

/// Checks that the tables hold exactly what was loaded, row by row, and that the server answers the events of every
/// test correctly, both prepared and as text.
pub fn check_loaded(
    options: &ConnectOptions,
    check: &Check<'_>,
    loaded: &mut LoadedData,
) -> Result<()> {
    content(options, check.dialect, check.data)?.check(&loaded.content().into())?;
    for test in reads(check) {
        let mut checker = EventChecker::new(options, check, test)?;
        for sequence in 0..EVENTS {
            checker.event(sequence, &mut |sql, found| {
                let (test, sql) = (test.name(), sql.to_owned());
                match loaded.answer(&sql) {
                    Some(expected) if expected == found => Ok(()),
                    Some(expected) => Err(LoadError::WrongAnswer { test, sql, found, expected }),
                    None => Err(LoadError::UnknownAnswer { test, sql }),
                }
            })?;
        }
    }
    Ok(())
}

/// Answers to the events of every test, for comparison with another server that holds the same data.
pub fn answers(options: &ConnectOptions, check: &Check<'_>) -> Result<Vec<TestAnswers>> {
    let answers_of = |test| {
        let mut answer = RowsChecksum::default();
        let mut checker = EventChecker::new(options, check, test)?;
        for sequence in 0..EVENTS {
            checker.event(sequence, &mut |_, found| {
                answer.add(found);
                Ok(())
            })?;
        }
        Ok(TestAnswers { test, answer })
    };
    reads(check).map(answers_of).collect()
}

fn reads<'a>(check: &Check<'a>) -> impl Iterator<Item = Test> + use<'a> {
    let is_read = |test: &Test| test.class == Class::Read && test.schema.facts().has_rows_option();
    check.tests.iter().copied().filter(is_read)
}

struct EventChecker {
    test: Test,
    as_text: ProgramClient,
    as_prepared: ProgramClient,
    prepared: PreparedProgram,
    wire: Connection,
    control: Connection,
    event: EventBuf,
}

impl EventChecker {
    fn new(options: &ConnectOptions, check: &Check<'_>, test: Test) -> Result<Self> {
        let DataSet { tables, rows } = check.data;
        let setup = Setup { clients: 1, tables, rows };
        let program = |mode| Arc::new(EventProgram::new(check.dialect, test, setup, mode));
        let prepared = program(StatementMode::Prepared);
        let (mut wire, control) = (connect(options, 0)?, connect_control(options, 0)?);
        let as_prepared = ProgramClient::new(Arc::clone(&prepared), check.seed, 0);
        let mut prepared = PreparedProgram::new(prepared, 0);
        prepared.prepare(&mut wire, 0)?;
        Ok(Self {
            test,
            as_text: ProgramClient::new(program(StatementMode::Text), check.seed, 0),
            as_prepared,
            prepared,
            wire,
            control,
            event: EventBuf::default(),
        })
    }

    fn event(
        &mut self,
        sequence: u64,
        take: &mut dyn FnMut(&str, RowsChecksum) -> Result<()>,
    ) -> Result<()> {
        let mut answers = Vec::new();
        self.as_prepared.write_event(sequence, 0, &mut self.event);
        self.prepared.begin_event();
        for operation in self.event.operations() {
            let number = operation.statement().expect("these tests only send statements");
            let result = self.prepared.query(&mut self.wire, operation);
            let sql = self.prepared.sql(number);
            let result = result.map_err(|error| LoadError::query(sql.as_bytes(), error))?;
            answers.push(answer(&result, is_ordered(sql)));
        }
        self.as_text.write_event(sequence, 0, &mut self.event);
        for (operation, prepared) in self.event.operations().zip(answers) {
            let Operation::Query { sql, .. } = operation else { continue };
            let sql = String::from_utf8_lossy(sql);
            let result = query(&mut self.control, &sql)?;
            if result.columns.is_empty() {
                continue;
            }
            let text = answer(&result, is_ordered(&sql));
            if text != prepared {
                let (test, sql) = (self.test.name(), sql.into_owned());
                return Err(LoadError::AnswersDiffer { test, sql, prepared, text });
            }
            take(&sql, text)?;
        }
        Ok(())
    }
}

fn answer(result: &ResultSet, is_ordered: bool) -> RowsChecksum {
    let mut answer = RowsChecksum::default();
    for row in &result.rows {
        answer.add_row(row.iter().map(Option::as_deref), is_ordered);
    }
    answer
}
