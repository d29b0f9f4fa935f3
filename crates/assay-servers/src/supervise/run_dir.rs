//! Run directories: private, locked while their supervisor lives, and recorded so that a crash can be cleaned up.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs_err as fs;
use procfs::process::{Process, Stat, all_processes};
use rustix::fs::{Access, Mode, access};
use rustix::process::{Pid, Signal, geteuid, getpid, kill_process, umask};
use serde::{Deserialize, Serialize};

use crate::error::{Result, ServersError};
use crate::supervise::claim::{DirectoryClaim, is_at, remove};

const LOCK: &str = "lock";
const RECORD: &str = "record.json";
/// File with the path of the program that the server's processes execute.
const PROGRAM: &str = "program";

/// A run directory, locked until it is dropped or the process ends.
pub(super) struct RunDir {
    path: PathBuf,
    _lock: fs::File,
}

#[derive(Debug, Serialize, Deserialize)]
struct RunRecord {
    /// Session id of all its processes, which is its own process id.
    session: i32,
    directories: Vec<PathBuf>,
}

impl RunDir {
    pub(super) fn create(root: &Path, name: &str, directories: &[PathBuf]) -> io::Result<Self> {
        // The new directory is not locked yet. While the root is locked, no process takes it for garbage.
        let _root_lock = lock_root(root)?;
        let path = root.join(name);
        create_private(&path, false)?;
        let lock = fs::File::create(path.join(LOCK))?;
        lock.lock()?;
        let session = getpid().as_raw_nonzero().get();
        let record = RunRecord { session, directories: directories.to_vec() };
        fs::write(path.join(RECORD), serde_json::to_vec(&record)?)?;
        Ok(Self { path, _lock: lock })
    }

