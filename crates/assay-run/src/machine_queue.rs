//! Queue of those who wait for the machine: first come, first served.
//!
//! A ticket is a shared lock on one byte of the lock file, whose position is the arrival time of its owner. It needs no
//! right to write, leaves nothing behind, and goes with its process, however that ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::time::{ClockId, clock_gettime};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(i64);

impl Ticket {
    /// A ticket for now. The clock is the same in all containers of a machine.
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Boottime);
        // From 1 on, so that there is a position before each.
        Self(now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec).max(1))
    }

    pub fn show(self, file: &File) -> io::Result<()> {
        let lock = range(libc::F_RDLCK, self.0, 1);
        Ok(fcntl(file, FcntlArg::F_OFD_SETLK(&lock)).map(|_| ())?)
    }

    /// Number of earlier owners who wait or measure; `None` if the kernel's list of locks cannot be read.
    pub fn ahead(self, file: &File) -> Option<usize> {
        // Its own place is among them.
        let locks = Some(locks_on(file)).filter(|locks| !locks.is_empty())?;
        let mut positions: Vec<u64> = (locks.into_iter())
            .filter(|it| it.lock_type != procfs::LockType::FLock)
            .map(|it| it.offset_first)
            .filter(|first| i64::try_from(*first).is_ok_and(|it| it < self.0))
            .collect();
        positions.sort_unstable();
        positions.dedup();
        Some(positions.len())
    }

    pub fn is_behind(self, file: &File) -> io::Result<bool> {
        let mut lock = range(libc::F_WRLCK, 0, self.0);
        fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock))?;
        Ok(i32::from(lock.l_type) != libc::F_UNLCK)
    }
}

/// Locks on a file; empty if the kernel's list cannot be read.
pub fn locks_on(file: &File) -> Vec<procfs::Lock> {
    let Ok(found) = file.metadata() else { return Vec::new() };
    let device = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
    let mut locks = procfs::locks().unwrap_or_default();
    locks.retain(|lock| lock.inode == found.ino());
    // Some file systems report another device here than the list does.
    if locks.iter().any(|lock| (lock.devmaj, lock.devmin) == device) {
        locks.retain(|lock| (lock.devmaj, lock.devmin) == device);
    }
    locks
}

fn range(kind: i32, start: i64, length: i64) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: length,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_came_first_is_behind_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        fs_err::write(&path, "").unwrap();
        let open = || fs_err::File::open(&path).unwrap().into_parts().0;
        let files = [open(), open(), open()];
        let tickets = [Ticket::now(), Ticket::now(), Ticket::now()];
        assert!(tickets.is_sorted() && tickets[0] < tickets[1]);
        for index in [1, 0, 2] {
            tickets[index].show(&files[index]).unwrap();
        }
        let behind = |index: usize| tickets[index].is_behind(&files[index]).unwrap();
        assert_eq!([0, 1, 2].map(behind), [false, true, true]);
        assert_eq!([0, 1, 2].map(|it| tickets[it].ahead(&files[it])), [Some(0), Some(1), Some(2)]);
        let [first, second, third] = files;
        drop(first);
        let is_first = |index: usize, file: &File| !tickets[index].is_behind(file).unwrap();
        // A process that another test starts has the file, with its lock, until it executes its program.
        let soon = |is_true: &dyn Fn() -> bool| {
            (0..1000).any(|_| {
                let holds = is_true();
                std::thread::sleep(Duration::from_millis(if holds { 0 } else { 10 }));
                holds
            })
        };
        assert!(soon(&|| is_first(1, &second)) && !is_first(2, &third));
        drop(second);
        assert!(soon(&|| is_first(2, &third)));
    }
}
