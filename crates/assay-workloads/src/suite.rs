//! The 47 published microbenchmarks: their definitions, order and sets.

use std::sync::LazyLock;

use assay_model::{
    Class, Definition, Distribution, Fill, Group, Pacing, PlanningFacts, Role, Schema, Script,
    StartFrom, Step, Table, Test, TestSet, Unit,
};

use crate::digest::digest;
use crate::rows::{C_GROUPS, PAD_GROUPS};

/// All 47, in the order of the 42, with the five read-only-<kind> after the read-only that follow the writes.
pub fn all_tests() -> &'static [Test] {
    static ALL: LazyLock<Vec<Test>> = LazyLock::new(|| {
        let definitions = definitions();
        let mut before = ORDER.to_vec();
        before.retain(|(_, place, _)| *place > 0);
        before.sort_by_key(|(_, place, _)| *place);
        let pre = before.iter().map(|(name, ..)| before_writes(named(&definitions, name)));
        let after = ORDER.iter().map(|(name, ..)| named(&definitions, name).clone());
        pre.chain(after).map(define).collect()
    });
    &ALL
}

/// The tests of a set in the order in which they run.
#[must_use]
pub fn tests_of(set: TestSet) -> Vec<Test> {
    let mut tests = all_tests().to_vec();
    if matches!(set, TestSet::Set27 | TestSet::Set42) {
        tests.retain(|test| !test.name.starts_with(SINCE_APRIL_2025));
    }
    if matches!(set, TestSet::Set27 | TestSet::Set32) {
        let place = |test: &Test| ORDER.iter().find(|(name, ..)| test.name == *name);
        tests.retain(|test| place(test).is_some());
        tests.sort_by_key(|test| place(test).map(|(_, _, place)| *place));
    }
    tests
}

/// The test with that published name.
#[must_use]
pub fn test_by_name(name: &str) -> Option<Test> {
    all_tests().iter().find(|test| test.name == name).copied()
}

/// The microbenchmark with a name as published tables have it: `NAME_range=N`, where N is a filler for most tests.
#[must_use]
pub fn published_test(name: &str) -> Option<Test> {
    let base = || name.rsplit_once("_range=").map(|(base, _)| base);
    test_by_name(name).or_else(|| test_by_name(base()?))
}

/// Makes a test of its definition and computes its digest.
#[must_use]
pub fn define(definition: Definition) -> Test {
    let digest = digest(&definition);
    Test::of(Definition { digest, ..definition })
}

/// The test that a sequential study runs, unreported, after a load; [`WARMS_READS`] runs before `read-only` tests.
pub const WARMS_LOAD: &str = "point-query";
/// The test that a sequential study runs, unreported, before the first read on fresh and on aged data.
pub const WARMS_READS: &str = "scan";

/// The tests in the order of sets 42 and 47. The first number is the test's place among those that run before the
/// writes too, as `.pre`, or 0. The second is its place in sets 27 and 32: the sequence run since April 2025 (mytools,
/// June 2026).
const ORDER: [(&str, usize, usize); 32] = [
    ("update-inlist", 0, 1),
    ("update-index", 0, 2),
    ("update-nonindex", 0, 3),
    ("update-one", 0, 4),
    ("update-zipf", 0, 5),
    ("write-only", 0, 6),
    ("read-write_range=10", 0, 7),
    ("read-write_range=100", 0, 8),
    ("read-only_range=10", 5, 10),
    ("read-only_range=100", 6, 11),
    ("read-only_range=10000", 7, 12),
    ("read-only-simple", 0, 13),
    ("read-only-sum", 0, 14),
    ("read-only-order", 0, 15),
    ("read-only-distinct", 0, 16),
    ("read-only-count", 0, 17),
    ("point-query", 1, 18),
    ("random-points_range=10", 2, 19),
    ("random-points_range=100", 3, 20),
    ("random-points_range=1000", 4, 21),
    ("hot-points", 0, 22),
    ("points-covered-pk", 8, 23),
    ("points-notcovered-pk", 9, 24),
    ("points-covered-si", 10, 27),
    ("points-notcovered-si", 11, 28),
    ("range-covered-pk", 12, 25),
    ("range-notcovered-pk", 13, 26),
    ("range-covered-si", 14, 29),
    ("range-notcovered-si", 15, 30),
    ("scan", 0, 9),
    ("delete", 0, 31),
    ("insert", 0, 32),
];

