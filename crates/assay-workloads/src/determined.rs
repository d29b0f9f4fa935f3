//! Whether a query has only one right answer, and how answers are rounded for comparison.

use assay_model::Dialect;

use crate::sql::{first_word, leading_name, marks};

/// Functions whose value varies between executions or servers.
const CHANGING: [&str; 28] = [
    "NOW",
    "RAND",
    "RANDOM",
    "UUID",
    "UUID_SHORT",
    "GEN_RANDOM_UUID",
    "UUID_GENERATE_V4",
    "SYSDATE",
    "CURRENT_TIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURDATE",
    "CURTIME",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "UNIX_TIMESTAMP",
    "CLOCK_TIMESTAMP",
    "STATEMENT_TIMESTAMP",
    "TRANSACTION_TIMESTAMP",
    "TIMEOFDAY",
    "CONNECTION_ID",
    "PG_BACKEND_PID",
    "VERSION",
    "NEXTVAL",
    "RANDOM_BYTES",
];

/// Functions that describe the previous statement, not rows.
const OF_STATEMENT_BEFORE: [&str; 5] =
    ["LAST_INSERT_ID", "FOUND_ROWS", "ROW_COUNT", "LASTVAL", "CURRVAL"];

/// Why a statement's answer varies between executions or servers; `None` if its text does not show it.
#[must_use]
pub fn undetermined(sql: &str, dialect: Dialect) -> Option<String> {
    let first = leading_name(first_word(sql, dialect)).to_ascii_uppercase();
    if matches!(first.as_str(), "SHOW" | "EXPLAIN" | "DESCRIBE" | "DESC") {
        return Some(format!("`{first}` tells of the server"));
    }
    let tokens = tokens(sql, dialect);
    for (number, token) in tokens.iter().enumerate() {
        let word = token.to_ascii_uppercase();
        let next = tokens.get(number + 1).map_or("", String::as_str);
        match word.as_str() {
            "@" if next == "@" => return Some("variables of the server differ".to_owned()),
            "TABLESAMPLE" => return Some("`TABLESAMPLE` takes other rows each time".to_owned()),
            word if OF_STATEMENT_BEFORE.contains(&word) && next == "(" => {
                return Some(format!("`{word}` tells of the statement before"));
            }
            word if CHANGING.contains(&word) => {
                // Some of them are written without parentheses. Others may be names of columns.
                let is_bare = word.starts_with("CURRENT_") || word.starts_with("LOCALTIME");
                // With an argument, the result is always the same.
                let has_value = word == "UNIX_TIMESTAMP" && !calls_without_value(sql, word);
                if (is_bare || next == "(") && !has_value {
                    return Some(format!("`{word}` gives another value each time"));
                }
            }
            _ => {}
        }
    }
    None
}

fn calls_without_value(sql: &str, word: &str) -> bool {
    let text: String = sql.split_whitespace().collect();
    text.to_ascii_uppercase().contains(&format!("{word}()"))
}

/// Words, parentheses and marks outside strings, quoted names and comments.
fn tokens(sql: &str, dialect: Dialect) -> Vec<String> {
    let length = |rest: &str| {
        let first = rest.chars().next()?;
        let word = leading_name(rest);
        match first {
            _ if !word.is_empty() => Some(word.len()),
            '(' | ')' | '@' => Some(1),
            _ => None,
        }
    };
    let places = marks(sql, dialect, length);
    places.into_iter().filter_map(|place| sql.get(place).map(str::to_owned)).collect()
}

/// Significant digits that must agree in floating-point numbers of 8 and of 4 bytes.
const DIGITS: [usize; 2] = [12, 6];

/// A floating-point number rounded for comparison; other text is unchanged.
#[must_use]
pub fn rounded(text: &[u8], is_short: bool) -> Vec<u8> {
    let number: Option<f64> =
        std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
    let [long, short] = DIGITS;
    let digits = if is_short { short } else { long };
    match number {
        // Zero has two signs.
        Some(0.0) => b"0".to_vec(),
        Some(number) => format!("{number:.*e}", digits - 1).into_bytes(),
        None => text.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_whose_answers_change_are_known() {
        for dialect in Dialect::ALL {
            for (sql, is_undetermined) in [
                ("SELECT a FROM t WHERE id = 1", false),
                ("SELECT a FROM t LIMIT 10", false),
                ("SELECT FOUND_ROWS()", true),
                ("SELECT now(), 1", true),
                ("SELECT 'now()', \"limit\" FROM t", false),
                ("SELECT a FROM t WHERE at > CURRENT_DATE", true),
                ("SELECT uuid FROM t ORDER BY rand", false),
                ("SELECT a FROM t ORDER BY rand()", true),
                ("SELECT UNIX_TIMESTAMP(at), UNIX_TIMESTAMP('2026-01-01') FROM t", false),
                ("SELECT UNIX_TIMESTAMP()", true),
                ("SHOW TABLES", true),
                ("SELECT @@version", true),
                ("SELECT 1 -- limit 5", false),
            ] {
                assert_eq!(undetermined(sql, dialect).is_some(), is_undetermined, "{sql}");
            }
        }
    }

    #[test]
    fn numbers_are_compared_up_to_their_digits() {
        let of =
            |text: &str, is_short| String::from_utf8(rounded(text.as_bytes(), is_short)).unwrap();
        assert_eq!(of("0.30000000000000004", false), of("0.3", false));
        assert_ne!(of("0.3000000001", false), of("0.3", false));
        assert_eq!(of("1e3", false), of("1000", false));
        assert_eq!(of("3.14159274", true), of("3.14159", true));
        assert_eq!(of("-0", false), of("0", false));
        assert_eq!(of("NaN?", false), "NaN?");
    }
}
