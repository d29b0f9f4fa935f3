//! Parsers of the packets a server sends, and the framing of those a client sends.
//!
//! Every parser takes a packet's payload without its header, and returns a value or an [`Error`] for any bytes.

use super::constants::CapabilityFlags;

use crate::error::{Error, message};

/// The longest payload of one packet; a longer message continues in the next.
pub const MAX_PAYLOAD: usize = 0xff_ffff;
/// Bytes of a packet before its payload: the length and a sequence number.
pub const HEADER: usize = 4;
/// Set in [`Completion::status`] where another result follows.
pub(crate) const MORE_RESULTS: u16 = 0x0008;

/// The server's first packet on a new connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Version in the server's words, such as `10.11.19-MariaDB`.
    pub server_version: String,
    /// The server's number for this connection, as in `KILL`.
    pub connection_id: u32,
    /// Capabilities of the server.
    pub capabilities: CapabilityFlags,
    /// The login method that the server proposes.
    pub auth_plugin: String,
    /// Random bytes that the password is mixed with.
    pub nonce: Vec<u8>,
}

/// The end of a statement that returned no rows, or the end of a list of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Rows changed.
    pub affected: u64,
    /// First number given out by an auto-increment column, else 0.
    pub last_insert_id: u64,
    /// Server status bits.
    pub status: u16,
}

/// Answer to a request to prepare a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The server's number of the statement.
    pub id: u32,
    /// Columns of its result, 0 if it has none.
    pub columns: u16,
    /// Its parameters.
    pub params: u16,
}

/// First packet of the reply to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// No result set.
    Done(Completion),
    /// A result set of so many columns.
    Columns(u64),
}

