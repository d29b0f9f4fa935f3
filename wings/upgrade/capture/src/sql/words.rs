//! Keywords of SQL.

/// A value may follow the keyword.
const VALUE: u8 = 1;

/// Some server version accepts the keyword as the name of a table or column. Names may be case-sensitive, so their case
/// is kept.
const NAME: u8 = 2;

/// Sorted keywords with their roles. They are written in capitals, except for those that may be names too.
const KEYWORDS: [(&str, u8); 99] = [
    ("AGAINST", VALUE | NAME),
    ("ALL", VALUE),
    ("AND", VALUE),
    ("ANY", VALUE | NAME),
    ("ARRAY", NAME),
    ("AS", 0),
    ("ASC", 0),
    ("BEGIN", NAME),
    ("BETWEEN", VALUE),
    ("BOTH", VALUE),
    ("BY", VALUE),
    ("CALL", 0),
    ("CASE", VALUE),
    ("CAST", 0),
    ("COLLATE", 0),
    ("COMMIT", NAME),
    ("CONFLICT", NAME),
    ("CONVERT", 0),
    ("CROSS", 0),
    ("DEFAULT", 0),
    ("DELETE", 0),
    ("DESC", 0),
    ("DISTINCT", VALUE),
    ("DIV", VALUE),
    ("DO", NAME),
    ("DUPLICATE", NAME),
    ("ELSE", VALUE),
    ("END", NAME),
    ("ESCAPE", NAME),
    ("EXCEPT", VALUE | NAME),
    ("EXISTS", 0),
    ("FALSE", 0),
    ("FETCH", NAME),
    ("FIRST", VALUE | NAME),
    ("FOR", VALUE),
    ("FORCE", 0),
    ("FROM", VALUE),
    ("FULL", NAME),
    ("GROUP", 0),
    ("HAVING", VALUE),
    ("IGNORE", 0),
    ("ILIKE", VALUE),
    ("IN", VALUE),
    ("INDEX", 0),
    ("INNER", 0),
    ("INSERT", 0),
    ("INTERSECT", NAME),
    ("INTERVAL", VALUE),
    ("INTO", 0),
    ("IS", 0),
    ("JOIN", 0),
    ("KEY", 0),
    ("LATERAL", NAME),
    ("LEADING", VALUE),
    ("LEFT", 0),
    ("LIKE", VALUE),
    ("LIMIT", VALUE),
    ("MERGE", NAME),
    ("MOD", VALUE),
    ("NATURAL", 0),
    ("NEXT", VALUE | NAME),
    ("NOT", VALUE),
    ("NULL", 0),
    ("OFFSET", VALUE | NAME),
    ("ON", VALUE),
    ("ONLY", NAME),
    ("OR", VALUE),
    ("ORDER", 0),
    ("OUTER", 0),
    ("OVER", NAME),
    ("PARTITION", NAME),
    ("REGEXP", VALUE),
    ("REPLACE", 0),
    ("RETURNING", VALUE | NAME),
    ("RIGHT", 0),
    ("RLIKE", VALUE),
    ("ROLLBACK", NAME),
    ("ROWS", VALUE | NAME),
    ("SELECT", VALUE),
    ("SEPARATOR", NAME),
    ("SET", VALUE),
    ("SIMILAR", VALUE | NAME),
    ("SOME", VALUE | NAME),
    ("START", NAME),
    ("STRAIGHT_JOIN", VALUE),
    ("TABLE", NAME),
    ("THEN", VALUE),
    ("TO", VALUE),
    ("TRAILING", VALUE),
    ("TRUE", 0),
    ("UNION", VALUE),
    ("UPDATE", 0),
    ("USING", VALUE),
    ("VALUE", VALUE | NAME),
    ("VALUES", VALUE),
    ("WHEN", VALUE),
    ("WHERE", VALUE),
    ("WITH", 0),
    ("XOR", VALUE),
];

/// Length of the longest keyword.
const LONGEST: usize = 13;

/// A keyword, ignoring case, and its roles.
fn known(word: &[u8]) -> Option<(&'static str, u8)> {
    let mut upper = [0; LONGEST];
    let upper = upper.get_mut(..word.len())?;
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    let found = KEYWORDS.binary_search_by(|(keyword, _)| keyword.as_bytes().cmp(upper)).ok()?;
    Some(KEYWORDS[found])
}

