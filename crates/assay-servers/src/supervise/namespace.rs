//! Being `nobody` for servers that refuse to run as root: in a user namespace of the server's own, else altogether.

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

/// User and group `nobody`, which every list of users seen has.
pub(super) const NOBODY: u32 = 65534;

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

/// Whether a namespace can be made here.
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

/// Whether an error means that no namespace can be made here.
fn is_refused(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::PERM | Errno::NOSPC | Errno::USERS | Errno::INVAL))
}

/// Says what it means that a namespace is refused; other errors as they are.
pub(super) fn explained(error: io::Error) -> io::Error {
    if !is_refused(&error) {
        return error;
    }
    io::Error::other(format!(
        "{REFUSED} ({error}): it refuses to run as root, and as a user without an entry in `/etc/passwd`"
    ))
}

/// What `nobody` keeps of root: the cache may lie where only root can go, and in a namespace files are root's, too.
/// The last is for servers on a port, which get nothing but that.
const KEPT: [CapabilitySet; 3] =
    [CapabilitySet::DAC_OVERRIDE, CapabilitySet::FOWNER, CapabilitySet::DAC_READ_SEARCH];

/// For a program that is to start servers which refuse to run as root: where root can make no namespace for them, as
/// in many containers, this thread and all that it starts from now on are `nobody`, with root's access to files and
/// nothing else of root. So servers and those who watch them are of one user. Gives whether that was needed.
///
/// To be called before the threads start that have to do with servers.
///
/// # Errors
/// When root may not become another user either.
pub fn leave_root_where_needed() -> io::Result<bool> {
    if !geteuid().is_root() || is_available()? {
        return Ok(false);
    }
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    // Else a change of user takes the capabilities, and `access` looks without them.
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

/// Part of the message where namespaces are refused.
pub(crate) const REFUSED: &str = "no user namespace can be made here for the server";

/// Writes a file of the kernel's in one go.
fn put(path: &std::ffi::CStr, content: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write(&file, content)?;
    Ok(())
}
