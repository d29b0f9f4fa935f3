//! CPU time of every process, to name those that disturbed a slice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use assay_model::BusyProcess;

use crate::ProbeResult;
use crate::host::online_cpus;

/// The CPU time of every process visible to this user, at one moment.
#[derive(Debug, Clone)]
pub struct ProcessCensus {
    taken: Instant,
    processes: BTreeMap<Id, CensusEntry>,
}

const NAMES: usize = 3;

const CPUS_MIN: f64 = 0.02;

/// Process id and start: ids are reused.
type Id = (i32, u64);

#[derive(Debug, Clone)]
struct CensusEntry {
    name: String,
    parent: i32,
    /// CPU time of the process and of its ended children, ticks.
    ticks: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProcessLoad {
    /// As the kernel has it: at most 15 bytes.
    pub name: String,
    pub pid: i32,
    /// CPUs in use, on average.
    pub cpus: f64,
}

impl From<ProcessLoad> for BusyProcess {
    fn from(busy: ProcessLoad) -> Self {
        Self { name: busy.name, pid: busy.pid, cpu_percent: (100.0 * busy.cpus).round() as u32 }
    }
}

impl ProcessCensus {
    /// Processes that end meanwhile are skipped.
    pub fn take() -> ProbeResult<Self> {
        let all = procfs::process::all_processes()?;
        let stats = all.filter_map(|process| process.and_then(|entry| entry.stat()).ok());
        let entry = |stat: procfs::process::Stat| {
            let ended = [stat.cutime, stat.cstime].map(|ticks| u64::try_from(ticks).unwrap_or(0));
            let ticks = stat.utime + stat.stime + ended.iter().sum::<u64>();
            let process = CensusEntry { name: stat.comm, parent: stat.ppid, ticks };
            ((stat.pid, stat.starttime), process)
        };
        Ok(Self { taken: Instant::now(), processes: stats.map(entry).collect() })
    }

    /// Processes that used the CPU since `earlier`, busiest first, without the processes `ours` and their descendants.
    /// A process that started and ended in between is counted under the name of its parent.
    pub fn busiest_since(&self, earlier: &Self, ours: &[i32]) -> Vec<ProcessLoad> {
        let ours = self.with_descendants(ours);
        // Ticks of all processes of a name, and those of the busiest one with its id.
        let mut by_name: BTreeMap<&str, (u64, (u64, i32))> = BTreeMap::new();
        for (id, used) in self.ticks_since(earlier) {
            if let Some(process) = self.processes.get(&id).filter(|_| !ours.contains(&id.0)) {
                let (sum, most) = by_name.entry(&process.name).or_default();
                *sum += used;
                *most = (used, id.0).max(*most);
            }
        }
        let seconds = self.taken.duration_since(earlier.taken).as_secs_f64();
        let ticks = seconds * rustix::param::clock_ticks_per_second() as f64;
        // Processes are read one after the other, so a sum may be slightly larger than the elapsed time.
        let cpus_max = f64::from(online_cpus());
        let mut busy: Vec<ProcessLoad> = by_name
            .into_iter()
            .filter(|(_, (used, _))| *used > 0 && ticks > 0.0)
            .map(|(name, (used, (_, pid)))| ProcessLoad {
                name: name.to_owned(),
                pid,
                cpus: (used as f64 / ticks).min(cpus_max),
            })
            .collect();
        busy.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
        busy
    }

    pub fn named_since(&self, earlier: &Self, ours: &[i32]) -> Vec<BusyProcess> {
        let busiest = self.busiest_since(earlier, ours).into_iter();
        busiest.filter(|busy| busy.cpus >= CPUS_MIN).take(NAMES).map(BusyProcess::from).collect()
    }

    /// CPU time that every process and its ended children used since `earlier`. When a child ends, an ancestor takes
    /// over all CPU time that the child and its ended descendants had used before. That time is subtracted from the
    /// ancestor that waited for it: the nearest one that still runs or, if that one did not wait, one further up.
    fn ticks_since(&self, earlier: &Self) -> BTreeMap<Id, u64> {
        let before = |id: &Id| earlier.processes.get(id).map_or(0, |process| process.ticks);
        let mut used: BTreeMap<Id, u64> = (self.processes.iter())
            .map(|(id, process)| (*id, process.ticks.saturating_sub(before(id))))
            .collect();
        let by_pid: BTreeMap<i32, Id> = earlier.processes.keys().map(|id| (id.0, *id)).collect();
        let has_ended = |id: &Id| !self.processes.contains_key(id);
        for (_, ended) in earlier.processes.iter().filter(|(id, _)| has_ended(id)) {
            let mut left = ended.ticks;
            let ancestors = std::iter::successors(by_pid.get(&ended.parent), |id| {
                by_pid.get(&earlier.processes.get(*id)?.parent)
            });
            // Not all processes were read at the same moment, so a cycle is possible.
            for ancestor in ancestors.take(by_pid.len()) {
                if let Some(of_ancestor) = used.get_mut(ancestor) {
                    let taken = left.min(*of_ancestor);
                    *of_ancestor -= taken;
                    left -= taken;
                }
            }
        }
        used
    }

