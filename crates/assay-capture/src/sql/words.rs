//! Keywords of SQL.

/// Keywords. They are written in capitals, except for those that may be names too.
const KEYWORDS: [&str; 98] = [
    "AGAINST",
    "ALL",
    "AND",
    "ANY",
    "ARRAY",
    "AS",
    "ASC",
    "BEGIN",
    "BETWEEN",
    "BOTH",
    "BY",
    "CALL",
    "CASE",
    "CAST",
    "COLLATE",
    "COMMIT",
    "CONFLICT",
    "CONVERT",
    "CROSS",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DISTINCT",
    "DIV",
    "DO",
    "DUPLICATE",
    "ELSE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "FALSE",
    "FETCH",
    "FIRST",
    "FOR",
    "FORCE",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IGNORE",
    "ILIKE",
    "IN",
    "INDEX",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "KEY",
    "LATERAL",
    "LEADING",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MERGE",
    "MOD",
    "NATURAL",
    "NEXT",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "ONLY",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "REGEXP",
    "REPLACE",
    "RETURNING",
    "RIGHT",
    "RLIKE",
    "ROLLBACK",
    "ROWS",
    "SELECT",
    "SEPARATOR",
    "SET",
    "SIMILAR",
    "SOME",
    "START",
    "STRAIGHT_JOIN",
    "TABLE",
    "THEN",
    "TO",
    "TRAILING",
    "TRUE",
    "UNION",
    "UPDATE",
    "USING",
    "VALUE",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
];

/// Another keyword, separate only for layout.
const XOR: &str = "XOR";

const BEFORE_VALUE: [&str; 45] = [
    "AGAINST",
    "ALL",
    "AND",
    "ANY",
    "BETWEEN",
    "BOTH",
    "BY",
    "CASE",
    "DISTINCT",
    "DIV",
    "ELSE",
    "EXCEPT",
    "FIRST",
    "FOR",
    "FROM",
    "HAVING",
    "ILIKE",
    "IN",
    "INTERVAL",
    "LEADING",
    "LIKE",
    "LIMIT",
    "MOD",
    "NEXT",
    "NOT",
    "OFFSET",
    "ON",
    "OR",
    "REGEXP",
    "RETURNING",
    "RLIKE",
    "ROWS",
    "SELECT",
    "SET",
    "SIMILAR",
    "SOME",
    "STRAIGHT_JOIN",
    "THEN",
    "TO",
    "TRAILING",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
];

/// Keywords that some server version accepts as the name of a table or column. Names may be case-sensitive, so their
/// case is kept.
const NAMES_TOO: [&str; 31] = [
    "AGAINST",
    "ANY",
    "ARRAY",
    "BEGIN",
    "COMMIT",
    "CONFLICT",
    "DO",
    "DUPLICATE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "FETCH",
    "FIRST",
    "FULL",
    "INTERSECT",
    "LATERAL",
    "MERGE",
    "NEXT",
    "OFFSET",
    "ONLY",
    "OVER",
    "PARTITION",
    "RETURNING",
    "ROLLBACK",
    "ROWS",
    "SEPARATOR",
    "SIMILAR",
    "SOME",
    "START",
    "TABLE",
    "VALUE",
];

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

/// Length of the longest word in the lists.
const LONGEST: usize = 13;

/// Finds a word in a list, ignoring case.
fn among(list: &[&'static str], word: &[u8]) -> Option<&'static str> {
    let mut upper = [0; LONGEST];
    let upper = upper.get_mut(..word.len())?;
    upper.copy_from_slice(word);
    upper.make_ascii_uppercase();
    let found = list.binary_search_by(|it| it.as_bytes().cmp(upper)).ok()?;
    list.get(found).copied()
}

pub(crate) fn keyword(word: &[u8]) -> Option<&'static str> {
    among(&KEYWORDS, word).or_else(|| word.eq_ignore_ascii_case(XOR.as_bytes()).then_some(XOR))
}

pub(crate) fn is_name_too(keyword: &str) -> bool {
    NAMES_TOO.binary_search(&keyword).is_ok()
}

pub(crate) fn is_before_value(keyword: &str) -> bool {
    keyword == XOR || keyword == "VALUE" || BEFORE_VALUE.binary_search(&keyword).is_ok()
}

pub(crate) fn is_sized_type(word: &[u8]) -> bool {
    among(&SIZED, word).is_some()
}

pub(crate) fn is_unit(word: &[u8]) -> bool {
    among(&UNITS, word).is_some()
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
    FILE_WORDS.iter().any(|it| word.eq_ignore_ascii_case(it.as_bytes()))
}

pub(crate) fn begins_statement(word: &[u8]) -> bool {
    let is_other = || STATEMENT_WORDS.iter().any(|it| word.eq_ignore_ascii_case(it.as_bytes()));
    begins_file(word) || is_other()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_their_words_fit() {
        for list in [&KEYWORDS[..], &BEFORE_VALUE, &NAMES_TOO, &SIZED, &UNITS] {
            assert!(list.windows(2).all(|pair| pair[0] < pair[1]), "{list:?}");
            assert!(list.iter().all(|word| word.len() <= LONGEST));
        }
        assert!(BEFORE_VALUE.iter().chain(&NAMES_TOO).all(|word| KEYWORDS.contains(word)));
        assert_eq!(keyword(b"sElect"), Some("SELECT"));
        assert_eq!(keyword(b"xor"), Some("XOR"));
        assert_eq!(keyword(b"status"), None);
    }
}
