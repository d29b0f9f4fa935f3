//! Order of a sequential study on one instance, as in the published harness.

use assay_model::{Class, PlannedCell, StartFrom, Test};
use assay_workloads::{WARMS_LOAD, WARMS_READS, test_by_name};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceStep {
    /// Run an unreported test, so that later tests find their data in memory.
    Warm {
        test: Test,
        clients: u32,
        seconds: u32,
    },
    /// Let the server settle: statistics, dirty pages, compaction or vacuum.
    Maintain {
        seconds: u32,
    },
    Measure(usize),
}

/// The steps that measure `cells`, all of one data set, in their order.
///
/// Warm-ups and maintenance are placed as in the sequence of April 2025, except for tests missing from the cells. The
/// published sequences differ in unreported steps: that of April 2025 also ran `point-query.pre` and
/// `range-notcovered-si.pre` for set 32, and earlier ones had only the warm-up after the load.
pub fn sequence(cells: &[PlannedCell]) -> Vec<SequenceStep> {
    let Some(first) = cells.first() else { return Vec::new() };
    let first_reads = [StartFrom::Fresh, StartFrom::Aged].map(|data| {
        let is_wanted = |test: Test| test.class == Class::Read && test.start_from == data;
        cells.iter().position(|cell| is_wanted(cell.id.test))
    });
    let first_warmed = cells.iter().position(|cell| cell.id.test.planning.warms_itself);
    let last_early_write = cells.iter().rposition(|cell| is_early_write(cell.id.test));

    let read_s = read_seconds(cells);
    let maintain = SequenceStep::Maintain { seconds: maintenance_seconds(first, read_s) };
    let clients = client_counts(cells);
    let (load_warm, warm_clients) = if first.id.test.schema.facts().has_rows_option() {
        // Each client reads one table, so there are as many clients as tables, whatever the setup.
        (test_by_name(WARMS_LOAD), first.id.setup.tables)
    } else {
        // No microbenchmark reads these tables.
        (Some(first.id.test), clients.iter().copied().max().unwrap_or(1))
    };
    let mut steps = warm(load_warm, &[warm_clients], read_s);
    steps.push(maintain);
    for (index, cell) in cells.iter().enumerate() {
        let here = Some(index);
        if first_reads.contains(&here) {
            steps.extend(warm(test_by_name(WARMS_READS), &clients, read_s.min(SCAN_WARM_S)));
        }
        if here == first_warmed {
            steps.extend(warm(Some(cell.id.test), &clients, read_s));
        }
        steps.push(SequenceStep::Measure(index));
        if here == last_early_write {
            steps.push(maintain);
        }
    }
    steps
}

fn warm(test: Option<Test>, clients: &[u32], seconds: u32) -> Vec<SequenceStep> {
    let once = |test| move |&clients| SequenceStep::Warm { test, clients, seconds };
    test.into_iter().flat_map(|test| clients.iter().map(once(test))).collect()
}

const SCAN_WARM_S: u32 = 60;

/// Shortest and longest maintenance, seconds. In between, it takes one second per million rows.
const MAINTENANCE_S: (u64, u64) = (60, 1200);

fn is_early_write(test: Test) -> bool {
    test.class == Class::Write && test.start_from == StartFrom::Fresh
}

/// Duration of a read, seconds; if no read is selected, the duration of the shortest test.
fn read_seconds(cells: &[PlannedCell]) -> u32 {
    let is_read = |cell: &&PlannedCell| cell.id.test.class == Class::Read;
    let read_ms = cells.iter().find(is_read).map(|cell| cell.slice_ms);
    let shortest_ms = cells.iter().map(|cell| cell.slice_ms).min();
    read_ms.or(shortest_ms).unwrap_or_default().div_ceil(1000).max(1)
}

/// The published duration, but no longer than a test: a scaled-down study must not spend its time resting.
fn maintenance_seconds(cell: &PlannedCell, read_s: u32) -> u32 {
    let data = cell.id.setup.data();
    let millions = (u64::from(data.tables) * u64::from(data.rows) + 500_000) / 1_000_000;
    let (base, most) = MAINTENANCE_S;
    (base + millions).min(most).min(u64::from(read_s)) as u32
}

