//! A process with all its threads and descendants, as one sum that never decreases.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::PathBuf;

use nix::sys::time::TimeValLike as _;
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use rustix::fs::Dir;

use crate::file::{
    Buffer, KernelFile, add, field, io_error, is_gone, named, numbers, open_directory, since,
};
use crate::task::{NAMES, Task, TaskCounts, TaskState};
use crate::{ProbeResult, UsageProbeError};

/// Counters of processes and their prefixes in `/proc/PID/io`: system calls, and bytes from and to block devices.
const IO: [(&str, &str); 4] = [
    ("read_calls", "syscr:"),
    ("read_bytes", "read_bytes:"),
    ("write_calls", "syscw:"),
    ("write_bytes", "write_bytes:"),
];

type IoCounts = [u64; IO.len()];

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TreeCounts {
    connections: TaskCounts,
    background: TaskCounts,
    io: IoCounts,
    /// CPU time of threads that began and ended between two readings, nanoseconds; `None` if the kernel does not report
    /// it.
    short_lived_cpu_ns: Option<u64>,
}

const SHORT_LIVED: &str = "server_short_lived_cpu_ns";

impl TreeCounts {
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            connections: since(&self.connections, &earlier.connections),
            background: since(&self.background, &earlier.background),
            io: since(&self.io, &earlier.io),
            short_lived_cpu_ns: self
                .short_lived_cpu_ns
                .zip(earlier.short_lived_cpu_ns)
                .map(|(now, then)| now.saturating_sub(then)),
        }
    }

    pub(crate) fn named(&self) -> impl Iterator<Item = (String, u64)> {
        named("connection_", NAMES, self.connections)
            .chain(named("background_", NAMES, self.background))
            .chain(named("server_", IO.map(|(name, _)| name), self.io))
            .chain(self.short_lived_cpu_ns.map(|ns| (SHORT_LIVED.to_owned(), ns)))
    }
}

#[derive(Debug)]
struct ProcessFiles {
    directory: PathBuf,
    task_list: Dir,
    io_file: KernelFile,
    io: IoCounts,
    tasks: BTreeMap<i32, Task>,
    /// Clock of the CPU time of all its threads, including ended ones.
    cpu_clock: Option<ClockId>,
    /// CPU time of known threads that have ended, nanoseconds.
    ended_cpu_ns: u64,
    /// CPU time of threads that were never seen, or used it after the last reading.
    short_lived_cpu_ns: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct ProcessTree {
    processes: BTreeMap<i32, ProcessFiles>,
    /// Threads that serve the measured connections; `None` means all.
    connections: Option<BTreeSet<i32>>,
    /// Last counters of ended threads and processes.
    gone: TreeCounts,
    root: i32,
    /// `None` unless connections come and go.
    ended: Option<EndedChildren>,
}

/// CPU time of the root's children that have ended. On Postgres, a process lasts for a connection.
#[derive(Debug)]
struct EndedChildren {
    /// Has it in ticks.
    root_stat: KernelFile,
    /// The part that was counted while they ran, nanoseconds.
    seen_ns: u64,
    /// The rest, nanoseconds. Ticks are rounded down, so it may lag by two of them.
    unseen_ns: u64,
}

impl ProcessTree {
    pub(crate) fn open(root: i32, connections: Option<Vec<i32>>) -> ProbeResult<Self> {
        let process = ProcessFiles::open(root)?.ok_or(UsageProbeError::NoSuchTask(root))?;
        for (file, option) in
            [("schedstat", "CONFIG_SCHED_INFO"), ("children", "CONFIG_PROC_CHILDREN")]
        {
            let path = process.directory.join(format!("task/{root}/{file}"));
            if !fs_err::exists(&path)? {
                return Err(UsageProbeError::NotProvided { path, option });
            }
        }
        Ok(Self {
            processes: BTreeMap::from([(root, process)]),
            connections: connections.map(BTreeSet::from_iter),
            gone: TreeCounts { short_lived_cpu_ns: Some(0), ..TreeCounts::default() },
            root,
            ended: None,
        })
    }

    /// From now on, CPU time of threads and processes that begin and end between two readings is a part of that of
    /// threads that serve connections.
    pub(crate) fn serve_short_lived(&mut self) -> ProbeResult<()> {
        let root_stat = KernelFile::open(PathBuf::from(format!("/proc/{}/stat", self.root)))?;
        let root_stat = root_stat.ok_or(UsageProbeError::NoSuchTask(self.root))?;
        self.ended = Some(EndedChildren { root_stat, seen_ns: 0, unseen_ns: 0 });
        Ok(())
    }

    /// As of the last reading.
    pub(crate) fn threads(&self) -> BTreeSet<i32> {
        self.processes.values().flat_map(|process| process.tasks.keys().copied()).collect()
    }

