//! Replay of recorded packets by bare system calls: the lower bound of a client's cost.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_wire::{Address, ConnectOptions};

use super::thread_cpu_ns;

/// A logged-in connection with the requests to repeat in turn, each with the length of its reply.
pub(crate) struct Replay {
    stream: UnixStream,
    exchanges: Vec<(Vec<u8>, usize)>,
}

/// Traffic in order: whether the client sent it, and the bytes.
type Traffic = Arc<Mutex<Vec<(bool, Vec<u8>)>>>;

impl Replay {
    /// Lets a client connect and prepare through a proxy (`begin`), then make `count` exchanges. The login must be
    /// repeatable, so it has no password.
    pub(crate) fn record<T>(
        options: &ConnectOptions,
        begin: impl FnOnce(&ConnectOptions) -> T,
        count: usize,
        mut exchange: impl FnMut(&mut T, usize),
    ) -> Self {
        let Address::Unix(server) = &options.address else { panic!("the server has a socket") };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let passed = Traffic::default();
        let upstream = UnixStream::connect(server).unwrap();
        let tapped = Arc::clone(&passed);
        let proxy = std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let back = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
            let log = Arc::clone(&tapped);
            let answers = std::thread::spawn(move || pass(back.0, back.1, (false, &log)));
            pass(client, upstream, (true, &tapped));
            answers.join().unwrap();
        });
        let through = ConnectOptions { address: Address::Unix(path), ..options.clone() };
        let mut client = begin(&through);
        let before = passed.lock().unwrap().clone();
        let exchanges = (0..count).map(|number| {
            let from = passed.lock().unwrap().len();
            exchange(&mut client, number);
            let log = passed.lock().unwrap();
            let passed_bytes = |is_sent| {
                let part = log[from..].iter().filter(move |(sent, _)| *sent == is_sent);
                part.flat_map(|(_, bytes)| bytes).copied().collect::<Vec<u8>>()
            };
            (passed_bytes(true), passed_bytes(false).len())
        });
        let exchanges = exchanges.collect();
        drop(client);
        proxy.join().unwrap();
        let mut stream = UnixStream::connect(server).unwrap();
        for (is_sent, bytes) in before {
            match is_sent {
                true => stream.write_all(&bytes).unwrap(),
                false => stream.read_exact(&mut vec![0; bytes.len()]).unwrap(),
            }
        }
        Self { stream, exchanges }
    }

    /// Repeats the exchanges for `time` and returns the CPU time of one, microseconds.
    pub(crate) fn run(&mut self, time: Duration) -> f64 {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let before = thread_cpu_ns(tid);
        let (start, mut count) = (Instant::now(), 0_u32);
        let mut buffer = vec![0; 1 << 16];
        while start.elapsed() < time {
            let (request, reply) = &self.exchanges[count as usize % self.exchanges.len()];
            self.stream.write_all(request).unwrap();
            let mut received = 0;
            while received < *reply {
                let count = self.stream.read(&mut buffer).unwrap();
                assert!(count > 0, "the server closed the connection");
                received += count;
            }
            count += 1;
        }
        (thread_cpu_ns(tid) - before) as f64 / 1e3 / f64::from(count)
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, (is_sent, passed): (bool, &Traffic)) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        passed.lock().unwrap().push((is_sent, buffer[..count].to_vec()));
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
