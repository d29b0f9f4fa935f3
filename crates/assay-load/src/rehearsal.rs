//! Executes single statements like a study's clients, outside of slices.

use std::sync::Arc;

use assay_model::SessionSetting;
use assay_wire::Error as WireError;
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::{Operation, Program};

use crate::error::{Error, Result};
use crate::prepared::Prepared;
use crate::settings::{RefusedSetting, begin_user_session};

/// A connection like those of a test's clients, with the statements of its program prepared that run with the same
/// settings.
pub struct Rehearsal {
    wire: Connection,
    prepared: Prepared,
}

impl Rehearsal {
    /// `None` if the server refuses to prepare one of the statements.
    pub fn open(
        options: &ConnectOptions,
        program: Arc<Program>,
        session: usize,
    ) -> Result<Option<Self>> {
        let mut wire = connect(options)?;
        let mut prepared = Prepared::new(program);
        match prepared.prepare(&mut wire, session) {
            Ok(()) => Ok(Some(Self { wire, prepared })),
            Err(Error::Prepare { source, .. }) if source.server_code().is_some() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn wire(&mut self) -> &mut Connection {
        &mut self.wire
    }

    #[must_use]
    pub fn has_prepared(&self, statement: usize) -> bool {
        self.prepared.has_prepared(statement)
    }

    pub fn execute(
        &mut self,
        operation: Operation<'_>,
        kept: &[Option<Vec<u8>>],
    ) -> Result<(), WireError> {
        self.prepared.keep(kept);
        self.prepared.send(&mut self.wire, operation).map(drop)
    }
}

/// Connects with a session like those of a program's clients: `session` is an index into its sets of settings.
pub fn connect_as_client(
    options: &ConnectOptions,
    program: &Program,
    session: usize,
) -> Result<Connection> {
    let mut wire = connect(options)?;
    if program.is_own() {
        let settings = program.sessions().get(session);
        begin_user_session(&mut wire, settings.map_or(&[], Vec::as_slice))?;
    }
    Ok(wire)
}

/// The settings of these sessions that a server refuses, without duplicates.
pub fn refused_settings(
    options: &ConnectOptions,
    sessions: &[Vec<SessionSetting>],
) -> Result<Vec<RefusedSetting>> {
    let mut refused: Vec<RefusedSetting> = Vec::new();
    for settings in sessions.iter().filter(|it| !it.is_empty()) {
        for found in begin_user_session(&mut connect(options)?, settings)? {
            if !refused.contains(&found) {
                refused.push(found);
            }
        }
    }
    Ok(refused)
}

fn connect(options: &ConnectOptions) -> Result<Connection> {
    Connection::connect(options).map_err(|source| Error::Connect { client: 0, source })
}
