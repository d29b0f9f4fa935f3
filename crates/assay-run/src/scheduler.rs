//! Facts about this process from schedulers, of jobs and of the kernel.

use assay_model::{RealtimeAccess, ShardRun};

pub fn here(shard: ShardRun) -> ShardRun {
    ShardRun { attempt: attempt(), node: node(), ..shard }
}

pub fn realtime_access() -> RealtimeAccess {
    assay_doctor::realtime_access(std::env::var_os("SLURM_JOB_ID").is_some())
}

/// Name of this machine: the scheduler's, which may run several nodes on a machine, else the host name.
fn node() -> String {
    let own = || fs_err::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    short(&std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| own()))
}

/// Job, task and restart; empty without a scheduler.
fn attempt() -> String {
    let variable = |name| std::env::var(name).ok();
    let job = variable("SLURM_ARRAY_JOB_ID").or_else(|| variable("SLURM_JOB_ID"));
    let Some(job) = job else { return String::new() };
    let task = variable("SLURM_ARRAY_TASK_ID").map_or_else(String::new, |task| format!("_{task}"));
    let restart = variable("SLURM_RESTART_COUNT").unwrap_or_else(|| "0".to_owned());
    short(&format!("{job}{task}.{restart}"))
}

fn short(text: &str) -> String {
    text.trim()
        .chars()
        .filter(|it| !it.is_control())
        .take(assay_model::limits::NAME_BYTES / 4)
        .collect()
}
