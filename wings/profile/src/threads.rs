//! Threads of a server.

use std::collections::BTreeMap;
use std::io;

use procfs::process::{Process, all_processes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) pid: i32,
    pub(crate) tid: i32,
}

/// All threads of a process and its descendants, except those that end meanwhile.
pub(crate) fn threads(root: i32) -> io::Result<Vec<Thread>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in all_processes().map_err(io::Error::other)?.flatten() {
        if let Ok(stat) = process.stat() {
            children.entry(stat.ppid).or_default().push(stat.pid);
        }
    }
    let mut pending = vec![root];
    let mut threads = Vec::new();
    while let Some(pid) = pending.pop() {
        let Ok(tasks) = Process::new(pid).and_then(|process| process.tasks()) else { continue };
        threads.extend(tasks.flatten().map(|task| Thread { pid, tid: task.tid }));
        pending.extend(children.remove(&pid).unwrap_or_default());
    }
    Ok(threads)
}

/// Empty if the kernel does not report them.
pub(crate) fn online_cpus() -> Vec<usize> {
    let listed = fs_err::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    ranges(listed.trim()).unwrap_or_default()
}

/// The limit of Linux.
const CPUS_MAX: usize = 8192;

/// Parses a list such as `0-3,8`.
fn ranges(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= CPUS_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_has_numbers_and_ranges() {
        assert_eq!(ranges("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(ranges("0"), Some(vec![0]));
        assert_eq!([ranges(""), ranges("a"), ranges("0-99999999999")], [None, None, None]);
    }
}
