//! The user `nobody`: in a user namespace, for servers that refuse to run as root; and for a server on a port that root
//! starts, so that an attacker who controls it is not root.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use fs_err as fs;
use fs_err::os::unix::fs::lchown;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, write};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, UnshareFlags, capabilities,
    configure_capability_in_ambient_set, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid, unshare_unsafe,
};

use crate::error::{Result, ServersError};
use crate::supervise::protocol::NO_NAMESPACE;

pub(super) const NOBODY: u32 = 65534;

/// Makes the command run in a user namespace in which the caller is `nobody`. Outside, its files are the caller's.
#[expect(unsafe_code, reason = "a namespace can only be entered between fork and exec")]
pub(super) fn enter_namespace(command: &mut Command) {
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
    enter_namespace(&mut command);
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
        "{NO_NAMESPACE} ({error}): it refuses to run as root, and as a user without an entry in `/etc/passwd`"
    ))
}

/// Capabilities that `nobody` keeps of root: the cache may be where only root can go, and in a namespace files belong
/// to root too. The last one is for servers on a port, which get no other.
const KEPT_OF_ROOT: [CapabilitySet; 3] =
    [CapabilitySet::DAC_OVERRIDE, CapabilitySet::FOWNER, CapabilitySet::DAC_READ_SEARCH];

/// Prepares this process to start servers that refuse to run as root. If root cannot create a namespace for them, as in
/// many containers, this thread and everything that it starts become `nobody`, with root's access to files as their
/// only capability, so that servers and the processes that observe them have the same user. Returns whether that was
/// necessary. Call it before the threads that work with servers start.
pub fn leave_root_where_needed() -> io::Result<bool> {
    if !geteuid().is_root() || is_available()? {
        return Ok(false);
    }
    set_user()?;
    let had = capabilities(None)?.permitted;
    let kept = KEPT_OF_ROOT.into_iter().filter(|it| had.contains(*it));
    let all = kept.clone().collect();
    set_capabilities(None, CapabilitySets { effective: all, permitted: all, inheritable: all })?;
    for capability in kept {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(true)
}

/// Neither allocates nor locks.
fn set_user() -> io::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    // Otherwise a change of user drops the capabilities, and `access` ignores them.
    set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
    Ok(set_thread_res_uid(user, user, user)?)
}

/// Kernel files need a single write.
fn put(path: &std::ffi::CStr, content: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    write(&file, content)?;
    Ok(())
}

/// The capability that the server keeps: its program, its data and its socket are below directories that only root may
/// enter. It can read everything that root can, but write only its own files.
const KEPT_OF_SERVER: CapabilitySet = CapabilitySet::DAC_READ_SEARCH;

/// The capabilities needed to start such a server, to end it and to remove its files, with their names.
const NEEDED: [(CapabilitySet, &str); 7] = [
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::SETGID, "CAP_SETGID"),
    (CapabilitySet::SETUID, "CAP_SETUID"),
    (CapabilitySet::SETPCAP, "CAP_SETPCAP"),
    (CapabilitySet::KILL, "CAP_KILL"),
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (KEPT_OF_SERVER, "CAP_DAC_READ_SEARCH"),
];

/// Returns whether this process has rights that a server on a port must not have: it is root, or kept root's access to
/// files.
pub(crate) fn is_called_for() -> Result<bool> {
    let had = capabilities(None).map_err(io::Error::from)?.permitted;
    let is_root = geteuid().is_root();
    if !is_root && !had.contains(CapabilitySet::DAC_OVERRIDE) {
        return Ok(false);
    }
    // A process that was root is already `nobody`.
    let needed = NEEDED.iter().filter(|(needed, _)| is_root || *needed == KEPT_OF_SERVER);
    let missing: Vec<_> =
        needed.filter(|(it, _)| !had.contains(*it)).map(|(_, name)| *name).collect();
    if missing.is_empty() {
        Ok(true)
    } else {
        Err(ServersError::CapabilitiesMissing(missing.join(", ")))
    }
}

/// Makes the command run as `nobody`, with no capability but [`KEPT_OF_SERVER`] and no way to gain others.
#[expect(unsafe_code, reason = "the user can only be changed between fork and exec")]
pub(super) fn become_nobody(command: &mut Command) -> io::Result<()> {
    let is_root = geteuid().is_root();
    let kept = capabilities(None)?.permitted & KEPT_OF_SERVER;
    let enter = move || -> io::Result<()> {
        if is_root {
            set_user()?;
        }
        let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: kept };
        set_capabilities(None, sets)?;
        if !kept.is_empty() {
            configure_capability_in_ambient_set(kept, true)?;
        }
        Ok(set_no_new_privs(true)?)
    };
    // SAFETY: between fork and exec the closure makes system calls that neither allocate nor lock.
    unsafe { command.pre_exec(enter) };
    Ok(())
}

/// Makes `nobody` the owner of a directory and of everything in it.
pub(crate) fn hand_over(path: &Path) -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    lchown(path, Some(NOBODY), Some(NOBODY))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            hand_over(&entry?.path())?;
        }
    }
    Ok(())
}
