//! What the microbenchmarks do, as data: the steps of one event.

use assay_model::{Kind, Microbenchmark, Product};

use crate::rows::{C_GROUPS, PAD_GROUPS};

/// Statements of one kind within an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// Text with `?` for parameters; `sbtest` stands for the table.
    pub(crate) sql: String,
    /// Which table.
    pub(crate) table: Table,
    /// What fills the `?`, in order.
    pub(crate) fill: Vec<Fill>,
    /// How often in a row, on the same table, with fresh parameters.
    pub(crate) times: u32,
    /// Whether it is sent as text even where prepared statements are used.
    pub(crate) text: bool,
}

/// Which table a step works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// None: `BEGIN`, `COMMIT`.
    None,
    /// Drawn uniformly once per event and step.
    Drawn,
    /// That of the step before.
    Same,
    /// Fixed: client number modulo tables, plus 1.
    OfClient,
}

/// One or more parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// This many draws of the test's distribution over the rows, as `id` or as `k`.
    Drawn(u32),
    /// The last draw once more.
    Again,
    /// The last draw plus this.
    Plus(u32),
    /// This many consecutive ids just above the middle of the table.
    Hot(u32),
    /// A fresh string of this many groups of digits.
    Digits(usize),
}

/// A fresh string for the column `c`.
const C: Fill = Fill::Digits(C_GROUPS);
/// A fresh string for the column `pad`.
const PAD: Fill = Fill::Digits(PAD_GROUPS);

impl Step {
    fn new(sql: impl Into<String>, fill: &[Fill]) -> Self {
        Self { sql: sql.into(), table: Table::Drawn, fill: fill.to_vec(), times: 1, text: false }
    }

    fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    fn bare(sql: &str) -> Self {
        Self { table: Table::None, ..Self::new(sql, &[]) }
    }
}

/// Ids in the list of `update-inlist`, whatever its range label says.
pub(crate) const INLIST: u32 = 10;
/// Point selects in every transaction that has any.
pub(crate) const POINTS_PER_TRANSACTION: u32 = 10;
/// What `range-*` adds to the lower end; both ends belong to the range, which is 101 values long.
pub(crate) const RANGE_SPAN: u32 = 100;

/// The steps of one event.
pub(crate) fn steps(product: Product, test: Microbenchmark) -> Vec<Step> {
    let range = test.range;
    match test.kind {
        Kind::PointQuery => vec![point()],
        Kind::RandomPoints => vec![in_list("c", "id", &[Fill::Drawn(range)])],
        Kind::HotPoints => vec![in_list("c", "id", &[Fill::Hot(range)])],
        Kind::PointsCoveredPk => vec![in_list("id", "id", &[Fill::Drawn(range)])],
        Kind::PointsCoveredSi => vec![in_list("k", "k", &[Fill::Drawn(range)])],
        Kind::PointsNotcoveredPk => vec![in_list("id, c", "id", &[Fill::Drawn(range)])],
        Kind::PointsNotcoveredSi => vec![in_list("k, c", "k", &[Fill::Drawn(range)])],
        Kind::RangeCoveredPk => vec![between("id", "id", RANGE_SPAN, "")],
        Kind::RangeCoveredSi => vec![between("k", "k", RANGE_SPAN, "")],
        Kind::RangeNotcoveredPk => vec![between("id, c", "id", RANGE_SPAN, "")],
        Kind::RangeNotcoveredSi => vec![between("k, c", "k", RANGE_SPAN, "")],
        Kind::Scan => vec![scan()],
        Kind::ReadOnlyCount => vec![between("count(c)", "id", below(range), "")],
        Kind::ReadOnly => transaction(reads(ranges(range))),
        Kind::ReadOnlySimple => transaction(reads([simple_range(range)])),
        Kind::ReadOnlySum => transaction(reads([sum_range(range)])),
        Kind::ReadOnlyOrder => transaction(reads([order_range(range)])),
        Kind::ReadOnlyDistinct => transaction(reads([distinct_range(range)])),
        Kind::UpdateInlist => vec![update_inlist()],
        Kind::UpdateIndex => vec![update_index()],
        Kind::UpdateNonindex | Kind::UpdateOne | Kind::UpdateZipf => vec![update_nonindex()],
        Kind::WriteOnly => transaction(writes()),
        Kind::ReadWrite => transaction([reads(ranges(range)), writes()].concat()),
        Kind::Delete => vec![delete()],
        Kind::Insert => vec![insert_as_text(product)],
    }
}

