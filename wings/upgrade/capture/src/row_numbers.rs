//! Finds numbers that a server generates in a transaction and that its later statements use: the values in a log belong
//! to the rows of that day, so the transaction must use those of its own rows.
//!
//! A log does not show where a number comes from. It counts as generated if it is used only after a statement that
//! generates numbers, differs in all transactions and rises from one to the next, and if the column or the density of
//! the numbers fits.

use assay_model::Dialect;

use crate::fingerprints::Fingerprint;
use crate::render::rendered;
use crate::sessions::TransactionShape;
use crate::sql::token::{TokenView, tokens_of};

/// From this number of transactions on, rising numbers are no coincidence.
const MANY: usize = 5;

/// Suffixes of the names of columns with row numbers.
const ENDS: [&str; 8] = ["id", "no", "nr", "num", "number", "key", "ref", "parent"];

/// A group of equal values that a statement generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GeneratedNumber {
    /// Index of the first value of the group.
    pub(crate) group: usize,
    pub(crate) statement: usize,
    /// Index of the column in that statement's result.
    pub(crate) column: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct NumberSource {
    statement: usize,
    table: String,
    /// The columns that it returns; empty if it returns only the number.
    columns: Vec<String>,
}

/// The use of a value in a statement, judging by the preceding text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ValueUse {
    statement: usize,
    table: String,
    column: String,
}

pub(crate) fn generated_numbers(
    shape: &TransactionShape,
    statements: &[(&Fingerprint, usize)],
    dialect: Dialect,
) -> Vec<GeneratedNumber> {
    let sources: Vec<NumberSource> = statements
        .iter()
        .enumerate()
        .filter_map(|(number, (it, _))| source(number, &it.text, dialect))
        .collect();
    if sources.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (position, used) in uses(statements, dialect).into_iter().enumerate() {
        if shape.equal.get(position) != Some(&position) {
            continue;
        }
        let Some(values) = shape.numbers.get(position).and_then(|it| rising(it)) else { continue };
        let before = || sources.iter().rev().filter(|it| it.statement < used.statement);
        let named = before().find(|it| fits(&it.table, &used));
        let is_usual = ENDS.iter().any(|end| used.column.ends_with(end));
        let any = before().next().filter(|_| values.count >= MANY && (is_usual || values.is_dense));
        if let Some(source) = named.or(any) {
            let column = source.columns.iter().position(|it| *it == used.column || it == "id");
            let (statement, column) = (source.statement, column.unwrap_or(0));
            found.push(GeneratedNumber { group: position, statement, column });
        }
    }
    found
}

/// Numbers that all differ and rise.
struct RisingNumbers {
    count: usize,
    /// Few other numbers are between them.
    is_dense: bool,
}

/// Whether numbers, each with its sending order, rise; one in ten may be out of order, because sessions send
/// concurrently.
fn rising(numbers: &[(u64, Option<i64>)]) -> Option<RisingNumbers> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let values: Vec<i64> = sorted.iter().map(|(_, value)| *value).collect::<Option<_>>()?;
    let mut distinct = values.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let falls = values.windows(2).filter(|pair| pair[0] > pair[1]).count();
    let count = values.len();
    let is_rising = count >= 2 && distinct.len() == count && falls * 10 <= count;
    let span = distinct.last()?.checked_sub(*distinct.first()?)?;
    let is_dense = span <= 4 * i64::try_from(count).ok()?;
    is_rising.then_some(RisingNumbers { count, is_dense })
}

/// Whether a value is used as a row number of a table: as its `id`, or in a column named after it.
fn fits(table: &str, used: &ValueUse) -> bool {
    if used.column == "id" {
        return used.table == table;
    }
    let stem = used.column.strip_suffix("id").map(|it| it.trim_end_matches('_'));
    stem.is_some_and(|stem| {
        !stem.is_empty() && (table.ends_with(stem) || table.contains(stem) || stem.ends_with(table))
    })
}

