//! Messages of a Postgres server.

use assay_wire::postgres::{MessageWalker, PostgresLogin, codec};
use assay_wire::{ConnectOptions, Reply};

/// Splits bytes into message bodies, each with the kind of its message.
fn messages(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut all = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<{ codec::HEADER }>() {
        let Ok((kind, length)) = codec::parse_header(*header) else { break };
        let (body, rest) = rest.split_at(length.min(rest.len()));
        all.push((kind, body));
        bytes = rest;
    }
    all
}

pub(crate) fn packets(bytes: &[u8]) {
    for (_, body) in messages(bytes) {
        let _ = codec::parse_error(body);
        codec::parse_complete(body).ok();
        codec::parse_columns(body).ok();
        codec::parse_parameters(body).ok();
        codec::parse_parameter(body).ok();
        codec::parse_backend(body).ok();
        if let Ok(row) = codec::parse_row(body) {
            assert!(row.count() <= usize::from(u16::MAX));
        }
    }
}

/// Each message is one step of the login.
pub(crate) fn login(bytes: &[u8]) {
    let options = ConnectOptions {
        password: Some("secret".to_owned()),
        ..ConnectOptions::unix("socket", "user")
    };
    let Ok((mut login, _)) = PostgresLogin::start(&options) else { return };
    for (_, body) in messages(bytes) {
        if login.is_done() || login.step(body).is_err() {
            break;
        }
    }
}

/// Checks that a reply means the same whole and in pieces. The first byte is the length of a piece.
pub(crate) fn reply(bytes: &[u8]) {
    let Some((&length, bytes)) = bytes.split_first() else { return };
    assert_eq!(walk(bytes, usize::from(length).max(1)), walk(bytes, bytes.len().max(1)));
}

fn walk(bytes: &[u8], length: usize) -> Option<Result<Reply, String>> {
    let mut walker = MessageWalker::new();
    let mut pending = Vec::new();
    for piece in bytes.chunks(length) {
        pending.extend_from_slice(piece);
        match walker.advance(&pending) {
            Err(error) => return Some(Err(error.to_string())),
            Ok(used) => drop(pending.drain(..used)),
        }
        assert!(pending.len() <= MessageWalker::MAX_REST);
        if let Some(outcome) = walker.outcome() {
            return Some(outcome.map_err(|error| error.to_string()));
        }
    }
    None
}
