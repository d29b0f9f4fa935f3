//! The ten steps, and the pace of those with a background rate.

use std::time::Duration;

use assay_model::{
    Class, Definition, IbenchQueries, IbenchQuery, IbenchStep, IbenchTables, Preparation,
    StartFrom, Test, Unit,
};

use crate::steps::{define, group, statementless};

/// Background rates of the query steps, rows per second and client.
const RATES: [u32; 3] = [100, 500, 1000];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IbenchSizes {
    pub tables: IbenchTables,
    /// Rows that each client inserts in l.i0, l.i1 and l.i2: X, Y and Z of the published studies.
    pub rows: [u64; 3],
    /// Duration of each query step on a server that keeps the background rate, seconds.
    pub query_s: u32,
    /// Minimum time for maintenance before the query steps, seconds.
    pub maintain_s: u32,
    pub indexed_at_start: bool,
    pub is_prepared: bool,
    pub transaction_s: Option<u32>,
}

/// The steps in order, without those that would do nothing: l.x and the range queries without secondary indexes, l.x
/// with existing indexes, deletes and all that depends on them with a shared table.
pub fn ibench_steps(sizes: &IbenchSizes) -> Vec<Test> {
    let [first, second, third] = sizes.rows;
    let load = IbenchStep {
        tables: sizes.tables,
        before: Preparation::Nothing,
        rows: first,
        rows_per_commit: 100,
        deletes: false,
        per_second: None,
        queries: None,
        builds_indexes: false,
        transaction_s: sizes.transaction_s,
    };
    let has_indexes = sizes.tables.indexes > 0;
    let deletes = !sizes.tables.is_shared;
    let created = match sizes.indexed_at_start && has_indexes {
        true => Preparation::CreateIndexed,
        false => Preparation::Create,
    };
    let mut steps = vec![(
        "l.i0".to_owned(),
        "inserts rows in the order of the primary key",
        IbenchStep { before: created, ..load },
    )];
    if created == Preparation::Create && has_indexes {
        // An open transaction would keep the table from being altered.
        let step = IbenchStep { rows: 100, builds_indexes: true, transaction_s: None, ..load };
        steps.push(("l.x".to_owned(), "creates the secondary indexes", step));
    }
    let load = IbenchStep { deletes, ..load };
    steps.push((
        "l.i1".to_owned(),
        if deletes {
            "inserts and deletes 50 rows in each transaction"
        } else {
            "inserts 50 rows in each transaction"
        },
        IbenchStep { rows: second, rows_per_commit: 50, ..load },
    ));
    steps.push((
        "l.i2".to_owned(),
        if deletes {
            "inserts and deletes 5 rows in each transaction"
        } else {
            "inserts 5 rows in each transaction"
        },
        IbenchStep { rows: third, rows_per_commit: 5, ..load },
    ));
    steps.extend(query_steps(sizes, load));
    steps.into_iter().map(|(name, does, step)| test(&name, does, step)).collect()
}

/// The servers come to rest before the first of them.
fn query_steps(
    sizes: &IbenchSizes,
    load: IbenchStep,
) -> impl Iterator<Item = (String, &'static str, IbenchStep)> {
    const RANGE: &str =
        "reads ten rows of a secondary index in each query, while rows are inserted and deleted";
    const POINT: &str =
        "reads ten rows by primary key in each query, while rows are inserted and deleted";
    let kinds = [("qr", IbenchQuery::Range, RANGE), ("qp", IbenchQuery::Point, POINT)];
    let kinds: Vec<_> = kinds
        .into_iter()
        .filter(|(_, kind, _)| *kind == IbenchQuery::Point || sizes.tables.indexes > 0)
        .collect();
    let maintained = Preparation::Maintain { least_s: sizes.maintain_s };
    let (query_s, is_prepared) = (sizes.query_s, sizes.is_prepared);
    let steps = RATES.into_iter().flat_map(move |rate| {
        let step = move |(word, kind, does)| {
            let step = IbenchStep {
                rows: u64::from(query_s) * u64::from(rate),
                rows_per_commit: 50,
                per_second: Some(rate),
                queries: Some(IbenchQueries { kind, is_prepared }),
                ..load
            };
            (format!("{word}{rate}"), does, step)
        };
        kinds.clone().into_iter().map(step)
    });
    steps.enumerate().map(move |(number, (name, does, step))| {
        let before = if number == 0 { maintained } else { Preparation::Nothing };
        (name, does, IbenchStep { before, ..step })
    })
}

