//! Whether a server continues to read data from disk, or only reads each page once because it is fresh.

use std::collections::BTreeMap;

use assay_model::{STATUS, Slice};

const READ: &str = "server_read_bytes";

/// InnoDB's pages read, and free pages in its cache.
const PAGES_READ: &str = "Innodb_pages_read";
pub(crate) const PAGES_FREE: &str = "Innodb_buffer_pool_pages_free";

const PAGES_MIN: f64 = 64.0;

/// If a server does not count free pages, an instance that read less may have read each page once.
const BYTES_MIN: f64 = 64.0 * 1024.0 * 1024.0;

/// Reading continues if the later half of an instance's reads is at least this share of the earlier half.
const PERSISTS: f64 = 0.5;

/// Whether most instances of a system continue to read from disk in a cell with these slices. The first read of a page
/// takes a free page of InnoDB's cache; once none is left, or if the server does not keep what it reads, reading takes
/// none.
pub(crate) fn reads_go_on(slices: &[&Slice]) -> bool {
    let mut by_block: BTreeMap<u32, Vec<&Slice>> = BTreeMap::new();
    for slice in slices {
        by_block.entry(slice.block).or_default().push(slice);
    }
    let message: Vec<bool> = by_block
        .into_values()
        .filter_map(|mut slices| {
            slices.sort_by_key(|slice| slice.round);
            of_pages(&slices).or_else(|| of_bytes(&slices))
        })
        .collect();
    let going_on = message.iter().filter(|it| **it).count();
    2 * going_on > message.len()
}

fn of_pages(slices: &[&Slice]) -> Option<bool> {
    let status = |slice: &Slice, name: &str| slice.counter(&format!("{STATUS}{name}"));
    let free = |slice: Option<&&Slice>| Some(status(slice?, PAGES_FREE)? as f64);
    let taken = free(slices.first())? - free(slices.last())?;
    let later = slices.get(1..)?.iter();
    let read = later.map(|slice| status(slice, PAGES_READ)).sum::<Option<u64>>()? as f64;
    Some(read >= PAGES_MIN && taken < PERSISTS * read)
}

fn of_bytes(slices: &[&Slice]) -> Option<bool> {
    let read: Vec<(f64, f64)> = slices
        .iter()
        .map(|slice| Some((slice.counter(READ)? as f64, slice.counted_ops())))
        .collect::<Option<_>>()?;
    let (earlier, later) = read.split_at(read.len() / 2);
    let per_op = |part: &[(f64, f64)]| {
        let (bytes, ops) =
            part.iter().fold((0.0, 0.0), |(bytes, ops), one| (bytes + one.0, ops + one.1));
        bytes / ops
    };
    let bytes: f64 = read.iter().map(|(bytes, _)| bytes).sum();
    Some(bytes >= BYTES_MIN && per_op(later) >= PERSISTS * per_op(earlier))
}

#[cfg(test)]
mod tests {
    use assay_model::{CellId, Setup, TestSet};

    use super::*;

    fn instance(block: u32, read: &[(Option<u64>, u64, u64)]) -> Vec<Slice> {
        let test = assay_workloads::tests_of(TestSet::All)[0];
        let cell = CellId { test, setup: Setup { clients: 1, tables: 1, rows: 1000 } };
        let slice = |(round, &(free, pages, bytes)): (u32, &(Option<u64>, u64, u64))| {
            let mut slice = Slice { block, round, ..Slice::new(0, cell) };
            (slice.work.events, slice.work.read) = (100, 100);
            slice.counters.set(READ, Some(bytes));
            slice.counters.set(&format!("{STATUS}{PAGES_READ}"), Some(pages));
            slice.counters.set(&format!("{STATUS}{PAGES_FREE}"), free);
            slice
        };
        (0..).zip(read).map(slice).collect()
    }

    fn go_on(slices: &[Slice]) -> bool {
        reads_go_on(&slices.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_first_touch_of_pages_takes_free_pages() {
        let fresh = |block| {
            instance(block, &[(Some(7000), 40, 1), (Some(6900), 100, 1), (Some(6810), 90, 1)])
        };
        let all: Vec<Slice> = (0..7).flat_map(fresh).collect();
        assert!(!go_on(&all));
        // Nothing is free, so every page read replaces another one.
        let full = |block| {
            instance(block, &[(Some(1024), 900, 1), (Some(1030), 950, 1), (Some(1020), 940, 1)])
        };
        let all: Vec<Slice> = (0..3).flat_map(full).collect();
        assert!(go_on(&all));
        // One instance of several is no rule, and few pages prove nothing.
        let mixed: Vec<Slice> = full(0).into_iter().chain((1..4).flat_map(fresh)).collect();
        assert!(!go_on(&mixed));
        assert!(!go_on(&instance(0, &[(Some(9), 5, 1), (Some(9), 5, 1)])));
    }

    #[test]
    fn where_nobody_counts_free_pages_much_must_be_read_until_the_end() {
        const MB: u64 = 1024 * 1024;
        let instance = |bytes: [u64; 4]| instance(0, &bytes.map(|bytes| (None, 0, bytes * MB)));
        assert!(go_on(&instance([40, 40, 38, 39])));
        assert!(!go_on(&instance([90, 40, 10, 2])));
        assert!(!go_on(&instance([1, 1, 1, 1])));
        assert!(!go_on(&[]));
    }
}
