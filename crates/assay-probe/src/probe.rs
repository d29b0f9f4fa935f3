//! The probe: readings at one moment, and usage between two.

use std::path::PathBuf;

use assay_model::{Counters, Trouble};
use perf_event::events::{Event, Hardware};
use rustix::time::{ClockId, clock_gettime};

use crate::device::{DeviceCounters, DeviceStatistics};
use crate::file::{Buffer, add, named, since};
use crate::instructions::{self, InstructionReading, ServerInstructions};
use crate::machine::{MachineCounters, MachineFiles};
use crate::processor::counts_instructions;
use crate::task::{DISK_WAIT, NAMES, Task, TaskCounts, TaskState};
use crate::tree::{ProcessTree, TreeCounts};
use crate::trouble::{Accounting, SliceInterval, THROTTLED, trouble};
use crate::{ProbeResult, UsageProbeError};

#[derive(Debug, Clone)]
pub struct ProbeConfig {
    /// Kernel ids of the client threads, which must be running threads of this process.
    pub client_tids: Vec<i32>,
    /// `None` if its processes are on another machine or not readable: then its counters, other processes' CPU, and the
    /// device that holds its data are unknown.
    pub server: Option<ProbedServer>,
}

#[derive(Debug, Clone)]
pub struct ProbedServer {
    /// Root of its process tree; the probe finds its descendants.
    pub pid: i32,
    /// Kernel ids of the threads (or backend processes) that serve the measured connections. `None` if the server does
    /// not report them: then every thread of the server counts as serving them and none as background.
    pub connection_tids: Option<Vec<i32>>,
    /// A directory on the block device that holds the data; it must exist.
    pub data_dir: PathBuf,
}

/// Reads counters of clients, server and machine.
///
/// Holds one open file per thread, so that a snapshot opens only the files of threads that ran.
///
/// Accuracy: CPU and run-queue time of a waiting thread are exact; those of a running thread lag by at most a tick.
/// User, system and disk time come in ticks of 10 ms, and are right only on average over many slices. Disk time is
/// `None` if the kernel does not account it. Calls are `read` and `write` and their variants: asynchronous I/O shows in
/// bytes only. Of threads that begin and end between two snapshots, only the CPU time is known; children that do so are
/// missed, as are children beyond the first page of a thread's list (some 600). Instructions are exact, and none of
/// these threads is missed; they are known only if the processor counted all the time.
#[derive(Debug)]
pub struct UsageProbe {
    clients: Vec<Task>,
    server: Option<ProcessTree>,
    /// `None` unless they are counted.
    instructions: Option<ServerInstructions>,
    machine: MachineFiles,
    buffer: Buffer,
    tick_ns: u64,
    accounts_disk_wait: bool,
    cpus: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    clocks: Clocks,
    clients: TaskCounts,
    /// CPU time of this whole process, including the study loop and the clients.
    own_cpu_ns: u64,
    server: Option<TreeCounts>,
    instructions: Option<InstructionReading>,
    machine: MachineCounters,
    accounting: Accounting,
    accounts_disk_wait: bool,
    cpus: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Of the client threads, of the server's process tree if it is probed, and of the machine.
    pub counters: Counters,
    pub interval: SliceInterval,
}

/// Attempts to open counters while threads are starting.
const OPENED_MAX: u32 = 5;

/// CPU time of processes other than clients and server, nanoseconds. Unknown if that of the server is.
const OTHER: &str = "host_other_ns";

impl Usage {
    /// CPU time of the server; `None` if it is not probed.
    pub fn server_ns(&self) -> Option<u64> {
        let counters = &self.counters;
        Some(counters.get("connection_cpu_ns")? + counters.get("background_cpu_ns")?)
    }

    /// Subtracts the usage of servers of the same study from that of other processes. `None` makes the difference
    /// unknown.
    pub fn leave_out(&mut self, used_ns: Option<u64>) {
        let other_ns = self.counters.get(OTHER).zip(used_ns);
        let other_ns = other_ns.map(|(other_ns, used_ns)| other_ns.saturating_sub(used_ns));
        self.counters.set(OTHER, other_ns);
    }

    /// Records that clients and server ran at real-time priority, and how long they had to wait all the same.
    pub fn set_realtime(&mut self, delayed_ns: u64) {
        self.counters.set(THROTTLED, Some(delayed_ns));
    }

    pub fn trouble(&self) -> Vec<Trouble> {
        trouble(&self.counters, &self.interval)
    }
}