fn client_counts(cells: &[PlannedCell]) -> Vec<u32> {
    let mut counts = Vec::new();
    for cell in cells {
        let count = cell.id.setup.clients;
        if !counts.contains(&count) {
            counts.push(count);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use assay_workloads::tests_of;

    use super::*;
    use assay_model::{CellId, CpuPlacement, Priority, Setup, TestSet};

    fn cells(tests: &[Test], clients: &[u32], setup: (u32, u32)) -> Vec<PlannedCell> {
        let cell = |test: Test, clients| PlannedCell {
            id: CellId { test, setup: Setup { clients, tables: setup.0, rows: setup.1 } },
            warm_ms: 5000,
            warm_us: Some(5_000_000),
            turn_ms: u32::MAX,
            slice_ms: match test.class {
                Class::Write if !test.planning.is_timed_as_published => 1_800_000,
                _ => 600_000,
            },
            events: None,
            placement: CpuPlacement::Free,
            priority: Priority::Normal,
        };
        tests.iter().flat_map(|&t| clients.iter().map(move |&c| cell(t, c))).collect()
    }

    fn message(cells: &[PlannedCell]) -> Vec<String> {
        let tell = |step| match step {
            SequenceStep::Warm { test, clients, seconds } => {
                format!("({test} {clients} {seconds})")
            }
            SequenceStep::Maintain { seconds } => format!("(maintain {seconds})"),
            SequenceStep::Measure(index) => cells[index].id.test.name.clone(),
        };
        sequence(cells).into_iter().map(tell).collect()
    }

    fn position(steps: &[String], step: &str) -> usize {
        steps.iter().position(|other| other == step).unwrap_or_else(|| panic!("no {step}"))
    }

    #[test]
    fn set_32_is_the_sequence_of_april_2025() {
        let steps = message(&cells(&tests_of(TestSet::Set32), &[1], (1, 50_000_000)));
        let expected = "(point-query 1 600), (maintain 110), update-inlist, update-index, \
            update-nonindex, update-one, update-zipf, write-only, read-write_range=10, \
            read-write_range=100, (maintain 110), (scan 1 60), scan, read-only_range=10, \
            read-only_range=100, read-only_range=10000, read-only-simple, read-only-sum, \
            read-only-order, read-only-distinct, read-only-count, point-query, \
            random-points_range=10, random-points_range=100, random-points_range=1000, hot-points, \
            points-covered-pk, points-notcovered-pk, range-covered-pk, range-notcovered-pk, \
            (points-covered-si 1 600), points-covered-si, points-notcovered-si, range-covered-si, \
            range-notcovered-si, delete, insert";
        assert_eq!(steps.join(", "), expected);
    }

    #[test]
    fn set_42_measures_before_and_after_the_writes() {
        let steps = message(&cells(&tests_of(TestSet::Set42), &[12], (8, 10_000_000)));
        let expected = ["(point-query 8 600)", "(maintain 140)", "(scan 12 60)", "point-query.pre"];
        assert_eq!(steps[..4], expected);
        assert_eq!(steps[17..19], ["range-notcovered-si.pre", "update-inlist"]);
        let rest = ["read-write_range=100", "(maintain 140)", "(scan 12 60)", "read-only_range=10"];
        assert_eq!(steps[25..29], rest);
        let warm = position(&steps, "(points-covered-si 12 600)");
        assert_eq!(steps[warm + 1], "points-covered-si");
        assert_eq!(steps[steps.len() - 3..], ["scan", "delete", "insert"]);
        assert_eq!(steps.iter().filter(|step| !step.starts_with('(')).count(), 42);
    }

    #[test]
    fn tables_that_no_microbenchmark_reads_are_warmed_by_their_own_test() {
        let tests = assay_workloads::tpcc_tests(&assay_workloads::TpccOptions::default());
        let name = &tests[0].name;
        let steps = message(&cells(&tests, &[1, 8], (1, 100_000)));
        let expected = format!("({name} 8 1800), (maintain 60), {name}, {name}, (maintain 60)");
        assert_eq!(steps.join(", "), expected);
    }

    #[test]
    fn every_step_but_the_first_runs_at_all_client_counts() {
        let tests = ["read-write_range=10", "points-covered-si", "insert"]
            .map(|name| test_by_name(name).unwrap());
        assert_eq!(
            message(&cells(&tests, &[1, 40], (8, 10_000_000))),
            [
                "(point-query 8 600)",
                "(maintain 140)",
                "read-write_range=10",
                "read-write_range=10",
                "(maintain 140)",
                "(scan 1 60)",
                "(scan 40 60)",
                "(points-covered-si 1 600)",
                "(points-covered-si 40 600)",
                "points-covered-si",
                "points-covered-si",
                "insert",
                "insert",
            ]
        );
    }

    #[test]
    fn unselected_tests_need_no_warm_up() {
        let by_name = |name| test_by_name(name).unwrap();
        let only = |name| message(&cells(&[by_name(name)], &[1], (1, 100_000)));
        assert_eq!(only("insert"), ["(point-query 1 1800)", "(maintain 60)", "insert"]);
        assert_eq!(
            only("update-one"),
            ["(point-query 1 1800)", "(maintain 60)", "update-one", "(maintain 60)"]
        );
        assert!(sequence(&[]).is_empty());
    }

    #[test]
    fn rests_and_warm_ups_shrink_with_the_tests() {
        let mut cells = cells(&tests_of(TestSet::Set42), &[1], (1, 100_000));
        for cell in &mut cells {
            cell.slice_ms = 1500;
        }
        let longest = sequence(&cells).into_iter().map(|step| match step {
            SequenceStep::Warm { seconds, .. } | SequenceStep::Maintain { seconds } => seconds,
            SequenceStep::Measure(_) => 0,
        });
        assert_eq!(longest.max(), Some(2));
    }
}
