//! The threads of a server.

use std::collections::BTreeMap;
use std::io;

use procfs::process::{Process, all_processes};

/// A thread of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thread {
    /// Its process.
    pub(crate) pid: i32,
    /// Its id.
    pub(crate) tid: i32,
}

/// All threads of a process and its descendants. Those that end meanwhile are left out.
pub(crate) fn threads(root: i32) -> io::Result<Vec<Thread>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in all_processes().map_err(io::Error::other)?.flatten() {
        if let Ok(stat) = process.stat() {
            children.entry(stat.ppid).or_default().push(stat.pid);
        }
    }
    let mut pending = vec![root];
    let mut found = Vec::new();
    while let Some(pid) = pending.pop() {
        let Ok(tasks) = Process::new(pid).and_then(|it| it.tasks()) else { continue };
        found.extend(tasks.flatten().map(|task| Thread { pid, tid: task.tid }));
        pending.extend(children.remove(&pid).unwrap_or_default());
    }
    Ok(found)
}
