//! Work of a server per operation by its own counters: rows read, pages requested, temporary tables and sorts.

use crate::CounterChange;

const WORK: [(&str, &str); 26] = [
    ("Created_tmp_disk_tables", "temporary tables on disk"),
    ("Created_tmp_tables", "temporary tables"),
    ("Handler_read_first", "starts at the first entry of an index"),
    ("Handler_read_key", "lookups in indexes"),
    ("Handler_read_last", "starts at the last entry of an index"),
    ("Handler_read_next", "rows read along an index"),
    ("Handler_read_prev", "rows read along an index, backwards"),
    ("Handler_read_rnd", "rows read by position"),
    ("Handler_read_rnd_next", "rows read without an index"),
    ("Handler_tmp_write", "rows written to temporary tables"),
    ("Innodb_buffer_pool_read_requests", "pages read from the cache"),
    ("Innodb_rows_read", "rows read"),
    ("Rocksdb_number_keys_read", "keys read"),
    ("Rocksdb_rows_read", "rows read"),
    ("Select_full_join", "joins without an index"),
    ("Select_scan", "scans of a whole table"),
    ("Sort_merge_passes", "merge passes of sorts"),
    ("Sort_rows", "rows sorted"),
    ("pg_stat_database.temp_bytes", "bytes of temporary files"),
    ("pg_stat_database.temp_files", "temporary files"),
    ("pg_stat_user_tables.idx_scan", "scans of an index"),
    ("pg_stat_user_tables.idx_tup_fetch", "rows read through an index"),
    ("pg_stat_user_tables.seq_scan", "scans of a whole table"),
    ("pg_stat_user_tables.seq_tup_read", "rows read without an index"),
    ("pg_statio_user_tables.heap_blks_hit", "pages of tables read from the cache"),
    ("pg_statio_user_tables.idx_blks_hit", "pages of indexes read from the cache"),
];

/// Rarer work per operation is counted as this: its ratio means little.
const LEAST: f64 = 0.05;

/// Work that changed against the time only shows a different execution. It is named if at most this share of it
/// remains, or existed before.
const LEFT: f64 = 0.1;

/// Counters named that changed like the time, and against it.
const NAMED: [usize; 2] = [2, 1];

/// Work that changed by more than the time per operation, in most slices: first what changed in the direction of the
/// time, each by amount, the largest first.
pub(crate) fn more_than_time(
    counters: &[CounterChange],
    [before, after]: [f64; 2],
) -> Vec<(&'static str, &CounterChange)> {
    let of_time = (after / before).ln();
    if !of_time.is_finite() {
        return Vec::new();
    }
    let ratio = |it: &CounterChange| {
        let [before, after] = [it.changed.before, it.changed.after].map(|value| value.max(LEAST));
        (after / before).ln()
    };
    let tells =
        |it: &CounterChange| ratio(it) * of_time > 0.0 || ratio(it).abs() >= (1.0 / LEFT).ln();
    let words = |it: &CounterChange| WORK.iter().find(|(name, _)| *name == it.name);
    let is_more =
        |it: &CounterChange| it.is_usual && !is_little(it) && ratio(it).abs() > of_time.abs();
    let mut found: Vec<(&str, &CounterChange)> = counters
        .iter()
        .filter(|it| is_more(it) && tells(it))
        .filter_map(|it| Some((words(it)?.1, it)))
        .collect();
    found.sort_by(|(_, one), (_, other)| amount(other).total_cmp(&amount(one)));
    let [alike, other] = [true, false].map(|is_alike| {
        let of_side = found.iter().filter(move |(_, it)| (ratio(it) * of_time > 0.0) == is_alike);
        of_side.copied().collect::<Vec<_>>()
    });
    alike.into_iter().take(NAMED[0]).chain(other.into_iter().take(NAMED[1])).collect()
}

fn amount(it: &CounterChange) -> f64 {
    it.changed.by.value.abs()
}

fn is_little(it: &CounterChange) -> bool {
    amount(it) < LEAST
}

#[cfg(test)]
mod tests {
    use assay_model::Estimate;

    use super::*;
    use crate::QuantityChange;

    fn counter(name: &str, before: f64, after: f64) -> CounterChange {
        let by = Estimate::without_interval(after - before);
        CounterChange {
            name: name.to_owned(),
            changed: QuantityChange { before, after, by },
            is_usual: true,
        }
    }

    fn names(counters: &[CounterChange], time: [f64; 2]) -> Vec<&str> {
        more_than_time(counters, time).into_iter().map(|(_, it)| it.name.as_str()).collect()
    }

    #[test]
    fn work_that_changed_by_more_than_the_time_is_named() {
        let mut counters = [
            counter("Handler_read_next", 60_000.0, 0.0),
            counter("Handler_read_key", 1.0, 1.2),
            counter("Innodb_buffer_pool_read_requests", 300.0, 9_000.0),
            counter("Bytes_sent", 1.0, 900.0),
            counter("Created_tmp_tables", 0.0, 0.01),
        ];
        let found = names(&counters, [100.0, 500.0]);
        assert_eq!(found, ["Innodb_buffer_pool_read_requests", "Handler_read_next"]);
        assert_eq!(names(&counters, [100.0, 5_000.0]), ["Handler_read_next"]);
        counters[0].is_usual = false;
        assert_eq!(names(&counters, [100.0, 5_000.0]), [""; 0]);
        // A third less work makes nothing slower.
        let less = [counter("Innodb_buffer_pool_read_requests", 6.0, 4.0)];
        assert_eq!(names(&less, [54.0, 69.0]), [""; 0]);
        assert_eq!(names(&less, [54.0, 40.0]), ["Innodb_buffer_pool_read_requests"]);
    }
}
