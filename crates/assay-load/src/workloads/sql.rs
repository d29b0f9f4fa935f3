//! Clients whose events are statements that were written beforehand: those of shipped tests and of users' workloads.

use std::ops::ControlFlow;
use std::sync::Arc;

use assay_model::{Pacing, Role};
use assay_wire::{ConnectOptions, Connection, Error as WireError};
use assay_workloads::{Client, EventBuf, Operation, Program};

use crate::actor::{Actor, ActorMaker, EventNumber, Line, Refused};
use crate::error::{Error, Result};
use crate::policy::{USUAL, USUAL_OWN};
use crate::prepared::Prepared;
use crate::share::for_whole_tables;
use crate::work::Work;

/// The clients of a test, in order. Rows that an earlier run has added are removed before.
pub(super) fn actors(options: &ConnectOptions, work: &Work) -> Result<Vec<ActorMaker>> {
    let Work { dialect, test, setup, statements, seed } = *work;
    let [Role { clients: None, pacing: Pacing::Closed, .. }] = test.roles.as_slice() else {
        return Err(Error::Roles(test.name()));
    };
    let program = Arc::new(Program::new(dialect, test, setup, statements));
    remove_added_rows(options, &program)?;
    let maker = |number| -> ActorMaker {
        let program = Arc::clone(&program);
        Box::new(move || Box::new(SqlActor::new(program, seed, number)))
    };
    Ok((0..setup.clients.max(1)).map(maker).collect())
}

/// Removes the rows that an earlier run has added, part by part: there may be millions of them.
fn remove_added_rows(options: &ConnectOptions, program: &Program) -> Result<()> {
    let mut tables = program.tables_to_clear().peekable();
    if tables.peek().is_none() {
        return Ok(());
    }
    let options = for_whole_tables(options);
    let mut control =
        Connection::connect(&options).map_err(|source| Error::Connect { client: 0, source })?;
    for sql in tables.flat_map(removals) {
        let removed = control.execute_text(sql.as_bytes());
        removed.map_err(|error| Error::query(sql.as_bytes(), error))?;
    }
    Ok(())
}

/// The statements that remove the rows with negative ids. Ids are spread evenly over all of them.
fn removals(table: String) -> impl Iterator<Item = String> {
    const PARTS: i64 = 64;
    const LENGTH: i64 = (1 << 31) / PARTS;
    (1..=PARTS).map(move |part| {
        let (low, high) = (-part * LENGTH, -(part - 1) * LENGTH - 1);
        format!("DELETE FROM {table} WHERE id BETWEEN {low} AND {high}")
    })
}

/// A client of a program.
struct SqlActor {
    number: u32,
    client: Client,
    prepared: Prepared,
    event: EventBuf,
    is_own: bool,
}

impl SqlActor {
    fn new(program: Arc<Program>, seed: u64, number: u32) -> Self {
        Self {
            number,
            is_own: program.is_own(),
            client: Client::new(Arc::clone(&program), seed, number),
            prepared: Prepared::new(program),
            event: EventBuf::default(),
        }
    }
}

impl Actor for SqlActor {
    fn prepare(&mut self, wire: &mut Connection) -> Result<()> {
        self.prepared.prepare(wire)
    }

    fn settle(&mut self, wire: &mut Connection) -> Result<()> {
        self.prepared.create_scratch(wire, self.number)
    }

    fn event(
        &mut self,
        number: EventNumber,
        line: &mut Line<'_>,
    ) -> Result<ControlFlow<()>, Refused> {
        let EventNumber { sequence, attempt } = number;
        self.client.write_event(sequence, attempt, &mut self.event);
        self.prepared.begin_event();
        for operation in self.event.operations() {
            if let Operation::Sleep(time) = operation {
                line.pause(time);
                continue;
            }
            let statement = operation.statement().unwrap_or_default();
            match self.prepared.send(line.wire, operation) {
                Ok(reply) => line.tally.count_reply(&reply),
                Err(source) => return Err(Refused::by(self.prepared.sql(statement))(source)),
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn give_up(&mut self, wire: &mut Connection) -> Result<(), WireError> {
        self.prepared.give_up_event(wire)
    }

    fn retried(&self) -> &'static [u32] {
        if self.is_own { &USUAL_OWN } else { &USUAL }
    }

    fn unprepared(&self) -> Vec<String> {
        self.prepared.unprepared()
    }
}