fn test(name: &str, does: &str, step: IbenchStep) -> Test {
    let (group, unit) = match step.queries.map(|queries| queries.kind) {
        Some(IbenchQuery::Range) => {
            (group(1, "range", "range queries with background writes"), Unit::Query)
        }
        Some(IbenchQuery::Point) => {
            (group(2, "point", "point queries with background writes"), Unit::Query)
        }
        None if step.builds_indexes => (group(0, "load", "load"), Unit::IndexedRow),
        None => (group(0, "load", "load"), Unit::InsertedRow),
    };
    define(Definition {
        unit,
        start_from: StartFrom::Fresh,
        ..statementless(name, does, group, step.into())
    })
}

/// The statements of steps as events of one client, on tables that are loaded before: for counts. Background rates do
/// not matter to these, so there is one test of each kind of query.
pub fn ibench_counted_tests() -> Vec<Test> {
    let tables =
        IbenchTables { is_shared: false, indexes: 3, partitions: None, exceed_cache: false };
    let load = IbenchStep {
        tables,
        before: Preparation::Loaded,
        rows: 0,
        rows_per_commit: 100,
        deletes: false,
        per_second: None,
        queries: None,
        builds_indexes: false,
        transaction_s: None,
    };
    let changes = |rows_per_commit| IbenchStep { rows_per_commit, deletes: true, ..load };
    let reads = |kind| {
        let queries = Some(IbenchQueries { kind, is_prepared: true });
        IbenchStep { queries, ..load }
    };
    let in_order = "inserts 100 rows in the order of the primary key, without secondary indexes";
    let range = "reads ten rows of a secondary index";
    let steps = [
        ("l.i0", in_order, load),
        ("l.i1", "inserts 50 rows and deletes 50 others", changes(50)),
        ("l.i2", "inserts 5 rows and deletes 5 others", changes(5)),
        ("qr", range, reads(IbenchQuery::Range)),
        ("qp", "reads ten rows by primary key", reads(IbenchQuery::Point)),
    ];
    let defined = |(name, does, step): (&str, &str, IbenchStep)| {
        let (group, unit, class) = match step.queries.map(|queries| queries.kind) {
            Some(IbenchQuery::Range) => {
                (group(1, "range", "range queries"), Unit::Query, Class::Read)
            }
            Some(IbenchQuery::Point) => {
                (group(2, "point", "point queries"), Unit::Query, Class::Read)
            }
            None => (group(0, "load", "inserts"), Unit::InsertedRow, Class::Write),
        };
        let definition = statementless(name, does, group, step.into());
        define(Definition { unit, class, start_from: StartFrom::Fresh, ..definition })
    };
    steps.map(defined).into()
}

/// Statements come in bursts, one at the start of each second.
const BURST: Duration = Duration::from_secs(1);

/// The next burst follows at once if a second has taken at least this long.
const ALMOST: Duration = Duration::from_millis(950);

/// Due times of statements at a background rate. Time lost in a slow second is not made up.
#[derive(Debug, Clone)]
pub struct IbenchPace {
    per_second: u64,
    checked: Duration,
}

impl IbenchPace {
    pub fn new(per_second: u64) -> Self {
        Self { per_second: per_second.max(1), checked: Duration::ZERO }
    }

