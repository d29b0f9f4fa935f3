//! Kernel counters of a block device.

use crate::file::{add, named, numbers, since};

/// Requests completed, and KiB.
const NAMES: [&str; 4] = ["reads", "read_kb", "writes", "write_kb"];

/// In the order of [`NAMES`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounters([u64; NAMES.len()]);

impl DeviceCounters {
    pub fn since(&self, earlier: &Self) -> Self {
        Self(since(&self.0, &earlier.0))
    }

    pub fn plus(mut self, more: &Self) -> Self {
        add(&mut self.0, &more.0);
        self
    }

    pub fn named(&self) -> impl Iterator<Item = (String, u64)> {
        named("host_device_", NAMES, self.0)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceStatistics {
    pub counters: DeviceCounters,
    /// Reads that the kernel merged before they were sent.
    pub read_merges: u64,
    /// Total time of all reads, milliseconds.
    pub read_ms: u64,
    pub write_merges: u64,
    /// Total time of all writes, milliseconds.
    pub write_ms: u64,
    /// Time in which at least one request was in progress, milliseconds.
    pub busy_ms: u64,
    /// The same time, weighted by the number of requests in progress, milliseconds.
    pub queue_ms: u64,
}

impl DeviceStatistics {
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            counters: self.counters.since(&earlier.counters),
            read_merges: self.read_merges.saturating_sub(earlier.read_merges),
            read_ms: self.read_ms.saturating_sub(earlier.read_ms),
            write_merges: self.write_merges.saturating_sub(earlier.write_merges),
            write_ms: self.write_ms.saturating_sub(earlier.write_ms),
            busy_ms: self.busy_ms.saturating_sub(earlier.busy_ms),
            queue_ms: self.queue_ms.saturating_sub(earlier.queue_ms),
        }
    }
}

/// Parses the file `stat` of a block device. Sectors have 512 bytes whatever the device.
pub(crate) fn parse_device(text: &[u8]) -> Option<DeviceStatistics> {
    let mut fields = numbers(text);
    let mut next = || fields.next().flatten();
    let (reads, read_merges, read_kb, read_ms) = (next()?, next()?, next()? / 2, next()?);
    let (writes, write_merges, write_kb, write_ms) = (next()?, next()?, next()? / 2, next()?);
    let (_in_progress, busy_ms, queue_ms) = (next()?, next()?, next()?);
    Some(DeviceStatistics {
        counters: DeviceCounters([reads, read_kb, writes, write_kb]),
        read_merges,
        read_ms,
        write_merges,
        write_ms,
        busy_ms,
        queue_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_counters_are_in_kib() {
        let statistics = parse_device(b"   10 1 200 3 40 5 600 7 0 8 9 11 12\n").unwrap();
        assert_eq!(statistics.counters, DeviceCounters([10, 100, 40, 300]));
        assert_eq!((statistics.read_merges, statistics.read_ms), (1, 3));
        assert_eq!((statistics.write_merges, statistics.write_ms), (5, 7));
        assert_eq!((statistics.busy_ms, statistics.queue_ms), (8, 9));
        assert_eq!(statistics.since(&statistics), DeviceStatistics::default());
        assert_eq!(parse_device(b"1 2 3"), None);
    }
}
