//! The records of TLS 1.2 and 1.3 after the handshake, sealed and opened in the buffers of the connection.
//!
//! rustls makes the handshake, and then hands over the keys, as it does to a kernel with TLS. Its record layer
//! allocates for each record that it sends; this one does not. ring does the encryption.
//!
//! Source: RFC 8446, section 5, and RFC 5246, section 6.2.3.3, with RFC 5288 and RFC 7905.

use std::fmt;
use std::ops::Range;

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce,
    UnboundKey,
};
use rustls::{AlertDescription, ConnectionTrafficSecrets, ExtractedSecrets};

use crate::tls_problem::TlsProblem;

/// Kind, version and length before the content.
pub(crate) const HEADER: usize = 5;
/// Most bytes of content in a record.
pub(crate) const MAX_CONTENT: usize = 1 << 14;
/// Most bytes of a sealed record of TLS 1.2, which may be longer than one of 1.3.
const MAX_SEALED: usize = MAX_CONTENT + 2048;
/// Received bytes that are not opened yet: four long records.
const BUFFER: usize = 4 * (HEADER + MAX_SEALED);
/// Most records without content in a row. A server that sends nothing else would keep the client busy.
const MAX_EMPTY: u32 = 32;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION: u8 = 23;

/// The only message that may follow the handshake here: a ticket for another connection.
const NEW_SESSION_TICKET: u8 = 4;

pub(crate) struct TlsRecords {
    sealer: RecordKey,
    opener: RecordKey,
    outgoing: Vec<u8>,
    incoming: Box<[u8]>,
    start: usize,
    end: usize,
    /// Opened content in `incoming` that was not taken yet.
    content: Range<usize>,
    /// Records since the last one with content.
    empty: u32,
    /// Nothing is opened any more: the server ended TLS, or broke its rules.
    ended: Option<TlsProblem>,
}

/// Shows neither keys nor content.
impl fmt::Debug for TlsRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsRecords").finish_non_exhaustive()
    }
}

impl TlsRecords {
    pub(crate) fn new(secrets: ExtractedSecrets, is_13: bool) -> Result<Self, TlsProblem> {
        Ok(Self {
            sealer: RecordKey::new(secrets.tx, is_13)?,
            opener: RecordKey::new(secrets.rx, is_13)?,
            outgoing: Vec::with_capacity(HEADER + MAX_SEALED),
            incoming: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
            content: 0..0,
            empty: 0,
            ended: None,
        })
    }

    /// One record with `content`, at most [`MAX_CONTENT`] bytes.
    pub(crate) fn seal(&mut self, content: &[u8]) -> Result<&[u8], TlsProblem> {
        self.sealer.seal(content, &mut self.outgoing)?;
        Ok(&self.outgoing)
    }

    /// Room for received bytes. Call it when [`TlsRecords::take`] left room in its buffer.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        assert!(self.content.is_empty(), "opened content would move");
        self.incoming.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        &mut self.incoming[self.end..]
    }

    /// Whether [`TlsRecords::take`] would return at once, without more bytes of the socket.
    pub(crate) fn is_ready(&self) -> bool {
        let bytes = &self.incoming[self.start..self.end];
        let is_whole = |header: &[u8; HEADER]| bytes.len() >= HEADER + body_length(*header);
        self.ended.is_some()
            || !self.content.is_empty()
            || bytes.first_chunk().is_some_and(is_whole)
    }

    pub(crate) fn received(&mut self, count: usize) {
        self.end += count;
    }

    /// Moves opened content to `out`, until it is full or no whole record is left. Fails only if it moved nothing.
    pub(crate) fn take(&mut self, out: &mut [u8]) -> Result<usize, TlsProblem> {
        let mut count = 0;
        while count < out.len() {
            if self.content.is_empty() {
                match self.open_next() {
                    Ok(true) => continue,
                    Err(problem) if count == 0 => return Err(problem),
                    // The next call fails too.
                    Ok(false) | Err(_) => break,
                }
            }
            let part = self.content.len().min(out.len() - count);
            let content = &self.incoming[self.content.start..][..part];
            out[count..][..part].copy_from_slice(content);
            self.content.start += part;
            count += part;
        }
        Ok(count)
    }

    /// Opens the next record. False if it has not been received whole.
    fn open_next(&mut self) -> Result<bool, TlsProblem> {
        if let Some(problem) = &self.ended {
            return Err(problem.clone());
        }
        let bytes = &mut self.incoming[self.start..self.end];
        let Some((header, rest)) = bytes.split_first_chunk_mut::<HEADER>() else {
            return Ok(false);
        };
        let length = body_length(*header);
        if length > MAX_SEALED {
            return Err(TlsProblem::Forged);
        }
        let Some(body) = rest.get_mut(..length) else { return Ok(false) };
        let (kind, content) = self.opener.open(*header, body)?;
        match (kind, &body[content.clone()]) {
            (APPLICATION, _) => {
                let body = self.start + HEADER;
                self.content = body + content.start..body + content.end;
            }
            (ALERT, [_, alert]) => {
                self.ended = Some(TlsProblem::of_alert(AlertDescription::from(*alert)));
            }
            (HANDSHAKE, messages) => self.ended = check_tickets(messages).err(),
            _ => self.ended = Some(TlsProblem::Forged),
        }
        self.empty = if self.content.is_empty() { self.empty + 1 } else { 0 };
        if self.empty > MAX_EMPTY {
            self.ended = Some(TlsProblem::Forged);
        }
        self.start += HEADER + length;
        Ok(true)
    }
}