impl UsageProbe {
    /// Opens all files and takes a first reading, so that a missing thread, a missing counter or a lack of permission
    /// is found here, not during a slice.
    pub fn new(config: ProbeConfig) -> ProbeResult<Self> {
        let mut buffer = Buffer::new();
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let clients = config
            .client_tids
            .into_iter()
            .map(|tid| {
                let directory = PathBuf::from(format!("/proc/self/task/{tid}"));
                Task::open(directory)?.ok_or(UsageProbeError::NoSuchTask(tid))
            })
            .collect::<Result<_, _>>()?;
        let data_dir = config.server.as_ref().map(|server| server.data_dir.clone());
        let open_tree =
            |server: ProbedServer| ProcessTree::open(server.pid, server.connection_tids);
        let mut probe = Self {
            clients,
            server: config.server.map(open_tree).transpose()?,
            instructions: None,
            machine: MachineFiles::open(data_dir.as_deref(), &mut buffer, tick_ns)?,
            buffer,
            tick_ns,
            accounts_disk_wait: crate::host::disk_wait_is_accounted(),
            cpus: crate::host::online_cpus(),
        };
        probe.snapshot()?;
        Ok(probe)
    }

    /// Counts CPU time of threads and processes that begin and end between two snapshots as that of threads that serve
    /// connections, for clients that open connections. That of processes comes in ticks.
    pub fn serve_short_lived(&mut self) -> ProbeResult<()> {
        self.server.as_mut().map_or(Ok(()), ProcessTree::serve_short_lived)?;
        self.snapshot().map(drop)
    }

    /// Counts the server's instructions from now on, and returns whether that is possible. The kernel then saves and
    /// loads a counter at each context switch of the server.
    pub fn count_instructions(&mut self) -> ProbeResult<bool> {
        if counts_instructions() {
            self.count(Hardware::INSTRUCTIONS)?;
        }
        Ok(self.instructions.is_some())
    }

    pub fn stop_counting(&mut self) {
        self.instructions = None;
    }

    /// Counts these events of the server from now on, if the kernel permits it. A thread that starts meanwhile may
    /// inherit a counter or not, so all counters are opened again then.
    fn count<E: Event + Copy>(&mut self, event: E) -> ProbeResult<()> {
        for _ in 0..OPENED_MAX {
            let Some(threads) = self.server.as_ref().map(ProcessTree::threads) else { break };
            let opened = match ServerInstructions::open(&threads, event) {
                Ok(opened) => opened,
                Err(error) => {
                    log::debug!("instructions of slices are not counted: {error}");
                    break;
                }
            };
            self.snapshot()?;
            if self.server.as_ref().is_some_and(|tree| tree.threads().is_subset(&threads)) {
                self.instructions = Some(opened);
                break;
            }
        }
        Ok(())
    }

    /// Reads every counter. Threads and processes that have ended keep their last counts; their end is never an error.
    pub fn snapshot(&mut self) -> ProbeResult<Snapshot> {
        let clocks = Clocks::now();
        let mut clients = TaskCounts::default();
        for task in &mut self.clients {
            // A thread that has ended keeps its last counts, as `Gone` says.
            let _: TaskState = task.update(&mut self.buffer, self.tick_ns)?;
            add(&mut clients, &task.counts);
        }
        // Unreadable counts are unknown.
        let instructions = self.instructions.as_mut().and_then(|counters| counters.read().ok());
        Ok(Snapshot {
            clocks,
            clients,
            instructions,
            server: match &mut self.server {
                Some(server) => Some(server.read(&mut self.buffer, self.tick_ns)?),
                None => None,
            },
            own_cpu_ns: now_ns(ClockId::ProcessCPUTime),
            machine: self.machine.read(&mut self.buffer)?,
            accounting: self.machine.accounting(),
            accounts_disk_wait: self.accounts_disk_wait,
            cpus: self.cpus,
        })
    }

    /// Counters of the block device that holds the data, if known. Cheaper than a snapshot.
    pub fn device(&mut self) -> ProbeResult<Option<DeviceCounters>> {
        Ok(self.device_statistics()?.map(|statistics| statistics.counters))
    }

    pub fn device_statistics(&mut self) -> ProbeResult<Option<DeviceStatistics>> {
        self.machine.read_device(&mut self.buffer)
    }
}