/// Tests whose names begin so are not in sets 27 and 42.
const SINCE_APRIL_2025: &str = "read-only-";

/// Ids in the list of `update-inlist`.
const INLIST: u32 = 10;
/// Point selects in every transaction that has any.
const POINTS_PER_TRANSACTION: u32 = 10;
/// Distance of the ends of a `range-*`. Both belong to the range, which is 101 values long.
const RANGE_SPAN: u32 = 100;
/// Ids or values in the list of `points-*` and `hot-points`.
const POINTS: u32 = 100;
/// The exponent of `update-zipf`.
const ZIPF_EXPONENT: f64 = 0.8;
/// A fresh string for the column `c`.
const C: Fill = Fill::Digits(C_GROUPS);
/// A fresh string for the column `pad`.
const PAD: Fill = Fill::Digits(PAD_GROUPS);

/// The 32 tests that are not `.pre`.
fn definitions() -> Vec<Definition> {
    let mut all = point_reads();
    all.extend(range_reads());
    all.extend(aggregates());
    all.extend(writes());
    all
}

fn point_reads() -> Vec<Definition> {
    let list = |what: &str| format!("select {POINTS} {what}");
    let points = |name: &str, does: String, columns: &str, key: &str| {
        point_read(name, &does, in_list(columns, key, Fill::Drawn(POINTS)))
    };
    let mut covered_si =
        points("points-covered-si", list("values of k, in one list: index only"), "k", "k");
    covered_si.planning.warms_itself = true;
    let random = [10, 100, 1000].map(|range| Definition {
        groups: vec![(TestSet::Set42, point_2()), (TestSet::Set47, point_2())],
        ..point_read(
            &format!("random-points_range={range}"),
            &format!("select {range} random rows by id, in one list"),
            in_list("c", "id", Fill::Drawn(range)),
        )
    });
    let hot = format!("select the same {POINTS} rows by id each time, in one list");
    let mut all = vec![
        point_read("point-query", "select one row by id", point()),
        point_read("hot-points", &hot, in_list("c", "id", Fill::Hot(POINTS))),
        points("points-covered-pk", list("ids, in one list: index only"), "id", "id"),
        points("points-notcovered-pk", list("rows by id, in one list"), "id, c", "id"),
        covered_si,
        points("points-notcovered-si", list("rows by k, in one list"), "k, c", "k"),
    ];
    all.extend(random);
    all
}

fn range_reads() -> Vec<Definition> {
    let span = RANGE_SPAN + 1;
    let range = |name: &str, does: String, columns: &str, key: &str| {
        read(name, &does, range_1(), vec![between(columns, key, RANGE_SPAN, "")])
    };
    let scanned = Step {
        table: Table::OfClient,
        text: true,
        ..step("SELECT * from sbtest WHERE LENGTH(c) < 0", &[])
    };
    let does = "select from a whole table, of which no row is returned";
    let scan = read("scan", does, range_1(), vec![scanned]);
    let index_only = |of: &str| format!("select a range of {span} {of}: index only");
    let rows = |of: &str| format!("select the rows of a range of {span} {of}");
    vec![
        range("range-covered-pk", index_only("ids"), "id", "id"),
        range("range-notcovered-pk", rows("ids"), "id, c", "id"),
        range("range-covered-si", index_only("values of k"), "k", "k"),
        range("range-notcovered-si", rows("values of k"), "k, c", "k"),
        Definition {
            unit: Unit::ThousandRows,
            planning: PlanningFacts { is_long: true, ..scan.planning },
            ..scan
        },
    ]
}