    fn with_descendants(&self, roots: &[i32]) -> BTreeSet<i32> {
        let mut family: BTreeSet<i32> = roots.iter().copied().collect();
        let mut pending = roots.to_vec();
        while let Some(parent) = pending.pop() {
            let children = self.processes.iter().filter(|(_, process)| process.parent == parent);
            pending.extend(children.map(|((pid, _), _)| *pid).filter(|pid| family.insert(*pid)));
        }
        family
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    fn census(taken: Instant, processes: &[(i32, i32, &str, u64)]) -> ProcessCensus {
        let process = |(pid, parent, name, ticks): &(i32, i32, &str, u64)| {
            ((*pid, 7), CensusEntry { name: (*name).to_owned(), parent: *parent, ticks: *ticks })
        };
        ProcessCensus { taken, processes: processes.iter().map(process).collect() }
    }

    #[test]
    fn the_busiest_come_first_and_own_processes_are_excluded() {
        let began = Instant::now();
        let hz = rustix::param::clock_ticks_per_second();
        let before = census(
            began,
            &[(1, 0, "init", 5), (2, 1, "make", 10), (3, 2, "cc", 4 * hz), (9, 1, "assay", 0)],
        );
        // One compiler has ended and another has started. The server is a grandchild of assay.
        let after = census(
            began + Duration::from_secs(2),
            &[
                (1, 0, "init", 5),
                (2, 1, "make", 10 + 5 * hz),
                (4, 2, "cc", hz / 4),
                (5, 2, "cc", hz / 4 + 2),
                (9, 1, "assay", 2 * hz),
                (10, 9, "assay", 0),
                (11, 10, "mariadbd", 2 * hz),
            ],
        );
        let busy = after.busiest_since(&before, &[9]);
        let names: Vec<_> = busy.iter().map(|process| (&*process.name, process.pid)).collect();
        assert_eq!(names, [("make", 2), ("cc", 5)]);
        assert_eq!(busy[0].cpus, 0.5);
        assert!((0.25..0.27).contains(&busy[1].cpus), "{busy:?}");
    }

    #[test]
    fn cpu_time_of_grandchildren_is_not_counted_twice() {
        let began = Instant::now();
        let hz = rustix::param::clock_ticks_per_second();
        // A shell runs a script, the script runs a long computation, and an orphan becomes a child of `init`.
        let before = census(
            began,
            &[
                (1, 0, "init", 0),
                (2, 1, "bash", 5),
                (3, 2, "script", 1),
                (4, 3, "sort", 900 * hz),
                (5, 3, "orphan", 70 * hz),
            ],
        );
        let after = census(
            began + Duration::from_secs(2),
            &[(1, 0, "init", 70 * hz), (2, 1, "bash", 5 + 1 + 900 * hz), (6, 2, "cc", hz)],
        );
        let busy = after.busiest_since(&before, &[]);
        assert_eq!(busy, [ProcessLoad { name: "cc".to_owned(), pid: 6, cpus: 0.5 }]);
    }

    #[test]
    fn no_process_uses_more_than_all_cpus() {
        let began = Instant::now();
        let hz = rustix::param::clock_ticks_per_second();
        let before = census(began, &[]);
        let after = census(began + Duration::from_secs(1), &[(2, 1, "bash", 1_000_000 * hz)]);
        let busy = after.busiest_since(&before, &[]);
        assert_eq!(busy[0].cpus, f64::from(online_cpus()));
    }

    /// A shell starts a shell that starts a third one, which computes. When both have ended, the first has waited for
    /// all of that.
    #[test]
    fn a_shell_does_not_inherit_earlier_cpu_time_of_grandchildren() {
        let directory = tempfile::tempdir().unwrap();
        let [outer, middle, spin] = ["census-outer", "census-middle", "census-spin"].map(|name| {
            let path = directory.path().join(name);
            fs_err::copy("/bin/bash", &path).unwrap();
            path.display().to_string()
        });
        let script = format!(
            "{middle} -c '{spin} -c \"while :; do :; done\" & read line; kill $!; wait $!'; echo ended; read line"
        );
        let mut shell = Command::new(&outer)
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let hz = rustix::param::clock_ticks_per_second();
        let has_computed = |census: &ProcessCensus| {
            census.processes.values().any(|entry| entry.name == "census-spin" && entry.ticks >= hz)
        };
        let mut before = ProcessCensus::take().unwrap();
        while !has_computed(&before) {
            std::thread::sleep(Duration::from_millis(20));
            before = ProcessCensus::take().unwrap();
        }
        let mut stdin = shell.stdin.take().unwrap();
        stdin.write_all(b"\n").unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ended\n");
        let after = ProcessCensus::take().unwrap();
        drop(stdin);
        shell.wait().unwrap();
        let passed = after.taken.duration_since(before.taken).as_secs_f64() * hz as f64;
        let mut used = after.ticks_since(&before).into_iter();
        let of_outer = used.find(|((pid, _), _)| u32::try_from(*pid) == Ok(shell.id()));
        let of_outer = of_outer.unwrap().1 as f64;
        assert!(of_outer <= passed + 5.0, "{of_outer} ticks in {passed}");
    }

    #[test]
    fn a_busy_process_is_found() {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let before = ProcessCensus::take().unwrap();
        let spent = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap();
        let began = spent();
        while spent() - began < Duration::from_millis(100) {
            std::hint::spin_loop();
        }
        let after = ProcessCensus::take().unwrap();
        let name = &after.processes.iter().find(|((id, _), _)| *id == pid).unwrap().1.name;
        let is_listed =
            |ours: &[i32]| after.busiest_since(&before, ours).iter().any(|busy| busy.name == *name);
        assert!(is_listed(&[]));
        assert!(!is_listed(&[pid]));
    }
}
