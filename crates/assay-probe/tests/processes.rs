//! Counters of real threads and processes: busy ones count, sleeping ones do not, and ended ones stay counted.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;

use assay_model::{Counters, Hint};
use assay_probe::{ProbeConfig, ProbedServer, UsageProbe, UsageProbeError};
use rustix::thread::gettid;

/// A shell that executes commands line by line. Dropping it kills it and everything that it has started.
struct Shell {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start() -> Self {
        let mut process = Command::new("bash")
            .args(["--norc", "-s"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut shell = Self { process, input, output };
        shell.run(":");
        shell
    }

    /// Waits until the script is done; returns the last line of its output.
    fn run(&mut self, script: &str) -> String {
        writeln!(self.input, "{script}\necho").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn pid(&self) -> i32 {
        self.process.id().try_into().unwrap()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _: std::io::Result<()> = self.process.kill();
        let _: std::io::Result<_> = self.process.wait();
    }
}

/// Some tens of milliseconds of a shell's CPU time.
const WORK: &str = "for ((i = 0; i < 30000; i++)); do :; done";

fn config(server_pid: i32, data_dir: &Path) -> ProbeConfig {
    ProbeConfig {
        client_tids: vec![gettid().as_raw_nonzero().get()],
        server: Some(ProbedServer {
            pid: server_pid,
            connection_tids: None,
            data_dir: data_dir.to_owned(),
        }),
    }
}

fn serving(pid: i32, tids: Vec<i32>) -> ProbeConfig {
    let connection_tids = Some(tids);
    let server = ProbedServer { pid, connection_tids, data_dir: here() };
    ProbeConfig { server: Some(server), ..config(pid, &here()) }
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap()
}

#[test]
fn a_busy_server_is_busy_and_a_waiting_client_is_not() {
    let mut shell = Shell::start();
    let mut probe = UsageProbe::new(config(shell.pid(), &here())).unwrap();
    let before = probe.snapshot().unwrap();
    shell.run(WORK);
    let usage = probe.snapshot().unwrap().since(&before);

    let counter = |name: &str| usage.counters.get(name).unwrap();
    let elapsed_ns = usage.interval.elapsed_ns;
    let cpu_ns = counter("connection_cpu_ns");
    assert!(cpu_ns > 1_000_000 && cpu_ns <= elapsed_ns, "{usage:?}");
    // The split is rounded to ticks of the clock, each part up or down.
    let split_ns = counter("connection_user_ns") + counter("connection_sys_ns");
    assert!(split_ns.abs_diff(cpu_ns) <= 20_000_000, "{usage:?}");
    assert!(counter("client_cpu_ns") < cpu_ns, "{usage:?}");
    assert!(counter("client_context_switches") > 0, "{usage:?}");
    assert!(counter("server_read_calls") > 0 && counter("server_write_calls") > 0, "{usage:?}");
    assert!(counter("host_busy_ns") + 30_000_000 >= cpu_ns, "{usage:?}");
    let switches = counter("connection_context_switches");
    assert!(counter("host_context_switches") >= switches, "{usage:?}");
    assert_eq!(usage.interval.clock_jump_ns / 1_000_000_000, 0);
}

#[test]
fn threads_that_do_not_serve_are_background() {
    let mut shell = Shell::start();
    let background = serving(shell.pid(), Vec::new());
    let connection = serving(shell.pid(), vec![shell.pid()]);
    let mut probes = [UsageProbe::new(background).unwrap(), UsageProbe::new(connection).unwrap()];
    let before = probes.each_mut().map(|probe| probe.snapshot().unwrap());
    shell.run(WORK);
    let [background, connection] =
        [0, 1].map(|i| probes[i].snapshot().unwrap().since(&before[i]).counters);
    let cpu_ns = |counters: &Counters| {
        ["connection_cpu_ns", "background_cpu_ns"].map(|name| counters.get(name).unwrap())
    };
    let ([none, some], [all, nothing]) = (cpu_ns(&background), cpu_ns(&connection));
    assert!(none == 0 && some > 1_000_000, "{background:?}");
    assert!(all > 1_000_000 && nothing == 0, "{connection:?}");
}

#[test]
fn a_sleeping_server_uses_nothing() {
    let shell = Shell::start();
    let mut probe = UsageProbe::new(config(shell.pid(), &here())).unwrap();
    let mut before = probe.snapshot().unwrap();
    // The shell is about to wait for its next line. From then on, nothing may change.
    let settled = (0..10_000).any(|_| {
        std::thread::yield_now();
        let now = probe.snapshot().unwrap();
        let used = now.since(&before).counters.get("connection_context_switches");
        before = now;
        used == Some(0) && shell_is_asleep(shell.pid())
    });
    assert!(settled);
    let before = probe.snapshot().unwrap();
    let usage = probe.snapshot().unwrap().since(&before);
    let is_of_server = |name: &str| {
        ["connection_", "background_", "server_"].iter().any(|start| name.starts_with(start))
    };
    let mut used = usage.counters.iter().filter(|(name, _)| is_of_server(name)).peekable();
    assert!(used.peek().is_some() && used.all(|(_, value)| value == 0), "{usage:?}");
}

fn shell_is_asleep(pid: i32) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.contains(") S ")
}

#[test]
fn children_are_found_and_counted_after_they_end() {
    let mut shell = Shell::start();
    let mut probe = UsageProbe::new(config(shell.pid(), &here())).unwrap();
    let before = probe.snapshot().unwrap();
    // A subshell in the background. It reports when it has worked, and then waits on its own pipe.
    shell.run(&format!("coproc {{ {WORK}; echo ready; read line; }}; read -u ${{COPROC[0]}} word"));
    let alive = probe.snapshot().unwrap();
    let with_child = alive.since(&before).counters.get("connection_cpu_ns").unwrap();
    let child: i32 = shell.run("echo -n $COPROC_PID").parse().unwrap();
    assert!(with_child > 1_000_000 && child != shell.pid(), "{with_child}");

    shell.run("echo stop >&${COPROC[1]}; wait $COPROC_PID");
    assert!(!Path::new(&format!("/proc/{child}")).exists());
    let after = probe.snapshot().unwrap();
    assert!(after.since(&before).counters.get("connection_cpu_ns").unwrap() >= with_child);
    assert_eq!(alive.since(&after).counters.get("connection_cpu_ns").unwrap(), 0);
}

#[test]
fn a_server_that_has_ended_stays_as_last_seen() {
    let mut shell = Shell::start();
    let mut probe = UsageProbe::new(config(shell.pid(), &here())).unwrap();
    let before = probe.snapshot().unwrap();
    shell.run(WORK);
    let alive = probe.snapshot().unwrap();
    let pid = shell.pid();
    drop(shell);
    let gone = probe.snapshot().unwrap().since(&before).counters.get("connection_cpu_ns").unwrap();
    assert!(gone >= alive.since(&before).counters.get("connection_cpu_ns").unwrap());

    let error = UsageProbe::new(config(pid, &here())).unwrap_err();
    assert!(matches!(error, UsageProbeError::NoSuchTask(id) if id == pid), "{error}");
    assert_eq!(error.hints().len(), 1);
}

#[test]
fn client_threads_are_counted_wherever_they_run() {
    let shell = Shell::start();
    let (say_tid, tid) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            say_tid.send(gettid().as_raw_nonzero().get()).unwrap();
            wait.recv().unwrap();
            (0..20_000_000_u64).fold(1, |sum, n| std::hint::black_box(sum ^ n))
        });
        let client_tids = vec![tid.recv().unwrap()];
        let mut probe =
            UsageProbe::new(ProbeConfig { client_tids, ..config(shell.pid(), &here()) }).unwrap();
        let before = probe.snapshot().unwrap();
        go.send(()).unwrap();
        let used = |probe: &mut UsageProbe| {
            probe.snapshot().unwrap().since(&before).counters.get("client_cpu_ns").unwrap()
        };
        while used(&mut probe) < 1_000_000 {
            std::thread::yield_now();
        }
        let seen = used(&mut probe);
        worker.join().unwrap();
        assert!(used(&mut probe) >= seen);
    });
}

