//! SQL text: statements, and `:name` variables in them.

mod dialect;

use std::ops::Range;

use assay_model::{Dialect, Sql, Transaction, UserStep};

pub use self::dialect::dialect_of;
pub(crate) use self::dialect::dialect_of_heading;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableUse<'t> {
    pub name: &'t str,
    pub span: Range<usize>,
}

/// A string, a quoted name, a comment, a cast, a name or a keyword as a whole, or any other single character.
pub(crate) struct SqlPiece<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    is_whole: bool,
    /// Its quotes or its comment have an end.
    is_terminated: bool,
}

pub(crate) fn pieces(text: &str, syntax: Dialect) -> impl Iterator<Item = SqlPiece<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let first = rest.chars().next()?;
        let found = part(rest, syntax);
        let (length, is_terminated) = found.unwrap_or((first.len_utf8(), true));
        let piece =
            SqlPiece { text: rest.get(..length)?, at, is_whole: found.is_some(), is_terminated };
        at += length;
        Some(piece)
    })
}

/// The variables of a statement in order, except in strings, quoted names and comments; `::` is a cast.
pub fn uses(text: &str, syntax: Dialect) -> Vec<VariableUse<'_>> {
    let name = |rest: &str| match rest.strip_prefix(':').map_or("", leading_name) {
        "" => None,
        name => Some(1 + name.len()),
    };
    let spans = marks(text, syntax, name).into_iter();
    let found =
        |span: Range<usize>| Some(VariableUse { name: text.get(span.start + 1..span.end)?, span });
    spans.filter_map(found).collect()
}

/// Ranges of the semicolon-separated statements of a text. A comment belongs to the statement after it; a comment alone
/// is no statement.
pub fn statements(text: &str, syntax: Dialect) -> Vec<Range<usize>> {
    separated(text, syntax, |_| None)
}

/// For a script, in which `DELIMITER` changes the separator of MySQL and MariaDB statements.
pub fn statements_of_script(text: &str, syntax: Dialect) -> Vec<Range<usize>> {
    match syntax {
        Dialect::MySql => separated(text, syntax, delimiter),
        Dialect::Postgres => statements(text, syntax),
    }
}

/// `command` parses client commands between statements: its length, and the delimiter from then on.
fn separated<'t>(
    text: &'t str,
    syntax: Dialect,
    command: impl Fn(&'t str) -> Option<(usize, &'t str)>,
) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut at, mut is_empty, mut mark) = (0, 0, true, ";");
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some((length, next)) = is_empty.then(|| command(rest)).flatten() {
            (at, mark) = (at + length, next);
            start = at;
            continue;
        }
        if rest.starts_with(mark) {
            push_trimmed(text, start..at, is_empty, &mut found);
            at += mark.len();
            (start, is_empty) = (at, true);
            continue;
        }
        let first = rest.chars().next().unwrap_or(' ');
        let is_comment = is_comment(rest, syntax);
        is_empty &= is_comment || first.is_whitespace();
        let length = skipped(rest, syntax).unwrap_or(first.len_utf8());
        // A delimiter ends a name too, as in `END$$`.
        let name = rest.get(..length).filter(|it| is_name(it)).unwrap_or_default();
        at += name.find(mark).unwrap_or(length);
    }
    push_trimmed(text, start..text.len(), is_empty, &mut found);
    found
}

/// Whether a skipped part is a name or a keyword. `E'...'`, which begins like one, is a string.
fn is_name(part: &str) -> bool {
    part.starts_with(|c: char| c.is_alphabetic() || c == '_') && !part.contains('\'')
}