    /// Usage since the tree's threads began, including ended ones.
    pub(crate) fn read(&mut self, buffer: &mut Buffer, tick_ns: u64) -> ProbeResult<TreeCounts> {
        // Read first, so that a child that ends meanwhile is not taken for one that was never seen.
        let ticks = match &self.ended {
            Some(ended) => ended.root_stat.read(buffer, "CPU time of children", parse_ended)?,
            None => None,
        };
        let mut pending: Vec<i32> = self.processes.keys().copied().collect();
        while let Some(pid) = pending.pop() {
            let process = match self.processes.get_mut(&pid) {
                Some(process) => process,
                None => match ProcessFiles::open(pid) {
                    Ok(Some(process)) => self.processes.entry(pid).or_insert(process),
                    Ok(None) => continue,
                    // Its parent's files could be read: it is about to be gone, and newer kernels refuse those of such
                    // a process.
                    Err(UsageProbeError::Io(error))
                        if error.kind() == ErrorKind::PermissionDenied =>
                    {
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            let started = process.update(buffer, tick_ns, |tid, counters| {
                add(share(&mut self.gone, &self.connections, tid), counters);
            })?;
            if process.tasks.is_empty() {
                add(&mut self.gone.io, &process.io);
                add_known(&mut self.gone.short_lived_cpu_ns, process.short_lived_cpu_ns);
                if let Some(ended) = self.ended.as_mut().filter(|_| pid != self.root) {
                    ended.seen_ns += process.ended_cpu_ns + process.short_lived_cpu_ns.unwrap_or(0);
                }
                self.processes.remove(&pid);
            }
            pending.extend(started.into_iter().filter(|child| !self.processes.contains_key(child)));
        }
        let mut sum = self.gone;
        for process in self.processes.values() {
            add(&mut sum.io, &process.io);
            add_known(&mut sum.short_lived_cpu_ns, process.short_lived_cpu_ns);
            for (tid, task) in &process.tasks {
                add(share(&mut sum, &self.connections, *tid), &task.counts);
            }
        }
        if let Some(ended) = &mut self.ended {
            let all_ns = ticks.map_or(0, |ticks| ticks * tick_ns);
            ended.unseen_ns = ended.unseen_ns.max(all_ns.saturating_sub(ended.seen_ns));
            // The kernel may not report that of threads.
            let threads_ns = sum.short_lived_cpu_ns.take().unwrap_or(0);
            let [cpu_ns, ..] = &mut sum.connections;
            *cpu_ns += threads_ns + ended.unseen_ns;
        }
        Ok(sum)
    }
}

fn share<'a>(
    counters: &'a mut TreeCounts,
    connections: &Option<BTreeSet<i32>>,
    tid: i32,
) -> &'a mut TaskCounts {
    let serves = connections.as_ref().is_none_or(|connections| connections.contains(&tid));
    if serves { &mut counters.connections } else { &mut counters.background }
}

impl ProcessFiles {
    /// `None` if the process has ended.
    fn open(pid: i32) -> ProbeResult<Option<Self>> {
        let directory = PathBuf::from(format!("/proc/{pid}"));
        let Some(io_file) = KernelFile::open(directory.join("io"))? else { return Ok(None) };
        let task_path = directory.join("task");
        let Some(task_list) = open_directory(&task_path)? else { return Ok(None) };
        let task_list = Dir::new(task_list).map_err(|error| io_error("list", &task_path, error))?;
        Ok(Some(Self {
            directory,
            task_list,
            io_file,
            io: IoCounts::default(),
            tasks: BTreeMap::new(),
            cpu_clock: clock_getcpuclockid(Pid::from_raw(pid)).ok(),
            ended_cpu_ns: 0,
            short_lived_cpu_ns: Some(0),
        }))
    }

    fn update(
        &mut self,
        buffer: &mut Buffer,
        tick_ns: u64,
        mut bury: impl FnMut(i32, &TaskCounts),
    ) -> ProbeResult<Vec<i32>> {
        let mut children = Vec::new();
        let mut ended = Vec::new();
        // Read first, so that a thread that runs meanwhile is not taken for one that has ended.
        let process_cpu_ns = self.cpu_ns();
        for (tid, task) in &mut self.tasks {
            match task.update(buffer, tick_ns)? {
                // Only a thread that ran can have started a process.
                TaskState::Ran => children.extend(task.children(buffer)?),
                TaskState::Idle => {}
                TaskState::Gone => ended.push(*tid),
            }
        }
        for tid in ended {
            if let Some(task) = self.tasks.remove(&tid) {
                self.ended_cpu_ns = self.ended_cpu_ns.saturating_add(task.cpu_ns());
                bury(tid, &task.counts);
            }
        }
        self.find_new_tasks(buffer, tick_ns, &mut children)?;
        self.update_io(buffer)?;
        let seen =
            self.tasks.values().map(Task::cpu_ns).sum::<u64>().saturating_add(self.ended_cpu_ns);
        // A process that has ended has no clock any more.
        if !self.tasks.is_empty() {
            self.short_lived_cpu_ns = process_cpu_ns
                .zip(self.short_lived_cpu_ns)
                .map(|(all, known)| known.max(all.saturating_sub(seen)));
        }
        Ok(children)
    }