#[test]
fn writes_to_the_data_directory_reach_its_device() {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = Shell::start();
    let mut probe = UsageProbe::new(config(shell.pid(), directory.path())).unwrap();
    let before = (probe.snapshot().unwrap(), probe.device().unwrap());
    let file = directory.path().join("file");
    shell.run(&format!("printf '%01000000d' 7 > {}; sync {0}", file.display()));
    let usage = probe.snapshot().unwrap().since(&before.0);
    assert_eq!(fs_err::metadata(&file).unwrap().len(), 1_000_000);
    let device = probe.device().unwrap().zip(before.1).map(|(now, then)| now.since(&then));
    // The kernel counts what is written to a device.
    let has_device = assay_probe::host(directory.path()).unwrap().filesystem != "tmpfs";
    let is_counted = usage.counters.get("server_write_bytes").unwrap() >= 1_000_000;
    assert_eq!(is_counted, has_device, "{usage:?}");
    assert_eq!(device.is_some(), has_device, "{device:?}");
    if let Some(device) = device {
        let written = Counters::from_iter(device.named());
        let counter = |name: &str| written.get(name).unwrap();
        assert!(
            counter("host_device_write_kb") > 900 && counter("host_device_writes") > 0,
            "{written:?}"
        );
    }
}

#[test]
fn data_without_a_block_device_counts_nothing() {
    let shell = Shell::start();
    let mut probe = UsageProbe::new(config(shell.pid(), Path::new("/dev/shm"))).unwrap();
    let before = probe.snapshot().unwrap();
    let usage = probe.snapshot().unwrap().since(&before);
    assert_eq!(probe.device().unwrap(), None);
    assert!(usage.counters.get("host_other_ns").is_some());
}

#[test]
fn missing_processes_are_an_immediate_error() {
    let shell = Shell::start();
    let tid = i32::MAX;
    let client = ProbeConfig { client_tids: vec![tid], ..config(shell.pid(), &here()) };
    assert!(
        matches!(UsageProbe::new(client).unwrap_err(), UsageProbeError::NoSuchTask(id) if id == tid)
    );
    let missing = config(shell.pid(), Path::new("/no/such/directory"));
    assert!(UsageProbe::new(missing).unwrap_err().to_string().contains("/no/such/directory"));
}

#[test]
fn a_remote_server_has_no_counters_but_its_clients_do() {
    let client_tids = vec![gettid().as_raw_nonzero().get()];
    let mut probe = UsageProbe::new(ProbeConfig { client_tids, server: None }).unwrap();
    let before = probe.snapshot().unwrap();
    let busy = (0..2_000_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number));
    std::hint::black_box(busy);
    let usage = probe.snapshot().unwrap().since(&before);
    assert!(usage.counters.get("client_cpu_ns").unwrap() > 0);
    for name in ["connection_cpu_ns", "server_read_calls", "host_other_ns"] {
        assert_eq!(usage.counters.get(name), None);
    }
}