fn source(statement: usize, form: &[u8], dialect: Dialect) -> Option<NumberSource> {
    const FUNCTIONS: [&str; 4] = ["LAST_INSERT_ID", "NEXTVAL", "CURRVAL", "LASTVAL"];
    let tokens = tokens_of(form, dialect);
    let view = TokenView { text: form, tokens: &tokens };
    let source = |table: Option<String>, columns: Vec<String>| {
        Some(NumberSource { statement, table: table.unwrap_or_default(), columns })
    };
    match (view.upper(0).as_str(), dialect) {
        ("INSERT" | "REPLACE", Dialect::MySql) => source(table_after(view, &["INTO"]), Vec::new()),
        ("INSERT", Dialect::Postgres) => source(table_after(view, &["INTO"]), returned(view)?),
        ("SELECT", _) => {
            let is_call =
                view.is_any(1, &FUNCTIONS) || (view.bytes(2) == b"." && view.is_any(3, &FUNCTIONS));
            let has_table = table_after(view, &["FROM"]).is_some();
            if is_call && !has_table { source(None, Vec::new()) } else { None }
        }
        _ => None,
    }
}

fn uses(statements: &[(&Fingerprint, usize)], dialect: Dialect) -> Vec<ValueUse> {
    let mut uses = Vec::new();
    for (statement, (fingerprint, rows)) in statements.iter().enumerate() {
        let tokens = tokens_of(&fingerprint.text, dialect);
        let view = TokenView { text: &fingerprint.text, tokens: &tokens };
        let table = table_after(view, &["INTO", "UPDATE", "FROM"]).unwrap_or_default();
        rendered(&fingerprint.text, *rows, |_, before| {
            let column = column(before.as_bytes(), dialect);
            uses.push(ValueUse { statement, table: table.clone(), column });
            "0".to_owned()
        });
    }
    uses
}

/// The column of a value, judging by the preceding text: one that it is compared with or assigned to, or one of the
/// list of an `INSERT`. Empty if none is found.
fn column(before: &[u8], dialect: Dialect) -> String {
    let tokens = tokens_of(before, dialect);
    let view = TokenView { text: before, tokens: &tokens };
    let end = tokens.len();
    let mut at = end;
    let precedes_values = |at: usize| {
        matches!(view.bytes(at), b"(" | b"=" | b"<" | b">" | b"<=" | b">=" | b",")
            || view.is_any(at, &["IN", "ANY"])
    };
    while at > 0 && precedes_values(at - 1) {
        // In a row of `VALUES`, the position among its values determines the column.
        if matches!(view.bytes(at - 1), b"(" | b",")
            && let Some(column) = inserted_column(view)
        {
            return column;
        }
        at -= 1;
    }
    at.checked_sub(1).filter(|_| at < end).map_or(String::new(), |at| name(view, at))
}

/// In lower case, without quotes.
fn name(view: TokenView<'_>, at: usize) -> String {
    let text = String::from_utf8_lossy(view.bytes(at)).to_ascii_lowercase();
    text.trim_matches(['`', '"']).to_owned()
}

/// The name of the table after the first of these words, without its schema.
fn table_after(view: TokenView<'_>, words: &[&str]) -> Option<String> {
    let mut at = (0..view.tokens.len()).find(|at| view.is_any(*at, words))? + 1;
    while view.bytes(at + 1) == b"." {
        at += 2;
    }
    Some(name(view, at))
}

/// The columns of `RETURNING`.
fn returned(view: TokenView<'_>) -> Option<Vec<String>> {
    let at = (0..view.tokens.len()).rev().find(|at| view.is(*at, "RETURNING"))?;
    let mut columns = Vec::new();
    let mut column = String::new();
    for at in at + 1..view.tokens.len() {
        match view.bytes(at) {
            b"," => columns.push(std::mem::take(&mut column)),
            b"." => {}
            _ => column = name(view, at),
        }
    }
    columns.push(column);
    Some(columns)
}

