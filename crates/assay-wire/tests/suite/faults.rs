//! Faults that no real server can be made to produce: torn, late, missing and wrong bytes.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use assay_wire::WireError;
use assay_wire::{Address, ConnectOptions, Connection, Protocol, Reply};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};

use crate::common::{EOF, OK, Peer, greeting, log_in, packet, read_packet, reply};

/// For waits that must time out, after a login that must succeed however busy the machine is.
const PATIENT: Duration = Duration::from_secs(5);

const ROWS: &[&[u8]] = &[&[1], b"\x03def\0\0\0\x01c\0", EOF, b"\x01a", b"\x01b", EOF];

#[test]
fn a_torn_reply_is_put_together() {
    let peer = Peer::new(|mut stream| {
        for _ in 0..2 {
            read_packet(&mut stream).unwrap();
            for byte in reply(ROWS) {
                stream.write_all(&[byte]).unwrap();
            }
        }
        assert_eq!(read_packet(&mut stream), Some(vec![1]), "a goodbye");
    });
    let mut hot = Connection::connect(&peer.options).unwrap();
    for _ in 0..2 {
        let expected = Reply { result_set: true, rows: 2, affected: 0 };
        assert_eq!(hot.execute_text(b"SELECT").unwrap(), expected);
    }
    drop(hot);
    peer.join();
}

#[test]
fn a_torn_reply_is_kept_whole() {
    let peer = Peer::new(|mut stream| {
        read_packet(&mut stream).unwrap();
        for byte in reply(ROWS) {
            stream.write_all(&[byte]).unwrap();
        }
        read_packet(&mut stream);
    });
    let result = Connection::connect(&peer.options).unwrap().query("SELECT").unwrap();
    assert_eq!((result.columns.as_slice(), result.rows.len()), (&["c".to_owned()][..], 2));
    assert_eq!(result.text(1, 0), Some("b"));
    peer.join();
}

#[test]
fn silence_is_a_timeout_and_makes_the_connection_unusable() {
    let mut peer = Peer::new(|mut stream| while read_packet(&mut stream).is_some() {});
    peer.options.timeout = PATIENT;
    let mut hot = Connection::connect(&peer.options).unwrap();
    assert!(matches!(hot.execute_text(b"SELECT"), Err(WireError::Timeout { .. })));
    assert!(matches!(hot.execute_text(b"SELECT"), Err(WireError::Usage(_))));
    drop(hot);
    peer.join();

    let mut peer = Peer::new(|mut stream| while read_packet(&mut stream).is_some() {});
    peer.options.timeout = PATIENT;
    let mut control = Connection::connect(&peer.options).unwrap();
    assert!(matches!(control.query("SELECT"), Err(WireError::Timeout { .. })));
    assert!(matches!(control.query("SELECT"), Err(WireError::Usage(_))));
    drop(control);
    peer.join();
}

#[test]
fn silence_instead_of_a_greeting_is_a_timeout() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    let mut options = ConnectOptions::unix(path, "root");
    options.timeout = Duration::from_millis(20);
    assert!(matches!(Connection::connect(&options), Err(WireError::Timeout { .. })));
}

#[test]
fn a_login_takes_no_longer_than_its_error_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    // Each step of a login once had all this time, so the other half is for a busy machine.
    let timeout = Duration::from_secs(10);
    std::thread::scope(|scope| {
        for protocol in [Protocol::MySql, Protocol::Postgres] {
            let unix = ConnectOptions::unix(&path, "root");
            let options = ConnectOptions { protocol, timeout, ..unix };
            scope.spawn(move || {
                let begin = Instant::now();
                let error = Connection::connect(&options).unwrap_err();
                let elapsed = begin.elapsed();
                assert!(
                    matches!(error, WireError::Timeout { limit, .. } if limit == timeout),
                    "{error}"
                );
                assert!(elapsed >= timeout && elapsed < 2 * timeout, "{protocol:?}: {elapsed:?}");
            });
        }
    });
}

#[test]
fn a_full_queue_of_a_frozen_server_is_a_timeout() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&listener, 0).unwrap();
    let _queued = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let mut options = ConnectOptions::unix(path, "root");
    options.timeout = Duration::from_millis(20);
    assert!(matches!(Connection::connect(&options), Err(WireError::Timeout { .. })));
}

#[test]
fn a_server_that_does_not_read_is_a_timeout() {
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let mut peer = Peer::new(move |_stream| assert!(wait.recv().is_err()));
    peer.options.timeout = PATIENT;
    let mut control = Connection::connect(&peer.options).unwrap();
    let sql = "x".repeat(20 << 20);
    assert!(matches!(control.query(&sql), Err(WireError::Timeout { .. })));
    drop((control, done));
    peer.join();
}