pub(crate) fn body_length(header: [u8; HEADER]) -> usize {
    let [_, _, _, high, low] = header;
    usize::from(u16::from_be_bytes([high, low]))
}

/// Servers that use OpenSSL never change keys unasked.
fn check_tickets(mut messages: &[u8]) -> Result<(), TlsProblem> {
    while let [kind, a, b, c, rest @ ..] = messages {
        if *kind != NEW_SESSION_TICKET {
            let why = "the server wants new keys, which this client does not have";
            return Err(TlsProblem::Other(why.to_owned()));
        }
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        messages = rest.get(length..).ok_or(TlsProblem::Forged)?;
    }
    if messages.is_empty() { Ok(()) } else { Err(TlsProblem::Forged) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordForm {
    Tls13,
    /// Each record has a part of its nonce.
    GcmOf12,
    ChachaOf12,
}

/// The key of one direction.
struct RecordKey {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    form: RecordForm,
    /// Number of the next record.
    sequence: u64,
}

/// Bytes of a nonce that a record of [`RecordForm::GcmOf12`] has, and those that it does not have.
const EXPLICIT: usize = 8;
const SALT: usize = NONCE_LEN - EXPLICIT;

impl RecordKey {
    fn new(
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
        is_13: bool,
    ) -> Result<Self, TlsProblem> {
        let (algorithm, key, nonce, of_12) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => {
                (&AES_128_GCM, key, iv, RecordForm::GcmOf12)
            }
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => {
                (&AES_256_GCM, key, iv, RecordForm::GcmOf12)
            }
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
                (&CHACHA20_POLY1305, key, iv, RecordForm::ChachaOf12)
            }
            _ => return Err(TlsProblem::Other("a cipher that ring does not have".to_owned())),
        };
        let key = UnboundKey::new(algorithm, key.as_ref())
            .map_err(|_| TlsProblem::Other("a key of another length than its cipher".to_owned()))?;
        let mut iv = [0; NONCE_LEN];
        iv.copy_from_slice(nonce.as_ref());
        let form = if is_13 { RecordForm::Tls13 } else { of_12 };
        Ok(Self { key: LessSafeKey::new(key), iv, form, sequence })
    }

    fn nonce(&self) -> [u8; NONCE_LEN] {
        let mut nonce = self.iv;
        for (byte, number) in nonce[SALT..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }

    /// Additional authenticated data, and its length.
    fn additional(&self, header: [u8; HEADER], content: usize) -> ([u8; 13], usize) {
        let mut data = [0; 13];
        if self.form == RecordForm::Tls13 {
            data[..HEADER].copy_from_slice(&header);
            return (data, HEADER);
        }
        data[..8].copy_from_slice(&self.sequence.to_be_bytes());
        data[8..11].copy_from_slice(&header[..3]);
        data[11..].copy_from_slice(&(content as u16).to_be_bytes());
        (data, 13)
    }

    fn seal(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), TlsProblem> {
        assert!(content.len() <= MAX_CONTENT, "{} bytes in a record", content.len());
        let nonce = self.nonce();
        let explicit = if self.form == RecordForm::GcmOf12 { &nonce[SALT..] } else { &[] };
        // Version 1.3 hides the kind behind the content.
        let kind: &[u8] = if self.form == RecordForm::Tls13 { &[APPLICATION] } else { &[] };
        let length = explicit.len() + content.len() + kind.len() + MAX_TAG_LEN;
        let [high, low] = (length as u16).to_be_bytes();
        let header = [APPLICATION, 3, 3, high, low];
        out.clear();
        out.extend_from_slice(&header);
        out.extend_from_slice(explicit);
        let sealed = out.len();
        out.extend_from_slice(content);
        out.extend_from_slice(kind);
        let (additional, used) = self.additional(header, content.len());
        let tag = self
            .key
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(&additional[..used]),
                &mut out[sealed..],
            )
            .map_err(|_| TlsProblem::Other("a record cannot be sealed".to_owned()))?;
        out.extend_from_slice(tag.as_ref());
        self.advance();
        Ok(())
    }

    /// A number that came back would repeat a nonce.
    fn advance(&mut self) {
        self.sequence = self.sequence.checked_add(1).expect("fewer than 2^64 records");
    }

    /// Opens the body of a record in place. Returns the kind of its content, and where that is in the body.
    fn open(
        &mut self,
        header: [u8; HEADER],
        body: &mut [u8],
    ) -> Result<(u8, Range<usize>), TlsProblem> {
        let mut nonce = self.nonce();
        let start = if self.form == RecordForm::GcmOf12 { EXPLICIT } else { 0 };
        let (explicit, sealed) = body.split_at_mut_checked(start).ok_or(TlsProblem::Forged)?;
        nonce[NONCE_LEN - start..].copy_from_slice(explicit);
        let length = sealed.len().checked_sub(MAX_TAG_LEN).ok_or(TlsProblem::Forged)?;
        let (additional, used) = self.additional(header, length);
        let content = self
            .key
            .open_in_place(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(&additional[..used]),
                sealed,
            )
            .map_err(|_| TlsProblem::Forged)?;
        self.advance();
        if self.form != RecordForm::Tls13 {
            return Ok((header[0], start..start + length));
        }
        // Zeros may follow the kind.
        let end = content.iter().rposition(|byte| *byte != 0).ok_or(TlsProblem::Forged)?;
        Ok((content[end], 0..end))
    }
}