/// The column of the value after the last token, if the tokens are those of an `INSERT` with a list of columns.
fn inserted_column(view: TokenView<'_>) -> Option<String> {
    let end = view.tokens.len();
    let into = (0..end).find(|at| view.is(*at, "INTO"))?;
    let values = (into..end).find(|at| view.is_any(*at, &["VALUES", "VALUE"]))?;
    let open = (into..values).find(|at| view.bytes(*at) == b"(")?;
    let names = (open + 1..values).filter(|at| !matches!(view.bytes(*at), b"," | b")"));
    let (mut depth, mut place) = (0_u32, 0);
    for at in values + 1..end {
        match view.bytes(at) {
            b"(" => {
                depth += 1;
                place = if depth == 1 { 0 } else { place };
            }
            b")" => depth = depth.saturating_sub(1),
            b"," if depth == 1 => place += 1,
            _ => {}
        }
    }
    let mut names = names.map(|at| name(view, at));
    names.nth(place).filter(|_| depth > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_of_a_value_is_known() {
        for (before, expected) in [
            ("SELECT a FROM t WHERE `Order_ID` = ", "order_id"),
            ("SELECT a FROM t WHERE t.id IN (", "id"),
            ("INSERT INTO item (order_id, `product`) VALUES (", "order_id"),
            ("INSERT INTO item (order_id, product) VALUES (0, ", "product"),
            ("INSERT INTO item (order_id, product) VALUES (0, 0), (", "order_id"),
            ("INSERT INTO item (at, order_id) VALUES (NOW(6), ", "order_id"),
            ("SELECT ", ""),
        ] {
            assert_eq!(column(before.as_bytes(), Dialect::MySql), expected, "{before}");
        }
    }

    #[test]
    fn statements_that_generate_numbers_are_known() {
        let found = |text: &str, dialect| {
            source(0, text.as_bytes(), dialect).map(|it| (it.table, it.columns.join(",")))
        };
        let expected = |table: &str, columns: &str| Some((table.to_owned(), columns.to_owned()));
        use Dialect::{MySql, Postgres};
        assert_eq!(
            found("INSERT INTO shop.`orders` (a) VALUES (1)", MySql),
            expected("orders", "")
        );
        assert_eq!(found("SELECT LAST_INSERT_ID()", MySql), expected("", ""));
        assert_eq!(found("INSERT INTO orders (a) VALUES (1)", Postgres), None);
        assert_eq!(
            found(
                "INSERT INTO \"orders\" (a) VALUES (1) RETURNING \"orders\".\"id\", at",
                Postgres
            ),
            expected("orders", "id,at")
        );
        assert_eq!(found("SELECT nextval('orders_id_seq')", Postgres), expected("", ""));
        assert_eq!(found("SELECT pg_catalog.lastval()", Postgres), expected("", ""));
        assert_eq!(found("SELECT a FROM t", MySql), None);
    }

    #[test]
    fn numbers_rise_in_the_order_in_which_they_were_sent() {
        let rise = |numbers: &[(u64, i64)]| {
            let numbers: Vec<_> = numbers.iter().map(|(at, it)| (*at, Some(*it))).collect();
            rising(&numbers).map(|it| (it.count, it.is_dense))
        };
        assert_eq!(rise(&[(3, 12), (1, 10), (2, 11)]), Some((3, true)));
        assert_eq!(rise(&[(1, 10), (2, 500)]), Some((2, false)));
        assert_eq!(rise(&[(1, 10), (2, 10)]), None);
        assert_eq!(rise(&[(1, 10), (2, 9), (3, 12)]), None);
        assert_eq!(rise(&[(1, 10)]), None);
        assert!(rising(&[(1, Some(1)), (2, None)]).is_none());
    }
}