#[test]
fn a_connection_closed_amid_a_reply_is_an_error_that_names_the_socket() {
    for length in [0, 3, 12, reply(ROWS).len() - 1] {
        let peer = Peer::new(move |mut stream| {
            read_packet(&mut stream).unwrap();
            stream.write_all(&reply(ROWS)[..length]).unwrap();
        });
        let mut hot = Connection::connect(&peer.options).unwrap();
        let error = hot.execute_text(b"SELECT").unwrap_err();
        let expected = format!("cannot receive from `{}`", peer.options.address);
        assert_eq!(error.to_string(), expected);
        assert!(matches!(hot.execute_text(b"SELECT"), Err(WireError::Usage(_))));
        peer.join();
    }
}

#[test]
fn garbage_is_a_protocol_error() {
    for garbage in [packet(OK, 2), packet(&[0xfb, b'/', b'x'], 1), packet(&[0xff], 1)] {
        let peer = Peer::new(move |mut stream| {
            for _ in 0..2 {
                read_packet(&mut stream);
                stream.write_all(&garbage).ok();
            }
        });
        let mut hot = Connection::connect(&peer.options).unwrap();
        assert!(matches!(hot.execute_text(b"SELECT"), Err(WireError::Protocol(_))));
        assert!(matches!(hot.prepare("SELECT", &[]), Err(WireError::Usage(_))));
        drop(hot);
        peer.join();
    }
    for greeting in [packet(b"\x09old", 0), packet(b"", 0), packet(b"\x0a8", 0), packet(OK, 1)] {
        let peer = Peer::raw(move |mut stream| stream.write_all(&greeting).unwrap());
        assert!(matches!(Connection::connect(&peer.options), Err(WireError::Protocol(_))));
        peer.join();
    }
}

#[test]
fn a_login_that_never_ends_is_ended() {
    let peer = Peer::raw(|mut stream| {
        stream.write_all(&packet(&greeting(), 0)).unwrap();
        let again = b"\xfemysql_native_password\0abcdefghijklmnopqrst\0";
        for number in 1.. {
            let answered = read_packet(&mut stream).is_some();
            if !answered || stream.write_all(&packet(again, 2 * number)).is_err() {
                return;
            }
        }
    });
    assert!(matches!(Connection::connect(&peer.options), Err(WireError::Protocol(_))));
    peer.join();
}

#[test]
fn a_refused_connection_gives_the_servers_error() {
    let peer = Peer::raw(|mut stream| {
        stream.write_all(&packet(b"\xff\x10\x04Too many connections", 0)).unwrap();
    });
    let error = Connection::connect(&peer.options).unwrap_err();
    assert_eq!(error.server_code(), Some(1040));
    peer.join();
}

#[test]
fn a_missing_server_is_a_connect_error_with_the_address() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("none");
    let error = Connection::connect(&ConnectOptions::unix(&path, "root")).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot connect to `{}`", path.display()));

    let long = directory.path().join("x".repeat(200));
    let error = Connection::connect(&ConnectOptions::unix(long, "root")).unwrap_err();
    assert!(matches!(error, WireError::Connect { .. }));

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
    let error = Connection::connect(&ConnectOptions::new(address, "root")).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot connect to `127.0.0.1:{port}`"));
}

#[test]
fn options_do_not_show_the_password() {
    let mut options = ConnectOptions::unix("s", "root");
    options.password = Some("hunter2".to_owned());
    assert!(!format!("{options:?}").contains("hunter2"));
}

#[test]
fn tcp_speaks_the_same_protocol() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let fd = std::os::fd::OwnedFd::from(listener.accept().unwrap().0);
        let mut stream = std::os::unix::net::UnixStream::from(fd);
        log_in(&mut stream);
        read_packet(&mut stream).unwrap();
        stream.write_all(&reply(&[OK])).unwrap();
        read_packet(&mut stream);
    });
    let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
    let mut hot = Connection::connect(&ConnectOptions::new(address, "root")).unwrap();
    assert_eq!(hot.execute_text(b"UPDATE").unwrap().affected, 3);
    drop(hot);
    thread.join().unwrap();
}

const COLUMN: &[u8] = b"\x03def\0\0\0\x01c\0";