    /// Records the program of the server's processes, because those of Postgres have separate sessions.
    pub(super) fn note_program(&self, pid: Pid) {
        // A process that has already ended need not be found.
        if let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) {
            let _ = fs::write(self.path.join(PROGRAM), program.as_os_str().as_encoded_bytes());
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates the directory for run directories, or checks that an existing one is private to this user.
pub(crate) fn prepare_root(root: &Path) -> Result<()> {
    create_private(root, true)?;
    if is_own(root) { Ok(()) } else { Err(ServersError::NotPrivate(root.to_owned())) }
}

pub(crate) fn is_own(root: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(root) else { return false };
    // The process may have been root when it created the directory.
    let is_of_root = found.uid() == 0 && access(root, Access::WRITE_OK).is_ok();
    let is_private = found.is_dir() && found.mode() & 0o077 == 0;
    is_private && (found.uid() == geteuid().as_raw() || is_of_root)
}

/// Makes new files of this program and its children writable for their owner only, whatever the umask was.
pub fn narrow_umask() {
    let others_write = Mode::WGRP | Mode::WOTH;
    let before = umask(others_write);
    umask(before | others_write);
}

/// Creates a directory that only this user may enter, whatever the umask is.
pub(crate) fn create_user_data(path: &Path) -> io::Result<()> {
    create_private(path, false)?;
    fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

/// Creates a directory that only this user can enter; with its parents, if `recursive`.
pub(crate) fn create_private(path: &Path, recursive: bool) -> io::Result<()> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
    DirBuilder::new().recursive(recursive).mode(0o700).create(path).map_err(named)
}

/// Removes processes and directories of killed supervisors below `run_root`. Returns the number of supervisors.
pub fn collect_garbage(run_root: &Path) -> Result<usize> {
    prepare_root(run_root)?;
    let _root_lock = lock_root(run_root)?;
    let mut count = 0;
    for entry in fs::read_dir(run_root)? {
        let entry = entry?;
        // Processes of another user may not be visible. That user's assay collects them.
        let is_ours = entry.metadata()?.uid() == geteuid().as_raw();
        if entry.file_type()?.is_dir() && is_ours && is_dead(&entry.path())? {
            count += usize::from(bury(&entry.path())?);
        }
    }
    Ok(count)
}

fn lock_root(root: &Path) -> io::Result<fs::File> {
    let path = root.join(LOCK);
    loop {
        let lock = fs::File::create(&path)?;
        lock.lock()?;
        if is_at(lock.file(), &path)? {
            return Ok(lock);
        }
    }
}

fn is_dead(run_dir: &Path) -> io::Result<bool> {
    let lock = match fs::File::open(run_dir.join(LOCK)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    match lock.try_lock() {
        Ok(()) => Ok(true),
        Err(std::fs::TryLockError::WouldBlock) => Ok(false),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the processes and directories of a supervisor, unless it is alive. It is alive if it still holds a
/// directory, even if the lock of its run directory was removed. Returns whether it was dead.
fn bury(run_dir: &Path) -> io::Result<bool> {
    // Without a complete record, the supervisor was killed before it had anything but its run directory.
    let record = fs::read(run_dir.join(RECORD)).ok();
    let record = record.and_then(|bytes| serde_json::from_slice::<RunRecord>(&bytes).ok());
    if let Some(RunRecord { session, mut directories }) = record {
        let mut claims = Vec::new();
        for directory in directories.iter().filter(|it| it.parent().is_some_and(Path::is_dir)) {
            match DirectoryClaim::try_take(directory)? {
                Some(claim) => claims.push(claim),
                None => return Ok(false),
            }
        }
        directories.push(run_dir.to_owned());
        let program = fs::read(run_dir.join(PROGRAM)).ok();
        kill_orphans(session, program.as_deref(), &directories)?;
        for claim in claims {
            // The rest is removed even if the segment cannot be.
            if let Err(error) = release_segment(claim.directory()) {
                log::warn!(
                    "cannot remove the shared memory of `{}`: {error}",
                    claim.directory().display()
                );
            }
            claim.remove()?;
        }
    }
    remove(run_dir)?;
    Ok(true)
}

/// Kills the processes that belong to a session or execute a program, and whose working directory is in one of the
/// directories. Waits until they are gone. Both conditions are necessary: an id can be reused, and a user may have a
/// shell in the directories.
fn kill_orphans(session: i32, program: Option<&[u8]>, directories: &[PathBuf]) -> io::Result<()> {
    let executes = |process: &Process| {
        let exe = fs::read_link(format!("/proc/{}/exe", process.pid));
        exe.is_ok_and(|exe| program == Some(exe.as_os_str().as_encoded_bytes()))
    };
    let is_orphan = |process: &Process| {
        process.stat().is_ok_and(|stat| stat.state != 'Z' && stat.session == session)
            || executes(process)
    };
    let works_there = |process: &Process| {
        process.cwd().is_ok_and(|cwd| directories.iter().any(|it| cwd.starts_with(it)))
    };
    let is_orphan = |process: &Process| is_orphan(process) && works_there(process);
    let processes = all_processes().map_err(io::Error::other)?.filter_map(Result::ok);
    for process in processes.filter(is_orphan) {
        let Some(pid) = Pid::from_raw(process.pid) else { continue };
        let Ok(pidfd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
        else {
            continue;
        };
        let _ = kill_process(pid, Signal::KILL);
        let mut awaited = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut awaited, None))?;
    }
    Ok(())
}

/// All processes below `ancestor`, nearest first.
pub(super) fn descendants(ancestor: Pid) -> io::Result<Vec<Pid>> {
    let processes = all_processes().map_err(io::Error::other)?.filter_map(Result::ok);
    // Processes that have ended meanwhile are left out.
    let lines: Vec<Stat> = processes.filter_map(|process| process.stat().ok()).collect();
    let mut found = vec![ancestor.as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(lines.iter().filter(|line| line.ppid == parent).map(|line| line.pid));
        next += 1;
    }
    Ok(found.into_iter().skip(1).filter_map(Pid::from_raw).collect())
}

/// Marks the data directory of a running server.
const PID_FILE: &str = "postmaster.pid";

/// Index of the line with the key and the id of the segment, from 0.
const SEGMENT_LINE: usize = 6;

/// Time for a server's processes to notice that the first one was killed.
const LIMIT: Duration = Duration::from_secs(3);

const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MemorySegment {
    key: i32,
    id: i32,
    attached: u32,
    owner: u32,
}

/// Removes the segment of a server whose data directory is in `instance`, once no process uses it any more.
pub(super) fn release_segment(instance: &Path) -> io::Result<()> {
    for file in [instance.join(PID_FILE), instance.join("data").join(PID_FILE)] {
        // Only a killed Postgres leaves one.
        let (Ok(text), Ok(file)) = (fs::read_to_string(&file), fs::symlink_metadata(&file)) else {
            continue;
        };
        let Some((key, id)) = named_in(&text) else { continue };
        let deadline = Instant::now() + LIMIT;
        // Only a segment of the file's owner is removed: the file must not cause the removal of somebody else's.
        let is_it = |it: &MemorySegment| (it.key, it.id, it.owner) == (key, id, file.uid());
        while let Some(segment) = segments()?.into_iter().find(is_it) {
            if segment.attached == 0 {
                remove_segment(id)?;
            } else if Instant::now() > deadline {
                break;
            } else {
                std::thread::sleep(LOOK_EVERY);
            }
        }
    }
    Ok(())
}

fn named_in(pid_file: &str) -> Option<(i32, i32)> {
    let mut words = pid_file.lines().nth(SEGMENT_LINE)?.split_whitespace();
    // The file has the key without a sign, the list with one.
    let key: u32 = words.next()?.parse().ok()?;
    Some((key.cast_signed(), words.next()?.parse().ok()?))
}

fn segments() -> io::Result<Vec<MemorySegment>> {
    let table = match fs::read_to_string("/proc/sysvipc/shm") {
        // The kernel has no System V shared memory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        table => table?,
    };
    Ok(table.lines().skip(1).filter_map(segment).collect())
}

/// Parses a line `key shmid perms size cpid lpid nattch uid ...` without `procfs`, which reads no table with a user
/// above 65535.
fn segment(line: &str) -> Option<MemorySegment> {
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(MemorySegment {
        key: words.first()?.parse().ok()?,
        id: words.get(1)?.parse().ok()?,
        attached: words.get(6)?.parse().ok()?,
        owner: words.get(7)?.parse().ok()?,
    })
}

#[expect(unsafe_code, reason = "no crate wraps this system call")]
fn remove_segment(id: i32) -> io::Result<()> {
    // SAFETY: this operation takes no buffer.
    match unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) } {
        -1 => match io::Error::last_os_error() {
            // Somebody else has already removed it.
            gone if matches!(gone.raw_os_error(), Some(libc::EINVAL | libc::EIDRM)) => Ok(()),
            error => Err(error),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    use super::*;

    fn crashed() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let dead = root.path().join("dead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        (root, dead)
    }

    #[test]
    fn only_orphans_of_the_server_are_killed() {
        let (root, dead) = crashed();
        let data = tempfile::tempdir().unwrap();
        let start = |program: &str, args: &[&str]| {
            let mut command = Command::new(program);
            command.args(args).current_dir(data.path()).stdout(std::process::Stdio::null());
            command.spawn().unwrap()
        };
        let mut orphan = start("setsid", &["sleep", "60"]);
        let mut visitor = start("sleep", &["60"]);
        let orphan_pid = i32::try_from(orphan.id()).unwrap();
        while Process::new(orphan_pid).unwrap().stat().unwrap().session != orphan_pid {
            std::thread::yield_now();
        }
        let record = RunRecord { session: orphan_pid, directories: vec![data.path().to_owned()] };
        fs::write(dead.join(RECORD), serde_json::to_vec(&record).unwrap()).unwrap();
        assert_eq!(collect_garbage(root.path()).unwrap(), 1);
        assert_eq!(orphan.wait().unwrap().signal(), Some(9));
        assert!(visitor.try_wait().unwrap().is_none());
        assert!(!dead.exists() && !data.path().exists());
        visitor.kill().unwrap();
        visitor.wait().unwrap();
    }

    #[test]
    fn half_made_run_directories_are_collected_and_locked_ones_are_not() {
        let (root, dead) = crashed();
        fs::write(dead.join(RECORD), "{\"session\":").unwrap();
        let alive = RunDir::create(root.path(), "alive", &[]).unwrap();
        assert_eq!(collect_garbage(root.path()).unwrap(), 1);
        assert!(alive.path().exists() && !dead.exists());
        drop(alive);
        assert_eq!(collect_garbage(root.path()).unwrap(), 1);
    }

    #[test]
    fn directory_that_others_may_use_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(prepare_root(root.path()), Err(ServersError::NotPrivate(_))));
        let link = root.path().join("link");
        fs::os::unix::fs::symlink("/tmp", &link).unwrap();
        assert!(matches!(prepare_root(&link), Err(ServersError::NotPrivate(_))));
    }

    #[test]
    fn the_segment_of_a_server_is_found() {
        let file = "123\n/d\n1700000000\n5432\n/r\n\n  4294967295    65539\nready   \n";
        assert_eq!(named_in(file), Some((-1, 65539)));
        assert_eq!(named_in("123\n/d\n1700000000\n5432\n"), None);
        let line = "        -1      65539   600                    56    11    11      2  1000  1000  1000  1000 \
                    1700000000 0 1700000000 4096 0";
        assert_eq!(
            segment(line),
            Some(MemorySegment { key: -1, id: 65539, attached: 2, owner: 1000 })
        );
    }
}
