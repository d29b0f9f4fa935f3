//! Values of options, with sizes filled in.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The engine's cache, MiB.
    pub pool_mb: u64,
    /// The redo log, MiB.
    pub log_mb: u64,
    pub connections: u32,
    /// Threads that remove old row versions; see [`Sizes::purge_threads_of`].
    pub purge_threads: u32,
}

impl Sizes {
    /// Purge threads on a machine with this number of CPUs: half as many, but no more than servers have by default.
    /// Four of them on two CPUs mostly wait for each other.
    #[must_use]
    pub fn purge_threads_of(cpus: u32) -> u32 {
        (cpus / 2).clamp(1, 4)
    }

    /// A size by its name in a value.
    fn of(&self, name: &str) -> Option<u64> {
        // A full memtable of MyRocks is written while the next one fills.
        let memtable = (self.pool_mb / 8).clamp(1, 64);
        Some(match name {
            "pool" => self.pool_mb,
            "log" => self.log_mb,
            "connections" => self.connections.into(),
            "purge-threads" => self.purge_threads.into(),
            "memtable" => memtable,
            // Without the memory of two memtables, because a buffer pool holds changed pages too.
            "block-cache" => self.pool_mb.saturating_sub(2 * memtable).max(1),
            _ => return None,
        })
    }

    /// A size in braces: a name, perhaps with `/N` or `*N/M`.
    fn scaled(&self, size: &str) -> Option<u64> {
        let (product, divisor) = size.split_once('/').unwrap_or((size, "1"));
        let (name, factor) = product.split_once('*').unwrap_or((product, "1"));
        let divisor: u64 = divisor.parse().ok().filter(|it| *it > 0)?;
        Some(self.of(name)?.checked_mul(factor.parse().ok()?)?.div_ceil(divisor))
    }

    /// `None` if a size has an unknown name.
    pub(crate) fn fill(&self, value: &str) -> Option<String> {
        let mut filled = String::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once('{') {
            let (size, after) = after.split_once('}')?;
            filled += before;
            filled += &self.scaled(size)?.to_string();
            rest = after;
        }
        Some(filled + rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_filled_in() {
        let sizes = Sizes { pool_mb: 1024, log_mb: 512, connections: 200, purge_threads: 2 };
        for (value, filled) in [
            ("ON", Some("ON")),
            ("{pool}M", Some("1024M")),
            ("{log/15}M", Some("35M")),
            ("{log*4/3}MB", Some("683MB")),
            ("a={memtable}m;b={connections}", Some("a=64m;b=200")),
            ("{purge-threads}", Some("2")),
            ("{cache}", None),
            ("{log/0}", None),
            ("{log", None),
        ] {
            assert_eq!(sizes.fill(value).as_deref(), filled, "{value}");
        }
    }

    #[test]
    fn rocksdb_caches_share_the_size_of_the_buffer_pool() {
        for (pool_mb, blocks, memtable) in [(1024, 896, 64), (256, 192, 32), (8, 6, 1), (1, 1, 1)] {
            let sizes = Sizes { pool_mb, log_mb: 1, connections: 1, purge_threads: 1 };
            assert_eq!(sizes.of("block-cache"), Some(blocks));
            assert_eq!(sizes.of("memtable"), Some(memtable));
        }
    }
}