fn transaction(steps: Vec<Step>) -> Vec<Step> {
    [vec![Step::bare("BEGIN")], steps, vec![Step::bare("COMMIT")]].concat()
}

fn reads(ranges: impl IntoIterator<Item = Step>) -> Vec<Step> {
    std::iter::once(point().times(POINTS_PER_TRANSACTION)).chain(ranges).collect()
}

fn ranges(range: u32) -> [Step; 4] {
    [simple_range(range), sum_range(range), order_range(range), distinct_range(range)]
}

fn writes() -> Vec<Step> {
    let insert = Step {
        table: Table::Same,
        ..Step::new(
            "INSERT INTO sbtest (id, k, c, pad) VALUES (?, ?, ?, ?)",
            &[Fill::Again, Fill::Drawn(1), C, PAD],
        )
    };
    vec![update_index(), update_nonindex(), delete(), insert]
}

fn point() -> Step {
    Step::new("SELECT c FROM sbtest WHERE id=?", &[Fill::Drawn(1)])
}

fn in_list(columns: &str, key: &str, fill: &[Fill]) -> Step {
    let count = fill.iter().map(|fill| fill.count()).sum();
    Step::new(format!("SELECT {columns} FROM sbtest WHERE {key} IN ({})", marks(count)), fill)
}

/// The draw and the draw plus `span`, both ends included. May reach past the end of the table.
fn between(columns: &str, key: &str, span: u32, tail: &str) -> Step {
    let sql = format!("SELECT {columns} FROM sbtest WHERE {key} BETWEEN ? AND ?{tail}");
    Step::new(sql, &[Fill::Drawn(1), Fill::Plus(span)])
}

/// The span of a range of exactly `range` values.
fn below(range: u32) -> u32 {
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

fn scan() -> Step {
    Step {
        table: Table::OfClient,
        text: true,
        ..Step::new("SELECT * from sbtest WHERE LENGTH(c) < 0", &[])
    }
}

fn update_inlist() -> Step {
    let sql = format!("UPDATE sbtest SET c=? WHERE id IN ({})", marks(INLIST));
    Step::new(sql, &[C, Fill::Drawn(INLIST)])
}

fn update_index() -> Step {
    Step::new("UPDATE sbtest SET k=k+1 WHERE id=?", &[Fill::Drawn(1)])
}

fn update_nonindex() -> Step {
    Step::new("UPDATE sbtest SET c=? WHERE id=?", &[C, Fill::Drawn(1)])
}

fn delete() -> Step {
    Step::new("DELETE FROM sbtest WHERE id=?", &[Fill::Drawn(1)])
}

/// The server numbers the new row: for MySQL and MariaDB an `id` of 0 asks for that.
fn insert_as_text(product: Product) -> Step {
    let sql = match product {
        Product::MariaDb | Product::MySql => {
            "INSERT INTO sbtest (id, k, c, pad) VALUES (0, ?, ?, ?)"
        }
        Product::Postgres => "INSERT INTO sbtest (k, c, pad) VALUES (?, ?, ?)",
    };
    Step { text: true, ..Step::new(sql, &[Fill::Drawn(1), C, PAD]) }
}

impl Fill {
    /// How many parameters it fills.
    pub(crate) fn count(self) -> u32 {
        match self {
            Self::Drawn(count) | Self::Hot(count) => count,
            Self::Again | Self::Plus(_) | Self::Digits(_) => 1,
        }
    }
}

fn marks(count: u32) -> String {
    vec!["?"; count as usize].join(", ")
}
