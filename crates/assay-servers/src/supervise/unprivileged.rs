//! A server on a port, started by root, is `nobody`: whoever gets into it is not root.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use fs_err as fs;
use fs_err::os::unix::fs::lchown;
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    configure_capability_in_ambient_set, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::namespace::NOBODY;
use crate::error::Error;

/// What the server keeps of root: its program, its data and its socket lie below directories that only root enters.
/// With this it reads what root reads; it writes only what is its own.
const KEPT: CapabilitySet = CapabilitySet::DAC_READ_SEARCH;

/// What it takes to start one, to end it and to remove its files, and what each is called.
const NEEDED: [(CapabilitySet, &str); 7] = [
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::SETGID, "CAP_SETGID"),
    (CapabilitySet::SETUID, "CAP_SETUID"),
    (CapabilitySet::SETPCAP, "CAP_SETPCAP"),
    (CapabilitySet::KILL, "CAP_KILL"),
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (KEPT, "CAP_DAC_READ_SEARCH"),
];

/// Whether this process may do what a server on a port must not: it is root, or was and kept root's way with files.
pub(crate) fn is_called_for() -> Result<bool, Error> {
    let had = capabilities(None).map_err(io::Error::from)?.permitted;
    let is_root = geteuid().is_root();
    if !is_root && !had.contains(CapabilitySet::DAC_OVERRIDE) {
        return Ok(false);
    }
    // One that was root is the other user already.
    let needed = NEEDED.iter().filter(|(needed, _)| is_root || *needed == KEPT);
    let missing: Vec<_> =
        needed.filter(|(it, _)| !had.contains(*it)).map(|(_, name)| *name).collect();
    if missing.is_empty() { Ok(true) } else { Err(Error::CapabilitiesMissing(missing.join(", "))) }
}

/// Lets the command run as `nobody`, with no capability but [`KEPT`] and no way to more.
#[expect(unsafe_code, reason = "the user can only be changed between fork and exec")]
pub(super) fn enter(command: &mut Command) -> io::Result<()> {
    let is_root = geteuid().is_root();
    let kept = capabilities(None)?.permitted & KEPT;
    let enter = move || -> io::Result<()> {
        if is_root {
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            set_thread_groups(&[])?;
            set_thread_res_gid(group, group, group)?;
            // Else the change of user takes the capabilities, and `access` looks without them.
            set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
            set_thread_res_uid(user, user, user)?;
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

/// Makes a directory and all that is in it the server's own.
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
