//! The client's half of a MySQL session: commands out, messages in.

use std::time::Duration;

use super::binary::{parse_binary_row, parse_column_type};
use super::codec::{
    HEADER, Head, MAX_PAYLOAD, MORE_RESULTS, frame, header, is_eof, packets, parse_column,
    parse_eof, parse_error, parse_head, parse_header, parse_is_of_table, parse_prepared, parse_row,
    parse_values,
};
use super::constants::{CapabilityFlags, Command};
use super::execute::ExecutePacket;
use super::login::{MySqlLogin, TLS_REQUEST};
use super::walk::PacketWalker;
use crate::budget::ReadBudget;
use crate::channel::Channel;
use crate::error::{WireError, WireResult};
use crate::options::ConnectOptions;
use crate::postgres;
use crate::value::{
    AnswerColumn, AnswerSummary, Param, ParamType, Reply, ResultSet, ServerIdentity, StatementId,
    TakeValues,
};

/// A server that has not greeted by then may be waiting for the client to speak first.
const GREETING_DUE: Duration = Duration::from_secs(1);
/// A server that has not accepted a client after this many packets never will.
const MAX_LOGIN_STEPS: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowProtocol {
    Text,
    Binary,
}

#[derive(Debug)]
pub(crate) struct MySqlSession {
    capabilities: CapabilityFlags,
    statements: Vec<ExecutePacket>,
    outbox: Vec<u8>,
    packet: Vec<u8>,
    sequence: u8,
}

impl MySqlSession {
    pub(crate) fn log_in(
        channel: &mut Channel,
        options: &ConnectOptions,
    ) -> WireResult<(Self, ServerIdentity)> {
        let is_greeted = channel.stream.is_answered_within(GREETING_DUE.min(options.timeout))?;
        if !is_greeted && postgres::is_spoken_at(options) {
            let address = options.address.to_string();
            return Err(WireError::OtherProtocol {
                address,
                spoken: "Postgres",
                expected: "MySQL",
            });
        }
        let mut session = Self {
            capabilities: CapabilityFlags::empty(),
            statements: Vec::new(),
            outbox: Vec::new(),
            packet: Vec::new(),
            sequence: 0,
        };
        let (mut login, greeting, answer) = MySqlLogin::start(options, session.read(channel)?)?;
        let mut cipher = None;
        if login.is_encrypted() {
            session.write(channel, &answer[..TLS_REQUEST])?;
            cipher = Some(channel.start_tls(options)?.cipher);
        }
        session.write(channel, &answer)?;
        for _ in 0..MAX_LOGIN_STEPS {
            if let Some(answer) = login.step(session.read(channel)?)? {
                session.write(channel, &answer)?;
            }
            if login.is_done() {
                session.capabilities = login.capabilities();
                let identity = ServerIdentity {
                    version: greeting.server_version,
                    connection_id: greeting.connection_id,
                    auth_method: login.plugin().to_owned(),
                    cipher,
                };
                // assay's sessions autocommit, whatever the server's configuration.
                if login.is_manual() {
                    session.query(channel, "SET autocommit = 1")?;
                }
                return Ok((session, identity));
            }
        }
        Err(WireError::Protocol("a login without end"))
    }

    pub(crate) fn capabilities(&self) -> CapabilityFlags {
        self.capabilities
    }

    /// Ends the session cleanly, so that the server does not count the connection as aborted.
    pub(crate) fn log_out(channel: &mut Channel) {
        let [a, b, c, d] = header(1, 0);
        channel.stream.send_last(&[a, b, c, d, Command::Quit as u8]);
    }

    pub(crate) fn prepare(
        &mut self,
        channel: &mut Channel,
        sql: &str,
        params: &[ParamType],
    ) -> WireResult<StatementId> {
        channel.begin_kept_reply(ReadBudget::reply())?;
        self.command(channel, Command::Prepare, sql.as_bytes())?;
        let prepared = match parse_prepared(self.read(channel)?) {
            Err(error @ WireError::Server { .. }) => {
                channel.end_reply();
                return Err(error);
            }
            prepared => prepared?,
        };
        for list in [prepared.params, prepared.columns] {
            for _ in 0..list {
                self.read(channel)?;
            }
            if list > 0 {
                parse_eof(self.read(channel)?)?;
            }
        }
        channel.end_reply();
        if usize::from(prepared.params) != params.len() {
            return Err(WireError::Usage("another number of parameters than the statement has"));
        }
        self.statements.push(ExecutePacket::new(prepared.id, params));
        Ok(StatementId(self.statements.len() - 1))
    }

    /// The server does not answer.
    pub(crate) fn close(&mut self, channel: &mut Channel, id: StatementId) -> WireResult<()> {
        let statement = id.take_from(&mut self.statements)?;
        channel.begin_reply()?;
        self.command(channel, Command::CloseStatement, statement.id())?;
        channel.end_reply();
        Ok(())
    }