    fn find_new_tasks(
        &mut self,
        buffer: &mut Buffer,
        tick_ns: u64,
        children: &mut Vec<i32>,
    ) -> ProbeResult<()> {
        self.task_list.rewind();
        while let Some(entry) = self.task_list.read() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if is_gone(error) => break,
                Err(error) => {
                    return Err(io_error("list", &self.directory.join("task"), error));
                }
            };
            let Ok(name) = entry.file_name().to_str() else { continue };
            let Ok(tid) = name.parse() else { continue };
            if self.tasks.contains_key(&tid) {
                continue;
            }
            let Some(mut task) = Task::open(self.directory.join("task").join(name))? else {
                continue;
            };
            if task.update(buffer, tick_ns)? != TaskState::Gone {
                children.extend(task.children(buffer)?);
                self.tasks.insert(tid, task);
            }
        }
        Ok(())
    }

    fn cpu_ns(&self) -> Option<u64> {
        let time = clock_gettime(self.cpu_clock?).ok()?;
        u64::try_from(time.num_nanoseconds()).ok()
    }

    fn update_io(&mut self, buffer: &mut Buffer) -> ProbeResult<()> {
        if let Some(io) = self.io_file.read(buffer, "I/O counters", parse_io)? {
            self.io = io;
        }
        Ok(())
    }
}

/// The sum is unknown if one part is.
fn add_known(sum: &mut Option<u64>, part: Option<u64>) {
    *sum = sum.zip(part).map(|(sum, part)| sum.saturating_add(part));
}

/// Fields of `/proc/PID/stat` are counted as in proc(5): 16 cutime, 17 cstime.
fn parse_ended(text: &[u8]) -> Option<u64> {
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    // The first field after the name is the third.
    let mut fields = numbers(text.get(name_end + 1..)?).skip(16 - 3);
    fields.next()??.checked_add(fields.next()??)
}

fn parse_io(text: &[u8]) -> Option<IoCounts> {
    let mut counts = IoCounts::default();
    for (count, (_, word)) in counts.iter_mut().zip(IO) {
        *count = field(text, word)?;
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    /// Uses this much CPU time, however busy the machine is.
    fn work(least_ns: i64) {
        let used = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec * 1_000_000_000 + time.tv_nsec
        };
        while used() < least_ns {
            std::hint::black_box(used());
        }
    }

    #[test]
    fn threads_that_begin_and_end_between_readings_are_counted() {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let pid = i32::try_from(std::process::id()).unwrap();
        let (mut buffer, mut tree) = (Buffer::new(), ProcessTree::open(pid, None).unwrap());
        let before = tree.read(&mut buffer, tick_ns).unwrap();
        std::thread::spawn(|| work(5_000_000)).join().unwrap();
        let used = tree.read(&mut buffer, tick_ns).unwrap().since(&before);
        // Other tests may end threads too.
        assert!(used.short_lived_cpu_ns >= Some(5_000_000), "{used:?}");
    }

    #[test]
    fn processes_that_begin_and_end_between_readings_serve_if_connections_come_and_go() {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let pid = i32::try_from(std::process::id()).unwrap();
        let (mut buffer, mut tree) = (Buffer::new(), ProcessTree::open(pid, None).unwrap());
        tree.serve_short_lived().unwrap();
        let mut read = || {
            let counts = tree.read(&mut buffer, tick_ns).unwrap();
            assert_eq!(counts.short_lived_cpu_ns, None);
            let unseen_ns = tree.ended.as_ref().unwrap().unseen_ns;
            assert!(counts.connections[0] >= unseen_ns, "{counts:?}");
            unseen_ns
        };
        let before_ns = read();
        let work = "i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done";
        assert!(std::process::Command::new("sh").args(["-c", work]).status().unwrap().success());
        // A few ticks. Other tests may end processes too.
        assert!(read() >= before_ns + 3 * tick_ns);
        let stat = b"7 (a b) c) S 1 7 7 0 -1 4194560 1 2 0 0 11 12 13 14 20 0 1 0 5 6 7";
        assert_eq!(parse_ended(stat), Some(13 + 14));
    }
}
