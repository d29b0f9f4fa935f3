//! Who else is busy: the CPU time of every process, so that those that disturb can be named.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::Error;

/// The CPU time of every process at one moment, as far as this user may see them.
#[derive(Debug, Clone)]
pub struct Census {
    taken: Instant,
    processes: BTreeMap<Id, Process>,
}

/// Process id and start: ids are used again.
type Id = (i32, u64);

#[derive(Debug, Clone)]
struct Process {
    name: String,
    parent: i32,
    /// CPU time of the process and of its children that have ended, ticks.
    ticks: u64,
}

/// CPU time of the processes of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// The name, as the kernel has it: at most 15 bytes.
    pub name: String,
    /// CPUs in use, on average.
    pub cpus: f64,
}

impl Census {
    /// Reads every process; one that ends meanwhile is left out.
    ///
    /// # Errors
    /// The list of processes cannot be read.
    pub fn take() -> Result<Self, Error> {
        let all = procfs::process::all_processes()?;
        let stats = all.filter_map(|process| process.and_then(|it| it.stat()).ok());
        let entry = |stat: procfs::process::Stat| {
            let ended = [stat.cutime, stat.cstime].map(|ticks| u64::try_from(ticks).unwrap_or(0));
            let ticks = stat.utime + stat.stime + ended.iter().sum::<u64>();
            let process = Process { name: stat.comm, parent: stat.ppid, ticks };
            ((stat.pid, stat.starttime), process)
        };
        Ok(Self { taken: Instant::now(), processes: stats.map(entry).collect() })
    }

    /// Who used the CPU since `earlier`, the busiest first; without the processes `ours` and their descendants.
    ///
    /// What began and ended in between is told under the name of its parent.
    #[must_use]
    pub fn busiest_since(&self, earlier: &Self, ours: &[i32]) -> Vec<Busy> {
        let ours = self.with_descendants(ours);
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for (id, process) in self.processes.iter().filter(|((pid, _), _)| !ours.contains(pid)) {
            // Children that have ended bring along what they had used before.
            let old_children = earlier
                .processes
                .iter()
                .filter(|(old, child)| child.parent == id.0 && !self.processes.contains_key(*old));
            let before = earlier.processes.get(id).map_or(0, |process| process.ticks)
                + old_children.map(|(_, child)| child.ticks).sum::<u64>();
            *by_name.entry(&process.name).or_default() += process.ticks.saturating_sub(before);
        }
        let seconds = self.taken.duration_since(earlier.taken).as_secs_f64();
        let ticks = seconds * rustix::param::clock_ticks_per_second() as f64;
        let mut busy: Vec<Busy> = by_name
            .into_iter()
            .filter(|(_, used)| *used > 0 && ticks > 0.0)
            .map(|(name, used)| Busy { name: name.to_owned(), cpus: used as f64 / ticks })
            .collect();
        busy.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
        busy
    }

    fn with_descendants(&self, roots: &[i32]) -> BTreeSet<i32> {
        let mut found: BTreeSet<i32> = roots.iter().copied().collect();
        let mut pending = roots.to_vec();
        while let Some(parent) = pending.pop() {
            let children = self.processes.iter().filter(|(_, process)| process.parent == parent);
            pending.extend(children.map(|((pid, _), _)| *pid).filter(|pid| found.insert(*pid)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    fn census(taken: Instant, processes: &[(i32, i32, &str, u64)]) -> Census {
        let process = |(pid, parent, name, ticks): &(i32, i32, &str, u64)| {
            ((*pid, 7), Process { name: (*name).to_owned(), parent: *parent, ticks: *ticks })
        };
        Census { taken, processes: processes.iter().map(process).collect() }
    }

    #[test]
    fn the_busiest_come_first_and_ours_not_at_all() {
        let began = Instant::now();
        let hz = rustix::param::clock_ticks_per_second();
        let before = census(
            began,
            &[(1, 0, "init", 5), (2, 1, "make", 10), (3, 2, "cc", 4 * hz), (9, 1, "assay", 0)],
        );
        // The compiler has ended, another has come; the server is a grandchild of assay.
        let after = census(
            began + Duration::from_secs(2),
            &[
                (1, 0, "init", 5),
                (2, 1, "make", 10 + 5 * hz),
                (4, 2, "cc", hz / 2),
                (9, 1, "assay", 2 * hz),
                (10, 9, "assay", 0),
                (11, 10, "mariadbd", 2 * hz),
            ],
        );
        let busy = |name: &str, cpus| Busy { name: name.to_owned(), cpus };
        assert_eq!(after.busiest_since(&before, &[9]), [busy("make", 0.5), busy("cc", 0.25)]);
    }

    #[test]
    fn a_process_that_computes_is_found() {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let before = Census::take().unwrap();
        let spent = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap();
        let began = spent();
        while spent() - began < Duration::from_millis(100) {
            std::hint::spin_loop();
        }
        let after = Census::take().unwrap();
        let name = &after.processes.iter().find(|((it, _), _)| *it == pid).unwrap().1.name;
        let is_told =
            |ours: &[i32]| after.busiest_since(&before, ours).iter().any(|busy| busy.name == *name);
        assert!(is_told(&[]));
        assert!(!is_told(&[pid]));
    }
}
