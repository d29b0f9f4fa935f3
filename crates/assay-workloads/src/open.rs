//! Finds parts of a query's answer that its text leaves unspecified: values that vary, the rows, their order, and the
//! order within values. Rewritten queries show whether that matters for a server's data.

use std::ops::Range;

use assay_model::Dialect;

use crate::sql::{first_word, leading_name, marks};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenChoice {
    /// The reason, as a clause: `` `LIMIT` without `ORDER BY` takes any rows ``.
    pub why: String,
    /// Only the order within values is unspecified, such as in an aggregated list.
    pub is_within_values: bool,
}

/// Aggregates whose values depend on the order of their rows.
const LISTS: [&str; 10] = [
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "ARRAY_AGG",
    "STRING_AGG",
    "JSON_AGG",
    "JSONB_AGG",
    "JSON_OBJECT_AGG",
    "XMLAGG",
    "ARRAY",
];

/// Window functions whose values depend on the order of peer rows.
const PLACES: [&str; 7] =
    ["ROW_NUMBER", "NTILE", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"];

/// Words that end the terms of `ORDER BY`.
const AFTER_ORDER: [&str; 11] = [
    "LIMIT",
    "OFFSET",
    "FETCH",
    "FOR",
    "LOCK",
    "INTO",
    "PROCEDURE",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "SEPARATOR",
];

/// Words that end them in a window.
const FRAMES: [&str; 3] = ["ROWS", "RANGE", "GROUPS"];

const AFTER_LIMIT: [&str; 7] = ["FOR", "LOCK", "INTO", "PROCEDURE", "UNION", "EXCEPT", "INTERSECT"];

const FORMS: usize = 4;

const QUERY_MARKS: [&str; 5] = [":=", "(", ")", ".", ","];

struct QueryToken<'t> {
    text: &'t str,
    place: Range<usize>,
}

impl QueryToken<'_> {
    fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    fn is_among(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }
}

/// The words, and these marks.
fn tokens<'t>(sql: &'t str, dialect: Dialect, wanted: &[&str]) -> Vec<QueryToken<'t>> {
    let length = |rest: &str| match leading_name(rest) {
        "" => wanted.iter().find(|mark| rest.starts_with(**mark)).map(|mark| mark.len()),
        word => Some(word.len()),
    };
    let places = marks(sql, dialect, length).into_iter();
    places.filter_map(|place| Some(QueryToken { text: sql.get(place.clone())?, place })).collect()
}

#[derive(Debug, Default)]
struct QueryPart {
    /// The called function in capitals; empty if the parentheses are no call.
    function: String,
    window_of: Option<String>,
    is_distinct: bool,
    is_distinct_on: bool,
    is_union: bool,
    is_grouped: bool,
    limits: Vec<Range<usize>>,
    /// The word `ORDER`, and the range of its terms.
    order: Option<(usize, Range<usize>)>,
    has_row_frame: bool,
    is_query: bool,
}

/// A parsed query. The last part is the query itself.
struct QueryParts {
    all: Vec<QueryPart>,
    assigns: bool,
}

impl QueryParts {
    fn parse(sql: &str, dialect: Dialect) -> Self {
        let tokens = tokens(sql, dialect, &QUERY_MARKS);
        let mut open = vec![QueryPart::default()];
        let (mut all, mut closed, mut assigns) = (Vec::new(), String::new(), false);
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            let next = tokens.get(at + 1);
            let is_next = |word: &str| next.is_some_and(|it| it.is(word));
            if token.text == "(" {
                let name = before.filter(|it| is_called(it, token, sql));
                let is_window = before.is_some_and(|it| it.is("OVER"));
                open.push(QueryPart {
                    function: name.map(|it| it.text.to_ascii_uppercase()).unwrap_or_default(),
                    window_of: is_window.then(|| closed.clone()),
                    ..QueryPart::default()
                });
                continue;
            }
            let Some(part) = open.last_mut() else { continue };
            part.end_clauses(token);
            match token.text {
                ")" => {
                    closed.clone_from(&part.function);
                    all.extend(open.pop());
                    if open.is_empty() {
                        open.push(QueryPart::default());
                    }
                }
                ":=" => assigns = true,
                _ => part.take(token, next, before, &is_next, sql),
            }
        }
        while let Some(mut part) = open.pop() {
            part.end_at(sql.len());
            all.push(part);
        }
        Self { all, assigns }
    }

    fn whole(&self) -> Option<&QueryPart> {
        self.all.last()
    }
}