#[cfg(test)]
mod tests {
    use rustls::crypto::cipher::{AeadKey, Iv};

    use super::*;

    /// Both directions have the same key, so that a client opens its own records.
    fn records(is_13: bool) -> TlsRecords {
        let secrets = || ConnectionTrafficSecrets::Chacha20Poly1305 {
            key: AeadKey::from([7; 32]),
            iv: Iv::from([9; NONCE_LEN]),
        };
        let secrets = ExtractedSecrets { tx: (0, secrets()), rx: (0, secrets()) };
        TlsRecords::new(secrets, is_13).unwrap()
    }

    fn receive(records: &mut TlsRecords, bytes: &[u8]) -> Result<usize, TlsProblem> {
        records.room()[..bytes.len()].copy_from_slice(bytes);
        records.received(bytes.len());
        records.take(&mut [0; 64])
    }

    #[test]
    fn records_of_nobody_else_are_opened_once_and_in_order() {
        for is_13 in [false, true] {
            let [first, second] = {
                let mut sealer = records(is_13);
                [b"first", b"other"].map(|content| sealer.seal(content).unwrap().to_vec())
            };
            let (begin, end) = first.split_at(first.len() - 1);
            let mut opener = records(is_13);
            assert_eq!(receive(&mut opener, begin), Ok(0));
            assert_eq!(receive(&mut opener, end), Ok(5));
            assert_eq!(receive(&mut opener, &first), Err(TlsProblem::Forged));
            assert_eq!(receive(&mut records(is_13), &second), Err(TlsProblem::Forged));
            for at in 0..first.len() {
                let mut changed = first.clone();
                changed[at] ^= 1;
                let received = receive(&mut records(is_13), &changed);
                // A longer record is not whole.
                let is_longer = [3, 4].contains(&at) && changed[at] > first[at];
                assert_eq!(received, if is_longer { Ok(0) } else { Err(TlsProblem::Forged) });
            }
            let too_long = [APPLICATION, 3, 3, 0xff, 0xff];
            assert_eq!(receive(&mut records(is_13), &too_long), Err(TlsProblem::Forged));
        }
    }

    #[test]
    fn a_server_that_sends_records_without_content_is_left() {
        let (mut sealer, mut opener) = (records(true), records(true));
        for _ in 0..MAX_EMPTY {
            let empty = sealer.seal(b"").unwrap().to_vec();
            assert_eq!(receive(&mut opener, &empty), Ok(0));
        }
        let empty = sealer.seal(b"").unwrap().to_vec();
        assert_eq!(receive(&mut opener, &empty), Err(TlsProblem::Forged));
        assert!(opener.is_ready());
    }
}