fn aggregates() -> Vec<Definition> {
    let points = format!("transaction: {POINTS_PER_TRANSACTION} × a row by id, then");
    let one_range = |kind: &str, does: &str, range: Step| {
        let does = format!("{points} {does}");
        read(&format!("read-only-{kind}"), &does, range_2(), transaction(reads([range])))
    };
    let long = 1000;
    let counted = between("count(c)", "id", below(long), "");
    let mut all = vec![
        one_range("simple", &format!("the rows of a range of {long} ids"), simple_range(long)),
        one_range("sum", &format!("SUM over a range of {long} ids"), sum_range(long)),
        one_range("order", &format!("a range of {long} ids with ORDER BY"), order_range(long)),
        one_range(
            "distinct",
            &format!("a range of {long} ids with DISTINCT"),
            distinct_range(long),
        ),
        read(
            "read-only-count",
            &format!("select COUNT over a range of {long} ids"),
            range_2(),
            vec![counted],
        ),
    ];
    all.extend([10, 100, 10_000].map(|range| {
        let does = format!("{points} rows, SUM, ORDER BY, DISTINCT of {range} ids each");
        let name = format!("read-only_range={range}");
        let test = read(&name, &does, range_2(), transaction(reads(ranges(range))));
        Definition { planning: PlanningFacts { is_long: range >= 10_000, ..test.planning }, ..test }
    }));
    all
}

fn writes() -> Vec<Definition> {
    let mut one =
        write("update-one", "update c, not indexed, of the same row each time", 1, [update_c()]);
    let mut zipf = write(
        "update-zipf",
        "update c, not indexed, of one row by id, of some far more often",
        1,
        [update_c()],
    );
    for role in &mut one.roles {
        // This is `update-nonindex` with a table size of one.
        role.script.rows = Some(1);
    }
    for role in &mut zipf.roles {
        role.script.draw = Distribution::Zipfian { s: ZIPF_EXPONENT };
    }
    let inlist = Step {
        sql: format!("UPDATE sbtest SET c=? WHERE id IN ({})", marks(INLIST)),
        ..step("", &[C, Fill::Drawn(INLIST)])
    };
    let does = format!("update c, not indexed, of {INLIST} rows by id, in one list");
    let mut write_only = write(
        "write-only",
        "transaction: update k, update c, delete a row, insert it again",
        4,
        transaction(changes()),
    );
    write_only.planning.is_timed_as_published = true;
    let mut all = vec![
        write("update-inlist", &does, INLIST, [inlist]),
        write("update-index", "update k, indexed, of one row by id", 1, [update_k()]),
        write("update-nonindex", "update c, not indexed, of one row by id", 1, [update_c()]),
        one,
        zipf,
        write_only,
        after_all(
            write("delete", "delete one row by id, if it is still there", 1, [delete()]),
            true,
        ),
        after_all(
            write("insert", "insert one row, numbered by the server", 1, [insert_numbered()]),
            false,
        ),
    ];
    all.extend([10, 100].map(|range| {
        let does =
            format!("transaction: the reads of read-only_range={range}, the writes of write-only");
        let steps = transaction([reads(ranges(range)), changes()].concat());
        write(&format!("read-write_range={range}"), &does, 4, steps)
    }));
    all
}

/// The two writes that come last, on aged data. Their rate is not known before, so it is taken to be a plain update's.
fn after_all(definition: Definition, uses_up_rows: bool) -> Definition {
    let planning = PlanningFacts {
        uses_up_rows,
        as_fast_as: Some("update-nonindex".to_owned()),
        ..definition.planning
    };
    Definition { start_from: StartFrom::Aged, planning, ..definition }
}

/// The same test before any write.
fn before_writes(test: &Definition) -> Definition {
    let name = match test.name.split_once("_range=") {
        Some((kind, range)) => format!("{kind}.pre_range={range}"),
        None => format!("{}.pre", test.name),
    };
    let planning = PlanningFacts { warms_itself: false, ..test.planning.clone() };
    Definition { name, start_from: StartFrom::Fresh, planning, ..test.clone() }
}

fn point_read(name: &str, does: &str, step: Step) -> Definition {
    Definition {
        groups: vec![(TestSet::Set42, point_1()), (TestSet::Set47, point_1())],
        ..read(name, does, group(0, "point", "point queries"), vec![step])
    }
}