fn is_called(name: &QueryToken<'_>, parenthesis: &QueryToken<'_>, sql: &str) -> bool {
    let between = sql.get(name.place.end..parenthesis.place.start).unwrap_or("-");
    leading_name(name.text) == name.text && between.trim().is_empty()
}

impl QueryPart {
    fn take(
        &mut self,
        token: &QueryToken<'_>,
        next: Option<&QueryToken<'_>>,
        before: Option<&QueryToken<'_>>,
        is_next: &dyn Fn(&str) -> bool,
        sql: &str,
    ) {
        let starts_number = || {
            let after = sql.get(token.place.end..).unwrap_or_default().trim_start();
            after.starts_with(|c: char| c.is_ascii_digit())
        };
        // `SELECT SQL_CALC_FOUND_ROWS DISTINCT a`
        let is_begin = || {
            before.is_some_and(|it| {
                it.is("SELECT") || it.text.to_ascii_uppercase().starts_with("SQL_")
            })
        };
        if token.is("SELECT") {
            self.is_query = true;
        } else if token.is("DISTINCT") && is_begin() {
            self.is_distinct = !is_next("ON");
            self.is_distinct_on = is_next("ON");
        } else if token.is_among(&["UNION", "EXCEPT", "INTERSECT"]) {
            self.is_union = true;
            // Preceding words belong to another query.
            self.is_distinct = false;
            self.is_grouped = false;
        } else if token.is("GROUP") && is_next("BY") {
            self.is_grouped = true;
        } else if token.is("ORDER") && is_next("BY") {
            let terms = next.map_or(token.place.end, |it| it.place.end);
            self.order = Some((token.place.start, terms..terms));
        } else if token.is("LIMIT")
            || token.is("FETCH") && (is_next("FIRST") || is_next("NEXT"))
            || token.is("OFFSET") && self.open_limit().is_none() && starts_number()
        {
            if self.open_limit().is_none() {
                self.limits.push(token.place.start..token.place.start);
            }
        } else if token.is("ROWS") && self.window_of.is_some() {
            self.has_row_frame = true;
        }
    }

    fn open_limit(&mut self) -> Option<&mut Range<usize>> {
        self.limits.last_mut().filter(|it| it.start == it.end)
    }

    fn end_clauses(&mut self, token: &QueryToken<'_>) {
        let is_window = self.window_of.is_some();
        let ends_order = token.is_among(&AFTER_ORDER) || is_window && token.is_among(&FRAMES);
        if token.text == ")" {
            self.end_at(token.place.start);
        } else {
            if let Some((_, terms)) = self.order.as_mut().filter(|it| it.1.is_empty())
                && ends_order
                && token.place.start > terms.start
            {
                terms.end = token.place.start;
            }
            if let Some(limit) = self.open_limit()
                && token.is_among(&AFTER_LIMIT)
            {
                limit.end = token.place.start;
            }
        }
    }

    fn end_at(&mut self, end: usize) {
        if let Some((_, terms)) = self.order.as_mut().filter(|it| it.1.is_empty()) {
            terms.end = end;
        }
        if let Some(limit) = self.open_limit() {
            limit.end = end;
        }
    }

    fn leaves_open(&self) -> Option<OpenChoice> {
        let is_ordered = self.order.is_some();
        let open = |why: String, is_within_values| Some(OpenChoice { why, is_within_values });
        if !self.limits.is_empty() && !is_ordered {
            return open("`LIMIT` without `ORDER BY` takes any rows".to_owned(), false);
        }
        if self.is_distinct_on && !is_ordered {
            return open("`DISTINCT ON` without `ORDER BY` takes any rows".to_owned(), false);
        }
        let function = self.function.as_str();
        if function == "ANY_VALUE" {
            return open("`ANY_VALUE` takes any value".to_owned(), false);
        }
        let is_list = LISTS.contains(&function) && (function != "ARRAY" || self.is_query);
        if is_list && !is_ordered {
            let why = format!("`{function}` without `ORDER BY` puts its values in any order");
            return open(why, true);
        }
        let window_of = self.window_of.as_deref().unwrap_or_default();
        if PLACES.contains(&window_of) && !is_ordered {
            return open(
                format!("`{window_of}` without `ORDER BY` counts rows in any order"),
                false,
            );
        }
        None
    }