#[test]
fn an_endless_reply_is_refused() {
    let endless_rows = |mut stream: UnixStream| {
        read_packet(&mut stream).unwrap();
        let mut sequence = 1_u8;
        for payload in [&[1], COLUMN, EOF] {
            stream.write_all(&packet(payload, sequence)).unwrap();
            sequence += 1;
        }
        // One write has all 256 sequence numbers: on a busy CPU, a write per row takes too long.
        let rows: Vec<u8> =
            (0..=u8::MAX).flat_map(|row| packet(&[0xfb], sequence.wrapping_add(row))).collect();
        while stream.write_all(&rows).is_ok() {}
    };
    let one_long_row = |mut stream: UnixStream| {
        read_packet(&mut stream).unwrap();
        stream.write_all(&reply(&[&[1], COLUMN, EOF])).unwrap();
        for sequence in 4.. {
            let part = [&[0xff, 0xff, 0xff, sequence][..], &vec![b'x'; 0xff_ffff]].concat();
            if stream.write_all(&part).is_err() {
                return;
            }
        }
    };
    for script in [endless_rows, one_long_row] as [fn(UnixStream); 2] {
        let mut peer = Peer::new(script);
        // On a busy machine, this many rows take long.
        peer.options.timeout = Duration::from_secs(300);
        let mut control = Connection::connect(&peer.options).unwrap();
        let error = control.query("SELECT").unwrap_err();
        assert!(matches!(error, WireError::Protocol(_)), "{error}");
        drop(control);
        peer.join();
    }
}

#[test]
fn a_login_that_is_too_long_is_refused() {
    let peer = Peer::raw(|mut stream| {
        let long = [&greeting()[..], &vec![b'x'; 100 << 10]].concat();
        stream.write_all(&packet(&long, 0)).ok();
    });
    assert!(matches!(Connection::connect(&peer.options), Err(WireError::Protocol(_))));
    peer.join();
}

/// Sends a byte, then waits for less than the silence that the client allows.
fn drip(stream: &mut UnixStream, bytes: &[u8]) {
    for byte in bytes {
        if stream.write_all(&[*byte]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn dripping_bytes_do_not_extend_the_timeout() {
    let mut peer = Peer::raw(|mut stream| drip(&mut stream, &packet(&greeting(), 0)));
    peer.options.timeout = PATIENT;
    assert!(matches!(Connection::connect(&peer.options), Err(WireError::Timeout { .. })));
    peer.join();

    let mut peer = Peer::new(|mut stream| {
        read_packet(&mut stream).unwrap();
        drip(&mut stream, &reply(&[&[1], &[0xfb; 1000][..]]));
    });
    peer.options.timeout = PATIENT;
    let mut control = Connection::connect(&peer.options).unwrap();
    assert!(matches!(control.query("SELECT"), Err(WireError::Timeout { .. })));
    drop(control);
    peer.join();
}

#[test]
fn a_connection_can_be_ended_from_another_thread() {
    let (waits, is_waiting) = std::sync::mpsc::channel();
    let peer = Peer::new(move |mut stream| {
        read_packet(&mut stream).unwrap();
        waits.send(()).unwrap();
        while read_packet(&mut stream).is_some() {}
    });
    let mut hot = Connection::connect(&peer.options).unwrap();
    let breaker = hot.breaker();
    let ender = std::thread::spawn(move || {
        is_waiting.recv().unwrap();
        breaker.end();
    });
    assert!(matches!(hot.execute_text(b"SELECT"), Err(WireError::Io { .. })));
    ender.join().unwrap();
    drop(hot);
    peer.join();
}

/// The Postgres server's half of a login without password, up to its first answer.
fn log_in_postgres(stream: &mut UnixStream) {
    read_some(stream);
    stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
    read_some(stream);
}

fn read_some(stream: &mut UnixStream) {
    assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
}

#[test]
fn an_endless_postgres_reply_is_refused() {
    let endless_rows = |mut stream: UnixStream| {
        log_in_postgres(&mut stream);
        // A row without columns and values takes memory too.
        while stream.write_all(&b"D\0\0\0\x06\0\0".repeat(1000)).is_ok() {}
    };
    let endless_settings = |mut stream: UnixStream| {
        read_some(&mut stream);
        while stream.write_all(&b"S\0\0\0\x08a\0b\0".repeat(1000)).is_ok() {}
    };
    let one_long_row = |mut stream: UnixStream| {
        log_in_postgres(&mut stream);
        stream.write_all(b"D\x7f\xff\xff\xff\0\x01").unwrap();
    };
    for script in [endless_rows, endless_settings, one_long_row] as [fn(UnixStream); 3] {
        let mut peer = Peer::raw(script);
        peer.options.protocol = Protocol::Postgres;
        let asked = Connection::connect(&peer.options).and_then(|mut it| it.query("SELECT"));
        assert!(matches!(asked, Err(WireError::Protocol(_))), "{asked:?}");
        peer.join();
    }
}
