//! Machine-wide lock: two assays that measure at a time would disturb each other.

use std::fs::{File, Permissions, TryLockError};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_model::Hint;
use assay_plan::ServerUrl;
use assay_servers::is_at;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use jiff::Timestamp;
use procfs::process::Process;
use rustix::fs::OFlags;

use crate::advice::HintedError;
use crate::interrupt::Interrupt;
use crate::lock_note::{self, LockNote, WrittenNote};
use crate::machine_queue::{Ticket, locks_on};
use crate::progress::{Progress, print};

/// The same for all users of the machine.
const FILE: &str = "/tmp/assay-measures.lock";

const VARIABLE: &str = "ASSAY_MACHINE_LOCK";

const ATTEMPT_EVERY: Duration = Duration::from_millis(200);

/// How long the first in the queue may leave the machine unused. A waiting assay takes it at its next attempt.
const TURN_LIMIT: Duration = Duration::from_secs(15);

/// Twice the duration of the longest preset except `published`.
const WAIT_LIMIT: Duration = Duration::from_secs(2 * 3600);

/// Held while this assay measures. The kernel releases it, however assay ends.
#[derive(Debug)]
pub struct MachineLock {
    /// Removed before the lock is released.
    _note: Option<WrittenNote>,
    _file: File,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "another assay is measuring on this machine and did not end within {limit_min} min: {holder}"
)]
pub struct MachineBusy {
    limit_min: u64,
    holder: String,
}

impl Hint for MachineBusy {
    fn hints(&self) -> Vec<String> {
        vec![format!(
            "wait for it or end it, then run the same command again; if it is another user's and measures nothing, \
             `{VARIABLE}=FILE` names a lock of your own"
        )]
    }
}

fn lock_file() -> PathBuf {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from).filter(|path| path.is_absolute());
    named.unwrap_or_else(|| PathBuf::from(FILE))
}

impl MachineLock {
    /// Waits until no other assay measures on this machine. `note` is for others who wait.
    pub fn wait(
        progress: &Progress,
        interrupt: &Interrupt,
        note: impl FnOnce() -> LockNote,
    ) -> Result<Self> {
        let message = |holder: &str| {
            let hours = WAIT_LIMIT.as_secs() / 3600;
            progress.begin(&format!(
                "waiting for another assay that is measuring on this machine: {holder}; giving up after {hours} h \
                 (`{VARIABLE}=FILE` names another lock, for a holder that never ends)"
            ));
        };
        let path = lock_file();
        let limits = WaitLimits { whole: WAIT_LIMIT, turn: TURN_LIMIT };
        let lock = Self::wait_for(&path, limits, message, || Ok(interrupt.check()?))?;
        Ok(lock.with_note(&path, &note()))
    }

    pub fn unless_held(note: impl FnOnce() -> LockNote) -> Result<Result<Self, String>> {
        let path = lock_file();
        let mut holder = String::new();
        let message = |it: &str| it.clone_into(&mut holder);
        let limits = WaitLimits { whole: Duration::ZERO, turn: TURN_LIMIT };
        match Self::wait_for(&path, limits, message, || Ok(())) {
            Ok(lock) => Ok(Ok(lock.with_note(&path, &note()))),
            Err(error) if error.is::<MachineBusy>() => Ok(Err(holder)),
            Err(error) => Err(error),
        }
    }

    fn with_note(self, path: &Path, note: &LockNote) -> Self {
        Self { _note: lock_note::write(path, note), ..self }
    }