    /// Whether reordering rows with equal `ORDER BY` values could change the answer.
    fn may_have_ties(&self) -> bool {
        let window_of = self.window_of.as_deref();
        let is_open = window_of.is_none_or(|of| PLACES.contains(&of) || self.has_row_frame);
        // `ORDER BY` must not have terms that these do not return.
        is_open && !self.is_distinct && !self.is_union
    }
}

/// Why a query leaves rows or values unspecified, as far as its text shows.
pub fn open_choice(sql: &str, dialect: Dialect) -> Option<OpenChoice> {
    let parts = QueryParts::parse(sql, dialect);
    let mut found: Vec<OpenChoice> = parts.all.iter().filter_map(QueryPart::leaves_open).collect();
    if parts.assigns && dialect == Dialect::MySql {
        let why = "`:=` in a query assigns in any order".to_owned();
        found.push(OpenChoice { why, is_within_values: false });
    }
    found.sort_by_key(|it| it.is_within_values);
    found.into_iter().next()
}

/// Whether the query returns groups, which some versions sort.
pub fn groups_rows(sql: &str, dialect: Dialect) -> bool {
    let parts = QueryParts::parse(sql, dialect);
    parts.whole().is_some_and(|it| it.is_grouped && !it.is_union)
}

pub fn orders_rows(sql: &str, dialect: Dialect) -> bool {
    QueryParts::parse(sql, dialect).whole().is_some_and(|it| it.order.is_some())
}

/// Forms of a query that shuffle rows with equal `ORDER BY` values. A server may refuse some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShuffledForms {
    /// Change all clauses in the same way.
    pub whole: Vec<String>,
    /// Change a single clause, if there are several.
    pub single: Vec<String>,
}

pub fn shuffled(sql: &str, dialect: Dialect) -> ShuffledForms {
    let sql = without_end(sql);
    let parts = QueryParts::parse(sql, dialect);
    let random = match dialect {
        Dialect::MySql => "RAND()",
        Dialect::Postgres => "random()",
    };
    let ties = parts.all.iter().filter(|it| it.may_have_ties());
    let mut ends: Vec<usize> = ties.filter_map(|it| Some(it.order.as_ref()?.1.end)).collect();
    ends.sort_unstable();
    // A comment may end the line.
    let insert = |ends: &[usize]| {
        let mut text = sql.to_owned();
        ends.iter().rev().for_each(|end| text.insert_str(*end, &format!("\n, {random} ")));
        text
    };
    let all = (!ends.is_empty()).then(|| insert(&ends));
    let around = parts.whole().and_then(|whole| around(sql, dialect, whole, random));
    let single = ends.iter().take(if ends.len() > 1 { FORMS } else { 0 });
    ShuffledForms {
        whole: all.into_iter().chain(around).collect(),
        single: single.map(|end| insert(&[*end])).collect(),
    }
}

/// `SELECT * FROM (SELECT DISTINCT a FROM t) AS assay_rows ORDER BY a, RAND() LIMIT 3`: for a query whose `ORDER BY`
/// allows only terms that it returns.
fn around(sql: &str, dialect: Dialect, whole: &QueryPart, random: &str) -> Option<String> {
    let (start, terms) = whole.order.as_ref().filter(|_| whole.is_distinct || whole.is_union)?;
    let (head, tail) = (sql.get(..*start)?, sql.get(terms.end..)?);
    let terms = without_qualifiers(sql.get(terms.clone())?, dialect);
    Some(format!("SELECT * FROM (\n{head}\n) AS assay_rows ORDER BY {terms}\n, {random} {tail}"))
}

/// `t.a DESC` as `a DESC`.
fn without_qualifiers(terms: &str, dialect: Dialect) -> String {
    let tokens = tokens(terms, dialect, &QUERY_MARKS);
    let mut text = terms.to_owned();
    for pair in tokens.windows(2).rev() {
        if let [name, dot] = pair
            && dot.text == "."
            && name.place.end == dot.place.start
        {
            text.replace_range(name.place.start..dot.place.end, "");
        }
    }
    text
}

pub fn without_limits(sql: &str, dialect: Dialect) -> Option<String> {
    let sql = without_end(sql);
    let parts = QueryParts::parse(sql, dialect);
    let mut limits: Vec<Range<usize>> = parts.all.into_iter().flat_map(|it| it.limits).collect();
    limits.sort_by_key(|it| std::cmp::Reverse(it.start));
    let mut text = sql.to_owned();
    // Limits may be nested.
    let mut next = usize::MAX;
    for limit in &limits {
        if limit.end <= next {
            text.replace_range(limit.clone(), " ");
            next = limit.start;
        }
    }
    (!limits.is_empty()).then_some(text)
}

