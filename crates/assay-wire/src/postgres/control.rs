//! The convenient connection.

use std::time::Duration;

use super::codec::{Values, kind, parse_columns, parse_complete, parse_error, parse_row};
use super::session::{Session, give_back, put_query};
use crate::patience::Patience;
use crate::{ConnectOptions, Error, ResultSet};

/// A connection for set-up and questions; see [`crate::Control`].
#[derive(Debug)]
pub struct Control {
    session: Session,
    body: Vec<u8>,
    request: Vec<u8>,
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
        let session = Session::connect(options)?;
        Ok(Self { session, body: Vec::new(), request: Vec::new(), lost: false })
    }

    /// Runs one statement, or several, as text and returns the result; of several results the first
    /// that has rows.
    ///
    /// # Errors
    /// [`Error::Server`] where the statement fails, else the connection is lost.
    pub fn query(&mut self, sql: &str) -> Result<ResultSet, Error> {
        let mut rows = Vec::new();
        let mut result = self.ask(sql, Patience::reply(), &mut |values| {
            let row = values.map(|value| value.map(|value| value.map(<[u8]>::to_vec)));
            rows.push(row.collect::<Result<Vec<_>, _>>()?);
            Ok(())
        })?;
        if rows.iter().any(|row| row.len() != result.columns.len()) {
            return Err(Error::Protocol("a row of another width than its columns"));
        }
        result.rows = rows;
        Ok(result)
    }

    /// As [`Control::query`], but hands each row to `take` as it comes and keeps none.
    ///
    /// # Errors
    /// As for [`Control::query`], and those of `take`, after which the connection is of no more use.
    pub fn query_rows(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Values<'_>) -> Result<(), Error>,
    ) -> Result<ResultSet, Error> {
        self.ask(sql, Patience::passing(), take)
    }

    fn ask(
        &mut self,
        sql: &str,
        patience: Patience,
        take: &mut dyn FnMut(Values<'_>) -> Result<(), Error>,
    ) -> Result<ResultSet, Error> {
        if self.lost {
            return Err(Error::Usage("an earlier reply was not received to its end"));
        }
        put_query(sql.as_bytes(), &mut self.request)?;
        self.lost = true;
        self.session.patience = patience;
        self.session.stream.send(&self.request)?;
        give_back(&mut self.request);
        let outcome = self.reply(take)?;
        self.lost = false;
        outcome
    }

    /// What was agreed on with the server.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Version in the server's words, such as `18.6 (Debian 18.6-1)`.
    pub fn server_version(&self) -> &str {
        self.session.server_version()
    }

    /// Process id of the backend.
    pub fn connection_id(&self) -> u32 {
        self.session.backend()
    }

    /// Changes how long the server may stay silent, say for the making of a large index.
    ///
    /// # Errors
    /// [`Error::Io`] where the operating system does not take it; zero is not allowed.
    pub fn set_timeout(&mut self, limit: Duration) -> Result<(), Error> {
        self.session.stream.set_limit(limit)
    }

    /// All of the reply: the outer error means that its end was not seen.
    fn reply(
        &mut self,
        take: &mut dyn FnMut(Values<'_>) -> Result<(), Error>,
    ) -> Result<Result<ResultSet, Error>, Error> {
        let (mut kept, mut is_kept) = (ResultSet::default(), true);
        let mut failure = None;
        loop {
            let kind = match self.session.read(&mut self.body) {
                Ok(kind) => kind,
                // A server that ends the connection says why first.
                Err(error) => return Err(failure.unwrap_or(error)),
            };
            match kind {
                kind::COLUMNS => {
                    is_kept = kept.columns.is_empty();
                    if is_kept {
                        kept.columns = parse_columns(&self.body)?;
                    }
                }
                kind::ROW if is_kept => {
                    let values = parse_row(&self.body)?;
                    self.session.patience.keep_row(values.left())?;
                    take(values)?;
                }
                kind::COMPLETE => {
                    let affected = parse_complete(&self.body)?.affected;
                    kept.affected = kept.affected.saturating_add(affected);
                }
                kind::ERROR => failure = Some(parse_error(&self.body)),
                kind::READY => {
                    return Ok(match failure {
                        Some(failure) => Err(failure),
                        None => Ok(kept),
                    });
                }
                kind::ROW | kind::EMPTY => {}
                _ => return Err(Error::Protocol("a message that is no part of a reply")),
            }
        }
    }
}
