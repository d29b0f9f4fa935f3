//! Confines servers to CPUs, and their memory to NUMA nodes.

use std::ffi::{c_int, c_long, c_ulong};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ServerBinding {
    /// If empty, nothing is bound.
    pub cpus: Vec<u32>,
    /// If empty, memory is not bound.
    pub nodes: Vec<u32>,
}

/// Binds the process and all that it starts.
#[expect(unsafe_code, reason = "both can only be asked for between fork and exec")]
pub(super) fn bind(command: &mut Command, binding: &ServerBinding) -> io::Result<()> {
    if binding.cpus.is_empty() {
        return Ok(());
    }
    let mut cpus = CpuSet::new();
    let numbers = binding.cpus.iter().map(|cpu| *cpu as usize);
    numbers.filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| cpus.set(cpu));
    let nodes = node_mask(&binding.nodes);
    let binds_memory = !binding.nodes.is_empty();
    if binds_memory {
        // It changes nothing, and is refused where the other policy would be.
        set_memory_policy(libc::MPOL_DEFAULT, &node_mask(&[])).map_err(|error| {
            io::Error::other(format!(
                "cannot bind the memory of a server to NUMA nodes ({error}): a container needs `CAP_SYS_NICE`; without \
                 `--server-cpus`, nothing is bound"
            ))
        })?;
    }
    let ask = move || -> io::Result<()> {
        sched_setaffinity(None, &cpus)?;
        if binds_memory { set_memory_policy(libc::MPOL_BIND, &nodes) } else { Ok(()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(ask) };
    Ok(())
}

/// As many nodes as the largest kernels know.
const NODES: usize = 1024;

const WORD: usize = c_ulong::BITS as usize;

type NodeMask = [c_ulong; NODES / WORD];

fn node_mask(nodes: &[u32]) -> NodeMask {
    let mut mask = [0; NODES / WORD];
    for node in nodes.iter().map(|node| *node as usize) {
        if let Some(word) = mask.get_mut(node / WORD) {
            *word |= 1 << (node % WORD);
        }
    }
    mask
}

/// Sets the policy of the calling thread, which processes inherit. Neither allocates nor locks.
#[expect(unsafe_code, reason = "no crate wraps this system call")]
fn set_memory_policy(policy: c_int, nodes: &NodeMask) -> io::Result<()> {
    // The kernel subtracts one from the number of bits.
    let (policy, bits) = (c_long::from(policy), NODES + 1);
    // SAFETY: the kernel only reads the mask, which lives until it returns.
    match unsafe { libc::syscall(libc::SYS_set_mempolicy, policy, nodes.as_ptr(), bits) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::*;

    #[test]
    fn a_process_and_what_it_starts_stay_on_their_cpus() {
        let allowed = sched_getaffinity(None).unwrap();
        let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "grep Cpus_allowed_list /proc/self/status; true"]);
        bind(&mut command, &ServerBinding { cpus: vec![last as u32], nodes: Vec::new() }).unwrap();
        let output = command.output().unwrap();
        let expected = format!("Cpus_allowed_list:\t{last}\n");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        // This thread runs where it ran.
        assert_eq!(sched_getaffinity(None).unwrap().count(), allowed.count());
    }

    #[test]
    fn a_node_is_a_bit() {
        assert_eq!(node_mask(&[]), [0; NODES / WORD]);
        let mask = node_mask(&[0, 2, WORD as u32 + 1, NODES as u32]);
        assert_eq!((mask[0], mask[1]), (0b101, 0b10));
        assert!(mask[2..].iter().all(|word| *word == 0));
    }
}
