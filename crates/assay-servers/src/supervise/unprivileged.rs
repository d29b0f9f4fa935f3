//! Runs a server on a port that root starts as `nobody`, so that an attacker who controls it is not root.

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

/// The capability that the server keeps: its program, its data and its socket are below directories that only root may
/// enter. It can read everything that root can, but write only its own files.
const KEPT: CapabilitySet = CapabilitySet::DAC_READ_SEARCH;

/// The capabilities needed to start such a server, to end it and to remove its files, with their names.
const NEEDED: [(CapabilitySet, &str); 7] = [
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::SETGID, "CAP_SETGID"),
    (CapabilitySet::SETUID, "CAP_SETUID"),
    (CapabilitySet::SETPCAP, "CAP_SETPCAP"),
    (CapabilitySet::KILL, "CAP_KILL"),
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (KEPT, "CAP_DAC_READ_SEARCH"),
];

/// Returns whether this process has rights that a server on a port must not have: it is root, or kept root's access to
/// files.
pub(crate) fn is_called_for() -> Result<bool, Error> {
    let had = capabilities(None).map_err(io::Error::from)?.permitted;
    let is_root = geteuid().is_root();
    if !is_root && !had.contains(CapabilitySet::DAC_OVERRIDE) {
        return Ok(false);
    }
    // A process that was root is already `nobody`.
    let needed = NEEDED.iter().filter(|(needed, _)| is_root || *needed == KEPT);
    let missing: Vec<_> =
        needed.filter(|(it, _)| !had.contains(*it)).map(|(_, name)| *name).collect();
    if missing.is_empty() { Ok(true) } else { Err(Error::CapabilitiesMissing(missing.join(", "))) }
}

/// Makes the command run as `nobody`, with no capability but [`KEPT`] and no way to gain others.
#[expect(unsafe_code, reason = "the user can only be changed between fork and exec")]
pub(super) fn enter(command: &mut Command) -> io::Result<()> {
    let is_root = geteuid().is_root();
    let kept = capabilities(None)?.permitted & KEPT;
    let enter = move || -> io::Result<()> {
        if is_root {
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            set_thread_groups(&[])?;
            set_thread_res_gid(group, group, group)?;
            // Otherwise the change of user drops the capabilities, and `access` ignores them.
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