pub(crate) fn keyword(word: &[u8]) -> Option<&'static str> {
    known(word).map(|(keyword, _)| keyword)
}

pub(crate) fn is_name_too(keyword: &str) -> bool {
    known(keyword.as_bytes()).is_some_and(|(_, roles)| roles & NAME != 0)
}

pub(crate) fn is_before_value(keyword: &str) -> bool {
    known(keyword.as_bytes()).is_some_and(|(_, roles)| roles & VALUE != 0)
}

const SIZED: [&str; 21] = [
    "BINARY",
    "BIT",
    "CHAR",
    "CHARACTER",
    "DATETIME",
    "DEC",
    "DECIMAL",
    "DOUBLE",
    "FLOAT",
    "INT",
    "INTEGER",
    "INTERVAL",
    "NCHAR",
    "NUMERIC",
    "SIGNED",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "UNSIGNED",
    "VARCHAR",
    "VARYING",
];

/// Units that may follow the text of an interval.
const UNITS: [&str; 6] = ["DAY", "HOUR", "MINUTE", "MONTH", "SECOND", "YEAR"];

pub(crate) fn is_sized_type(word: &[u8]) -> bool {
    is_among(&SIZED, word)
}

pub(crate) fn is_unit(word: &[u8]) -> bool {
    is_among(&UNITS, word)
}

fn is_among(list: &[&str], word: &[u8]) -> bool {
    list.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

const FILE_WORDS: [&str; 21] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "REPLACE",
    "WITH",
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "SET",
    "USE",
    "CALL",
    "SHOW",
    "VALUES",
    "TABLE",
    "EXPLAIN",
    "CREATE",
    "DELIMITER",
    "MERGE",
    "ANALYZE",
];

/// Other words with which a statement begins, on its own or in a block of code.
const STATEMENT_WORDS: [&str; 81] = [
    "ABORT",
    "ALTER",
    "ASSERT",
    "BACKUP",
    "BASE_BACKUP",
    "BINLOG",
    "CACHE",
    "CASE",
    "CHANGE",
    "CHECK",
    "CHECKPOINT",
    "CHECKSUM",
    "CLONE",
    "CLOSE",
    "CLUSTER",
    "COMMENT",
    "COPY",
    "DEALLOCATE",
    "DECLARE",
    "DESC",
    "DESCRIBE",
    "DISCARD",
    "DO",
    "DROP",
    "ELSE",
    "ELSEIF",
    "END",
    "EXECUTE",
    "FETCH",
    "FLUSH",
    "FOR",
    "GET",
    "GRANT",
    "HANDLER",
    "HELP",
    "IDENTIFY_SYSTEM",
    "IF",
    "IMPORT",
    "INSTALL",
    "ITERATE",
    "KILL",
    "LEAVE",
    "LISTEN",
    "LOAD",
    "LOCK",
    "LOOP",
    "MOVE",
    "NOTIFY",
    "OPEN",
    "OPTIMIZE",
    "PERFORM",
    "PREPARE",
    "PURGE",
    "RAISE",
    "REASSIGN",
    "REFRESH",
    "REINDEX",
    "RELEASE",
    "RENAME",
    "REPAIR",
    "REPEAT",
    "RESET",
    "RESIGNAL",
    "RESTART",
    "RETURN",
    "REVOKE",
    "SAVEPOINT",
    "SECURITY",
    "SHUTDOWN",
    "SIGNAL",
    "START_REPLICATION",
    "STATISTICS",
    "STOP",
    "TRUNCATE",
    "UNINSTALL",
    "UNLISTEN",
    "UNLOCK",
    "UNTIL",
    "VACUUM",
    "WHILE",
    "XA",
];

pub(crate) fn begins_file(word: &[u8]) -> bool {
    is_among(&FILE_WORDS, word)
}

pub(crate) fn begins_statement(word: &[u8]) -> bool {
    begins_file(word) || is_among(&STATEMENT_WORDS, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_and_fit() {
        assert!(KEYWORDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(KEYWORDS.iter().all(|(keyword, _)| keyword.len() <= LONGEST));
        assert_eq!(keyword(b"sElect"), Some("SELECT"));
        assert_eq!(keyword(b"xor"), Some("XOR"));
        assert_eq!(keyword(b"status"), None);
    }
}
