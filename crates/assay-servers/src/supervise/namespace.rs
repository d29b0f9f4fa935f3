//! The user `nobody`, for servers that refuse to run as root: in a user namespace of the server, or for assay itself.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, write};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, UnshareFlags, capabilities,
    configure_capability_in_ambient_set, set_capabilities, set_capabilities_secure_bits,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid, unshare_unsafe,
};

pub(super) const NOBODY: u32 = 65534;

/// Makes the command run in a user namespace in which the caller is `nobody`. Outside, its files are the caller's.
#[expect(unsafe_code, reason = "a namespace can only be entered between fork and exec")]
pub(super) fn enter(command: &mut Command) {
    // Formatted before the fork, after which nothing may allocate.
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

fn is_available() -> io::Result<bool> {
    let mut command = Command::new("true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    enter(&mut command);
    match command.status() {
        Ok(_) => Ok(true),
        Err(error) if is_refused(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether an error means that no namespace can be created here.
fn is_refused(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::PERM | Errno::NOSPC | Errno::USERS | Errno::INVAL))
}

/// Explains the error of a refused namespace. Returns other errors unchanged.
pub(super) fn explained(error: io::Error) -> io::Error {
    if !is_refused(&error) {
        return error;
    }
    io::Error::other(format!(
        "{REFUSED} ({error}): it refuses to run as root, and as a user without an entry in `/etc/passwd`"
    ))
}

/// Capabilities that `nobody` keeps of root: the cache may be where only root can go, and in a namespace files belong
/// to root too. The last one is for servers on a port, which get no other.
const KEPT: [CapabilitySet; 3] =
    [CapabilitySet::DAC_OVERRIDE, CapabilitySet::FOWNER, CapabilitySet::DAC_READ_SEARCH];

/// Prepares this process to start servers that refuse to run as root. If root cannot create a namespace for them, as in
/// many containers, this thread and everything that it starts become `nobody`, with root's access to files as their
/// only capability, so that servers and the processes that observe them have the same user. Returns whether that was
/// necessary. Call it before the threads that work with servers start.
pub fn leave_root_where_needed() -> io::Result<bool> {
    if !geteuid().is_root() || is_available()? {
        return Ok(false);
    }
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    // Otherwise a change of user drops the capabilities, and `access` ignores them.
    set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
    set_thread_res_uid(user, user, user)?;
    let had = capabilities(None)?.permitted;
    let kept = KEPT.into_iter().filter(|it| had.contains(*it));
    let all = kept.clone().collect();
    set_capabilities(None, CapabilitySets { effective: all, permitted: all, inheritable: all })?;
    for capability in kept {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(true)
}

pub(crate) const REFUSED: &str = "cannot create a user namespace for the server";

/// Kernel files need a single write.
fn put(path: &std::ffi::CStr, content: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write(&file, content)?;
    Ok(())
}
