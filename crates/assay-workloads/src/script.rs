//! SQL scripts that create the rows of a table.

use assay_model::Dialect;

use crate::sql::{first_word, statements_of_script, unterminated};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ScriptError {
    line: usize,
    why: &'static str,
}

/// Splits a script into statements, without semicolons and trailing comments.
pub fn script_statements(content: &[u8], syntax: Dialect) -> Result<Vec<&str>, ScriptError> {
    let line_at = |end: usize| {
        content.get(..end).map_or(1, |before| 1 + before.iter().filter(|it| **it == b'\n').count())
    };
    let fail = |at: usize, why| ScriptError { line: line_at(at), why };
    let text = std::str::from_utf8(content)
        .map_err(|error| fail(error.valid_up_to(), "this is not UTF-8"))?;
    if let Some(at) = unterminated(text, syntax) {
        return Err(fail(at, "a string, a quoted name or a comment that begins here has no end"));
    }
    let places = statements_of_script(text, syntax);
    if places.is_empty() {
        return Err(fail(0, "there is no statement"));
    }
    let statement = |place: std::ops::Range<usize>| {
        let statement = text.get(place.clone()).unwrap_or_default();
        match of_a_client(first_word(statement, syntax)) {
            Some(why) => Err(fail(place.start, why)),
            None => Ok(statement),
        }
    };
    places.into_iter().map(statement).collect()
}

/// Checks a script for all dialects: at least one syntax must accept it. A dump of one dialect is seldom a script of
/// another.
pub fn check_script(content: &[u8]) -> Result<(), ScriptError> {
    let mysql = script_statements(content, Dialect::MySql);
    match (mysql, script_statements(content, Dialect::Postgres)) {
        (Ok(_), _) | (_, Ok(_)) => Ok(()),
        (Err(mysql), Err(postgres)) if postgres.line > mysql.line => Err(postgres),
        (Err(mysql), Err(_)) => Err(mysql),
    }
}

/// Why a server does not accept this as a statement. It begins with its first word.
fn of_a_client(statement: &str) -> Option<&'static str> {
    let first = statement.split_whitespace().next().unwrap_or_default();
    if first.starts_with('\\') {
        Some("commands of psql, which begin with a backslash, cannot be used: leave them out")
    } else if first.eq_ignore_ascii_case("DELIMITER") || first.eq_ignore_ascii_case("SOURCE") {
        Some(
            "`SOURCE`, and `DELIMITER` without a mark, are commands of the client `mysql` that cannot be used",
        )
    } else if first.eq_ignore_ascii_case("COPY")
        && statement.to_ascii_uppercase().contains("FROM STDIN")
    {
        Some("`COPY ... FROM stdin` cannot be used; `pg_dump --inserts` writes INSERT statements")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_its_statements() {
        let script =
            b"-- made by hand\nCREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\n-- end\n";
        assert_eq!(
            script_statements(script, Dialect::MySql).unwrap(),
            ["-- made by hand\nCREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)"]
        );
    }

    /// Dumps escape a quote with a backslash, and define triggers with a delimiter of their own.
    #[test]
    fn a_dump_of_mysql_is_a_script() {
        let dump = b"/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump\n\
            CREATE TABLE `t` (`a` text);\nLOCK TABLES `t` WRITE;\n\
            INSERT INTO `t` VALUES (1,'don\\'t; \\\\ \\\"call\\\"\\n'),\n(2,'won\\'t \\\\');\n\
            UNLOCK TABLES;\nDELIMITER ;;\n/*!50003 CREATE*/ /*!50003 TRIGGER x BEFORE INSERT ON t FOR EACH ROW \
            BEGIN SET NEW.a = 1; END */;;\nDELIMITER ;\n";
        assert_eq!(script_statements(dump, Dialect::MySql).unwrap().len(), 5);
        assert!(script_statements(dump, Dialect::Postgres).is_err());
        check_script(dump).unwrap();
        check_script(b"SELECT E'\\'', $$;'$$;\n").unwrap();
        let error = check_script(b"SELECT 1;\n\\connect x\n").unwrap_err().to_string();
        assert!(error.starts_with("line 2: commands of psql"), "{error}");
    }

    #[test]
    fn commands_of_clients_are_refused_with_their_line() {
        for (script, message) in [
            (&b"SELECT 1;\n\\connect x\n"[..], "line 2: commands of psql"),
            (b"SOURCE a.sql\n", "line 1: `SOURCE`"),
            (b"--\n-- dump\n--\n\n\\restrict x\n\nSET a = 1;", "line 1: commands of psql"),
            (b"\n\n-- data\nCOPY t FROM stdin;\n1\n\\.\n", "line 3: `COPY"),
            (b"a;\n\xff", "line 2: this is not UTF-8"),
            (b"-- nothing\n", "line 1: there is no statement"),
            (b"SELECT 1;\nSELECT 'a;\n", "line 2: a string"),
        ] {
            let error = script_statements(script, Dialect::Postgres).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
