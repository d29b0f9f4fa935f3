//! Packets of a MySQL or MariaDB server.

use assay_wire::mysql::{MySqlLogin, PacketWalker, binary, codec};
use assay_wire::{ConnectOptions, Reply};

/// Splits bytes into payloads, each with its header.
fn payloads(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<{ codec::HEADER }>() {
        let (length, _) = codec::parse_header(*header);
        let (payload, rest) = rest.split_at(length.min(rest.len()));
        all.push(payload);
        bytes = rest;
    }
    all
}

pub(crate) fn packets(bytes: &[u8]) {
    let mut types = Vec::new();
    for payload in payloads(bytes) {
        codec::parse_greeting(payload).ok();
        codec::parse_auth_switch(payload).ok();
        codec::parse_error(payload);
        codec::parse_ok(payload).ok();
        codec::parse_eof(payload).ok();
        codec::parse_head(payload).ok();
        codec::parse_prepared(payload).ok();
        codec::parse_column(payload).ok();
        for columns in [0, 1, 2, 7, usize::MAX] {
            codec::parse_row(payload, columns).ok();
        }
        if let Ok(column) = binary::parse_column_type(payload) {
            types.push(column);
        }
        for columns in [&types[..], types.get(..1).unwrap_or_default()] {
            binary::parse_binary_row(payload, columns).ok();
        }
    }
}

/// The first packet is the greeting, and the others continue the login.
pub(crate) fn login(bytes: &[u8]) {
    let packets = payloads(bytes);
    let Some((greeting, answers)) = packets.split_first() else { return };
    for password in [None, Some("secret".to_owned())] {
        let options = ConnectOptions { password, ..ConnectOptions::unix("socket", "user") };
        let Ok((mut login, ..)) = MySqlLogin::start(&options, greeting) else { continue };
        for answer in answers {
            if login.is_done() || login.step(answer).is_err() {
                break;
            }
        }
    }
}

/// Checks that a reply means the same whole and in pieces. The first byte is the length of a piece.
pub(crate) fn reply(bytes: &[u8]) {
    let Some((&length, bytes)) = bytes.split_first() else { return };
    assert_eq!(walk(bytes, usize::from(length).max(1)), walk(bytes, bytes.len().max(1)));
}

fn walk(bytes: &[u8], length: usize) -> Option<Result<Reply, String>> {
    let mut walker = PacketWalker::new(1);
    let mut pending = Vec::new();
    for piece in bytes.chunks(length) {
        pending.extend_from_slice(piece);
        match walker.advance(&pending) {
            Err(error) => return Some(Err(error.to_string())),
            Ok(used) => drop(pending.drain(..used)),
        }
        assert!(pending.len() <= PacketWalker::MAX_REST);
        if let Some(outcome) = walker.outcome() {
            return Some(outcome.map_err(|error| error.to_string()));
        }
    }
    None
}