/// A line `DELIMITER //` of the client `mysql`: its length, and the delimiter, which may be in quotes.
fn delimiter(rest: &str) -> Option<(usize, &str)> {
    let line = rest.lines().next()?;
    let mut words = line.split_whitespace();
    let is_command = line.starts_with(|c: char| !c.is_whitespace())
        && words.next()?.eq_ignore_ascii_case("DELIMITER");
    let mark = words.next().filter(|_| is_command)?;
    let inside = |quote: &char| mark.strip_prefix(*quote)?.strip_suffix(*quote);
    let inside = ['\'', '"', '`'].iter().find_map(inside).filter(|mark| !mark.is_empty());
    Some((line.len(), inside.unwrap_or(mark)))
}

/// Keywords and unquoted names, except in strings and comments.
pub fn words(text: &str, syntax: Dialect) -> Vec<&str> {
    let wholes = pieces(text, syntax).filter(|piece| piece.is_whole);
    wholes.map(|piece| piece.text).filter(|text| is_name(text)).collect()
}

/// Range of another program's parameter mark, such as `?` or `$1`, outside strings, quoted names and comments.
pub fn other_mark(text: &str, syntax: Dialect) -> Option<Range<usize>> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).count();
    let length = |rest: &str| match (syntax, rest.strip_prefix('$').map_or(0, digits)) {
        // An operator of Postgres.
        (Dialect::MySql, _) => rest.starts_with('?').then_some(1),
        (Dialect::Postgres, 0) => None,
        (Dialect::Postgres, digits) => Some(1 + digits),
    };
    marks(text, syntax, length).into_iter().next()
}

/// Position of a backslash outside strings, quoted names and comments, where no statement has one.
pub fn backslash(text: &str, syntax: Dialect) -> Option<usize> {
    pieces(text, syntax).find(|piece| piece.text == "\\").map(|piece| piece.at)
}

/// Ranges of marks outside strings, quoted names and comments; `length` returns the length of a mark at the beginning
/// of its argument.
pub fn marks(
    text: &str,
    syntax: Dialect,
    length: impl Fn(&str) -> Option<usize>,
) -> Vec<Range<usize>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(length) = length(rest).filter(|length| *length > 0) {
            found.push(at..at + length);
            at += length;
            continue;
        }
        at += skipped(rest, syntax).or_else(|| Some(rest.chars().next()?.len_utf8())).unwrap_or(1);
    }
    found
}

fn push_trimmed(text: &str, place: Range<usize>, is_empty: bool, found: &mut Vec<Range<usize>>) {
    let Some(statement) = text.get(place.clone()).filter(|_| !is_empty) else { return };
    let start = place.start + (statement.len() - statement.trim_start().len());
    found.push(start..start + statement.trim().len());
}

/// Whether an ignored comment begins here. MySQL and MariaDB execute those that begin with `/*!`.
fn is_comment(rest: &str, syntax: Dialect) -> bool {
    let is_executed = rest.starts_with("/*!") || rest.starts_with("/*M!");
    is_line_comment(rest, syntax)
        || (rest.starts_with("/*") && !(is_executed && syntax == Dialect::MySql))
}

/// Whether the rest of the line is a comment. MySQL and MariaDB need a blank after `--`, which may be arithmetic.
fn is_line_comment(rest: &str, syntax: Dialect) -> bool {
    match (syntax, rest.strip_prefix("--")) {
        (Dialect::Postgres, Some(_)) => true,
        (Dialect::MySql, Some(after)) => !after.starts_with(|c: char| !c.is_whitespace()),
        (Dialect::MySql, None) => rest.starts_with('#'),
        (Dialect::Postgres, None) => false,
    }
}

pub fn statement(text: &str, uses: &[(Range<usize>, u32)]) -> Sql {
    let ends = uses.iter().map(|(span, _)| span.start).chain([text.len()]);
    let starts = std::iter::once(0).chain(uses.iter().map(|(span, _)| span.end));
    let piece = |(start, end)| text.get(start..end).unwrap_or_default().to_owned();
    Sql {
        pieces: starts.zip(ends).map(piece).collect(),
        variables: uses.iter().map(|(_, number)| *number).collect(),
    }
}

/// Bytes of a part without variables: a string, a quoted name, a comment, a cast.
fn skipped(rest: &str, syntax: Dialect) -> Option<usize> {
    part(rest, syntax).map(|(length, _)| length)
}

