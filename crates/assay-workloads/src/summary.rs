//! What a microbenchmark does, in one line for people, and its statements.

use assay_model::{Kind, Microbenchmark, Product};

use crate::step::{INLIST, POINTS_PER_TRANSACTION, RANGE_SPAN, steps};

/// What one event does, in a line.
#[must_use]
pub fn summary(test: Microbenchmark) -> String {
    let range = test.range;
    let span = RANGE_SPAN + 1;
    let points = format!("transaction: {POINTS_PER_TRANSACTION} × a row by id, then");
    match test.kind {
        Kind::PointQuery => "select one row by id".to_owned(),
        Kind::RandomPoints => format!("select {range} random rows by id, in one list"),
        Kind::HotPoints => format!("select the same {range} rows by id each time, in one list"),
        Kind::PointsCoveredPk => format!("select {range} ids, in one list: index only"),
        Kind::PointsNotcoveredPk => format!("select {range} rows by id, in one list"),
        Kind::PointsCoveredSi => format!("select {range} values of k, in one list: index only"),
        Kind::PointsNotcoveredSi => format!("select {range} rows by k, in one list"),
        Kind::RangeCoveredPk => format!("select a range of {span} ids: index only"),
        Kind::RangeNotcoveredPk => format!("select the rows of a range of {span} ids"),
        Kind::RangeCoveredSi => format!("select a range of {span} values of k: index only"),
        Kind::RangeNotcoveredSi => format!("select the rows of a range of {span} values of k"),
        Kind::Scan => "select from a whole table, of which no row is returned".to_owned(),
        Kind::ReadOnly => {
            format!("{points} rows, SUM, ORDER BY, DISTINCT of {range} ids each")
        }
        Kind::ReadOnlySimple => format!("{points} the rows of a range of {range} ids"),
        Kind::ReadOnlySum => format!("{points} SUM over a range of {range} ids"),
        Kind::ReadOnlyOrder => format!("{points} a range of {range} ids with ORDER BY"),
        Kind::ReadOnlyDistinct => format!("{points} a range of {range} ids with DISTINCT"),
        Kind::ReadOnlyCount => format!("select COUNT over a range of {range} ids"),
        Kind::UpdateInlist => format!("update c, not indexed, of {INLIST} rows by id, in one list"),
        Kind::UpdateIndex => "update k, indexed, of one row by id".to_owned(),
        Kind::UpdateNonindex => "update c, not indexed, of one row by id".to_owned(),
        Kind::UpdateOne => "update c, not indexed, of the same row each time".to_owned(),
        Kind::UpdateZipf => {
            "update c, not indexed, of one row by id, of some far more often".to_owned()
        }
        Kind::WriteOnly => {
            "transaction: update k, update c, delete a row, insert it again".to_owned()
        }
        Kind::ReadWrite => {
            format!("transaction: the reads of read-only_range={range}, the writes of write-only")
        }
        Kind::Delete => "delete one row by id, if it is still there".to_owned(),
        Kind::Insert => "insert one row, numbered by the server".to_owned(),
    }
}

/// The statements of one event on MariaDB and MySQL in order, `?` for parameters, on a table `sbtest`. One that comes
/// several times in a row stands once, long lists are cut short.
#[must_use]
pub fn outline(test: Microbenchmark) -> Vec<String> {
    let short = |sql: String| match sql.split_once(" IN (") {
        Some((before, _)) => format!("{before} IN (?, ...)"),
        None => sql,
    };
    steps(Product::MariaDb, test).into_iter().map(|step| short(step.sql)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_a_line_and_statements() {
        for test in Microbenchmark::ALL {
            let line = summary(test);
            assert!((10..120).contains(&line.chars().count()), "{test}: {line}");
            let statements = outline(test);
            let in_transaction = statements.first().is_some_and(|sql| sql == "BEGIN");
            assert_eq!(line.contains("transaction"), in_transaction, "{test}: {line}");
            let aggregates = statements.iter().any(|sql| sql.contains("SUM("));
            let told = line.contains("SUM") || test.kind == Kind::ReadWrite;
            assert_eq!(told, aggregates, "{test}: {line}");
        }
    }
}
