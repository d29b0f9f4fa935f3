//! Counters of a thread since it began, read as cheaply as the kernel allows.

use std::path::PathBuf;

use crate::ProbeResult;
use crate::file::{Buffer, KernelFile, field, numbers};

/// CPU time, its parts, time runnable but waiting for a CPU, voluntary and involuntary context switches, and time
/// waiting for block devices. The parts and the last one have the resolution of the kernel's tick.
pub(crate) const NAMES: [&str; 6] =
    ["cpu_ns", "user_ns", "sys_ns", "runq_ns", "context_switches", DISK_WAIT];

/// Known only if the kernel accounts for it.
pub(crate) const DISK_WAIT: &str = "disk_wait_ns";

/// In the order of [`NAMES`].
pub(crate) type TaskCounts = [u64; NAMES.len()];

/// `/proc/PID/task/TID/schedstat`: changes whenever the thread has run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SchedStat {
    cpu_ns: u64,
    runq_ns: u64,
    /// Number of times that it got a CPU.
    timeslices: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskState {
    Ran,
    /// It did not run, so none of its counters can have changed.
    Idle,
    /// It has ended; its counters are the last ones read.
    Gone,
}

/// A watched thread. Only `schedstat` stays open: it shows whether the thread ran at all, and most threads of a server
/// do not during a slice. One descriptor per thread keeps large servers within limits.
#[derive(Debug)]
pub(crate) struct Task {
    directory: PathBuf,
    schedstat: KernelFile,
    scheduling: SchedStat,
    pub(crate) counts: TaskCounts,
}

/// Maximum number of lists of children to compare: on a server with many short connections, no two may be equal.
const LISTS: usize = 16;

impl Task {
    /// Opens the thread at `/proc/PID/task/TID`; `None` if it has ended. Its counters are zero until [`Self::update`].
    pub(crate) fn open(directory: PathBuf) -> ProbeResult<Option<Self>> {
        let schedstat = KernelFile::open(directory.join("schedstat"))?;
        Ok(schedstat.map(|schedstat| Self {
            directory,
            schedstat,
            scheduling: SchedStat::default(),
            counts: TaskCounts::default(),
        }))
    }

    pub(crate) fn cpu_ns(&self) -> u64 {
        self.scheduling.cpu_ns
    }

    pub(crate) fn update(&mut self, buffer: &mut Buffer, tick_ns: u64) -> ProbeResult<TaskState> {
        let schedstat = self.schedstat.read(buffer, "three numbers", parse_schedstat)?;
        let Some(scheduling) = schedstat else { return Ok(TaskState::Gone) };
        if scheduling == self.scheduling {
            return Ok(TaskState::Idle);
        }
        let ticks = self.read(buffer, "stat", "fields up to the wait for disks", parse_stat)?;
        let switches = self.read(buffer, "status", "context switches", parse_status)?;
        let (Some(ticks), Some(context_switches)) = (ticks, switches) else {
            return Ok(TaskState::Gone);
        };
        self.scheduling = scheduling;
        self.counts = [
            scheduling.cpu_ns,
            ticks.user * tick_ns,
            ticks.sys * tick_ns,
            scheduling.runq_ns,
            context_switches,
            ticks.disk_wait * tick_ns,
        ];
        Ok(TaskState::Ran)
    }

    /// Processes that the thread started and that are still its children. If one of them ends while the kernel lists
    /// them, it may leave out others, so they are listed until two lists are equal.
    pub(crate) fn children(&self, buffer: &mut Buffer) -> ProbeResult<Vec<i32>> {
        let mut last = self.listed_children(buffer)?;
        for _ in 1..LISTS {
            // An empty list cannot have left out any.
            if last.is_empty() {
                break;
            }
            let again = self.listed_children(buffer)?;
            if again == last {
                break;
            }
            last = again;
        }
        Ok(last)
    }

    fn listed_children(&self, buffer: &mut Buffer) -> ProbeResult<Vec<i32>> {
        let ids = self.read(buffer, "children", "process ids", |text| {
            numbers(text).map(|id| i32::try_from(id?).ok()).collect()
        })?;
        Ok(ids.unwrap_or_default())
    }

    /// Reads one more file of the thread; `None` if the thread has ended.
    fn read<T>(
        &self,
        buffer: &mut Buffer,
        name: &str,
        expected: &'static str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> ProbeResult<Option<T>> {
        match KernelFile::open(self.directory.join(name))? {
            Some(file) => file.read(buffer, expected, parse),
            None => Ok(None),
        }
    }
}

/// Fields of `/proc/PID/task/TID/stat`, in clock ticks.
#[derive(Debug, PartialEq, Eq)]
struct Ticks {
    user: u64,
    sys: u64,
    disk_wait: u64,
}

fn parse_schedstat(text: &[u8]) -> Option<SchedStat> {
    let mut numbers = numbers(text);
    Some(SchedStat {
        cpu_ns: numbers.next()??,
        runq_ns: numbers.next()??,
        timeslices: numbers.next()??,
    })
}

/// Fields are counted as in proc(5): 14 utime, 15 stime, 42 delayacct_blkio_ticks.
fn parse_stat(text: &[u8]) -> Option<Ticks> {
    /// The first field after the name, which may itself contain blanks and parentheses.
    const STATE: usize = 3;
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = numbers(text.get(name_end + 1..)?);
    Some(Ticks {
        user: fields.nth(14 - STATE)??,
        sys: fields.next()??,
        disk_wait: fields.nth(42 - 16)??,
    })
}

fn parse_status(text: &[u8]) -> Option<u64> {
    let voluntary = field(text, "voluntary_ctxt_switches:")?;
    let involuntary = field(text, "nonvoluntary_ctxt_switches:")?;
    Some(voluntary + involuntary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_behind_any_name() {
        let mut line = b"42 (a) b ( \xff) S ".to_vec();
        for field in 4..=52 {
            line.extend_from_slice(format!("{field} ").as_bytes());
        }
        assert_eq!(parse_stat(&line), Some(Ticks { user: 14, sys: 15, disk_wait: 42 }));
        assert_eq!(parse_stat(b"42 (a) S 1 2"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn context_switches_of_both_kinds_count() {
        let text = b"Name:\t\xff\nThreads:\t1\nvoluntary_ctxt_switches:\t7\n\
            nonvoluntary_ctxt_switches:\t5\n";
        assert_eq!(parse_status(text), Some(12));
        assert_eq!(parse_status(b"voluntary_ctxt_switches:\tx\n"), None);
    }
}
