//! Clients that send predefined statements: those of shipped tests and of users' workloads.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use assay_model::{Pacing, PipelineMark, Renewal, Role};
use assay_wire::{ConnectOptions, Connection, Reply, WireError};
use assay_workloads::{EventBuf, EventProgram, Operation, ProgramClient};

use crate::actor::{Actor, ActorMaker, ClientWork, EventError, EventNumber, EventWire};
use crate::control::{connect, connect_control, execute};
use crate::error::{LoadError, Result};
use crate::policy::{USUAL, USUAL_OWN};
use crate::prepared_program::PreparedProgram;
use crate::share::for_whole_tables;

/// The clients of a test, in order. Rows added by an earlier run are removed first.
pub(super) fn actors(options: &ConnectOptions, work: &ClientWork) -> Result<Vec<ActorMaker>> {
    let ClientWork { dialect, test, setup, statements, seed } = *work;
    let [Role { clients: None, pacing: Pacing::Closed, .. }] = test.roles.as_slice() else {
        return Err(LoadError::Roles(test.name()));
    };
    let program = Arc::new(EventProgram::new(dialect, test, setup, statements));
    if let Some(file) = program.unread() {
        let why = "its values were not read".to_owned();
        return Err(LoadError::File { path: file.path.clone(), why });
    }
    remove_added_rows(options, &program)?;
    let maker = |number| -> ActorMaker {
        let (program, options) = (Arc::clone(&program), options.clone());
        Box::new(move |_| Box::new(SqlActor::new(program, options, seed, number)))
    };
    Ok((0..setup.clients.max(1)).map(maker).collect())
}

/// Removes the rows added by an earlier run, in batches: there may be millions.
fn remove_added_rows(options: &ConnectOptions, program: &EventProgram) -> Result<()> {
    let mut tables = program.tables_to_clear().peekable();
    if tables.peek().is_none() {
        return Ok(());
    }
    let options = for_whole_tables(options);
    let mut control = connect_control(&options, 0)?;
    tables.flat_map(removals).try_for_each(|sql| execute(&mut control, sql.as_bytes()))
}

/// Statements that remove rows with negative ids. Ids are spread evenly over the whole range.
fn removals(table: String) -> impl Iterator<Item = String> {
    const PARTS: i64 = 64;
    const LENGTH: i64 = (1 << 31) / PARTS;
    (1..=PARTS).map(move |part| {
        let (low, high) = (-part * LENGTH, -(part - 1) * LENGTH - 1);
        format!("DELETE FROM {table} WHERE id BETWEEN {low} AND {high}")
    })
}

struct SqlActor {
    number: u32,
    options: ConnectOptions,
    /// A connection for each set of session settings after the first.
    others: Vec<Connection>,
    client: ProgramClient,
    prepared: PreparedProgram,
    event: EventBuf,
    is_own: bool,
    times_statements: bool,
    /// A statement or a connection is made for some of its steps.
    renews: bool,
}

impl SqlActor {
    fn new(program: Arc<EventProgram>, options: ConnectOptions, seed: u64, number: u32) -> Self {
        let client = ProgramClient::new(Arc::clone(&program), seed, number);
        let (is_own, times_statements) = (program.is_own(), !program.places().is_empty());
        let prepared = PreparedProgram::new(program, number);
        Self {
            number,
            options,
            others: Vec::new(),
            is_own,
            times_statements,
            renews: prepared.renews(),
            client,
            prepared,
            event: EventBuf::default(),
        }
    }

    /// Runs the operations of the event known so far.
    fn carry_out(&mut self, line: &mut EventWire<'_>) -> Result<(), EventError> {
        let (prepared, mut is_piped) = (&mut self.prepared, false);
        let EventWire { wire, tally, run, part } = line;
        let wire = session_wire(&self.event, wire, &mut self.others);
        let mut line = EventWire { wire, tally, run, part };
        let mut since = self.times_statements.then(Instant::now);
        for operation in self.event.operations() {
            let statement = operation.statement().unwrap_or_default();
            match operation {
                Operation::Sleep(time) => {
                    line.pause(time);
                    since = since.map(|_| Instant::now());
                    continue;
                }
                Operation::Pipeline(mark) => {
                    is_piped = mark != PipelineMark::End;
                    if mark != PipelineMark::Start {
                        line.send_pipeline().map_err(EventError::by("a pipeline"))?;
                    }
                    since = since.map(|_| Instant::now());
                    continue;
                }
                operation if is_piped => {
                    let queued = prepared.queue(line.wire, operation);
                    queued.map_err(|source| EventError::by(prepared.sql(statement))(source))?;
                    continue;
                }
                operation => {
                    let renewal = if self.renews { prepared.renewal(statement) } else { None };
                    let reply = match renewal {
                        None => prepared.send(line.wire, operation),
                        Some(Renewal::Statement) => prepared.send_anew(line.wire, operation),
                        Some(Renewal::Connection) => {
                            send_over_another(&self.options, operation, &mut line)
                        }
                    };
                    match reply {
                        Ok(reply) => line.tally.count_reply(&reply),
                        Err(source) => return Err(EventError::by(prepared.sql(statement))(source)),
                    }
                }
            }
            if let Some(before) = &mut since {
                let now = Instant::now();
                line.tally.count_statement(statement, now - *before);
                *before = now;
            }
        }
        Ok(())
    }
}

/// Sends a text over a connection that is opened for it and closed after it.
fn send_over_another(
    options: &ConnectOptions,
    operation: Operation<'_>,
    line: &mut EventWire<'_>,
) -> Result<Reply, WireError> {
    let Operation::Query { sql, .. } = operation else {
        return Err(WireError::Usage("a prepared statement over a connection without it"));
    };
    let mut wire = Connection::connect(options)?;
    let reply = wire.execute_text(sql)?;
    line.tally.count_bytes(wire.bytes_sent(), wire.bytes_received());
    Ok(reply)
}

/// The connection with the session settings of an event.
fn session_wire<'w>(
    event: &EventBuf,
    first: &'w mut Connection,
    others: &'w mut [Connection],
) -> &'w mut Connection {
    match event.session().checked_sub(1) {
        Some(other) => &mut others[other],
        None => first,
    }
}

impl Actor for SqlActor {
    fn prepare(&mut self, wire: &mut Connection) -> Result<()> {
        self.others.clear();
        let sessions = self.prepared.sessions();
        self.prepared.prepare(wire, 0)?;
        for session in 1..sessions {
            let mut other = connect(&self.options, self.number)?;
            self.prepared.prepare(&mut other, session)?;
            self.others.push(other);
        }
        Ok(())
    }

    fn others(&mut self) -> &mut [Connection] {
        &mut self.others
    }

    fn event(
        &mut self,
        number: EventNumber,
        line: &mut EventWire<'_>,
    ) -> Result<ControlFlow<()>, EventError> {
        let EventNumber { sequence, attempt } = number;
        self.client.write_event(sequence, attempt, &mut self.event);
        self.prepared.begin_event();
        loop {
            self.carry_out(line)?;
            if !self.client.write_rest(self.prepared.kept(), &mut self.event) {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    fn give_up(&mut self, wire: &mut Connection) -> Result<(), WireError> {
        self.prepared.give_up_event(session_wire(&self.event, wire, &mut self.others))
    }

    fn retried(&self) -> &'static [u32] {
        if self.is_own { &USUAL_OWN } else { &USUAL }
    }

    fn unprepared(&self) -> Vec<String> {
        self.prepared.unprepared()
    }
}