    fn wait_for(
        path: &Path,
        limits: WaitLimits,
        mut waits_for: impl FnMut(&str),
        check: impl Fn() -> Result<()>,
    ) -> Result<Self> {
        let deadline = Instant::now() + limits.whole;
        let mut last_told = String::new();
        let mut unused_since = None;
        let ticket = Ticket::now();
        let mut file = queued(path, ticket)?;
        loop {
            // A removed file does not keep others out.
            if !is_at(&file, path)? {
                file = queued(path, ticket)?;
            }
            let is_behind = ticket.is_behind(&file).unwrap_or_else(|error| {
                log::debug!("{error}");
                false
            });
            let is_unused = is_behind && is_free(&file);
            unused_since = is_unused.then(|| unused_since.unwrap_or_else(Instant::now));
            // A process that is in the queue and never takes its turn is not assay, or was stopped.
            let is_passed = unused_since.is_some_and(|since| since.elapsed() >= limits.turn);
            let locked = if is_behind && !is_passed {
                Err(TryLockError::WouldBlock)
            } else {
                file.try_lock()
            };
            match locked {
                Ok(()) if is_at(&file, path)? => return Ok(Self { _note: None, _file: file }),
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("cannot lock `{}`", path.display()));
                }
            }
            check()?;
            let holder = if is_unused { first_in_queue(&file, path) } else { holder(&file, path) };
            let holder = holder + &place(ticket, &file);
            if holder != last_told {
                waits_for(&holder);
                last_told.clone_from(&holder);
            }
            if Instant::now() >= deadline {
                return Err(MachineBusy { limit_min: limits.whole.as_secs() / 60, holder }.into());
            }
            std::thread::sleep(ATTEMPT_EVERY);
        }
    }
}

/// Place of a ticket in the queue: `; place 2 in the queue`. Empty if unknown.
fn place(ticket: Ticket, file: &File) -> String {
    let place = ticket.ahead(file).map(|ahead| ahead.max(1));
    place.map_or_else(String::new, |place| format!("; place {place} in the queue"))
}

#[derive(Clone, Copy)]
struct WaitLimits {
    whole: Duration,
    /// For others in the queue, while the lock is free.
    turn: Duration,
}

/// Whether the lock is free, regardless of the queue.
fn is_free(file: &File) -> bool {
    let is_free = file.try_lock_shared().is_ok();
    is_free && file.unlock().is_ok()
}

/// Queues for the lock file. On file systems without such locks, the first process that asks gets it.
fn queued(path: &Path, ticket: Ticket) -> Result<File> {
    let file = open(path)?;
    if let Err(error) = ticket.show(&file) {
        log::debug!("`{}` has no queue: {error}", path.display());
    }
    Ok(file)
}

pub fn warn_if_measuring(what: &str) {
    if let Some(holder) = measuring(&lock_file()) {
        print(&format!(
            "warning: another assay is measuring on this machine ({holder}); {what} and that study will disturb each \
             other"
        ));
    }
}

/// Warns about work on a server, which may run on another machine.
pub fn warn_if_measuring_near(what: &str, url: &ServerUrl) {
    if url.is_local() {
        warn_if_measuring(what);
    }
}

pub fn is_measured() -> bool {
    measuring(&lock_file()).is_some()
}

fn measuring(path: &Path) -> Option<String> {
    let file = open_existing(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(holder(&file, path)),
        _ => None,
    }
}