/// Like `skipped`, and whether the part is terminated.
fn part(rest: &str, syntax: Dialect) -> Option<(usize, bool)> {
    let length_to = |end: &str, from: usize| {
        let found = rest.get(from..).and_then(|rest| rest.find(end));
        found.map_or((rest.len(), false), |at| (from + at + end.len(), true))
    };
    let first = rest.chars().next()?;
    let is_mysql = syntax == Dialect::MySql;
    match first {
        '\'' | '"' => Some(quoted(rest, first, is_mysql)),
        '`' if is_mysql => Some(quoted(rest, first, false)),
        'e' | 'E' if !is_mysql && rest.get(1..)?.starts_with('\'') => {
            let (length, is_closed) = quoted(rest.get(1..)?, '\'', true);
            Some((1 + length, is_closed))
        }
        // The end of the text ends it too.
        '-' | '#' if is_line_comment(rest, syntax) => Some((length_to("\n", 1).0, true)),
        '/' if is_mysql && (rest.starts_with("/*!") || rest.starts_with("/*M!")) => {
            Some(executed_comment(rest))
        }
        '/' if rest.starts_with("/*") && is_mysql => Some(length_to("*/", 2)),
        '/' if rest.starts_with("/*") => Some(nested_comment(rest)),
        ':' if rest.starts_with("::") || rest.starts_with(":=") => Some((2, true)),
        '$' if !is_mysql => {
            let tag = leading_name(rest.get(1..)?);
            let mark = rest.get(..tag.len() + 2).filter(|mark| mark.ends_with('$'))?;
            Some(length_to(mark, mark.len()))
        }
        // The rest of a name, so that `a$b$c` is no dollar-quoted text.
        _ if first.is_alphabetic() || first == '_' => {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
            Some((rest.find(|c| !is_part(c)).unwrap_or(rest.len()), true))
        }
        _ => None,
    }
}

pub fn unterminated(text: &str, syntax: Dialect) -> Option<usize> {
    pieces(text, syntax).find(|piece| !piece.is_terminated).map(|piece| piece.at)
}

/// A letter or `_`, then letters, digits and `_`.
pub fn leading_name(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let name = text.get(..end).unwrap_or_default();
    if name.starts_with(|c: char| c.is_ascii_digit()) { "" } else { name }
}

pub fn outline(transaction: &Transaction) -> String {
    const WORDS_MAX: usize = 8;
    let word = |step: &UserStep| match step {
        UserStep::Send { sql, .. } => {
            let (sql, syntax) = match (&sql.mysql, &sql.postgres) {
                (Some(sql), _) => (sql, Dialect::MySql),
                (None, sql) => (sql.as_ref()?, Dialect::Postgres),
            };
            let text = sql.with_marks(|_| String::new());
            Some(leading_name(first_word(&text, syntax)).to_ascii_uppercase())
        }
        UserStep::Sleep { .. } => Some("pause".to_owned()),
        UserStep::Pipeline { .. } => None,
    };
    let words: Vec<String> = transaction.steps.iter().filter_map(word).collect();
    let shown = words.iter().take(WORDS_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match words.len().checked_sub(WORDS_MAX) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

pub fn first_word(text: &str, syntax: Dialect) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start().trim_start_matches('(');
        match skipped(rest, syntax) {
            Some(length) if is_comment(rest, syntax) => {
                rest = rest.get(length..).unwrap_or_default();
            }
            _ if rest.starts_with(char::is_whitespace) => {}
            _ => return rest,
        }
    }
}

/// Whether a statement does no work on rows, like those that begin and end transactions.
pub fn is_control(text: &str, syntax: Dialect) -> bool {
    let word = leading_name(first_word(text, syntax));
    CONTROL.iter().any(|it| word.eq_ignore_ascii_case(it))
}