    /// When the wait after statement `number` (from 0), generated at `now`, ends; `None` for no wait. Both times count
    /// from the start of the step.
    pub fn wait_until(&mut self, number: u64, now: Duration) -> Option<Duration> {
        if !number.is_multiple_of(self.per_second) {
            return None;
        }
        let next = self.checked + BURST;
        if now.saturating_sub(self.checked) < ALMOST {
            self.checked = next;
            return Some(next);
        }
        self.checked = now;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: IbenchSizes = IbenchSizes {
        tables: IbenchTables {
            is_shared: false,
            indexes: 3,
            partitions: None,
            exceed_cache: false,
        },
        rows: [10_000, 8000, 2000],
        query_s: 60,
        maintain_s: 5,
        indexed_at_start: false,
        is_prepared: true,
        transaction_s: None,
    };

    fn steps(sizes: &IbenchSizes) -> Vec<(&'static str, IbenchStep)> {
        let step = |test: &Test| (test.name(), *test.ibench().unwrap());
        ibench_steps(sizes).iter().map(step).collect()
    }

    #[test]
    fn all_ten_steps_come_in_the_published_order() {
        let steps = steps(&SIZES);
        let names: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"]
        );
        let statements: Vec<u64> = steps.iter().map(|(_, step)| step.statements()).collect();
        assert_eq!(statements, [100, 1, 160, 400, 120, 120, 600, 600, 1200, 1200]);
        let per_second: Vec<_> =
            steps.iter().filter_map(|(_, step)| step.statements_per_second()).collect();
        assert_eq!(per_second, [2, 2, 10, 10, 20, 20]);
        let maintained =
            steps.iter().filter(|(_, step)| step.before == Preparation::Maintain { least_s: 5 });
        assert_eq!(maintained.map(|(name, _)| *name).collect::<Vec<_>>(), ["qr100"]);
    }

    #[test]
    fn what_cannot_be_done_is_left_out() {
        let none = IbenchTables { indexes: 0, ..SIZES.tables };
        let names = |sizes: &IbenchSizes| -> Vec<&str> {
            steps(sizes).iter().map(|(name, _)| *name).collect()
        };
        let without = names(&IbenchSizes { tables: none, ..SIZES });
        assert_eq!(without, ["l.i0", "l.i1", "l.i2", "qp100", "qp500", "qp1000"]);
        let at_start = IbenchSizes { indexed_at_start: true, ..SIZES };
        assert!(!names(&at_start).contains(&"l.x"));
        let shared = IbenchTables { is_shared: true, ..SIZES.tables };
        let shared = steps(&IbenchSizes { tables: shared, ..SIZES });
        assert!(shared.iter().all(|(_, step)| !step.deletes));
    }

    #[test]
    fn counted_tests_are_on_loaded_tables() {
        let tests = ibench_counted_tests();
        let names: Vec<&str> = tests.iter().map(|test| test.name()).collect();
        assert_eq!(names, ["l.i0", "l.i1", "l.i2", "qr", "qp"]);
        let steps = || tests.iter().map(|test| test.ibench().unwrap());
        assert!(steps().all(|step| step.before == Preparation::Loaded));
        let rows: Vec<u32> = steps().map(|step| step.rows_per_statement()).collect();
        assert_eq!(rows[..3], [100, 50, 5]);
    }

    #[test]
    fn bursts_begin_every_second() {
        let mut pace = IbenchPace::new(2);
        let mut now = Duration::ZERO;
        let mut begun = Vec::new();
        for number in 0..7 {
            begun.push(now.as_millis());
            now += Duration::from_millis(10);
            now = pace.wait_until(number, now).unwrap_or(now);
        }
        assert_eq!(begun, [0, 1000, 1010, 2000, 2010, 3000, 3010]);
    }

    #[test]
    fn a_slow_second_is_not_made_up_for() {
        let mut pace = IbenchPace::new(1);
        let seconds = Duration::from_secs;
        assert_eq!(pace.wait_until(0, Duration::ZERO), Some(seconds(1)));
        assert_eq!(pace.wait_until(1, seconds(4)), None);
        assert_eq!(pace.wait_until(2, seconds(4)), Some(seconds(5)));
    }
}
