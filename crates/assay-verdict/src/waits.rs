//! Classifies waits of threads by stack.

use std::collections::BTreeMap;

use assay_model::CallTree;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    Client,
    Lock,
    /// Data to be safe on disk.
    Flush,
    Disk,
    Cpu,
    /// A timeout.
    Sleep,
    Other,
}

impl Wait {
    pub fn key(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Lock => "lock",
            Self::Flush => "flush",
            Self::Disk => "disk",
            Self::Cpu => "cpu",
            Self::Sleep => "sleep",
            Self::Other => "other",
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Client => "for the client",
            Self::Lock => "for another thread",
            Self::Flush => "for a flush to the disk",
            Self::Disk => "for the disk",
            Self::Cpu => "for a CPU",
            Self::Sleep => "asleep",
            Self::Other => "for something else",
        }
    }
}

/// Functions that identify a wait, the most specific first: the first rule with a function on the stack applies. Names
/// are those of Linux, and of Postgres, whose processes wait for locks and for clients with the same system calls.
const RULES: &[(Wait, &[&str])] = &[
    // A thread interrupted by the kernel was runnable, whatever it was doing.
    (
        Wait::Cpu,
        &[
            "preempt_schedule_irq",
            "preempt_schedule",
            "preempt_schedule_common",
            "__cond_resched",
            "exit_to_user_mode_loop",
            "irqentry_exit_to_user_mode",
            "syscall_exit_to_user_mode",
            "raw_irqentry_exit_cond_resched",
            "do_sched_yield",
        ],
    ),
    (Wait::Lock, &["ProcSleep", "LWLockAcquire", "LWLockAcquireOrWait", "ConditionVariableSleep"]),
    (
        Wait::Flush,
        &[
            "vfs_fsync_range",
            "do_fsync",
            "__x64_sys_fsync",
            "__x64_sys_fdatasync",
            "__arm64_sys_fsync",
            "__arm64_sys_fdatasync",
            "ksys_sync_file_range",
            "jbd2_log_wait_commit",
            "generic_write_sync",
        ],
    ),
    (
        Wait::Disk,
        &[
            "io_schedule",
            "io_schedule_timeout",
            "folio_wait_bit",
            "folio_wait_bit_common",
            "submit_bio_wait",
            "blkdev_direct_IO",
            "iomap_dio_rw",
            "read_events",
            "do_io_getevents",
            "io_cqring_wait",
            "balance_dirty_pages",
        ],
    ),
    (Wait::Lock, &["futex_wait", "__futex_wait", "do_futex", "do_semtimedop", "__do_semtimedop"]),
    (Wait::Sleep, &["hrtimer_nanosleep", "do_nanosleep", "common_nsleep"]),
    (
        Wait::Client,
        &[
            "unix_stream_read_generic",
            "unix_stream_sendmsg",
            "sock_alloc_send_pskb",
            "sk_wait_data",
            "tcp_recvmsg",
            "tcp_sendmsg",
            "do_sys_poll",
            "do_poll",
            "ep_poll",
            "do_select",
            "do_epoll_wait",
        ],
    ),
];

pub(crate) fn waits(tree: &CallTree) -> BTreeMap<Wait, u64> {
    let of_frame: Vec<Option<usize>> = tree.frames.iter().map(|it| rule(&it.function)).collect();
    let mut first: Vec<Option<usize>> = Vec::with_capacity(tree.nodes.len());
    let mut waits = BTreeMap::new();
    for node in &tree.nodes {
        let own = of_frame.get(node.frame as usize).copied().flatten();
        let above = node.caller.and_then(|caller| first.get(caller as usize).copied().flatten());
        let here = [own, above].into_iter().flatten().min();
        first.push(here);
        if node.own > 0 {
            let wait = here.and_then(|rule| RULES.get(rule)).map_or(Wait::Other, |(wait, _)| *wait);
            *waits.entry(wait).or_default() += node.own;
        }
    }
    waits
}

fn rule(function: &str) -> Option<usize> {
    RULES.iter().position(|(_, functions)| functions.contains(&function))
}

#[cfg(test)]
mod tests {
    use assay_model::{CallNode, StackFrame};

    use super::*;

    fn waited(stacks: &[(&[&str], u64)]) -> BTreeMap<Wait, u64> {
        let mut tree = CallTree::default();
        for (stack, ns) in stacks {
            let mut caller = None;
            for function in *stack {
                let frame = StackFrame { function: (*function).to_owned(), module: String::new() };
                tree.frames.push(frame);
                let node = CallNode { caller, frame: tree.frames.len() as u32 - 1, own: 0 };
                caller = Some(tree.nodes.len() as u32);
                tree.nodes.push(node);
            }
            tree.nodes.last_mut().unwrap().own = *ns;
        }
        waits(&tree)
    }

    #[test]
    fn stacks_tell_what_is_waited_for() {
        let found = waited(&[
            (&["do_command", "vio_read", "unix_stream_read_generic", "schedule_timeout"], 1),
            (&["lock_wait_suspend_thread", "do_futex", "futex_wait", "schedule"], 2),
            (&["log_write_up_to", "do_fsync", "ext4_sync_file", "io_schedule"], 4),
            (&["buf_read_page", "io_schedule", "schedule"], 8),
            // Postgres waits for locks and for clients with the same call.
            (&["ProcSleep", "WaitLatch", "do_epoll_wait", "ep_poll"], 16),
            (&["secure_read", "do_epoll_wait", "ep_poll"], 32),
            (&["row_search_mvcc", "exit_to_user_mode_loop", "schedule"], 64),
            (&["log_write_up_to", "do_fsync", "__cond_resched", "schedule"], 256),
            (&["strange"], 128),
        ]);
        let expected = [
            (Wait::Client, 33),
            (Wait::Lock, 18),
            (Wait::Flush, 4),
            (Wait::Disk, 8),
            (Wait::Cpu, 320),
            (Wait::Other, 128),
        ];
        assert_eq!(found, BTreeMap::from(expected));
    }
}
