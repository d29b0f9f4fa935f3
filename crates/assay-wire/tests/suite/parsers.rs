//! Parsers accept any bytes: they never panic, and it does not matter how a reply is split.

use assay_wire::mysql::{MySqlLogin, PacketWalker, codec};
use assay_wire::{ConnectOptions, Reply};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{EOF, OK, reply};

/// Walks over `bytes` in pieces split at `cuts`, as a receiver would: the rest of a piece precedes the next one.
fn walk(bytes: &[u8], cuts: &[usize]) -> Result<Option<Reply>, String> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.push(bytes.len());
    cuts.sort_unstable();
    let mut walker = PacketWalker::new(1);
    let (mut pending, mut taken) = (Vec::new(), 0);
    for cut in cuts {
        pending.extend_from_slice(&bytes[taken..cut]);
        taken = cut;
        let used = walker.advance(&pending).map_err(|error| error.to_string())?;
        pending.drain(..used);
        assert!(pending.len() <= PacketWalker::MAX_REST);
        if let Some(outcome) = walker.outcome() {
            return outcome.map(Some).map_err(|error| error.to_string());
        }
    }
    Ok(None)
}

/// A row, never one of the packets that end a list.
fn row() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 1..300).prop_filter("an end or an error", |row| {
        row[0] != 0xff && !(row[0] == 0xfe && row.len() < 9)
    })
}

proptest! {
    #[test]
    fn any_bytes_give_a_value_or_an_error(
        bytes in vec(any::<u8>(), 0..600),
        columns in 0..9_usize,
    ) {
        codec::parse_greeting(&bytes).ok();
        codec::parse_auth_switch(&bytes).ok();
        codec::parse_error(&bytes);
        codec::parse_ok(&bytes).ok();
        codec::parse_eof(&bytes).ok();
        codec::parse_head(&bytes).ok();
        codec::parse_prepared(&bytes).ok();
        codec::parse_column(&bytes).ok();
        codec::parse_row(&bytes, columns).ok();
        MySqlLogin::start(&ConnectOptions::unix("s", "u"), &bytes).ok();
        walk(&bytes, &[]).ok();
    }

    #[test]
    fn any_payloads_walk_to_a_reply_or_an_error(
        payloads in vec(vec(any::<u8>(), 0..40), 0..12),
        cuts in vec(any::<usize>(), 0..8),
    ) {
        let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        let bytes = reply(&payloads);
        prop_assert_eq!(walk(&bytes, &cuts), walk(&bytes, &[]));
    }

    #[test]
    fn a_login_survives_any_packet(bytes in vec(any::<u8>(), 0..80), password in any::<bool>()) {
        let mut options = ConnectOptions::unix("s", "u");
        options.password = password.then(|| "secret".to_owned());
        let mut greeting = b"\x0a5.7\0\0\0\0\0abcdefgh\0\xff\xff\x08\x02\0\xff\xff\x15".to_vec();
        greeting.extend_from_slice(&[0; 10]);
        greeting.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
        let (mut login, ..) = MySqlLogin::start(&options, &greeting).unwrap();
        login.step(&bytes).ok();
    }

    #[test]
    fn a_reply_counts_the_same_however_it_is_cut(
        columns in vec(vec(any::<u8>(), 1..60), 1..5),
        rows in vec(row(), 0..40),
        cuts in vec(any::<usize>(), 0..20),
    ) {
        let head = [columns.len() as u8];
        let mut payloads: Vec<&[u8]> = vec![&head];
        payloads.extend(columns.iter().map(Vec::as_slice));
        payloads.push(EOF);
        payloads.extend(rows.iter().map(Vec::as_slice));
        payloads.push(EOF);
        let expected = Reply { result_set: true, rows: rows.len() as u64, affected: 0 };
        prop_assert_eq!(walk(&reply(&payloads), &cuts), Ok(Some(expected)));
    }
}

#[test]
fn a_reply_counts_the_same_cut_byte_by_byte_or_cut_off() {
    let bytes = reply(&[&[1], b"column", EOF, b"\x01a", b"\x00\x00", EOF]);
    let expected = Reply { result_set: true, rows: 2, affected: 0 };
    let every: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(walk(&bytes, &every), Ok(Some(expected)));
    for length in 0..bytes.len() {
        assert_eq!(walk(&bytes[..length], &[]), Ok(None), "{length} bytes");
    }
}

#[test]
fn several_results_add_up() {
    let more: &[u8] = &[0xfe, 0, 0, 10, 0];
    let bytes =
        reply(&[&[1], b"column", EOF, b"\x01a", more, &[1], b"column", EOF, b"b", more, OK]);
    let expected = Reply { result_set: true, rows: 2, affected: 3 };
    assert_eq!(walk(&bytes, &[]), Ok(Some(expected)));
}

#[test]
fn a_row_over_many_packets_is_one_row() {
    // The second packet of the long row begins like an error, the third like an end.
    let mut long = vec![1; 2 * codec::MAX_PAYLOAD + 3];
    long[codec::MAX_PAYLOAD] = 0xff;
    long[2 * codec::MAX_PAYLOAD] = 0xfe;
    let exact = vec![1; codec::MAX_PAYLOAD];
    let bytes = reply(&[&[1], b"column", EOF, &long, &exact, b"\x01a", EOF]);
    let expected = Reply { result_set: true, rows: 3, affected: 0 };
    assert_eq!(walk(&bytes, &[5, 100, 17 << 20]), Ok(Some(expected)));
}

#[test]
fn errors_are_found_at_the_head_and_among_the_rows() {
    let error = b"\xff\xbd\x04#40001Deadlock";
    let expected = Err("server error 1213 (`40001`): Deadlock".to_owned());
    assert_eq!(walk(&reply(&[error]), &[3]), expected);
    assert_eq!(walk(&reply(&[&[1], b"c", EOF, b"row", error]), &[20]), expected);
}

#[test]
fn packets_out_of_order_or_out_of_place_are_refused() {
    let mut swapped = reply(&[&[1], b"column", EOF, EOF]);
    swapped[8] = 7;
    assert_eq!(walk(&swapped, &[]), Err("malformed reply: packets out of order".to_owned()));
    for payloads in [
        &[&[0xfb][..]][..],
        &[&[0]],
        &[&[0xff]],
        &[&[1], b"column", b"row"],
        &[&[1], b"column", EOF, b""],
        &[&[0; 5000]],
    ] {
        assert!(walk(&reply(payloads), &[]).is_err(), "{payloads:?}");
    }
}
