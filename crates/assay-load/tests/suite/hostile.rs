//! Scripted peers that keep a run from ending by itself. No real server can be made to do that.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use assay_load::{ClientSession, ClientWork, LoadError, RunBound, RunMonitor, SessionRun};
use assay_model::{Dialect, Setup, StatementMode};
use assay_wire::mysql::codec::{HEADER, frame, parse_header};
use assay_wire::{ConnectOptions, Stop};
use assay_workloads::test_by_name;
use tempfile::TempDir;

/// A peer's answer to every statement. It returns when the client is gone.
type Answer = fn(&mut UnixStream) -> std::io::Result<()>;

struct Peer {
    options: ConnectOptions,
    _directory: TempDir,
}

const CLIENTS: u32 = 2;

impl Peer {
    fn new(answer: Answer) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                std::thread::spawn(move || serve(stream.unwrap(), answer).ok());
            }
        });
        let timeout = Duration::from_secs(3);
        let options = ConnectOptions { timeout, ..ConnectOptions::unix(path, "root") };
        Self { options, _directory: directory }
    }

    fn session(&self) -> ClientSession {
        let work = ClientWork {
            dialect: Dialect::MySql,
            test: test_by_name("point-query").unwrap(),
            setup: Setup { clients: CLIENTS, tables: 1, rows: 1000 },
            statements: StatementMode::Text,
            seed: 1,
        };
        ClientSession::open(&self.options, &work, &[]).unwrap()
    }
}

fn serve(mut stream: UnixStream, answer: Answer) -> std::io::Result<()> {
    let mut greeting = b"\x0a10.11.0-Peer\0\x01\0\0\0abcdefgh\0".to_vec();
    greeting.extend_from_slice(&[0xfe, 0xf7, 8, 2, 0, 0xff, 0x81, 21]);
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    send(&mut stream, &greeting, 0)?;
    receive(&mut stream)?;
    send(&mut stream, &[0, 0, 0, 2, 0, 0, 0], 2)?;
    loop {
        receive(&mut stream)?;
        answer(&mut stream)?;
    }
}

fn send(stream: &mut UnixStream, payload: &[u8], sequence: u8) -> std::io::Result<()> {
    let mut packet = Vec::new();
    frame(payload, sequence, &mut packet);
    stream.write_all(&packet)
}

fn receive(stream: &mut UnixStream) -> std::io::Result<()> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header)?;
    stream.read_exact(&mut vec![0; parse_header(header).0])
}

/// A client may repeat its statement for half a minute, and other tests need the CPU.
const PAUSE: Duration = Duration::from_millis(5);

fn deadlock(stream: &mut UnixStream) -> std::io::Result<()> {
    std::thread::sleep(PAUSE);
    send(stream, b"\xff\xbd\x04#40001Deadlock found", 1)
}

fn columns(stream: &mut UnixStream) -> std::io::Result<()> {
    let parts: [&[u8]; 3] = [&[1], b"\x03def\0\0\0\x01c\0", &[0xfe, 0, 0, 2, 0]];
    (1..).zip(parts).try_for_each(|(sequence, part)| send(stream, part, sequence))
}

fn rows_without_end(stream: &mut UnixStream) -> std::io::Result<()> {
    columns(stream)?;
    let mut rows = Vec::new();
    (4..=u8::MAX).chain((0..=u8::MAX).cycle()).try_for_each(|sequence| {
        frame(b"\x01a", sequence, &mut rows);
        if sequence < u8::MAX {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
        stream.write_all(&std::mem::take(&mut rows))
    })
}

/// Sends bytes without end, so it is never silent for as long as the client allows.
fn drip(stream: &mut UnixStream) -> std::io::Result<()> {
    columns(stream)?;
    stream.write_all(&[0xff, 0xff, 0xfe, 4])?;
    loop {
        stream.write_all(b"a")?;
        std::thread::sleep(PAUSE);
    }
}

fn monitored(peer: &Peer, bound: RunBound, stop: Stop) -> SessionRun {
    let mut monitor = RunMonitor {
        grace: Duration::from_secs(1),
        stop,
        every: Duration::from_secs(1),
        report: &mut |_, _| {},
    };
    peer.session().run_monitored(0, bound, &mut monitor).unwrap()
}

/// Long enough for a first answer on a busy machine.
const TIME: Duration = Duration::from_secs(1);

#[test]
fn retries_stop_when_the_time_is_up() {
    let peer = Peer::new(deadlock);
    for bound in [RunBound::Time(TIME), RunBound::Rate { time: TIME, per_second: 100.0 }] {
        let finished = monitored(&Peer::new(deadlock), bound, Stop::default());
        assert_eq!((finished.work.events, finished.cut_off), (0, 0), "{bound:?}");
        assert!(matches!(finished.work.errors[..], [(1213, 1..)]), "{:?}", finished.work);
        assert_eq!(finished.backlog, matches!(bound, RunBound::Rate { .. }).then_some(100));
    }
    // A run without a time ends once no event has ended for a long time.
    let error = peer.session().run(0, RunBound::Events(2)).unwrap_err();
    assert!(matches!(error, LoadError::CutOff { clients: CLIENTS }), "{error}");
}

fn is_cut_off(answer: Answer) {
    // Each of these waits half a minute.
    let asking =
        std::thread::spawn(move || Peer::new(answer).session().round_trips(0, 1).unwrap_err());
    let finished = monitored(&Peer::new(answer), RunBound::Time(TIME), Stop::default());
    assert_eq!((finished.work.events, finished.cut_off), (0, CLIENTS));
    assert!(finished.work.bytes_received > 0 && !finished.is_stopped);
    let mut session = Peer::new(answer).session();
    let error = session.run(0, RunBound::Events(2)).unwrap_err();
    assert!(matches!(error, LoadError::CutOff { clients: CLIENTS }), "{error}");
    assert!(matches!(session.run(0, RunBound::Events(2)), Err(LoadError::ClientLost)));
    let error = asking.join().unwrap();
    assert!(matches!(error, LoadError::CutOff { clients: 1 }), "{error}");
}

#[test]
fn endless_rows_are_cut_off() {
    is_cut_off(rows_without_end);
}

#[test]
fn an_endless_row_is_cut_off() {
    is_cut_off(drip);
}

/// Stays connected but goes silent.
fn silence(stream: &mut UnixStream) -> std::io::Result<()> {
    receive(stream)
}

#[test]
fn work_done_before_a_server_went_silent_is_kept() {
    let peer = Peer::new(silence);
    let finished = monitored(&peer, RunBound::Time(Duration::from_secs(3600)), Stop::default());
    assert_eq!((finished.work.events, finished.cut_off), (0, CLIENTS));
    assert!(!finished.is_stopped);
    let error = peer.session().run(0, RunBound::Time(TIME)).unwrap_err();
    assert!(error.to_string().contains("no answer"), "{error}");
}

#[test]
fn a_stop_returns_partial_results() {
    let stop = Stop::default();
    stop.ask();
    let finished = monitored(&Peer::new(drip), RunBound::Time(Duration::from_secs(3600)), stop);
    assert!(finished.is_stopped && finished.cut_off == CLIENTS);
}