/// Takes values off the front of a slice.
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let (head, tail) = self.0.split_at_checked(count).ok_or(Error::Protocol(what))?;
        self.0 = tail;
        Ok(head)
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        let (head, tail) = self.0.split_first_chunk().ok_or(Error::Protocol(what))?;
        self.0 = tail;
        Ok(*head)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        self.array(what).map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, Error> {
        self.array(what).map(u16::from_le_bytes)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// A length-encoded integer; `None` is SQL's NULL.
    fn integer(&mut self, what: &'static str) -> Result<Option<u64>, Error> {
        Ok(Some(match self.u8(what)? {
            0xfb => return Ok(None),
            0xfc => self.u16(what)?.into(),
            0xfd => {
                let [a, b, c] = self.array(what)?;
                u32::from_le_bytes([a, b, c, 0]).into()
            }
            0xfe => u64::from_le_bytes(self.array(what)?),
            0xff => return Err(Error::Protocol(what)),
            byte => byte.into(),
        }))
    }

    /// A length-encoded string; `None` is SQL's NULL.
    pub(super) fn string(&mut self, what: &'static str) -> Result<Option<&'a [u8]>, Error> {
        let Some(length) = self.integer(what)? else { return Ok(None) };
        let length = usize::try_from(length).map_err(|_| Error::Protocol(what))?;
        self.take(length, what).map(Some)
    }

    /// Bytes up to a NUL, or all that is left where there is none.
    fn terminated(&mut self) -> &'a [u8] {
        let mut parts = self.0.splitn(2, |byte| *byte == 0);
        let head = parts.next().unwrap_or_default();
        self.0 = parts.next().unwrap_or_default();
        head
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Parses the server's first packet.
pub fn parse_greeting(payload: &[u8]) -> Result<Greeting, Error> {
    const WHAT: &str = "the server's greeting";
    let mut cursor = Cursor(payload);
    match cursor.u8(WHAT)? {
        10 => {}
        0xff => return Err(parse_error(payload)),
        _ => return Err(Error::Protocol("a greeting of another protocol than 10")),
    }
    let server_version = text(cursor.terminated());
    let connection_id = cursor.u32(WHAT)?;
    let mut nonce = cursor.take(8, WHAT)?.to_vec();
    cursor.u8(WHAT)?;
    let low = cursor.u16(WHAT)?;
    // Default collation and status.
    cursor.take(3, WHAT)?;
    let high = cursor.u16(WHAT)?;
    let nonce_length = cursor.u8(WHAT)?;
    cursor.take(10, WHAT)?;
    let rest = cursor.take(usize::from(nonce_length.saturating_sub(8)).max(13), WHAT)?;
    nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
    Ok(Greeting {
        server_version,
        connection_id,
        capabilities: CapabilityFlags::from_bits_retain(u32::from(low) | u32::from(high) << 16),
        auth_plugin: text(cursor.terminated()),
        nonce,
    })
}

/// Parses the request to log in by another method: its name and nonce.
pub fn parse_auth_switch(payload: &[u8]) -> Result<(String, Vec<u8>), Error> {
    match payload {
        [0xfe] => Err(Error::Auth {
            plugin: "mysql_old_password".to_owned(),
            reason: "it is broken and not supported",
        }),
        [0xfe, rest @ ..] => {
            let mut cursor = Cursor(rest);
            let plugin = message(cursor.terminated());
            Ok((plugin, cursor.0.strip_suffix(&[0]).unwrap_or(cursor.0).to_vec()))
        }
        _ => Err(Error::Protocol("a request for another login method")),
    }
}

/// Parses a packet that reports an error. A malformed one gives [`Error::Protocol`].
pub fn parse_error(payload: &[u8]) -> Error {
    const WHAT: &str = "an error packet";
    let [0xff, low, high, rest @ ..] = payload else { return Error::Protocol(WHAT) };
    // Errors before the login carry no SQL state.
    let (state, words) = match rest.strip_prefix(b"#").and_then(|rest| rest.split_at_checked(5)) {
        Some((state, words)) => (text(state), words),
        None => ("HY000".to_owned(), rest),
    };
    Error::Server { code: u16::from_le_bytes([*low, *high]).into(), state, message: message(words) }
}

/// Parses the packet that ends a statement without rows.
pub fn parse_ok(payload: &[u8]) -> Result<Completion, Error> {
    const WHAT: &str = "an OK packet";
    let mut cursor = Cursor(payload);
    if cursor.u8(WHAT)? != 0 {
        return Err(Error::Protocol(WHAT));
    }
    let affected = cursor.integer(WHAT)?.ok_or(Error::Protocol(WHAT))?;
    let last_insert_id = cursor.integer(WHAT)?.ok_or(Error::Protocol(WHAT))?;
    Ok(Completion { affected, last_insert_id, status: cursor.u16(WHAT)? })
}

/// Whether a packet in a list of columns or rows ends the list.
///
/// A row that begins with the same byte holds a string of 16 MiB or more.
pub fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&0xfe) && payload.len() < 9
}

/// Parses the packet that ends a list of columns or rows.
pub fn parse_eof(payload: &[u8]) -> Result<Completion, Error> {
    match payload {
        [0xfe, _, _, low, high, ..] if is_eof(payload) => {
            Ok(Completion { status: u16::from_le_bytes([*low, *high]), ..Completion::default() })
        }
        _ => Err(Error::Protocol("the end of a list")),
    }
}

/// Parses the first packet of the reply to a statement.
pub fn parse_head(payload: &[u8]) -> Result<Head, Error> {
    const WHAT: &str = "the head of a reply";
    match payload {
        [0, ..] => parse_ok(payload).map(Head::Done),
        [0xff, ..] => Err(parse_error(payload)),
        [0xfb, ..] => Err(Error::Protocol("a request for a local file")),
        _ => match Cursor(payload).integer(WHAT)? {
            Some(columns @ 1..=0xffff) => Ok(Head::Columns(columns)),
            _ => Err(Error::Protocol(WHAT)),
        },
    }
}