/// Whether a transaction is open after these statements, judging by their first words.
pub fn leaves_open<'t>(statements: impl Iterator<Item = &'t str>, syntax: Dialect) -> bool {
    let mut is_open = false;
    for text in statements {
        let rest = first_word(text, syntax);
        let is = |word: &str| leading_name(rest).eq_ignore_ascii_case(word);
        if is("BEGIN") || is("START") {
            is_open = true;
        } else if is("COMMIT") || is("END") {
            is_open = false;
        } else if is("ROLLBACK") {
            // `ROLLBACK TO` a savepoint ends nothing.
            is_open &= rest.split_whitespace().any(|word| word.eq_ignore_ascii_case("TO"));
        }
    }
    is_open
}

const CONTROL: [&str; 8] =
    ["BEGIN", "START", "COMMIT", "ROLLBACK", "END", "SET", "SAVEPOINT", "RELEASE"];

/// Whether a statement changes nothing, judging by its first word.
pub fn only_reads(text: &str, syntax: Dialect) -> bool {
    // `EXPLAIN ANALYZE` and `DO` may write.
    const READS: [&str; 4] = ["SELECT", "SHOW", "VALUES", "TABLE"];
    let rest = first_word(text, syntax);
    let word = leading_name(rest);
    if word.eq_ignore_ascii_case("WITH") {
        // A query with subqueries in front, unless one of its words changes rows.
        let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        const WRITES: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "MERGE"];
        return !words.any(|word| WRITES.iter().any(|it| word.eq_ignore_ascii_case(it)));
    }
    // `SELECT ... INTO` creates a table on Postgres.
    let makes_table = syntax == Dialect::Postgres
        && rest.split_whitespace().any(|word| word.eq_ignore_ascii_case("INTO"));
    is_control(text, syntax) || !makes_table && READS.iter().any(|it| word.eq_ignore_ascii_case(it))
}

/// The bytes of a comment that MySQL and MariaDB execute, and whether it is terminated: strings and quoted names in it
/// may contain `*/`.
fn executed_comment(rest: &str) -> (usize, bool) {
    let mut at = "/*!".len();
    while let Some(rest) = rest.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("*/") {
            return (at + 2, true);
        }
        at += match rest.chars().next() {
            Some(quote @ ('\'' | '"' | '`')) => match quoted(rest, quote, quote != '`') {
                (length, true) => length,
                (length, false) => return (at + length, false),
            },
            other => other.map_or(1, char::len_utf8),
        };
    }
    (at, false)
}

/// The bytes of a nestable comment, as in Postgres, and whether it is terminated.
fn nested_comment(rest: &str) -> (usize, bool) {
    let (mut depth, mut at) = (0_u32, 0);
    while let Some(rest) = rest.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth.saturating_sub(1), at + 2);
            if depth == 0 {
                return (at, true);
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    (at, false)
}

/// The bytes of a quoted text including quotes, and whether it is terminated. A doubled quote is part of it, and so is
/// a backslash-escaped one if `has_escapes`.
fn quoted(rest: &str, quote: char, has_escapes: bool) -> (usize, bool) {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, char)) = chars.next() {
        if char == '\\' && has_escapes {
            chars.next();
        } else if char == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return (at + 1, true);
        }
    }
    (rest.len(), false)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    Text,
    /// A string with backslash escapes, such as `E'...'`.
    Escaped,
    /// `"..."`, a Postgres name.
    Name,
    /// `$tag$...$tag$`, a Postgres text that is often code.
    Dollar,
}

impl Quotes {
    /// `None` if the part is unquoted or a comment.
    fn around(part: &str) -> Option<Self> {
        Some(match part.chars().next()? {
            '\'' => Self::Text,
            '"' | '`' => Self::Name,
            'e' | 'E' if part.get(1..)?.starts_with('\'') => Self::Escaped,
            '$' => Self::Dollar,
            _ => return None,
        })
    }
}

