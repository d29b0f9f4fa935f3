//! Statistics of the planner of Postgres, as `pg_dump --statistics-only` writes them. They are read into checked
//! values; no statement of the file is ever sent to a server.

use std::collections::BTreeMap;

use assay_model::Dialect;
use assay_workloads::{DumpError, DumpPart, DumpParts};

use crate::sql::token::{TokenKind, TokenView, tokens_of};
use crate::sql::value::Literal;

/// Statistics of a relation, or of one of its columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatisticsEntry {
    pub schema: String,
    pub relation: String,
    /// By argument of the server's function; see [`statistics_type`]. Each value is a literal of its type.
    pub values: BTreeMap<&'static str, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannerStatistics {
    pub relations: Vec<StatisticsEntry>,
    pub columns: Vec<StatisticsEntry>,
    /// Number of statements with statistics of other kinds, such as those of several columns.
    pub others: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum StatisticsError {
    #[error(transparent)]
    Dump(#[from] DumpError),
    #[error("line {line}: `{argument}` has no value of type {expected}")]
    Value { line: u64, argument: &'static str, expected: &'static str },
    #[error("line {0}: the statistics do not name a relation, or a column of one")]
    NoName(u64),
    #[error("it has no statistics of tables")]
    Nothing,
}

/// Arguments of `pg_restore_relation_stats` and `pg_restore_attribute_stats` with their types. Others are skipped.
const ARGUMENTS: [(&str, &str); 20] = [
    ("relpages", "integer"),
    ("reltuples", "real"),
    ("relallvisible", "integer"),
    ("relallfrozen", "integer"),
    ("attname", "text"),
    ("attnum", "smallint"),
    ("inherited", "boolean"),
    ("null_frac", "real"),
    ("avg_width", "integer"),
    ("n_distinct", "real"),
    ("most_common_vals", "text"),
    ("most_common_freqs", "real[]"),
    ("histogram_bounds", "text"),
    ("correlation", "real"),
    ("most_common_elems", "text"),
    ("most_common_elem_freqs", "real[]"),
    ("elem_count_histogram", "real[]"),
    ("range_length_histogram", "text"),
    ("range_empty_frac", "real"),
    ("range_bounds_histogram", "text"),
];

pub fn statistics_type(argument: &str) -> Option<&'static str> {
    ARGUMENTS.iter().find(|(name, _)| *name == argument).map(|(_, sql_type)| *sql_type)
}

pub fn planner_statistics(text: &[u8]) -> Result<PlannerStatistics, StatisticsError> {
    let mut found = PlannerStatistics::default();
    let mut parts = DumpParts::new(text, Dialect::Postgres);
    while let Some(part) = parts.next_part()? {
        match part {
            DumpPart::Statement { line, sql } => statement(line, &sql, &mut found)?,
            DumpPart::Copy { .. } => while parts.next_rows(&mut Vec::new())? {},
            DumpPart::Command { .. } => {}
        }
    }
    if found.relations.is_empty() {
        return Err(StatisticsError::Nothing);
    }
    Ok(found)
}

fn statement(line: u64, sql: &[u8], found: &mut PlannerStatistics) -> Result<(), StatisticsError> {
    let tokens = tokens_of(sql, Dialect::Postgres);
    let view = TokenView { text: sql, tokens: &tokens };
    let is_function = |at: &usize| {
        view.kind(*at) == Some(TokenKind::Word) && view.bytes(*at).starts_with(b"pg_restore_")
    };
    let Some(function) = (0..tokens.len()).find(is_function).filter(|_| view.is(0, "SELECT"))
    else {
        return Ok(());
    };
    let read = || entry(line, arguments(view, function + 1));
    match view.bytes(function) {
        b"pg_restore_relation_stats" => found.relations.push(read()?),
        b"pg_restore_attribute_stats" => {
            let column = read()?;
            if !["attname", "attnum"].iter().any(|name| column.values.contains_key(name)) {
                return Err(StatisticsError::NoName(line));
            }
            found.columns.push(column);
        }
        _ => found.others += 1,
    }
    Ok(())
}