impl Snapshot {
    /// Usage between `earlier` and this snapshot of the same probe. Never negative.
    pub fn since(&self, earlier: &Self) -> Usage {
        let used = self.server.as_ref().zip(earlier.server.as_ref());
        let server = used.map(|(later, earlier)| later.since(earlier));
        let host = self.machine.since(&earlier.machine);
        let clients = named("client_", NAMES, since(&self.clients, &earlier.clients));
        let all = clients.chain(server.iter().flat_map(TreeCounts::named)).chain(host.named());
        let is_known =
            |(name, _): &(String, u64)| self.accounts_disk_wait || !name.ends_with(DISK_WAIT);
        let mut usage = Usage {
            counters: all.filter(is_known).collect(),
            interval: SliceInterval {
                elapsed_ns: self.clocks.monotonic_ns.saturating_sub(earlier.clocks.monotonic_ns),
                clock_jump_ns: self.clocks.jump_since(&earlier.clocks),
                cpus: self.cpus,
                accounting: self.accounting,
            },
        };
        let instructions = self.instructions.zip(earlier.instructions);
        let instructions = instructions.and_then(|(later, earlier)| later.since(&earlier));
        usage.counters.set(instructions::NAME, instructions);
        // The CPU time of an unknown server cannot be separated from that of other processes.
        let own_ns = self.own_cpu_ns.saturating_sub(earlier.own_cpu_ns);
        let other_ns = |server_ns| host.busy_ns().saturating_sub(own_ns + server_ns);
        usage.counters.set(OTHER, usage.server_ns().map(other_ns));
        usage
    }
}

/// Three clocks that agree while the machine runs and its time is not set.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    monotonic_ns: u64,
    /// Continues while the machine is suspended.
    boot_ns: u64,
    /// Set right after a virtual machine was paused.
    day_ns: u64,
}

impl Clocks {
    fn now() -> Self {
        Self {
            monotonic_ns: now_ns(ClockId::Monotonic),
            boot_ns: now_ns(ClockId::Boottime),
            day_ns: now_ns(ClockId::Realtime),
        }
    }

    /// Largest deviation of the other clocks from the monotonic one.
    fn jump_since(&self, earlier: &Self) -> u64 {
        let offset =
            |clocks: &Self, other_ns: u64| i128::from(other_ns) - i128::from(clocks.monotonic_ns);
        let boot = offset(self, self.boot_ns) - offset(earlier, earlier.boot_ns);
        let day = offset(self, self.day_ns) - offset(earlier, earlier.day_ns);
        u64::try_from(boot.unsigned_abs().max(day.unsigned_abs())).unwrap_or(u64::MAX)
    }
}

fn now_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Stdio};

    use perf_event::events::Software;

    use super::*;

    /// Every machine counts CPU time. The shell works once itself, and once in a process that begins and ends between
    /// two snapshots, whose CPU time is not in the kernel's files.
    #[test]
    fn what_begins_and_ends_between_snapshots_is_counted() {
        let work = "for ((i = 0; i < 30000; i++)); do :; done";
        let script = format!(
            "while read where; do if [ $where = here ]; then {work}; else ({work}); fi; echo; done"
        );
        let mut shell = Command::new("bash");
        let shell = shell.args(["--norc", "-c", &script]).stdin(Stdio::piped());
        let mut shell = shell.stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let mut output = BufReader::new(output);
        let mut run = |place: &str| {
            writeln!(input, "{place}").unwrap();
            output.read_line(&mut String::new()).unwrap();
        };
        run("here");
        let pid = i32::try_from(shell.id()).unwrap();
        let data_dir = std::env::current_dir().unwrap();
        let server = ProbedServer { pid, connection_tids: None, data_dir };
        let config = ProbeConfig { client_tids: Vec::new(), server: Some(server) };
        let mut probe = UsageProbe::new(config).unwrap();
        probe.count(Software::TASK_CLOCK).unwrap();
        let mut used = |place| {
            let before = probe.snapshot().unwrap();
            run(place);
            let counters = probe.snapshot().unwrap().since(&before).counters;
            let counted = counters.get(instructions::NAME);
            (counted, counters.get("connection_cpu_ns").unwrap())
        };
        let ((here, _), (there, told_there)) = (used("here"), used("elsewhere"));
        drop(input);
        shell.wait().unwrap();
        let own = BTreeSet::from([rustix::thread::gettid().as_raw_nonzero().get()]);
        if let Err(error) = ServerInstructions::open(&own, Software::TASK_CLOCK) {
            eprintln!("not tested: performance events are not permitted: {error}");
            return;
        }
        let [here, there] = [here, there].map(Option::unwrap);
        assert!(here > 1_000_000, "{here}");
        assert!(there > 1_000_000 && there > 2 * told_there, "{there} {told_there}");
    }

    #[test]
    fn clocks_that_drift_apart_have_jumped() {
        let earlier = Clocks { monotonic_ns: 100, boot_ns: 1_100, day_ns: 9_000 };
        let later = Clocks { monotonic_ns: 200, boot_ns: 1_200, day_ns: 9_100 };
        assert_eq!(later.jump_since(&earlier), 0);
        assert_eq!(Clocks { boot_ns: 1_250, ..later }.jump_since(&earlier), 50);
        assert_eq!(Clocks { day_ns: 9_000, ..later }.jump_since(&earlier), 100);
    }
}