pub(crate) fn read(name: &str, does: &str, group: Group, steps: Vec<Step>) -> Definition {
    Definition {
        name: name.to_owned(),
        group,
        groups: Vec::new(),
        does: does.to_owned(),
        class: Class::Read,
        start_from: StartFrom::Aged,
        unit: Unit::Query,
        schema: Schema::Sbtest,
        roles: vec![Role {
            script: Script {
                steps,
                draw: Distribution::Uniform,
                rows: None,
                mix: Vec::new(),
                scratch: None,
            },
            clients: None,
            pacing: Pacing::Closed,
        }],
        planning: PlanningFacts::default(),
        digest: String::new(),
    }
}

pub(crate) fn write(
    name: &str,
    does: &str,
    rows_per_event: u32,
    steps: impl IntoIterator<Item = Step>,
) -> Definition {
    Definition {
        class: Class::Write,
        start_from: StartFrom::Fresh,
        planning: PlanningFacts { rows_per_event, ..PlanningFacts::default() },
        ..read(name, does, group(5, "writes", "writes"), steps.into_iter().collect())
    }
}

fn named<'a>(definitions: &'a [Definition], name: &str) -> &'a Definition {
    let found = definitions.iter().find(|definition| definition.name == name);
    #[expect(
        clippy::expect_used,
        reason = "the names above are of the definitions below, as tests show"
    )]
    found.expect("a name in an order has a definition")
}

pub(crate) fn group(rank: u32, word: &str, title: &str) -> Group {
    Group { rank, word: word.to_owned(), title: title.to_owned() }
}

/// Set 42 has random-points apart.
fn point_1() -> Group {
    group(1, "point-1", "point queries, part 1")
}

fn point_2() -> Group {
    group(2, "point-2", "point queries, part 2")
}

fn range_1() -> Group {
    group(3, "range-1", "range queries without aggregation")
}

fn range_2() -> Group {
    group(4, "range-2", "range queries with aggregation")
}

pub(crate) fn step(sql: &str, fill: &[Fill]) -> Step {
    Step {
        sql: sql.to_owned(),
        postgres: None,
        table: Table::Drawn,
        fill: fill.to_vec(),
        times: 1,
        text: false,
    }
}

pub(crate) fn transaction(steps: Vec<Step>) -> Vec<Step> {
    let bare = |sql| Step { table: Table::None, ..step(sql, &[]) };
    [vec![bare("BEGIN")], steps, vec![bare("COMMIT")]].concat()
}

fn reads(ranges: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let points = Step { times: POINTS_PER_TRANSACTION, ..point() };
    std::iter::once(points).chain(ranges).collect()
}

fn ranges(range: u32) -> [Step; 4] {
    [simple_range(range), sum_range(range), order_range(range), distinct_range(range)]
}

fn changes() -> Vec<Step> {
    let [delete, insert] = changes_of_a_row();
    vec![update_k(), update_c(), delete, insert]
}

/// Deletes a row and inserts one with the same `id`.
pub(crate) fn changes_of_a_row() -> [Step; 2] {
    let insert = Step {
        table: Table::Same,
        ..step(
            "INSERT INTO sbtest (id, k, c, pad) VALUES (?, ?, ?, ?)",
            &[Fill::Again, Fill::Drawn(1), C, PAD],
        )
    };
    [delete(), insert]
}

pub(crate) fn point() -> Step {
    step("SELECT c FROM sbtest WHERE id=?", &[Fill::Drawn(1)])
}

fn in_list(columns: &str, key: &str, fill: Fill) -> Step {
    let marks = marks(fill.count());
    step(&format!("SELECT {columns} FROM sbtest WHERE {key} IN ({marks})"), &[fill])
}

/// The draw and the draw plus `span`, both ends included. May reach past the end of the table.
pub(crate) fn between(columns: &str, key: &str, span: u32, tail: &str) -> Step {
    let sql = format!("SELECT {columns} FROM sbtest WHERE {key} BETWEEN ? AND ?{tail}");
    step(&sql, &[Fill::Drawn(1), Fill::Plus(span)])
}

/// The span of a range of exactly `range` values.
pub(crate) fn below(range: u32) -> u32 {
    range.saturating_sub(1)
}

fn simple_range(range: u32) -> Step {
    between("c", "id", below(range), "")
}

