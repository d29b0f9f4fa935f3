//! The convenient connection.

use std::time::Duration;

use super::codec::{
    Head, MORE_RESULTS, is_eof, parse_column, parse_eof, parse_error, parse_head, parse_row,
};
use super::constants::Command;
use super::session::Session;
use crate::patience::Patience;
use crate::{ConnectOptions, Error, ResultSet};

/// A connection for set-up and questions, where convenience counts and speed does not.
#[derive(Debug)]
pub struct Control {
    session: Session,
    packet: Vec<u8>,
    /// Whether the end of the last reply was not seen.
    lost: bool,
}

impl Control {
    /// Connects and logs in.
    ///
    /// # Errors
    /// [`Error::Connect`], [`Error::Timeout`], [`Error::Auth`], or [`Error::Server`] where the
    /// server refuses the user or the database.
    pub fn connect(options: &ConnectOptions) -> Result<Self, Error> {
        Ok(Self { session: Session::connect(options)?, packet: Vec::new(), lost: false })
    }

    /// Runs one statement as text and returns its result; of several results (a procedure's) the
    /// first that has rows.
    ///
    /// # Errors
    /// [`Error::Server`] where the statement fails, else the connection is lost.
    pub fn query(&mut self, sql: &str) -> Result<ResultSet, Error> {
        if self.lost {
            return Err(Error::Usage("an earlier reply was not received to its end"));
        }
        self.lost = true;
        self.session.patience = Patience::reply();
        self.session.command(Command::Query, sql.as_bytes())?;
        let result = self.results();
        self.lost = !matches!(result, Ok(_) | Err(Error::Server { .. }));
        result
    }

    /// What was agreed on with the server.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Version in the server's words, such as `10.11.19-MariaDB`.
    pub fn server_version(&self) -> &str {
        self.session.server_version()
    }

    /// The server's number for this connection, as in `KILL`.
    pub fn connection_id(&self) -> u32 {
        self.session.connection_id()
    }

    /// Changes how long the server may stay silent, say for the making of a large index.
    ///
    /// # Errors
    /// [`Error::Io`] where the operating system does not take it; zero is not allowed.
    pub fn set_timeout(&mut self, limit: Duration) -> Result<(), Error> {
        self.session.set_timeout(limit)
    }

    fn results(&mut self) -> Result<ResultSet, Error> {
        let mut kept = ResultSet::default();
        loop {
            let (result, more) = self.result()?;
            if kept.columns.is_empty() {
                kept =
                    ResultSet { affected: kept.affected.saturating_add(result.affected), ..result };
            } else {
                kept.affected = kept.affected.saturating_add(result.affected);
            }
            if !more {
                return Ok(kept);
            }
        }
    }

    /// One result, and whether another follows.
    fn result(&mut self) -> Result<(ResultSet, bool), Error> {
        let columns = match parse_head(self.next()?)? {
            Head::Done(done) => {
                let result = ResultSet {
                    affected: done.affected,
                    last_insert_id: done.last_insert_id,
                    ..ResultSet::default()
                };
                return Ok((result, done.status & MORE_RESULTS != 0));
            }
            Head::Columns(columns) => columns,
        };
        let mut result = ResultSet::default();
        for _ in 0..columns {
            let name = parse_column(self.next()?)?;
            result.columns.push(name);
        }
        parse_eof(self.next()?)?;
        loop {
            let width = result.columns.len();
            let packet = self.next()?;
            if is_eof(packet) {
                let more = parse_eof(packet)?.status & MORE_RESULTS != 0;
                return Ok((result, more));
            }
            if packet.first() == Some(&0xff) {
                return Err(parse_error(packet));
            }
            let row = parse_row(packet, width)?;
            self.session.patience.keep_row(width)?;
            result.rows.push(row);
        }
    }

    fn next(&mut self) -> Result<&[u8], Error> {
        self.session.read(&mut self.packet)?;
        Ok(&self.packet)
    }
}