/// Parses the first packet of the reply to a request to prepare a statement.
pub fn parse_prepared(payload: &[u8]) -> Result<Prepared, Error> {
    const WHAT: &str = "the answer to a prepare";
    let mut cursor = Cursor(payload);
    match cursor.u8(WHAT)? {
        0 => Ok(Prepared {
            id: cursor.u32(WHAT)?,
            columns: cursor.u16(WHAT)?,
            params: cursor.u16(WHAT)?,
        }),
        0xff => Err(parse_error(payload)),
        _ => Err(Error::Protocol(WHAT)),
    }
}

/// Parses the description of a column. Returns its name.
pub fn parse_column(payload: &[u8]) -> Result<String, Error> {
    const WHAT: &str = "the description of a column";
    let mut cursor = Cursor(payload);
    // Catalog, schema, table, original table.
    for _ in 0..4 {
        cursor.string(WHAT)?;
    }
    cursor.string(WHAT)?.map(text).ok_or(Error::Protocol(WHAT))
}

/// Whether a column with this description is one of a table, and not an expression.
pub fn parse_is_of_table(payload: &[u8]) -> Result<bool, Error> {
    const WHAT: &str = "the description of a column";
    let mut cursor = Cursor(payload);
    // Catalog, schema, table.
    for _ in 0..3 {
        cursor.string(WHAT)?;
    }
    Ok(cursor.string(WHAT)?.is_some_and(|table| !table.is_empty()))
}

/// Parses a row of the text protocol; `None` is NULL.
pub fn parse_row(payload: &[u8], columns: usize) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let row = parse_values(payload, columns)?;
    Ok(row.into_iter().map(|value| value.map(<[u8]>::to_vec)).collect())
}

/// The same, without copies.
pub fn parse_values(payload: &[u8], columns: usize) -> Result<Vec<Option<&[u8]>>, Error> {
    const WHAT: &str = "a row";
    let mut cursor = Cursor(payload);
    let mut row = Vec::with_capacity(columns.min(payload.len()));
    for _ in 0..columns {
        row.push(cursor.string(WHAT)?);
    }
    if cursor.0.is_empty() { Ok(row) } else { Err(Error::Protocol(WHAT)) }
}

/// Splits a packet's header into payload length and sequence number.
pub fn parse_header(header: [u8; HEADER]) -> (usize, u8) {
    let [a, b, c, sequence] = header;
    (usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16, sequence)
}

/// A packet's header. `length` must not exceed [`MAX_PAYLOAD`].
pub(crate) fn header(length: usize, sequence: u8) -> [u8; HEADER] {
    let [a, b, c, ..] = length.to_le_bytes();
    [a, b, c, sequence]
}

/// How many packets a message of `length` bytes takes.
pub fn packets(length: usize) -> usize {
    length / MAX_PAYLOAD + 1
}

/// Appends `payload` to `out` as packets numbered from `sequence` on.
///
/// A payload that fills its last packet is followed by an empty one, so that its end can be seen.
pub fn frame(payload: &[u8], mut sequence: u8, out: &mut Vec<u8>) {
    out.reserve(payload.len() + HEADER * packets(payload.len()));
    let mut rest = payload;
    loop {
        let (packet, tail) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        out.extend_from_slice(&header(packet.len(), sequence));
        out.extend_from_slice(packet);
        if packet.len() < MAX_PAYLOAD {
            return;
        }
        rest = tail;
        sequence = sequence.wrapping_add(1);
    }
}