fn sum_range(range: u32) -> Step {
    between("SUM(k)", "id", below(range), "")
}

fn order_range(range: u32) -> Step {
    between("c", "id", below(range), " ORDER BY c")
}

fn distinct_range(range: u32) -> Step {
    between("DISTINCT c", "id", below(range), " ORDER BY c")
}

pub(crate) fn update_k() -> Step {
    step("UPDATE sbtest SET k=k+1 WHERE id=?", &[Fill::Drawn(1)])
}

pub(crate) fn update_c() -> Step {
    step("UPDATE sbtest SET c=? WHERE id=?", &[C, Fill::Drawn(1)])
}

pub(crate) fn delete() -> Step {
    step("DELETE FROM sbtest WHERE id=?", &[Fill::Drawn(1)])
}

/// The server numbers the new row. On MySQL and MariaDB an `id` of 0 requests that.
pub(crate) fn insert_numbered() -> Step {
    Step {
        postgres: Some("INSERT INTO sbtest (k, c, pad) VALUES (?, ?, ?)".to_owned()),
        text: true,
        ..step("INSERT INTO sbtest (id, k, c, pad) VALUES (0, ?, ?, ?)", &[Fill::Drawn(1), C, PAD])
    }
}

/// Whether a test lets the server number the rows that it inserts.
#[must_use]
pub fn needs_numbering(test: Test) -> bool {
    let numbered = insert_numbered();
    test.roles.iter().any(|role| role.script.steps.contains(&numbered))
}

/// The client numbers the new row.
pub(crate) fn insert_unused() -> Step {
    let sql = "INSERT INTO sbtest (id, k, c, pad) VALUES (?, ?, ?, ?)";
    Step { text: true, ..step(sql, &[Fill::Unused, Fill::Drawn(1), C, PAD]) }
}

pub(crate) fn marks(count: u32) -> String {
    vec!["?"; count as usize].join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_published_sizes() {
        for set in TestSet::ALL {
            assert_eq!(tests_of(set).len(), set.len());
        }
        assert_eq!(all_tests().len(), 47);
    }

    /// Sizes of published tables: 9/5/8/10 of the 32, 11/6/9/6/10 of the 42.
    #[test]
    fn groups_have_the_published_sizes() {
        let count = |set: TestSet, word: &str| {
            tests_of(set).into_iter().filter(|test| test.group(set).word == word).count()
        };
        let of_32 = ["point", "range-1", "range-2", "writes"].map(|it| count(TestSet::Set32, it));
        assert_eq!(of_32, [9, 5, 8, 10]);
        let words = ["point-1", "point-2", "range-1", "range-2", "writes"];
        assert_eq!(words.map(|it| count(TestSet::Set42, it)), [11, 6, 9, 6, 10]);
    }

    #[test]
    fn names_are_unique_and_found_again() {
        for test in all_tests() {
            assert_eq!(test_by_name(test.name()), Some(*test));
        }
    }

    /// While the work stays what it was, studies of workload version 1 can be resumed. A test that changes is left out
    /// here; the file stays as it is.
    #[test]
    fn tests_are_those_of_version_1() {
        let lines = all_tests().iter().map(|test| format!("{} {}\n", test.name, test.digest));
        assert_eq!(lines.collect::<String>(), include_str!("version_1.digests"));
    }

    /// The statements, the data and the rate change the digest; the names in tables do not.
    #[test]
    fn a_digest_is_of_the_work_alone() {
        let test = test_by_name("update-index").unwrap().definition();
        let with = |change: fn(&mut Definition)| {
            let mut changed = test.clone();
            change(&mut changed);
            digest(&changed)
        };
        assert_eq!(with(|it| it.does.push('!')), test.digest);
        let changes: [fn(&mut Definition); 5] = [
            |it| it.roles[0].script.steps[0].sql.push(' '),
            |it| it.roles[0].script.draw = Distribution::Special,
            |it| it.roles[0].pacing = Pacing::Rate(10.0),
            |it| it.roles[0].clients = Some(2),
            |it| it.roles[0].script.rows = Some(9),
        ];
        let mut digests: Vec<String> = changes.map(with).to_vec();
        digests.push(test.digest.clone());
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), 6);
    }
}
