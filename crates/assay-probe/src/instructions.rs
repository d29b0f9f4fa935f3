//! Instructions that a server executes outside the kernel, as counted by the processor.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use perf_event::Counter;
use perf_event::events::Event;
use rustix::process::{Resource, getrlimit};

use crate::processor::opened;

pub(crate) const NAME: &str = "server_instructions";

/// File descriptors that counters leave free: a slice can do without counts, but not without files.
const SPARE_FILES: u64 = 128;

/// Counts the instructions of a server's threads. Each thread that exists when counting begins gets a counter. All
/// threads and processes that it starts later inherit the counter: the process of a new connection, a parallel worker,
/// and a thread that begins and ends between two readings. The counter keeps their counts when they have ended.
#[derive(Debug)]
pub(crate) struct ServerInstructions {
    counters: Vec<Counter>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InstructionReading {
    instructions: u64,
    /// How long threads ran, and how long they had a hardware counter.
    ran: Duration,
    counted: Duration,
}

impl InstructionReading {
    /// `None` if the processor did not count all the time: it multiplexes its few counters, and the value would be an
    /// estimate.
    pub(crate) fn since(&self, earlier: &Self) -> Option<u64> {
        let ran = self.ran.saturating_sub(earlier.ran);
        let counted = self.counted.saturating_sub(earlier.counted);
        (ran == counted).then(|| self.instructions.saturating_sub(earlier.instructions))
    }
}

impl ServerInstructions {
    /// `threads` must be all threads of the server. Fails if the kernel does not permit it, or this process may not
    /// open enough files.
    pub(crate) fn open<E: Event + Copy>(threads: &BTreeSet<i32>, event: E) -> io::Result<Self> {
        let open = |thread: &i32| {
            opened(*thread, event, |builder| {
                builder.exclude_kernel(true).inherit(true);
            })
        };
        let counters = threads.iter().filter_map(|thread| open(thread).transpose());
        let counters: Vec<Counter> = counters.collect::<io::Result<_>>()?;
        // A new file has the lowest free number.
        let highest = counters.iter().map(|counter| counter.as_raw_fd().unsigned_abs()).max();
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        if u64::from(highest.unwrap_or_default()) + SPARE_FILES > limit {
            return Err(io::Error::other("too few files may be open"));
        }
        Ok(Self { counters })
    }

    pub(crate) fn read(&mut self) -> io::Result<InstructionReading> {
        let mut sum = InstructionReading::default();
        for counter in &mut self.counters {
            let data = counter.read_full()?;
            sum.instructions = sum.instructions.saturating_add(data.count());
            sum.ran += data.time_enabled().unwrap_or_default();
            sum.counted += data.time_running().unwrap_or_default();
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_for_a_part_of_the_time_is_no_count() {
        let at = |instructions, ran, counted| {
            let [ran, counted] = [ran, counted].map(Duration::from_micros);
            InstructionReading { instructions, ran, counted }
        };
        assert_eq!(at(900, 50, 50).since(&at(400, 20, 20)), Some(500));
        assert_eq!(at(900, 50, 49).since(&at(400, 20, 20)), None);
        // Uncounted time before the first reading does not matter.
        assert_eq!(at(900, 50, 40).since(&at(400, 30, 20)), Some(500));
        assert_eq!(at(900, 50, 40).since(&at(900, 50, 40)), Some(0));
    }
}
