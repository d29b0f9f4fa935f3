//! A user namespace of a process's own, in which its user has another name.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, write};
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// User and group `nobody`, which every list of users seen has.
const NOBODY: u32 = 65534;

/// Lets the command run in a user namespace that calls the caller `nobody`. Its files are the caller's outside.
#[expect(unsafe_code, reason = "a namespace can only be entered between fork and exec")]
pub(super) fn enter(command: &mut Command) {
    // Written before the fork: what comes after it may not allocate.
    let users = format!("{NOBODY} {} 1", geteuid().as_raw());
    let groups = format!("{NOBODY} {} 1", getegid().as_raw());
    let enter = move || -> io::Result<()> {
        // SAFETY: the process has one thread and shares no descriptors.
        unsafe { unshare_unsafe(UnshareFlags::NEWUSER)? };
        put(c"/proc/self/setgroups", b"deny")?;
        put(c"/proc/self/uid_map", users.as_bytes())?;
        put(c"/proc/self/gid_map", groups.as_bytes())
    };
    // SAFETY: between fork and exec the closure makes system calls that neither allocate nor lock.
    unsafe { command.pre_exec(enter) };
}

/// Says what it means that a namespace is refused; other errors as they are.
pub(super) fn explained(error: io::Error) -> io::Error {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    match errno {
        Some(Errno::PERM | Errno::NOSPC | Errno::USERS | Errno::INVAL) => {
            io::Error::other(format!(
                "{REFUSED} ({error}): it refuses to run as root, and as a user without an entry in `/etc/passwd`"
            ))
        }
        _ => error,
    }
}

/// Part of the message where namespaces are refused.
pub(crate) const REFUSED: &str = "no user namespace can be made here for the server";

/// Writes a file of the kernel's in one go.
fn put(path: &std::ffi::CStr, content: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write(&file, content)?;
    Ok(())
}