/// Appends the length of a string the way the protocol writes lengths.
pub(crate) fn put_length(length: usize, out: &mut Vec<u8>) {
    let bytes = (length as u64).to_le_bytes();
    match length {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => out.extend_from_slice(&[0xfc, bytes[0], bytes[1]]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, bytes[0], bytes[1], bytes[2]]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greeting of a MariaDB 10.11 server.
    fn greeting() -> Vec<u8> {
        let mut payload = vec![10];
        payload.extend_from_slice(b"10.11.19-MariaDB\0");
        payload.extend_from_slice(&7_u32.to_le_bytes());
        payload.extend_from_slice(b"abcdefgh\0");
        payload.extend_from_slice(&[0xfe, 0xf7, 8, 2, 0, 0xff, 0x81, 21]);
        payload.extend_from_slice(&[0; 10]);
        payload.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
        payload
    }

    #[test]
    fn a_greeting_is_read() {
        let parsed = parse_greeting(&greeting()).unwrap();
        assert_eq!(parsed.server_version, "10.11.19-MariaDB");
        assert_eq!(parsed.connection_id, 7);
        assert_eq!(parsed.auth_plugin, "mysql_native_password");
        assert_eq!(parsed.nonce, b"abcdefghijklmnopqrst");
        assert!(parsed.capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH));
    }

    #[test]
    fn a_greeting_cut_short_or_of_any_nonce_length_is_an_error_or_a_greeting() {
        let whole = greeting();
        let plugin = whole.len() - b"mysql_native_password\0".len();
        for length in 0..plugin {
            assert!(parse_greeting(&whole[..length]).is_err(), "{length} bytes");
        }
        let nonce_length = 1 + 17 + 4 + 9 + 7;
        assert_eq!(whole[nonce_length], 21);
        for length in 0..=255 {
            let mut payload = whole.clone();
            payload[nonce_length] = length;
            parse_greeting(&payload).ok();
        }
    }

    #[test]
    fn a_refusal_in_place_of_a_greeting_is_the_servers_error() {
        let error = parse_greeting(b"\xff\x10\x04Too many connections").unwrap_err();
        assert_eq!(error.to_string(), "server error 1040 (`HY000`): Too many connections");
        let error = parse_error(b"\xff\xbd\x04#40001Deadlock found");
        assert_eq!(error.to_string(), "server error 1213 (`40001`): Deadlock found");
        assert_eq!(error.server_code(), Some(1213));
    }

    #[test]
    fn a_long_error_is_cut_wherever_it_comes() {
        for head in [&b"\xff\x10\x04"[..], b"\xff\xbd\x04#40001"] {
            let payload = [head, &vec![b'x'; 20 << 20]].concat();
            let errors = [
                parse_error(&payload),
                parse_greeting(&payload).unwrap_err(),
                parse_head(&payload).unwrap_err(),
                parse_prepared(&payload).unwrap_err(),
            ];
            for error in errors {
                assert!(error.server_code().is_some());
                let text = error.to_string();
                assert!(text.len() < 2200 && text.contains("cut off"), "{} bytes", text.len());
            }
        }
        let switch = [b"\xfe", &vec![b'p'; 20 << 20][..]].concat();
        assert!(parse_auth_switch(&switch).unwrap().0.len() < 2200);
    }

    #[test]
    fn lengths_are_written_as_they_are_read() {
        for length in [0, 1, 250, 251, 252, 65_535, 65_536, 0xff_ffff, 0x100_0000] {
            let mut bytes = Vec::new();
            put_length(length, &mut bytes);
            let mut cursor = Cursor(&bytes);
            assert_eq!(cursor.integer("").unwrap(), Some(length as u64));
            assert!(cursor.0.is_empty());
        }
    }

    #[test]
    fn a_message_of_exactly_one_packet_is_followed_by_an_empty_one() {
        let mut out = Vec::new();
        frame(&vec![7; MAX_PAYLOAD], 255, &mut out);
        assert_eq!(out.len(), MAX_PAYLOAD + 2 * HEADER);
        assert_eq!(out[..HEADER], [0xff, 0xff, 0xff, 255]);
        assert_eq!(out[HEADER + MAX_PAYLOAD..], [0, 0, 0, 0]);
    }

    #[test]
    fn a_row_must_have_its_columns_and_nothing_more() {
        let row = parse_row(b"\x01a\xfb\x00", 3).unwrap();
        assert_eq!(row, [Some(b"a".to_vec()), None, Some(Vec::new())]);
        assert!(parse_row(b"\x01a\xfb\x00", 2).is_err());
        assert!(parse_row(b"\x01a\xfb\x00", 4).is_err());
        assert!(parse_row(b"\x05a", 1).is_err());
    }
}
