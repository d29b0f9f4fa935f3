//! Threads that run on one CPU only.

use std::thread;

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::Error;

pub(crate) fn on_cpu<T: Send>(
    cpu: usize,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    thread::scope(|scope| {
        let thread = scope.spawn(move || {
            pin(cpu)?;
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub(crate) fn pin(cpu: usize) -> Result<(), Error> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(Error::Pin { cpu, source: Errno::INVAL.into() });
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|source| Error::Pin { cpu, source: source.into() })
}