    pub(crate) fn execute(
        &mut self,
        channel: &mut Channel,
        id: StatementId,
        params: &[Param<'_>],
    ) -> WireResult<Reply> {
        let statement = id.find_in(&mut self.statements)?;
        let packet = statement.encode(params)?;
        channel.begin_reply()?;
        channel.stream.send(packet)?;
        let reply = channel.walk(PacketWalker::new(1))?;
        statement.executed();
        Ok(reply)
    }

    pub(crate) fn execute_text(&mut self, channel: &mut Channel, sql: &[u8]) -> WireResult<Reply> {
        channel.begin_reply()?;
        self.command(channel, Command::Query, sql)?;
        channel.walk(PacketWalker::new(packets(1 + sql.len())))
    }

    /// Runs a statement that requests a file of the client, and sends these rows, whatever file it names.
    pub(crate) fn copy_in(
        &mut self,
        channel: &mut Channel,
        sql: &str,
        rows: &[u8],
    ) -> WireResult<Reply> {
        if rows.len() >= MAX_PAYLOAD {
            return Err(WireError::Usage("rows of 16 MiB or more to copy at once"));
        }
        channel.begin_kept_reply(ReadBudget::reply())?;
        self.command(channel, Command::Query, sql.as_bytes())?;
        if self.read(channel)?.first() != Some(&0xfb) {
            return self
                .copied(channel)
                .and(Err(WireError::Protocol("a reply that asks for no rows")));
        }
        self.outbox.clear();
        let mut packets = 0;
        if !rows.is_empty() {
            frame(rows, self.sequence, &mut self.outbox);
            packets = 1;
        }
        // An empty packet marks the end.
        self.outbox.extend_from_slice(&header(0, self.sequence.wrapping_add(packets)));
        self.flush(channel, usize::from(packets) + 1)?;
        self.read(channel)?;
        self.copied(channel)
    }

    fn copied(&self, channel: &mut Channel) -> WireResult<Reply> {
        channel.end_after(parse_head(&self.packet).and_then(|head| match head {
            Head::Done(done) => Ok(Reply { affected: done.affected, ..Reply::default() }),
            Head::Columns(_) => Err(WireError::Protocol("rows in the reply to a copy")),
        }))
    }

    pub(crate) fn query(&mut self, channel: &mut Channel, sql: &str) -> WireResult<ResultSet> {
        channel.begin_kept_reply(ReadBudget::reply())?;
        self.command(channel, Command::Query, sql.as_bytes())?;
        self.kept(channel, RowProtocol::Text)
    }

    /// Like [`MySqlSession::query`], but keeps every result, including those without columns.
    pub(crate) fn query_all(
        &mut self,
        channel: &mut Channel,
        sql: &str,
    ) -> WireResult<Vec<ResultSet>> {
        channel.begin_kept_reply(ReadBudget::reply())?;
        self.command(channel, Command::Query, sql.as_bytes())?;
        let results = self.all_results(channel);
        channel.end_after(results)
    }

    fn all_results(&mut self, channel: &mut Channel) -> WireResult<Vec<ResultSet>> {
        let mut all = Vec::with_capacity(1);
        loop {
            let (result, has_more) = self.result(channel, RowProtocol::Text)?;
            all.push(result);
            if !has_more {
                return Ok(all);
            }
        }
    }

    pub(crate) fn query_prepared(
        &mut self,
        channel: &mut Channel,
        id: StatementId,
        params: &[Param<'_>],
    ) -> WireResult<ResultSet> {
        let statement = id.find_in(&mut self.statements)?;
        let packet = statement.encode(params)?;
        channel.begin_kept_reply(ReadBudget::reply())?;
        channel.stream.send(packet)?;
        self.sequence = 1;
        let result = self.kept(channel, RowProtocol::Binary)?;
        id.find_in(&mut self.statements)?.executed();
        Ok(result)
    }

    pub(crate) fn answer(
        &mut self,
        channel: &mut Channel,
        sql: &[u8],
        take: TakeValues<'_>,
    ) -> WireResult<AnswerSummary> {
        channel.begin_kept_reply(ReadBudget::message_by_message())?;
        self.command(channel, Command::Query, sql)?;
        let answer = self.answers(channel, take);
        channel.end_after(answer)
    }

    /// Receives all results of a statement, and passes the rows of the first one that has columns to `take`.
    fn answers(
        &mut self,
        channel: &mut Channel,
        take: TakeValues<'_>,
    ) -> WireResult<AnswerSummary> {
        let mut summary = AnswerSummary::default();
        loop {
            let is_first = summary.columns.is_empty();
            let columns = match parse_head(self.read(channel)?)? {
                Head::Done(done) => {
                    summary.affected = summary.affected.saturating_add(done.affected);
                    if done.status & MORE_RESULTS == 0 {
                        return Ok(summary);
                    }
                    continue;
                }
                Head::Columns(columns) => columns,
            };
            for _ in 0..columns {
                let packet = self.read(channel)?;
                let column = AnswerColumn {
                    name: parse_column(packet)?,
                    kind: parse_column_type(packet)?.to_string(),
                    is_of_table: parse_is_of_table(packet)?,
                };
                if is_first {
                    summary.columns.push(column);
                }
            }
            parse_eof(self.read(channel)?)?;
            loop {
                let packet = self.read(channel)?;
                if is_eof(packet) {
                    if parse_eof(packet)?.status & MORE_RESULTS == 0 {
                        return Ok(summary);
                    }
                    break;
                }
                if packet.first() == Some(&0xff) {
                    return Err(parse_error(packet));
                }
                if is_first {
                    take(&summary.columns, &parse_values(packet, summary.columns.len())?);
                }
            }
        }
    }

    fn kept(&mut self, channel: &mut Channel, protocol: RowProtocol) -> WireResult<ResultSet> {
        let result = self.results(channel, protocol);
        channel.end_after(result)
    }

    /// Receives all results of a statement. Returns the first one that has rows.
    fn results(&mut self, channel: &mut Channel, protocol: RowProtocol) -> WireResult<ResultSet> {
        let mut kept = ResultSet::default();
        loop {
            let (result, has_more) = self.result(channel, protocol)?;
            let affected = kept.affected.saturating_add(result.affected);
            if kept.columns.is_empty() {
                kept = result;
            }
            kept.affected = affected;
            if !has_more {
                return Ok(kept);
            }
        }
    }

    /// One result, and whether another follows.
    fn result(
        &mut self,
        channel: &mut Channel,
        protocol: RowProtocol,
    ) -> WireResult<(ResultSet, bool)> {
        let (mut result, mut types) = (ResultSet::default(), Vec::new());
        let columns = match parse_head(self.read(channel)?)? {
            Head::Done(done) => {
                result.affected = done.affected;
                result.last_insert_id = done.last_insert_id;
                return Ok((result, done.status & MORE_RESULTS != 0));
            }
            Head::Columns(columns) => columns,
        };
        for _ in 0..columns {
            let packet = self.read(channel)?;
            result.columns.push(parse_column(packet)?);
            if protocol == RowProtocol::Binary {
                types.push(parse_column_type(packet)?);
            }
        }
        parse_eof(self.read(channel)?)?;
        loop {
            let width = result.columns.len();
            let packet = self.read(channel)?;
            if is_eof(packet) {
                return Ok((result, parse_eof(packet)?.status & MORE_RESULTS != 0));
            }
            if packet.first() == Some(&0xff) {
                return Err(parse_error(packet));
            }
            let row = match protocol {
                RowProtocol::Text => parse_row(packet, width)?,
                RowProtocol::Binary => parse_binary_row(packet, &types)?,
            };
            channel.keep_row(width)?;
            result.rows.push(row);
        }
    }

    fn command(&mut self, channel: &mut Channel, command: Command, body: &[u8]) -> WireResult<()> {
        self.sequence = 0;
        if body.len() + 1 < MAX_PAYLOAD {
            self.outbox.clear();
            self.outbox.extend_from_slice(&header(body.len() + 1, 0));
            self.outbox.push(command as u8);
            self.outbox.extend_from_slice(body);
            self.flush(channel, 1)
        } else {
            self.write(channel, &[&[command as u8], body].concat())
        }
    }

    /// Sends one message, numbered after the last packet received.
    fn write(&mut self, channel: &mut Channel, payload: &[u8]) -> WireResult<()> {
        self.outbox.clear();
        frame(payload, self.sequence, &mut self.outbox);
        self.flush(channel, packets(payload.len()))
    }

    fn flush(&mut self, channel: &mut Channel, packets: usize) -> WireResult<()> {
        self.sequence = self.sequence.wrapping_add(packets as u8);
        channel.send_buffer(&mut self.outbox)
    }

    /// Receives one message, joined from its packets.
    fn read(&mut self, channel: &mut Channel) -> WireResult<&[u8]> {
        self.packet.clear();
        loop {
            let (length, sequence) = parse_header(channel.peek::<HEADER>()?);
            if sequence != self.sequence {
                return Err(WireError::Protocol("packets out of order"));
            }
            self.sequence = sequence.wrapping_add(1);
            channel.read_message(HEADER, length, &mut self.packet)?;
            if length < MAX_PAYLOAD {
                return Ok(&self.packet);
            }
        }
    }
}
