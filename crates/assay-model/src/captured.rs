//! Values that were captured from an application and that events of a workload use.

use serde::{Deserialize, Serialize};

use crate::UserRowsFile;

/// A file with values: a line for each event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Captured {
    /// The file.
    pub file: UserRowsFile,
    /// How many lines it has.
    pub lines: u32,
    /// How many values a line has.
    pub width: u32,
    /// Which line an event takes.
    pub draw: CapturedDraw,
}

/// Which line of a file an event takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapturedDraw {
    /// Any, all alike.
    #[default]
    Random,
    /// One after the other: by the number of the event, and clients in turn.
    InOrder,
}

/// Of which kind the captured values of one name are, as far as it matters how a statement is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapturedKind {
    /// Whole numbers of 64 bits, and NULL.
    Integers,
    /// Texts, and NULL.
    Texts,
    /// Numbers, texts and NULL.
    Mixed,
    /// Some are bytes that need not be text.
    Bytes,
    /// Some are lists.
    Lists,
}

impl CapturedKind {
    /// The kind of values to which one of another kind is added; `None` is the kind of NULL.
    #[must_use]
    pub fn with(self, other: Option<Self>) -> Self {
        match (self, other) {
            (kind, None) => kind,
            (Self::Lists, _) | (_, Some(Self::Lists)) => Self::Lists,
            (Self::Bytes, _) | (_, Some(Self::Bytes)) => Self::Bytes,
            (one, Some(other)) if one == other => one,
            _ => Self::Mixed,
        }
    }

    /// Whether statements with such values are sent as text, because there is no parameter for them. `has_escapes` says
    /// whether a backslash has a meaning in literals of the dialect.
    #[must_use]
    pub fn is_sent_as_text(self, has_escapes: bool) -> bool {
        // Postgres takes bytes as the text of a parameter.
        self == Self::Lists || self == Self::Bytes && has_escapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_kind_counts() {
        use CapturedKind::{Bytes, Integers, Lists, Mixed, Texts};
        for (one, other, both) in [
            (Integers, None, Integers),
            (Integers, Some(Texts), Mixed),
            (Texts, Some(Texts), Texts),
            (Texts, Some(Bytes), Bytes),
            (Bytes, Some(Lists), Lists),
            (Lists, Some(Integers), Lists),
        ] {
            assert_eq!(one.with(other), both);
        }
        assert!(Bytes.is_sent_as_text(true) && !Bytes.is_sent_as_text(false));
        assert!(Lists.is_sent_as_text(false) && !Mixed.is_sent_as_text(true));
    }
}