fn without_end(sql: &str) -> &str {
    sql.trim_end().trim_end_matches(';').trim_end()
}

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
pub fn undetermined(sql: &str, dialect: Dialect) -> Option<String> {
    let first = leading_name(first_word(sql, dialect)).to_ascii_uppercase();
    if matches!(first.as_str(), "SHOW" | "EXPLAIN" | "DESCRIBE" | "DESC") {
        return Some(format!("`{first}` tells of the server"));
    }
    let tokens = tokens(sql, dialect, &["(", ")", "@"]);
    for (number, token) in tokens.iter().enumerate() {
        let word = token.text.to_ascii_uppercase();
        let next = tokens.get(number + 1).map_or("", |next| next.text);
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

/// Significant digits that must agree in floating-point numbers of 8 and of 4 bytes.
const DIGITS: [usize; 2] = [12, 6];

/// A floating-point number rounded for comparison; other text is unchanged.
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

    fn why(sql: &str, dialect: Dialect) -> Option<(String, bool)> {
        open_choice(sql, dialect).map(|it| (it.why, it.is_within_values))
    }

    #[test]
    fn open_choices_are_known_by_their_text() {
        for dialect in Dialect::ALL {
            for (sql, expected) in [
                ("SELECT a FROM t WHERE id = 1", None),
                ("SELECT a FROM t LIMIT 10", Some(("`LIMIT`", false))),
                ("SELECT a FROM t ORDER BY a LIMIT 10", None),
                (
                    "SELECT a FROM t WHERE b IN (SELECT b FROM u LIMIT 1) ORDER BY a",
                    Some(("`LIMIT`", false)),
                ),
                ("SELECT a FROM (SELECT b FROM u ORDER BY b LIMIT 1) AS x", None),
                ("SELECT a FROM t FETCH FIRST 3 ROWS ONLY", Some(("`LIMIT`", false))),
                ("SELECT 'now()', \"limit\" FROM t", None),
                ("SELECT 1 -- limit 5", None),
                ("SELECT g, GROUP_CONCAT(a) FROM t GROUP BY g", Some(("`GROUP_CONCAT`", true))),
                ("SELECT GROUP_CONCAT(a ORDER BY b SEPARATOR ',') FROM t", None),
                ("SELECT string_agg(a, ',' ORDER BY a) FROM t", None),
                ("SELECT array_agg (a) FROM t", Some(("`ARRAY_AGG`", true))),
                ("SELECT ARRAY(SELECT a FROM t)", Some(("`ARRAY`", true))),
                ("SELECT any_value(a) FROM t GROUP BY b", Some(("`ANY_VALUE`", false))),
                ("SELECT ROW_NUMBER() OVER () FROM t", Some(("`ROW_NUMBER`", false))),
                ("SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) FROM t", None),
                ("SELECT SUM(a) OVER () FROM t", None),
                ("SELECT GROUP_CONCAT(a) FROM t LIMIT 1", Some(("`LIMIT`", false))),
            ] {
                let found = why(sql, dialect);
                let found = found
                    .as_ref()
                    .map(|(why, within)| (why.split_whitespace().next().unwrap(), *within));
                assert_eq!(found, expected, "{sql}");
            }
        }
        assert!(why("SELECT DISTINCT ON (a) a, b FROM t", Dialect::Postgres).is_some());
        assert!(
            why("SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b", Dialect::Postgres).is_none()
        );
        assert!(why("SELECT @n := @n + 1, a FROM t", Dialect::MySql).is_some());
    }

    #[test]
    fn an_order_counts_outside_parentheses() {
        for dialect in Dialect::ALL {
            assert!(orders_rows("SELECT a FROM t ORDER BY a", dialect));
            assert!(!orders_rows("SELECT a FROM (SELECT a FROM t ORDER BY a) AS x", dialect));
            assert!(!orders_rows("SELECT 'ORDER' FROM t", dialect));
            assert!(!orders_rows("SELECT SUM(a) OVER (ORDER BY b) FROM t", dialect));
        }
    }

    #[test]
    fn equal_rows_get_a_random_order() {
        let shuffled_forms = |sql: &str| -> Vec<String> {
            let ShuffledForms { whole, single } = shuffled(sql, Dialect::MySql);
            let forms = whole.into_iter().chain(single);
            forms.map(|it| it.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(
            shuffled_forms("SELECT a FROM t ORDER BY b DESC LIMIT 3, 10;"),
            ["SELECT a FROM t ORDER BY b DESC , RAND() LIMIT 3, 10"]
        );
        assert_eq!(
            shuffled_forms("SELECT a FROM t ORDER BY b -- page\n FOR UPDATE"),
            ["SELECT a FROM t ORDER BY b -- page , RAND() FOR UPDATE"]
        );
        assert!(
            shuffled("SELECT a FROM t ORDER BY b -- page", Dialect::Postgres).whole[0]
                .contains("\n, random()")
        );
        assert_eq!(
            shuffled_forms("SELECT a, (SELECT c FROM u ORDER BY d LIMIT 1) FROM t ORDER BY b"),
            [
                "SELECT a, (SELECT c FROM u ORDER BY d , RAND() LIMIT 1) FROM t ORDER BY b , RAND()",
                "SELECT a, (SELECT c FROM u ORDER BY d , RAND() LIMIT 1) FROM t ORDER BY b",
                "SELECT a, (SELECT c FROM u ORDER BY d LIMIT 1) FROM t ORDER BY b , RAND()",
            ]
        );
        // Ties have one rank, and one running sum, in whatever order they come.
        assert!(shuffled_forms("SELECT RANK() OVER (ORDER BY a) FROM t").is_empty());
        assert_eq!(
            shuffled_forms("SELECT SUM(a) OVER (ORDER BY b ROWS UNBOUNDED PRECEDING) FROM t"),
            ["SELECT SUM(a) OVER (ORDER BY b , RAND() ROWS UNBOUNDED PRECEDING) FROM t"]
        );
        assert_eq!(
            shuffled_forms("SELECT DISTINCT t.a, b FROM t ORDER BY t.a LIMIT 2"),
            [
                "SELECT * FROM ( SELECT DISTINCT t.a, b FROM t ) AS assay_rows ORDER BY a , RAND() LIMIT 2"
            ]
        );
        assert_eq!(
            shuffled_forms("SELECT a FROM t UNION SELECT a FROM u ORDER BY 1"),
            [
                "SELECT * FROM ( SELECT a FROM t UNION SELECT a FROM u ) AS assay_rows ORDER BY 1 , RAND()"
            ]
        );
        assert!(shuffled_forms("SELECT a FROM t").is_empty());
    }

    #[test]
    fn limits_are_taken_away() {
        let unlimited = |sql: &str| {
            let text = without_limits(sql, Dialect::MySql)?;
            Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        for (sql, expected) in [
            ("SELECT a FROM t LIMIT 3, 10;", Some("SELECT a FROM t")),
            (
                "SELECT a FROM t ORDER BY b LIMIT 10 OFFSET 5 FOR UPDATE",
                Some("SELECT a FROM t ORDER BY b FOR UPDATE"),
            ),
            (
                "SELECT a FROM (SELECT a FROM u LIMIT 3) x LIMIT 2",
                Some("SELECT a FROM (SELECT a FROM u ) x"),
            ),
            ("SELECT a FROM t OFFSET 5 ROWS FETCH NEXT 3 ROWS ONLY", Some("SELECT a FROM t")),
            ("SELECT offset FROM t", None),
            ("SELECT 'LIMIT 3' FROM t", None),
        ] {
            assert_eq!(unlimited(sql).as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn groups_are_those_of_the_whole_query() {
        for (sql, expected) in [
            ("SELECT a, COUNT(*) FROM t GROUP BY a LIMIT 3", true),
            ("SELECT DISTINCT a FROM t", false),
            ("SELECT a FROM t GROUP BY a UNION ALL SELECT b FROM u", false),
            ("SELECT a FROM (SELECT a FROM t GROUP BY a) x", false),
        ] {
            assert_eq!(groups_rows(sql, Dialect::MySql), expected, "{sql}");
        }
    }

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
        let rounded_text =
            |text: &str, is_short| String::from_utf8(rounded(text.as_bytes(), is_short)).unwrap();
        assert_eq!(rounded_text("0.30000000000000004", false), rounded_text("0.3", false));
        assert_ne!(rounded_text("0.3000000001", false), rounded_text("0.3", false));
        assert_eq!(rounded_text("1e3", false), rounded_text("1000", false));
        assert_eq!(rounded_text("3.14159274", true), rounded_text("3.14159", true));
        assert_eq!(rounded_text("-0", false), rounded_text("0", false));
        assert_eq!(rounded_text("NaN?", false), "NaN?");
    }
}
