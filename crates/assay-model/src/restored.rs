//! What was found while a dump was restored, and where servers answer a user's statements differently.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::counted;

/// Something that a server told while a dump was restored, or a part of the dump that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// What it is.
    pub what: RestoredKind,
    /// The name of the dump.
    pub file: String,
    /// The line where the statement begins; 0 if it is about all of the dump.
    pub line: u64,
    /// The first line of the statement, cut where it is long; empty if it is about all of the dump.
    pub statement: String,
    /// What the server said, or what was left out.
    pub message: String,
    /// How often it was told.
    pub count: u64,
}

/// A kind of what is found while a dump is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestoredKind {
    /// The server refused a statement.
    Error,
    /// The server warned of a statement.
    Warning,
    /// A part that is for another place was left out.
    LeftOut,
    /// Tables have no rows after it.
    Empty,
    /// Tables have rows that were made, because it has none.
    Made,
}

/// A statement of a user that a system answers differently from the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerDifference {
    /// The test's name.
    pub test: String,
    /// The statement with marks for its values.
    pub statement: String,
    /// The statement with the values with which it was carried out.
    pub sent: String,
    /// What differs.
    pub what: AnswerPart,
    /// How many events it differed in.
    pub count: u32,
    /// How many events it was compared in.
    #[serde(default)]
    pub of: u32,
    /// The answer of the base, as far as it differs.
    pub base: String,
    /// The answer of the system, as far as it differs.
    pub here: String,
}

/// A part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerPart {
    /// A server refuses the statement, or both do for different reasons.
    Error,
    /// There was no answer in time.
    NoAnswer,
    /// The number of rows.
    Rows,
    /// The values of rows, or their order.
    Values,
    /// The names of columns.
    Names,
    /// The types of columns, or the collations of texts.
    Types,
    /// What the server warns of.
    Warnings,
    /// It says itself that another answer could be right too, so that nothing was compared.
    Undetermined,
}

impl AnswerPart {
    /// What differs, in words.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Error => "fails differently",
            Self::NoAnswer => "has no answer in time",
            Self::Rows => "returns another number of rows",
            Self::Values => "returns other rows",
            Self::Names => "returns columns with other names",
            Self::Types => "returns columns of other types",
            Self::Warnings => "has other warnings",
            Self::Undetermined => "cannot be compared",
        }
    }
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, file, line, statement, message, count } = self;
        match what {
            RestoredKind::Error => write!(f, "refused `{statement}`")?,
            RestoredKind::Warning => write!(f, "warned of `{statement}`")?,
            RestoredKind::LeftOut | RestoredKind::Empty | RestoredKind::Made => {
                return write!(f, "`{file}`: {message}");
            }
        }
        write!(f, " (`{file}`, line {line}): {message}")?;
        if *count > 1 {
            write!(f, " ({} like it)", counted(*count, "statement"))?;
        }
        Ok(())
    }
}

impl AnswerDifference {
    /// ` for 2 of 30 values`, and nothing where it was compared for one.
    #[must_use]
    pub fn in_some(&self) -> String {
        match self.of {
            0 | 1 => String::new(),
            of if of == self.count => format!(" for all of {of} values"),
            of => format!(" for {} of {of} values", self.count),
        }
    }
}

impl fmt::Display for AnswerDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { test, sent, what, base, here, .. } = self;
        write!(f, "{test}: `{sent}` {}{}", what.in_words(), self.in_some())?;
        match what {
            AnswerPart::Undetermined => write!(f, ": {here}"),
            _ => write!(f, ": {here} (base: {base})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_have_their_texts() {
        let of = |what, count| Restored {
            what,
            file: "dump.sql".to_owned(),
            line: 7,
            statement: "CREATE TABLE t (".to_owned(),
            message: "no".to_owned(),
            count,
        };
        for (found, shown) in [
            (of(RestoredKind::Error, 1), "refused `CREATE TABLE t (` (`dump.sql`, line 7): no"),
            (
                of(RestoredKind::Warning, 3),
                "warned of `CREATE TABLE t (` (`dump.sql`, line 7): no (3 statements like it)",
            ),
            (of(RestoredKind::LeftOut, 2), "`dump.sql`: no"),
        ] {
            assert_eq!(found.to_string(), shown);
        }
        let differs = |what| AnswerDifference {
            test: "top".to_owned(),
            statement: "SELECT ?".to_owned(),
            sent: "SELECT 1".to_owned(),
            what,
            count: 1,
            of: 1,
            base: "2 rows".to_owned(),
            here: "3 rows".to_owned(),
        };
        assert_eq!(
            differs(AnswerPart::Rows).to_string(),
            "top: `SELECT 1` returns another number of rows: 3 rows (base: 2 rows)"
        );
        let rare = AnswerDifference { of: 40, ..differs(AnswerPart::Warnings) };
        assert!(rare.to_string().contains(" for 1 of 40 values: 3 rows"), "{rare}");
        assert_eq!(
            differs(AnswerPart::Undetermined).to_string(),
            "top: `SELECT 1` cannot be compared: 3 rows"
        );
    }
}