fn quoted_parts(text: &str, syntax: Dialect) -> impl Iterator<Item = (Range<usize>, Quotes)> {
    let wholes = pieces(text, syntax).filter(|piece| piece.is_whole);
    wholes.filter_map(|it| Some((it.at..it.at + it.text.len(), Quotes::around(it.text)?)))
}

/// The `:name` in strings, quoted names and dollar quotes, in order. Most of them are no variables.
pub fn quoted_uses(text: &str, syntax: Dialect) -> Vec<(VariableUse<'_>, Quotes)> {
    let mut found = Vec::new();
    for (place, quotes) in quoted_parts(text, syntax) {
        let part = text.get(place.clone()).unwrap_or_default();
        for (colon, _) in part.match_indices(':') {
            let name = leading_name(&part[colon + 1..]);
            if !name.is_empty() && !part[..colon].ends_with(':') {
                let start = place.start + colon;
                found.push((VariableUse { name, span: start..start + 1 + name.len() }, quotes));
            }
        }
    }
    found
}

/// The quotes around each variable of a Postgres statement, given the text before, between and after its variables.
pub fn surrounding_quotes(pieces: &[String]) -> Vec<Option<Quotes>> {
    let mut text = String::new();
    let mut places = Vec::with_capacity(pieces.len());
    for piece in pieces {
        text += piece;
        places.push(text.len());
        // A digit begins and ends neither a string nor a comment.
        text.push('0');
    }
    places.pop();
    let mut parts = quoted_parts(&text, Dialect::Postgres).peekable();
    let quotes = |place: usize| {
        while parts.next_if(|(part, _)| part.end <= place).is_some() {}
        parts.peek().filter(|(part, _)| part.contains(&place)).map(|(_, quotes)| *quotes)
    };
    places.into_iter().map(quotes).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: [Dialect; 2] = Dialect::ALL;

    #[test]
    fn an_open_transaction_is_seen() {
        for (statements, is_open) in [
            (&["BEGIN", "SELECT 1", "COMMIT"][..], false),
            (&["SELECT 1"], false),
            (&["/* a */ start transaction", "UPDATE t SET a = 1"], true),
            (&["BEGIN", "SAVEPOINT s", "ROLLBACK TO s"], true),
            (&["BEGIN", "ROLLBACK"], false),
            (&["BEGIN", "COMMIT", "BEGIN"], true),
        ] {
            for syntax in BOTH {
                assert_eq!(
                    leaves_open(statements.iter().copied(), syntax),
                    is_open,
                    "{statements:?}"
                );
            }
        }
    }

    fn names(text: &str, syntax: Dialect) -> Vec<&str> {
        uses(text, syntax).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn variables_are_found_where_sql_has_values() {
        for syntax in BOTH {
            let text = "SELECT a FROM t WHERE id = :id AND b IN (:b1,:b_2)";
            assert_eq!(names(text, syntax), ["id", "b1", "b_2"]);
            for text in [
                "SELECT ':a', \":b\", 'it''s :d'",
                "SELECT 1 -- :a\n+ 2 /* :c\n */",
                "SELECT x::int, @v := 1, a$b$c",
                "SELECT a[1:2], ':a",
                "SELECT /* :a",
            ] {
                assert_eq!(names(text, syntax), [] as [&str; 0], "{text}");
            }
            assert_eq!(names("SELECT 'é' || :a::text /* x */ -:b", syntax), ["a", "b"]);
        }
    }

    #[test]
    fn each_family_has_its_strings_and_comments() {
        let [mysql, postgres] = BOTH;
        for (text, in_mysql, in_postgres) in [
            ("SELECT 'C:\\', :a", &[][..], &["a"][..]),
            ("SELECT E'a\\':b', :c", &["c"], &["c"]),
            ("SELECT 'a\\':b', :c", &["c"], &["b"]),
            ("SELECT doc #>> '{a}' WHERE id = :id", &[], &["id"]),
            ("SELECT 1 # :a", &[], &["a"]),
            ("SELECT 5 --:a", &["a"], &[]),
            ("SELECT `:a`, :b", &["b"], &["a", "b"]),
            ("SELECT $$ :a $$, $tag$ :b $ :c $tag$", &["a", "b", "c"], &[]),
            ("SELECT /* /* */ :a */ 1", &["a"], &[]),
        ] {
            assert_eq!(names(text, mysql), in_mysql, "{text}");
            assert_eq!(names(text, postgres), in_postgres, "{text}");
        }
    }

    #[test]
    fn what_has_no_end_is_found() {
        for syntax in BOTH {
            assert_eq!(unterminated("SELECT 'a', \"b\" -- c", syntax), None);
            assert_eq!(unterminated("SELECT 'a''", syntax), Some(7));
            assert_eq!(unterminated("SELECT 1 /* a", syntax), Some(9));
        }
        let [mysql, postgres] = BOTH;
        assert_eq!(unterminated("SELECT $a$ b", postgres), Some(7));
        assert_eq!(unterminated("SELECT /* /* */ 1", postgres), Some(7));
        assert_eq!(unterminated("SELECT 'a\\'", mysql), Some(7));
        assert_eq!(unterminated("SELECT 'a\\'", postgres), None);
    }

    #[test]
    fn semicolons_separate_statements() {
        let parts = |text: &'static str, syntax| -> Vec<&str> {
            statements(text, syntax).into_iter().map(|place| &text[place]).collect()
        };
        for syntax in BOTH {
            assert_eq!(parts("SELECT 1", syntax), ["SELECT 1"]);
            assert_eq!(parts(" a;\nb ; ;-- c\n;/* d */ e", syntax), ["a", "b", "/* d */ e"]);
            assert_eq!(parts("SELECT ';', \"a;\"\";\"", syntax), ["SELECT ';', \"a;\"\";\""]);
            assert_eq!(parts(" \n;; ", syntax), [] as [&str; 0]);
        }
        assert_eq!(parts("SELECT $$;$$; 1", Dialect::Postgres), ["SELECT $$;$$", "1"]);
        let escaped = r"SELECT E'\';', e'\\;';";
        assert_eq!(parts(escaped, Dialect::Postgres), [escaped.trim_end_matches(';')]);
        assert_eq!(words("SELECT E'a', b", Dialect::Postgres), ["SELECT", "b"]);
        let quoted = "/*!50003 INSERT INTO t VALUES ('*/', `a*/b`, \"it's\") */;";
        for executed in [quoted, "/*M!100100 SELECT '*/;' */;"] {
            assert_eq!(parts(executed, Dialect::MySql), [executed.trim_end_matches(';')]);
        }
        assert_eq!(unterminated("/*!50003 SELECT '*/", Dialect::MySql), Some(0));
        let executed = "/*!40101 SET NAMES x */; -- end";
        assert_eq!(parts(executed, Dialect::MySql), ["/*!40101 SET NAMES x */"]);
        assert_eq!(parts(executed, Dialect::Postgres), [] as [&str; 0]);
    }

    #[test]
    fn a_script_says_what_separates_its_statements() {
        let parts = |text: &'static str| -> Vec<&str> {
            statements_of_script(text, Dialect::MySql).into_iter().map(|it| &text[it]).collect()
        };
        for mark in ["//", "$$", ";;", "|"] {
            let script = "SELECT 1;\n-- a trigger\nDELIMITER MARK\n\
                CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET @a = 'MARK'; ENDMARK\n\
                /*!50003 SELECT 2; */MARK\ndelimiter ;\nSELECT 3;\n";
            let script: &'static str = script.replace("MARK", mark).leak();
            let trigger =
                "CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET @a = 'MARK'; END";
            let trigger = trigger.replace("MARK", mark);
            let expected = ["SELECT 1", trigger.as_str(), "/*!50003 SELECT 2; */", "SELECT 3"];
            assert_eq!(parts(script), expected, "{mark}");
        }
        // It is a command only where a statement could begin, and only with a delimiter.
        assert_eq!(parts("SELECT 1 AS\ndelimiter ;\n"), ["SELECT 1 AS\ndelimiter"]);
        assert_eq!(parts("DELIMITER \"//\"\nSELECT 1; //\n"), ["SELECT 1;"]);
        assert_eq!(parts("DELIMITER\n"), ["DELIMITER"]);
        assert_eq!(statements_of_script("DELIMITER //\n", Dialect::Postgres).len(), 1);
    }

    #[test]
    fn a_statement_keeps_its_text_between_the_variables() {
        let text = "SELECT :a + :b, 'é' || :a";
        let numbered: Vec<_> = uses(text, Dialect::Postgres)
            .into_iter()
            .map(|it| (it.span, u32::from(it.name == "b")))
            .collect();
        let sql = statement(text, &numbered);
        assert_eq!(sql.variables, [0, 1, 0]);
        assert_eq!(sql.with_marks(|number| format!("${number}")), "SELECT $1 + $2, 'é' || $3");
        assert_eq!(statement("COMMIT", &[]).pieces, ["COMMIT"]);
    }

    #[test]
    fn the_first_word_tells_whether_a_statement_writes() {
        for syntax in BOTH {
            for text in [
                "select 1",
                " (SELECT 1)",
                "-- x\nSELECT 1",
                "/* a */ begin",
                "with a as (select 1) select 2",
            ] {
                assert!(only_reads(text, syntax), "{text}");
            }
            for text in [
                "UPDATE t SET a = 1",
                "call p()",
                "with a as (delete from t returning 1) select 2",
                "EXPLAIN ANALYZE DELETE FROM t",
                "DO 1",
                "",
            ] {
                assert!(!only_reads(text, syntax), "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_put_together_again(text in "[ :a-eE'\"`$\\\\/*#\n;é-]{0,40}") {
            for syntax in BOTH {
                let found = uses(&text, syntax);
                let numbered: Vec<_> = found.iter().map(|it| (it.span.clone(), 0)).collect();
                let sql = statement(&text, &numbered);
                let names = found.iter().map(|it| it.name).collect::<Vec<_>>();
                let again = sql.with_marks(|number| format!(":{}", names[number - 1]));
                prop_assert_eq!(again, text.clone());
                let _ = (only_reads(&text, syntax), backslash(&text, syntax));
                prop_assert!(unterminated(&text, syntax).is_none_or(|at| at < text.len()));
                let _ = (other_mark(&text, syntax), quoted_uses(&text, syntax));
                for place in
                    [statements(&text, syntax), statements_of_script(&text, syntax)].concat()
                {
                    prop_assert!(text.get(place).is_some_and(|it| !it.is_empty() && it.trim() == it));
                }
            }
        }
    }

    #[test]
    fn variables_in_quotes_are_found_with_their_quotes() {
        let text =
            "SELECT ':a b', E'\\'x:c', \":d\", $f$ :e; $f$, 'x::g 12:30 :' -- :h\n/* ':i' */, :j";
        let found = quoted_uses(text, Dialect::Postgres);
        let names: Vec<_> = found.iter().map(|(it, quotes)| (it.name, *quotes)).collect();
        use Quotes::{Dollar, Escaped, Name, Text};
        assert_eq!(names, [("a", Text), ("c", Escaped), ("d", Name), ("e", Dollar)]);
        let spans: Vec<_> = found.iter().map(|(it, _)| (it.span.clone(), 0)).collect();
        let around = surrounding_quotes(&statement(text, &spans).pieces);
        assert_eq!(around, [Some(Text), Some(Escaped), Some(Name), Some(Dollar)]);
        let outside = ["SELECT ", "+", ", 'a', \"b\" || ", ""].map(str::to_owned);
        assert_eq!(surrounding_quotes(&outside), [None; 3]);
        assert_eq!(surrounding_quotes(&["COMMIT".to_owned()]), []);
    }
}
