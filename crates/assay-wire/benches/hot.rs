//! Measures the cost of `Connection::execute` above a floor: bare system calls with packets of the same sizes.
//!
//! Client and peer share one CPU, so that the hypervisor's wake-ups are not measured. `cargo bench -p assay-wire`
//! prints a table of the client thread's own CPU time.

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use assay_wire::mysql::PacketWalker;
use assay_wire::{Connection, Param, ParamType};
use common::{EOF, Peer, packet, read_packet, reply, server_config};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

const BATCH: u32 = 2_000;
/// Samples of each way, taken in turn.
const ROUNDS: usize = 41;
/// Bytes of a later execute packet with one integer.
const REQUEST: usize = 24;

#[derive(Clone, Copy, Debug)]
enum Wait {
    Poll,
    PollWithTimeout,
    TryThenPoll,
    Block,
}

type Way = (String, Box<dyn FnMut()>);

fn main() {
    let mut cpus = CpuSet::new();
    cpus.set(0);
    sched_setaffinity(None, &cpus).expect("CPU 0");
    println!("{:<12}{:<18}{:>12}{:>10}{:>8}", "reply", "way", "client ns", "above", "ratio");
    for (name, rows) in [("1 row", 1), ("100 rows", 100)] {
        compare(name, &answer(rows));
    }
}

/// A binary-protocol reply of this many rows, each a CHAR(120).
fn answer(rows: usize) -> Vec<u8> {
    let column = [&b"\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c\x0c"[..], &[0; 12]].concat();
    let row = [&[0, 0, 119][..], &[b'5'; 119]].concat();
    let mut payloads = vec![&[1][..], &column, EOF];
    payloads.extend(std::iter::repeat_n(row.as_slice(), rows));
    payloads.push(EOF);
    reply(&payloads)
}

fn compare(name: &str, answer: &[u8]) {
    let peer = serve(answer.to_vec());
    let mut hot = Connection::connect(&peer.options).expect("the peer");
    let id = hot.prepare("SELECT c", &[ParamType::Int]).expect("the peer");
    let execute = move || {
        black_box(hot.execute(id, &[Param::Int(black_box(7))]).expect("the peer"));
    };
    let tls_peer = serve_over_tls(answer.to_vec());
    let mut hot = Connection::connect(&tls_peer.options).expect("the peer");
    let id = hot.prepare("SELECT c", &[ParamType::Int]).expect("the peer");
    let execute_over_tls = move || {
        black_box(hot.execute(id, &[Param::Int(black_box(7))]).expect("the peer"));
    };
    let (client, server) = UnixStream::pair().expect("sockets");
    let length = answer.len();
    let bytes = answer.to_vec();
    let echo = std::thread::spawn(move || repeat(server, &bytes));
    let mut ways: Vec<Way> = vec![("execute".into(), Box::new(execute))];
    for wait in [Wait::Poll, Wait::PollWithTimeout, Wait::TryThenPoll, Wait::Block] {
        let client = client.try_clone().expect("a socket");
        let mut buffer = vec![0; 64 << 10];
        let way = move || bare(&client, wait, length, &mut buffer);
        ways.push((format!("{wait:?}"), Box::new(way)));
    }
    let bytes = answer.to_vec();
    ways.push(("Walker alone".into(), Box::new(move || walk(&bytes))));
    ways.push(("execute over TLS".into(), Box::new(execute_over_tls)));
    let medians = sample(&mut ways);
    let floor = medians[1];
    for ((way, _), median) in ways.iter().zip(&medians) {
        let (above, ratio) = (median - floor, median / floor);
        println!("{name:<12}{way:<18}{median:>12.0}{above:>10.0}{ratio:>8.3}");
    }
    drop(ways);
    client.shutdown(std::net::Shutdown::Both).expect("the echo");
    echo.join().expect("the echo");
    peer.join();
    tls_peer.join();
}

/// A peer that prepares one statement and then answers every packet the same way.
fn serve(answer: Vec<u8>) -> Peer {
    Peer::new(move |mut stream| {
        prepare(&mut stream);
        repeat(stream, &answer);
    })
}

/// The same over TLS 1.3.
fn serve_over_tls(answer: Vec<u8>) -> Peer {
    Peer::over_tls(server_config("server.pem", &rustls::version::TLS13), move |mut stream| {
        prepare(&mut stream);
        while read_packet(&mut stream).is_some_and(|request| request != [1]) {
            stream.write_all(&answer).expect("the client");
        }
    })
}

fn prepare(stream: &mut (impl Read + Write)) {
    read_packet(stream);
    let prepared = [0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
    stream.write_all(&reply(&[&prepared, b"parameter", EOF, b"column", EOF])).expect("the client");
}

fn repeat(stream: UnixStream, answer: &[u8]) {
    let mut buffer = [0; 4096];
    let goodbye = packet(&[1], 0);
    loop {
        ready(&stream, None);
        match recv(&stream, &mut buffer, RecvFlags::empty()) {
            Ok((0, _)) | Err(_) => return,
            Ok((count, _)) if buffer[..count] == goodbye => return,
            Ok(_) => drop(send(&stream, answer, SendFlags::NOSIGNAL)),
        }
    }
}

fn ready(stream: &UnixStream, timeout: Option<&Timespec>) {
    poll(&mut [PollFd::new(stream, PollFlags::IN)], timeout).expect("poll");
}

/// One request and its reply with system calls only.
fn bare(stream: &UnixStream, wait: Wait, length: usize, buffer: &mut [u8]) {
    send(stream, black_box(&[7; REQUEST]), SendFlags::NOSIGNAL).expect("the echo");
    let timeout = Timespec::try_from(Duration::from_secs(30)).ok();
    let mut received = 0;
    let mut try_first = matches!(wait, Wait::TryThenPoll);
    while received < length {
        if !try_first {
            match wait {
                Wait::Poll | Wait::TryThenPoll => ready(stream, None),
                Wait::PollWithTimeout => ready(stream, timeout.as_ref()),
                Wait::Block => {}
            }
        }
        let flags =
            if matches!(wait, Wait::Block) { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        received += recv(stream, &mut *buffer, flags).map_or(0, |(count, _)| count);
        try_first = false;
    }
}

fn walk(bytes: &[u8]) {
    let mut walker = PacketWalker::new(1);
    walker.advance(black_box(bytes)).expect("a reply");
    black_box(walker.outcome());
}

/// Medians of the client's CPU time per call of each way, in ns.
fn sample(ways: &mut [Way]) -> Vec<f64> {
    let mut samples = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        for ((_, way), samples) in ways.iter_mut().zip(&mut samples) {
            let before = cpu_ns();
            (0..BATCH).for_each(|_| way());
            samples.push((cpu_ns() - before) / f64::from(BATCH));
        }
    }
    samples
        .into_iter()
        .map(|mut samples| {
            samples.sort_by(f64::total_cmp);
            samples[ROUNDS / 2]
        })
        .collect()
}

fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
