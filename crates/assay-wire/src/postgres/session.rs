//! The client's half of a Postgres session: messages out and in.

use super::codec::{
    HEADER, RowValues, kind, parse_backend, parse_columns, parse_complete, parse_described,
    parse_error, parse_header, parse_notice, parse_parameter, parse_parameters, parse_row,
    put_message, put_text,
};
use super::execute::{BindMessages, ResultFormat, SYNC, close, prepare};
use super::login::PostgresLogin;
use super::probe::{TLS_REQUEST, is_mysql};
use super::walk::{CopyMessages, CopyWalker, MessageWalker, PipelineMessages, PipelineWalker};
use crate::budget::ReadBudget;
use crate::channel::Channel;
use crate::error::{WireError, WireResult};
use crate::handshake::{TlsFacts, tls_error};
use crate::options::{Address, ConnectOptions, Protocol};
use crate::tls_client::TlsMode;
use crate::tls_problem::TlsProblem;
use crate::value::{
    AnswerSummary, NextPart, Param, ParamType, Reply, ResultSet, ServerIdentity, StatementId,
    TakeValues,
};

/// A server that is not ready after this many messages never will be.
const MAX_LOGIN_MESSAGES: usize = 200;

type TakeDataRow<'a> = &'a mut dyn FnMut(RowValues<'_>) -> WireResult<()>;

#[derive(Debug)]
pub(crate) struct PostgresSession {
    statements: Vec<BindMessages>,
    outbox: Vec<u8>,
    body: Vec<u8>,
    pipeline: Vec<u8>,
}

/// The server answers earlier executions while more are sent. More than the sockets hold would make both sides wait for
/// each other.
const PIPELINE_MAX: usize = 64 << 10;

impl PostgresSession {
    pub(crate) fn log_in(
        channel: &mut Channel,
        options: &ConnectOptions,
    ) -> WireResult<(Self, ServerIdentity)> {
        let (mut login, hello) = PostgresLogin::start(options)?;
        let mut cipher = None;
        if let Some(facts) = begin_tls(channel, options)? {
            login.set_encrypted(facts.end_point);
            cipher = Some(facts.cipher);
        }
        channel.stream.send(&hello)?;
        if is_mysql(channel.peek()?) {
            return Err(speaks_mysql(options));
        }
        let mut session = Self {
            statements: Vec::new(),
            outbox: Vec::new(),
            body: Vec::new(),
            pipeline: Vec::new(),
        };
        let mut identity = ServerIdentity {
            version: String::new(),
            connection_id: 0,
            auth_method: String::new(),
            cipher,
        };
        for _ in 0..MAX_LOGIN_MESSAGES {
            let kind = session.read_any(channel)?;
            let body = session.body.as_slice();
            match kind {
                kind::AUTHENTICATION => {
                    if let Some(answer) = login.step(body)? {
                        channel.stream.send(&answer)?;
                    }
                }
                kind::PARAMETER => {
                    if let ("server_version", version) = parse_parameter(body)? {
                        identity.version = version.into_owned();
                    }
                }
                kind::BACKEND_KEY => identity.connection_id = parse_backend(body)?,
                kind::NOTICE => {}
                kind::ERROR => return Err(parse_error(body)),
                kind::READY if login.is_done() => {
                    identity.auth_method = login.method().to_owned();
                    return Ok((session, identity));
                }
                _ => return Err(WireError::Protocol("a message of the login")),
            }
        }
        Err(WireError::Protocol("a login without end"))
    }

    /// Ends the session cleanly, so that the server does not log a broken connection.
    pub(crate) fn log_out(channel: &mut Channel) {
        channel.stream.send_last(b"X\0\0\0\x04");
    }

    pub(crate) fn prepare(
        &mut self,
        channel: &mut Channel,
        sql: &str,
        params: &[ParamType],
    ) -> WireResult<StatementId> {
        let id = StatementId(self.statements.len());
        let statement = BindMessages::new(id.0, params)?;
        let request = prepare(id.0, sql, params)?;
        channel.begin_kept_reply(ReadBudget::reply())?;
        channel.stream.send(&request)?;
        let (mut count, mut failure) = (None, None);
        loop {
            match self.read(channel)? {
                kind::PARSED | kind::COLUMNS | kind::NO_COLUMNS => {}
                kind::PARAMETERS => count = Some(parse_parameters(&self.body)?),
                kind::ERROR => failure = Some(parse_error(&self.body)),
                kind::READY => break,
                _ => return Err(WireError::Protocol("a message after a request to prepare")),
            }
        }
        channel.end_reply();
        if let Some(failure) = failure {
            return Err(failure);
        }
        if count != Some(params.len()) {
            return Err(WireError::Usage("another number of parameters than the statement has"));
        }
        self.statements.push(statement);
        Ok(id)
    }

    pub(crate) fn close(&mut self, channel: &mut Channel, id: StatementId) -> WireResult<()> {
        id.take_from(&mut self.statements)?;
        let request = close(id.0)?;
        channel.begin_kept_reply(ReadBudget::reply())?;
        channel.stream.send(&request)?;
        let mut failure = None;
        loop {
            match self.read(channel)? {
                kind::CLOSED => {}
                kind::ERROR => failure = Some(parse_error(&self.body)),
                kind::READY => break,
                _ => return Err(WireError::Protocol("a message after a request to close")),
            }
        }
        channel.end_reply();
        failure.map_or(Ok(()), Err)
    }

    /// Prepares a statement to find out whether that works; its executions parse and plan it again.
    pub(crate) fn parse_each_time(
        &mut self,
        channel: &mut Channel,
        sql: &str,
        params: &[ParamType],
    ) -> WireResult<StatementId> {
        let parsed = BindMessages::parsed_each_time(sql, params)?;
        let id = self.prepare(channel, sql, params)?;
        self.statements[id.0] = parsed;
        Ok(id)
    }

    pub(crate) fn queue(&mut self, id: StatementId, params: &[Param<'_>]) -> WireResult<()> {
        let packet = id.find_in(&mut self.statements)?.encode_unanswered(params)?;
        if self.pipeline.len() + packet.len() > PIPELINE_MAX {
            self.pipeline.clear();
            return Err(WireError::Usage("a pipeline of more than 64 KiB"));
        }
        self.pipeline.extend_from_slice(packet);
        Ok(())
    }

    pub(crate) fn send_pipeline(
        &mut self,
        channel: &mut Channel,
        take: &mut dyn FnMut(Reply),
    ) -> WireResult<()> {
        self.pipeline.extend_from_slice(SYNC);
        channel.begin_reply()?;
        let sent = channel.send_buffer(&mut self.pipeline);
        self.pipeline.clear();
        sent?;
        channel.walk(PipelineWalker::with_grammar(PipelineMessages::new(take))).map(drop)
    }

    pub(crate) fn forget_pipeline(&mut self) {
        self.pipeline.clear();
    }

    pub(crate) fn execute(
        &mut self,
        channel: &mut Channel,
        id: StatementId,
        params: &[Param<'_>],
    ) -> WireResult<Reply> {
        let packet = id.find_in(&mut self.statements)?.encode(params, ResultFormat::Binary)?;
        channel.begin_reply()?;
        channel.stream.send(packet)?;
        channel.walk(MessageWalker::new())
    }

    pub(crate) fn execute_text(&mut self, channel: &mut Channel, sql: &[u8]) -> WireResult<Reply> {
        put_query(sql, &mut self.outbox)?;
        channel.begin_reply()?;
        channel.send_buffer(&mut self.outbox)?;
        channel.walk(MessageWalker::new())
    }

    /// Runs a statement that copies rows, and sends them at once: a server that refuses the statement or a row ignores
    /// the rest.
    pub(crate) fn copy_in(
        &mut self,
        channel: &mut Channel,
        sql: &str,
        rows: &[u8],
    ) -> WireResult<Reply> {
        put_query(sql.as_bytes(), &mut self.outbox)?;
        put_message(b'd', &mut self.outbox, |out| out.extend_from_slice(rows))?;
        put_message(b'c', &mut self.outbox, |_| ())?;
        channel.begin_reply()?;
        channel.send_buffer(&mut self.outbox)?;
        channel.walk(CopyWalker::with_grammar(CopyMessages))
    }

    pub(crate) fn query(&mut self, channel: &mut Channel, sql: &str) -> WireResult<ResultSet> {
        let mut rows = Vec::new();
        let result = self.rows(channel, sql, ReadBudget::reply(), &mut keep_in(&mut rows))?;
        if rows.iter().any(|row| row.len() != result.columns.len()) {
            return Err(WireError::Protocol("a row of another width than its columns"));
        }
        Ok(ResultSet { rows, ..result })
    }

    /// Runs statements in one message and keeps the results that have columns.
    pub(crate) fn query_all(
        &mut self,
        channel: &mut Channel,
        sql: &str,
    ) -> WireResult<Vec<ResultSet>> {
        put_query(sql.as_bytes(), &mut self.outbox)?;
        channel.begin_kept_reply(ReadBudget::reply())?;
        channel.send_buffer(&mut self.outbox)?;
        let (mut all, mut failure): (Vec<ResultSet>, _) = (Vec::new(), None);
        loop {
            let kind = match self.read(channel) {
                Ok(kind) => kind,
                // A server that ends the connection sends the reason first.
                Err(error) => return Err(failure.unwrap_or(error)),
            };
            match kind {
                kind::COLUMNS => {
                    let columns = parse_columns(&self.body)?;
                    all.push(ResultSet { columns, ..ResultSet::default() });
                }
                kind::ROW => {
                    let values = parse_row(&self.body)?;
                    channel.keep_row(values.left())?;
                    if let Some(last) = all.last_mut() {
                        keep_in(&mut last.rows)(values)?;
                    }
                }
                kind::COMPLETE => {
                    let affected = parse_complete(&self.body)?.affected;
                    match all.last_mut() {
                        Some(last) => last.affected = last.affected.saturating_add(affected),
                        None => all.push(ResultSet { affected, ..ResultSet::default() }),
                    }
                }
                kind::ERROR => failure = Some(parse_error(&self.body)),
                kind::READY => break,
                kind::EMPTY => {}
                _ => return Err(WireError::Protocol("a message that is no part of a reply")),
            }
        }
        channel.end_reply();
        failure.map_or(Ok(all), Err)
    }

    pub(crate) fn query_prepared(
        &mut self,
        channel: &mut Channel,
        id: StatementId,
        params: &[Param<'_>],
    ) -> WireResult<ResultSet> {
        let packet = id.find_in(&mut self.statements)?.encode(params, ResultFormat::Text)?;
        channel.begin_kept_reply(ReadBudget::reply())?;
        channel.stream.send(packet)?;
        let mut rows = Vec::new();
        let outcome = self.reply(channel, &mut keep_in(&mut rows))?;
        channel.end_reply();
        Ok(ResultSet { rows, ..outcome? })
    }

    pub(crate) fn query_rows(
        &mut self,
        channel: &mut Channel,
        sql: &str,
        take: TakeDataRow<'_>,
    ) -> WireResult<ResultSet> {
        self.rows(channel, sql, ReadBudget::message_by_message(), take)
    }

    fn rows(
        &mut self,
        channel: &mut Channel,
        sql: &str,
        budget: ReadBudget,
        take: TakeDataRow<'_>,
    ) -> WireResult<ResultSet> {
        put_query(sql.as_bytes(), &mut self.outbox)?;
        channel.begin_kept_reply(budget)?;
        channel.send_buffer(&mut self.outbox)?;
        let outcome = self.reply(channel, take)?;
        channel.end_reply();
        outcome
    }

    /// The whole reply. The outer error means that its end was not seen.
    fn reply(
        &mut self,
        channel: &mut Channel,
        take: TakeDataRow<'_>,
    ) -> WireResult<WireResult<ResultSet>> {
        let (mut kept, mut is_kept) = (ResultSet::default(), true);
        let mut failure = None;
        loop {
            let kind = match self.read(channel) {
                Ok(kind) => kind,
                // A server that ends the connection sends the reason first.
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
                    channel.keep_row(values.left())?;
                    take(values)?;
                }
                kind::COMPLETE => {
                    let affected = parse_complete(&self.body)?.affected;
                    kept.affected = kept.affected.saturating_add(affected);
                }
                kind::ERROR => failure = Some(parse_error(&self.body)),
                kind::READY => return Ok(failure.map_or(Ok(kept), Err)),
                kind::ROW | kind::EMPTY | kind::BOUND => {}
                _ => return Err(WireError::Protocol("a message that is no part of a reply")),
            }
        }
    }

    pub(crate) fn answer(
        &mut self,
        channel: &mut Channel,
        sql: &[u8],
        take: TakeValues<'_>,
    ) -> WireResult<AnswerSummary> {
        put_query(sql, &mut self.outbox)?;
        channel.begin_kept_reply(ReadBudget::message_by_message())?;
        channel.send_buffer(&mut self.outbox)?;
        self.summary(channel, AnswerSummary::default(), take)
    }

    pub(crate) fn copy_in_parts(
        &mut self,
        channel: &mut Channel,
        sql: &[u8],
        next: NextPart<'_>,
    ) -> WireResult<AnswerSummary> {
        put_query(sql, &mut self.outbox)?;
        channel.begin_kept_reply(ReadBudget::message_by_message())?;
        channel.send_buffer(&mut self.outbox)?;
        let (mut summary, mut failure) = (AnswerSummary::default(), None);
        loop {
            match self.read_any(channel)? {
                kind::COPY_IN => break,
                kind::NOTICE => summary.notices.extend(parse_notice(&self.body)),
                kind::ERROR => failure = Some(parse_error(&self.body)),
                kind::READY => {
                    channel.end_reply();
                    let mut unused = Vec::new();
                    while next(&mut unused) {
                        unused.clear();
                    }
                    return Err(
                        failure.unwrap_or(WireError::Usage("a statement that copies nothing in"))
                    );
                }
                kind::NOTIFICATION | kind::PARAMETER => {}
                _ => return Err(WireError::Protocol("a message before a copy")),
            }
        }
        let mut part = Vec::new();
        while next(&mut part) {
            self.outbox.clear();
            put_message(b'd', &mut self.outbox, |out| out.extend_from_slice(&part))?;
            channel.stream.send(&self.outbox)?;
            part.clear();
        }
        self.outbox.clear();
        put_message(b'c', &mut self.outbox, |_| ())?;
        channel.stream.send(&self.outbox)?;
        self.summary(channel, summary, &mut |_, _| ())
    }

    /// Receives the whole reply, and passes the rows of the first result that has columns to `take`.
    fn summary(
        &mut self,
        channel: &mut Channel,
        mut summary: AnswerSummary,
        take: TakeValues<'_>,
    ) -> WireResult<AnswerSummary> {
        let (mut is_first, mut failure) = (true, None);
        loop {
            let kind = match self.read_any(channel) {
                Ok(kind) => kind,
                // A server that ends the connection sends the reason first.
                Err(error) => return Err(failure.unwrap_or(error)),
            };
            match kind {
                kind::COLUMNS => {
                    is_first = summary.columns.is_empty();
                    if is_first {
                        summary.columns = parse_described(&self.body)?;
                    }
                }
                kind::ROW if is_first => {
                    let values: Vec<_> = parse_row(&self.body)?.collect::<Result<_, _>>()?;
                    take(&summary.columns, &values);
                }
                kind::COMPLETE => {
                    let affected = parse_complete(&self.body)?.affected;
                    summary.affected = summary.affected.saturating_add(affected);
                }
                kind::NOTICE => summary.notices.extend(parse_notice(&self.body)),
                kind::ERROR => failure = Some(parse_error(&self.body)),
                kind::READY => break,
                kind::ROW | kind::EMPTY | kind::BOUND | kind::NOTIFICATION | kind::PARAMETER => {}
                _ => return Err(WireError::Protocol("a message that is no part of a reply")),
            }
        }
        channel.end_reply();
        failure.map_or(Ok(summary), Err)
    }

    /// Receives the next message of a reply and returns its kind. Its body is in `self.body`.
    fn read(&mut self, channel: &mut Channel) -> WireResult<u8> {
        loop {
            match self.read_any(channel)? {
                kind::NOTICE | kind::NOTIFICATION | kind::PARAMETER => {}
                kind => return Ok(kind),
            }
        }
    }

    fn read_any(&mut self, channel: &mut Channel) -> WireResult<u8> {
        let (kind, length) = parse_header(channel.peek::<HEADER>()?)?;
        self.body.clear();
        channel.read_message(HEADER, length, &mut self.body)?;
        Ok(kind)
    }
}

/// Encrypts the connection if the options ask for it and the server has TLS. Postgres has none over unix sockets, and
/// its own clients ignore the mode there.
fn begin_tls(channel: &mut Channel, options: &ConnectOptions) -> WireResult<Option<TlsFacts>> {
    let mode = options.tls.mode();
    if mode == TlsMode::Disabled || matches!(options.address, Address::Unix(_)) {
        return Ok(None);
    }
    if options.tls.options().is_direct {
        return channel.start_tls(options).map(Some);
    }
    channel.stream.send(&TLS_REQUEST)?;
    match channel.read_byte()? {
        Some(b'S') => channel.start_tls(options).map(Some),
        Some(b'N') if mode >= TlsMode::Required => Err(tls_error(options, TlsProblem::NotOffered)),
        Some(b'N') => Ok(None),
        // A greeting of MySQL arrives whole.
        None if channel.received().first_chunk().is_some_and(|header| is_mysql(*header)) => {
            Err(speaks_mysql(options))
        }
        _ => Err(WireError::Protocol("an answer to the request for TLS")),
    }
}

/// Whether a connection without TLS may work where one with TLS failed, and the options allow it: TLS itself failed, or
/// `pg_hba.conf` refuses it.
pub(crate) fn may_go_without_tls(options: &ConnectOptions, error: &WireError) -> bool {
    const REFUSED: &str = "28000";
    options.protocol == Protocol::Postgres
        && options.tls.mode() == TlsMode::Preferred
        && match error {
            WireError::Tls { problem, .. } => !matches!(**problem, TlsProblem::File { .. }),
            WireError::Server { state, .. } => state == REFUSED,
            _ => false,
        }
}

fn speaks_mysql(options: &ConnectOptions) -> WireError {
    let address = options.address.to_string();
    WireError::OtherProtocol { address, spoken: "MySQL", expected: "Postgres" }
}

fn keep_in(
    rows: &mut Vec<Vec<Option<Vec<u8>>>>,
) -> impl FnMut(RowValues<'_>) -> WireResult<()> + '_ {
    |values| {
        let row = values.map(|value| value.map(|value| value.map(<[u8]>::to_vec)));
        rows.push(row.collect::<Result<_, _>>()?);
        Ok(())
    }
}

fn put_query(sql: &[u8], out: &mut Vec<u8>) -> WireResult<()> {
    if sql.contains(&0) {
        return Err(WireError::Usage("a statement that holds a zero byte"));
    }
    out.clear();
    put_message(b'Q', out, |out| put_text(sql, out))
}
