//! Scheduling priority of servers and clients during measurement, and access to real-time priority.

use crate::words;

words! {
    /// How the kernel schedules servers and clients while turns are measured.
    pub enum Priority (default: Normal) {
        /// Before all ordinary processes, which keep one CPU (`SCHED_RR`).
        Realtime = "realtime",
        /// Like any other process.
        Normal = "normal",
    }
}

words! {
    /// Whether this user may run threads at real-time priority, or else what limits them.
    pub enum RealtimeAccess {
        /// They may.
        Permitted = "permitted",
        /// The limit `RLIMIT_RTPRIO` of the session.
        Limit = "limit",
        /// The same limit, set by the unit of a system service.
        Service = "service",
        /// The same limit, set by the node's daemon of Slurm.
        Slurm = "slurm",
        /// A container without the capability.
        Container = "container",
        /// A control group to which the kernel grants no real-time share.
        ControlGroup = "control-group",
    }
}

impl RealtimeAccess {
    /// The configuration line that grants it here; `None` if it is permitted.
    pub fn grant(self) -> Option<&'static str> {
        Some(match self {
            Self::Permitted => return None,
            Self::Limit => "`sudo prlimit --pid $$ --rtprio=2` permits it in this shell",
            Self::Service => "`LimitRTPRIO=2` in the `[Service]` section of its unit permits it",
            Self::Slurm => {
                "`LimitRTPRIO=2` in the `[Service]` section of slurmd.service permits it on a node"
            }
            Self::Container => {
                "`docker run --cap-add SYS_NICE` or `--ulimit rtprio=2` permits it in a container"
            }
            Self::ControlGroup => {
                "a share in `cpu.rt_runtime_us` of this control group permits it, such as 900000"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Words as _;

    #[test]
    fn whatever_forbids_it_has_a_line_that_permits_it() {
        for (access, ..) in RealtimeAccess::WORDS {
            let is_permitted = *access == RealtimeAccess::Permitted;
            assert_eq!(access.grant().is_none(), is_permitted, "{access:?}");
        }
    }
}