/// Opens the file, no matter who created it. Locking needs no right to write, and `/tmp` may refuse to open the files
/// of others for creation. Links are not followed, and a pipe does not block.
fn open(path: &Path) -> Result<File> {
    loop {
        match open_existing(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            opened => {
                let file = opened.map_err(|error| unopened(path, &error))?;
                let is_file = file.metadata().is_ok_and(|it| it.is_file());
                return if is_file { Ok(file) } else { Err(unfit(path).into()) };
            }
        }
        let made = fs_err::OpenOptions::new().read(true).write(true).create_new(true).open(path);
        match made {
            Ok(file) => {
                // All users must be able to open it, whatever the umask.
                file.file().set_permissions(Permissions::from_mode(0o644))?;
            }
            // Another assay created the file first.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn unfit(path: &Path) -> HintedError {
    let path = path.display();
    HintedError::new(
        format!("`{path}` is not a regular file that assay can lock"),
        format!(
            "`ls -l {path}` shows its owner; remove it, and assay creates a new one, or name another with `{VARIABLE}`"
        ),
    )
}

fn unopened(path: &Path, error: &std::io::Error) -> HintedError {
    if error.kind() != std::io::ErrorKind::PermissionDenied {
        return unfit(path);
    }
    let path = path.display();
    HintedError::new(
        format!("`{path}` belongs to another user and cannot be read"),
        format!(
            "its owner or root must remove it or make it readable (`chmod a+r {path}`); `{VARIABLE}` names another"
        ),
    )
}

fn open_existing(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = fs_err::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    Ok(file.into_parts().0)
}

/// The holder according to the kernel's list of locks, with its note: `pid 4711 of user alice, running since 14:02
/// (mysql@8.0 against mysql@9.7, since 14:03; its budget ends at 14:13)`.
fn holder(file: &File, path: &Path) -> String {
    let locks = locks_on(file);
    let lock = locks.iter().find(|lock| lock.lock_type == procfs::LockType::FLock);
    described_process(lock.and_then(|lock| lock.pid), path)
}

fn first_in_queue(file: &File, path: &Path) -> String {
    let mut locks = locks_on(file);
    locks.retain(|lock| lock.lock_type != procfs::LockType::FLock);
    let first = locks.iter().min_by_key(|lock| lock.offset_first);
    // The list of all locks has no process for locks of an open file, such as places in the queue.
    let owner = first.and_then(|lock| lock.pid).filter(|pid| *pid > 0);
    let owner = owner.or_else(|| owner_of_place(file, first?.offset_first));
    format!(
        "{}, which keeps a place in the queue without measuring",
        described_process(owner, path)
    )
}

/// The process that has locked a file from this byte on. Only processes of this user can be examined.
fn owner_of_place(file: &File, from: u64) -> Option<i32> {
    let inode = format!(":{} {from} ", file.metadata().ok()?.ino());
    let has_place = |process: &Process| {
        let infos = fs_err::read_dir(format!("/proc/{}/fdinfo", process.pid)).ok();
        infos.into_iter().flatten().flatten().any(|info| {
            let text = fs_err::read_to_string(info.path()).unwrap_or_default();
            text.lines().any(|line| line.starts_with("lock:") && line.contains(&inode))
        })
    };
    let mut all = procfs::process::all_processes().ok()?.filter_map(Result::ok);
    let own = i32::try_from(std::process::id()).ok();
    all.find(|process| Some(process.pid) != own && has_place(process)).map(|process| process.pid)
}

fn described_process(pid: Option<i32>, path: &Path) -> String {
    // Processes of another container have no id here.
    let Some(process) = pid.and_then(|pid| Process::new(pid).ok()) else {
        return "a process that is not visible from here".to_owned();
    };
    let uid = process.uid().ok();
    let note = uid.zip(u32::try_from(process.pid).ok());
    let note = note.and_then(|(uid, pid)| lock_note::read(path, uid, pid));
    let note = note.map_or_else(String::new, |note| format!(" ({note})"));
    let user = uid.map_or_else(|| "unknown".to_owned(), user_name);
    let since = started(&process).map_or_else(String::new, |at| format!(", running since {at}"));
    // Every user who can read the file can lock it.
    let program = process.stat().ok().map(|stat| stat.comm).filter(|name| name != "assay");
    let program = program.map_or_else(String::new, |name| format!(" ({name}, not assay)"));
    format!("pid {} of user {user}{program}{since}{note}", process.pid)
}

fn user_name(uid: u32) -> String {
    let list = fs_err::read_to_string("/etc/passwd").unwrap_or_default();
    let name = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| uid.to_string())
}

fn started(process: &Process) -> Option<String> {
    let ticks = process.stat().ok()?.starttime / procfs::ticks_per_second();
    let seconds = procfs::boot_time_secs().ok()? + ticks;
    let at = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn limits(whole: Duration) -> WaitLimits {
        WaitLimits { whole, turn: TURN_LIMIT }
    }

    fn lock_at(path: &Path, limit: Duration) -> Result<MachineLock> {
        MachineLock::wait_for(path, limits(limit), |_| {}, || Ok(()))
    }

    #[test]
    fn a_place_in_the_queue_that_is_never_used_is_named_and_passed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let bogus = queued(&path, Ticket::now()).unwrap();
        let mut message = Vec::new();
        let patient = WaitLimits { whole: Duration::ZERO, turn: Duration::MAX };
        let tell = |holder: &str| message.push(holder.to_owned());
        let error = MachineLock::wait_for(&path, patient, tell, || Ok(())).unwrap_err();
        assert!(error.to_string().contains("keeps a place in the queue"), "{error}");
        assert_eq!(message.len(), 1);
        let hasty = WaitLimits { whole: Duration::from_secs(600), turn: Duration::ZERO };
        let held = MachineLock::wait_for(&path, hasty, |_| {}, || Ok(())).unwrap();
        assert!(measuring(&path).is_some());
        drop(held);
        // A holder is never passed.
        let held = queued(&path, Ticket::now()).unwrap();
        held.lock().unwrap();
        let hasty = WaitLimits { whole: Duration::ZERO, turn: Duration::ZERO };
        assert!(MachineLock::wait_for(&path, hasty, |_| {}, || Ok(())).is_err());
        drop(bogus);
    }

    #[test]
    fn a_second_lock_names_the_holder_and_times_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert_eq!(measuring(&path), None);
        let held = lock_at(&path, Duration::ZERO).unwrap();
        let mut message = Vec::new();
        let second = MachineLock::wait_for(
            &path,
            limits(Duration::ZERO),
            |holder| message.push(holder.to_owned()),
            || Ok(()),
        );
        let error = second.unwrap_err();
        let us = format!("pid {} of user ", std::process::id());
        assert!(message.len() == 1 && message[0].starts_with(&us), "{message:?}");
        // The program of the test is not named assay.
        assert!(message[0].contains(", not assay)"), "{message:?}");
        assert!(message[0].contains(", running since 20"), "{message:?}");
        assert!(
            matches!(error.downcast_ref(), Some(MachineBusy { holder, .. }) if *holder == message[0])
        );
        assert_eq!(message.remove(0), measuring(&path).unwrap() + "; place 1 in the queue");
        let note = LockNote::now("a against b".to_owned(), Some(60.0));
        let held = held.with_note(&path, &note);
        let holder = measuring(&path).unwrap();
        assert!(holder.contains(" (a against b, since "), "{holder}");
        assert!(holder.contains("; its budget ends at "), "{holder}");
        drop(held);
        assert_eq!(measuring(&path), None);
        lock_at(&path, Duration::ZERO).unwrap();
    }

    const QUEUE: [&str; 3] = ["ASSAY_TEST_QUEUE", "ASSAY_TEST_SERVED", "ASSAY_TEST_NUMBER"];

    #[test]
    fn who_waits_first_is_served_first_and_a_killed_waiter_keeps_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        let [path, served] = ["lock", "served"].map(|name| dir.path().join(name));
        let held = lock_at(&path, Duration::ZERO).unwrap();
        let inode = fs_err::metadata(&path).unwrap().ino();
        let tickets = || {
            let locks = procfs::locks().unwrap().into_iter();
            locks.filter(|it| it.inode == inode && it.lock_type != procfs::LockType::FLock).count()
        };
        let mut waiters: Vec<_> = (1..=5)
            .map(|number: usize| {
                let mut waiter = std::process::Command::new(std::env::current_exe().unwrap());
                waiter.args(["--exact", "--ignored", "machine_lock::tests::one_waits_in_a_queue"]);
                let values = [path.as_os_str(), served.as_os_str(), number.to_string().as_ref()]
                    .map(std::ffi::OsStr::to_owned);
                waiter.envs(QUEUE.into_iter().zip(values)).stdout(std::process::Stdio::null());
                let waiter = waiter.spawn().unwrap();
                // Start the next one once this one is in the queue.
                while tickets() <= number {
                    std::thread::sleep(Duration::from_millis(5));
                }
                waiter
            })
            .collect();
        let mut killed = waiters.remove(1);
        killed.kill().unwrap();
        killed.wait().unwrap();
        drop(held);
        for mut waiter in waiters {
            assert!(waiter.wait().unwrap().success());
        }
        assert_eq!(fs_err::read_to_string(&served).unwrap(), "1 3 4 5 ");
    }

    #[test]
    #[ignore = "a part of the other test"]
    fn one_waits_in_a_queue() {
        use std::io::Write as _;
        let [path, served, number] = QUEUE.map(|name| std::env::var_os(name).unwrap());
        let _held = lock_at(Path::new(&path), Duration::from_secs(3600)).unwrap();
        let mut list = std::fs::OpenOptions::new().create(true).append(true).open(served).unwrap();
        write!(list, "{} ", number.to_str().unwrap()).unwrap();
    }

    #[test]
    fn only_regular_files_are_locked() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        let [link, pipe, folder] = ["link", "pipe", "folder"].map(|name| dir.path().join(name));
        symlink(&target, &link).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o644.into(), 0)
            .unwrap();
        fs_err::create_dir(&folder).unwrap();
        for path in [link, pipe, folder] {
            let error = lock_at(&path, Duration::ZERO).unwrap_err();
            assert!(error.to_string().contains("is not a regular file"), "{error}");
        }
        assert!(!target.exists());
    }

    #[test]
    fn unreadable_and_unsuitable_files_have_different_errors() {
        let path = Path::new("/tmp/lock");
        let error = unopened(path, &std::io::ErrorKind::PermissionDenied.into());
        assert_eq!(error.to_string(), "`/tmp/lock` belongs to another user and cannot be read");
        assert!(error.hints().concat().contains("`chmod a+r /tmp/lock`"));
        let error = unopened(path, &rustix::io::Errno::LOOP.into());
        assert!(error.to_string().contains("is not a regular file"), "{error}");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        fs_err::write(&path, "").unwrap();
        fs_err::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        let error = without_rights(|| lock_at(&path, Duration::ZERO).unwrap_err());
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }

    fn without_rights<T: Send>(act: impl FnOnce() -> T + Send) -> T {
        use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
        // Rights are per thread.
        let act = || {
            let mut sets = capabilities(None).unwrap();
            sets.effective = CapabilitySet::empty();
            set_capabilities(None, sets).unwrap();
            act()
        };
        std::thread::scope(|scope| scope.spawn(act).join().unwrap())
    }

    const INSIDE: &str = "ASSAY_TEST_LOCK";

    #[test]
    fn the_file_can_be_opened_by_all_users() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let mut inside = std::process::Command::new("sh");
        inside.args(["-c", "umask 777 && exec \"$@\"", "sh"]).arg(std::env::current_exe().unwrap());
        inside.args(["--exact", "--ignored", "machine_lock::tests::the_lock_is_held_inside"]);
        assert!(inside.env(INSIDE, &path).status().unwrap().success());
        assert_eq!(fs_err::metadata(&path).unwrap().mode() & 0o777, 0o644);
    }

    #[test]
    #[ignore = "a part of the other test"]
    fn the_lock_is_held_inside() {
        let path = std::env::var_os(INSIDE).unwrap();
        lock_at(Path::new(&path), Duration::ZERO).unwrap();
    }

    #[test]
    fn a_lock_on_a_removed_file_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let old = open(&path).unwrap();
        fs_err::remove_file(&path).unwrap();
        assert!(!is_at(&old, &path).unwrap());
        let new = lock_at(&path, Duration::ZERO).unwrap();
        assert!(is_at(&new._file, &path).unwrap());
    }
}