/// The arguments in parentheses from a token on, in order. `None` is NULL, or something that is no literal.
fn arguments(view: TokenView<'_>, open: usize) -> Vec<Option<String>> {
    let mut values = Vec::new();
    // The first token of an argument is its literal, and casts follow.
    let mut begins = true;
    for at in open..view.tokens.len() {
        match view.bytes(at) {
            b"(" | b"," => begins = true,
            b")" => break,
            _ if begins => {
                let token = &view.tokens[at];
                let literal = Literal::new(token, view.text, false);
                values.push(match token.kind {
                    TokenKind::Number => {
                        Some(String::from_utf8_lossy(token.bytes(view.text)).into_owned())
                    }
                    _ => literal.text(Dialect::Postgres, &[]),
                });
                begins = false;
            }
            _ => {}
        }
    }
    values
}

fn entry(line: u64, arguments: Vec<Option<String>>) -> Result<StatisticsEntry, StatisticsError> {
    let mut found = StatisticsEntry::default();
    let mut arguments = arguments.into_iter();
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        // NULL is an absent value.
        let (Some(name), Some(value)) = (name, value) else { continue };
        match name.as_str() {
            "schemaname" => found.schema = value,
            "relname" => found.relation = value,
            name => {
                let known = ARGUMENTS.iter().find(|(argument, _)| *argument == name);
                let Some((argument, expected)) = known.copied() else { continue };
                if !is_literal(&value, expected) {
                    return Err(StatisticsError::Value { line, argument, expected });
                }
                found.values.insert(argument, value);
            }
        }
    }
    if found.schema.is_empty() || found.relation.is_empty() {
        return Err(StatisticsError::NoName(line));
    }
    Ok(found)
}

fn is_literal(value: &str, sql_type: &str) -> bool {
    let is_real = |text: &str| text.trim_matches(' ').parse::<f32>().is_ok_and(f32::is_finite);
    match sql_type {
        "integer" => value.parse::<i32>().is_ok(),
        "smallint" => value.parse::<i16>().is_ok(),
        "real" => is_real(value),
        "boolean" => ["t", "f", "true", "false"].contains(&value),
        "real[]" => {
            let inside = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            inside.is_some_and(|list| list.is_empty() || list.split(',').all(is_real))
        }
        // The values have the type of the column, so only the server can check them.
        _ => !value.contains('\0'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../../../fuzz/corpus/statistics/pg_dump");

    #[test]
    fn a_file_of_pg_dump_has_relations_and_columns() {
        let found = planner_statistics(FILE.as_bytes()).unwrap();
        let names: Vec<&str> =
            found.relations.iter().map(|entry| entry.relation.as_str()).collect();
        assert_eq!((names, found.others), (vec!["t", "t_pkey", "My \"T\""], 1));
        assert_eq!(found.relations[0].values["relpages"], "45");
        let [id, text, of_index] = found.columns.as_slice() else { panic!("{found:?}") };
        assert_eq!(id.values["n_distinct"], "-1");
        assert_eq!(text.values["most_common_vals"], "{it's,\"a,b\",\"\\\\\"}");
        assert_eq!(text.values["most_common_freqs"], "{0.5,0.25,1e-05}");
        assert!(!text.values.contains_key("correlation"), "it is NULL");
        assert_eq!((of_index.relation.as_str(), &*of_index.values["attnum"]), ("t_pkey", "1"));
        assert!(found.columns.iter().all(|entry| !entry.values.contains_key("version")));
    }

    #[test]
    fn values_that_are_no_literals_are_refused() {
        let of_relation = |arguments: &str| {
            let sql = format!("SELECT * FROM pg_catalog.pg_restore_relation_stats({arguments});");
            planner_statistics(sql.as_bytes()).map_err(|error| error.to_string())
        };
        let name = "'schemaname', 'public', 'relname', 't'";
        assert!(of_relation(&format!("{name}, 'relpages', 7")).is_ok());
        for (arguments, expected) in [
            (format!("{name}, 'relpages', '7); DROP TABLE t; --'::integer"), "type integer"),
            (format!("{name}, 'reltuples', 'NaN'::real"), "type real"),
            ("'relname', 't'".to_owned(), "do not name a relation"),
        ] {
            let error = of_relation(&arguments).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(matches!(planner_statistics(b"SELECT 1;"), Err(StatisticsError::Nothing)));
    }
}
