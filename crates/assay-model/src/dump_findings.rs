//! Findings while restoring a dump, and differences between servers' answers to a user's statements.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{counted, thousands};

/// A server message while restoring a dump, or an omitted part of the dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpFinding {
    pub what: DumpFindingKind,
    pub file: String,
    /// Line where the statement begins; 0 for the dump as a whole.
    pub line: u64,
    /// First line of the statement, truncated if long; empty for the dump as a whole.
    pub statement: String,
    pub message: String,
    pub count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DumpFindingKind {
    Error,
    Warning,
    /// A part meant for another environment was left out.
    LeftOut,
    Empty,
    /// Rows were generated for tables without any.
    Made,
    /// A user's login plugin is missing on the server.
    Login,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerDifference {
    pub test: String,
    /// The statement with placeholders for its values.
    pub statement: String,
    /// The statement with its actual values.
    pub sent: String,
    pub what: AnswerPart,
    /// Why the statement permits the difference; `None` if its text determines the answer. For types: why the
    /// connections give texts another collation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub count: u32,
    #[serde(default)]
    pub of: u32,
    pub base: String,
    pub here: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerPart {
    Error,
    /// The base refuses the statement; the system accepts it or gives another reason.
    OtherError,
    /// Fails with the same error on the base, for all of its values.
    SameError,
    NoAnswer,
    Rows,
    /// Values of rows, or their order if the statement specifies one.
    Values,
    /// Order of the same rows, not specified by the statement but stable on the base.
    Order,
    /// Rows or values not specified by the statement but stable on the base.
    Choice,
    Names,
    Types,
    /// Warnings of the system but not of the base.
    Warnings,
    /// Neither the statement nor the base determines the answer, so nothing was compared.
    Undetermined,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerCounts {
    pub statements: u32,
    pub same: u32,
    pub undetermined: u32,
    /// Fewest and most values for which one of the equal statements was answered.
    pub least: u32,
    pub most: u32,
    pub values: u64,
}

impl AnswerCounts {
    pub fn same_in_words(&self) -> String {
        let Self { same, least, most, values, .. } = *self;
        let statements = counted(u64::from(same), "statement");
        let [least_in_words, most_in_words] = [least, most].map(thousands);
        match (same, most) {
            (0, _) => "no statement answered the same".to_owned(),
            (_, 0 | 1) => format!("{statements} answered the same, over 1 value each"),
            _ if least == most => {
                format!("{statements} answered the same, over {most_in_words} values each")
            }
            _ => format!(
                "{statements} answered the same, over {least_in_words} to {most_in_words} values each, {} in all",
                thousands(values)
            ),
        }
    }
}

impl fmt::Display for AnswerCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statements = counted(u64::from(self.statements), "statement");
        write!(f, "the answers to {statements} were compared: {}", self.same_in_words())?;
        match self.undetermined {
            0 => Ok(()),
            more => write!(f, "; those to {more} cannot be compared"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    MustFix,
    LookAt,
    NotCompared,
}

impl AnswerPart {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Error => "fails",
            Self::OtherError => "fails differently",
            Self::SameError => "fails on the base too, with the same error",
            Self::NoAnswer => "has no answer in time",
            Self::Rows => "returns another number of rows",
            Self::Values | Self::Choice => "returns other rows",
            Self::Order => "returns the same rows in another order",
            Self::Names => "returns columns with other names",
            Self::Types => "returns columns of other types",
            Self::Warnings => "has new warnings",
            Self::Undetermined => "cannot be compared",
        }
    }

    pub fn severity(self) -> Severity {
        match self {
            Self::Error | Self::Rows | Self::Values => Severity::MustFix,
            Self::OtherError
            | Self::Order
            | Self::Choice
            | Self::Names
            | Self::Types
            | Self::Warnings => Severity::LookAt,
            Self::SameError | Self::NoAnswer | Self::Undetermined => Severity::NotCompared,
        }
    }

    pub fn has_rows(self) -> bool {
        matches!(self, Self::Rows | Self::Values | Self::Order | Self::Choice)
    }
}

impl fmt::Display for DumpFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, file, line, statement, message, count } = self;
        match what {
            DumpFindingKind::Error => write!(f, "refused `{statement}`")?,
            DumpFindingKind::Warning => write!(f, "warned of `{statement}`")?,
            DumpFindingKind::LeftOut
            | DumpFindingKind::Empty
            | DumpFindingKind::Made
            | DumpFindingKind::Login => {
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
    /// Whether collations differ only because those of the connections do: this is one difference of all statements
    /// rather than one of each.
    pub fn is_of_connection(&self) -> bool {
        self.what == AnswerPart::Types && self.why.is_some()
    }

    /// ` for 2 of 30 values`; empty if one value was compared.
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
        let Self { test, sent, what, why, base, here, .. } = self;
        write!(f, "{test}: `{sent}` {}{}", what.in_words(), self.in_some())?;
        if let Some(why) = why {
            write!(f, " ({why})")?;
        }
        match what {
            AnswerPart::SameError | AnswerPart::Undetermined => write!(f, ": {here}"),
            _ => write!(f, ": {here} (base: {base})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_answered_the_same_are_counted_with_their_values() {
        let text = |same, [least, most]: [u32; 2], values, undetermined| {
            let statements = same + 2;
            AnswerCounts { statements, same, undetermined, least, most, values }.to_string()
        };
        let begin =
            "the answers to 40 statements were compared: 38 statements answered the same, over";
        assert_eq!(text(38, [1204, 1204], 45_752, 0), format!("{begin} 1,204 values each"));
        assert_eq!(
            text(38, [3, 300], 4_100, 1),
            format!("{begin} 3 to 300 values each, 4,100 in all; those to 1 cannot be compared")
        );
        assert!(
            text(1, [1, 1], 1, 0).ends_with(": 1 statement answered the same, over 1 value each")
        );
        assert!(text(0, [0, 0], 0, 0).ends_with(": no statement answered the same"));
    }

    #[test]
    fn findings_have_their_texts() {
        let finding = |what, count| DumpFinding {
            what,
            file: "dump.sql".to_owned(),
            line: 7,
            statement: "CREATE TABLE t (".to_owned(),
            message: "no".to_owned(),
            count,
        };
        for (found, shown) in [
            (
                finding(DumpFindingKind::Error, 1),
                "refused `CREATE TABLE t (` (`dump.sql`, line 7): no",
            ),
            (
                finding(DumpFindingKind::Warning, 3),
                "warned of `CREATE TABLE t (` (`dump.sql`, line 7): no (3 statements like it)",
            ),
            (finding(DumpFindingKind::LeftOut, 2), "`dump.sql`: no"),
        ] {
            assert_eq!(found.to_string(), shown);
        }
        let differs = |what| AnswerDifference {
            test: "top".to_owned(),
            statement: "SELECT ?".to_owned(),
            sent: "SELECT 1".to_owned(),
            what,
            why: None,
            count: 1,
            of: 1,
            base: "2 rows".to_owned(),
            here: "3 rows".to_owned(),
        };
        assert_eq!(
            differs(AnswerPart::Rows).to_string(),
            "top: `SELECT 1` returns another number of rows: 3 rows (base: 2 rows)"
        );
        let sorted = Some("before 8.0, GROUP BY also sorted".to_owned());
        assert_eq!(
            AnswerDifference { why: sorted, ..differs(AnswerPart::Order) }.to_string(),
            "top: `SELECT 1` returns the same rows in another order (before 8.0, GROUP BY also sorted): 3 rows \
             (base: 2 rows)"
        );
        let rare = AnswerDifference { of: 40, ..differs(AnswerPart::Warnings) };
        assert!(rare.to_string().contains(" for 1 of 40 values: 3 rows"), "{rare}");
        assert_eq!(
            differs(AnswerPart::Undetermined).to_string(),
            "top: `SELECT 1` cannot be compared: 3 rows"
        );
    }
}
