//! Values captured from an application.

use serde::{Deserialize, Serialize};

use crate::UserRowsFile;

/// A file of values, one line per event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapturedValues {
    pub file: UserRowsFile,
    pub lines: u32,
    pub width: u32,
    pub draw: CapturedDraw,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapturedDraw {
    #[default]
    Random,
    /// In order of the event's number, clients taking turns.
    InOrder,
}

/// Kind of the captured values of one name, as far as it affects how a statement is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapturedKind {
    Integers,
    Texts,
    Mixed,
    /// Some are bytes that need not be text.
    Bytes,
    Lists,
}

impl CapturedKind {
    /// The common kind after adding values of another kind; `None` is the kind of NULL.
    pub fn with(self, other: Option<Self>) -> Self {
        match (self, other) {
            (kind, None) => kind,
            (Self::Lists, _) | (_, Some(Self::Lists)) => Self::Lists,
            (Self::Bytes, _) | (_, Some(Self::Bytes)) => Self::Bytes,
            (one, Some(other)) if one == other => one,
            _ => Self::Mixed,
        }
    }

    /// Whether statements with such values are sent as text because no parameter type fits. `has_escapes`: whether
    /// backslashes escape in literals of the dialect.
    pub fn is_sent_as_text(self, has_escapes: bool) -> bool {
        // Postgres accepts bytes as the text of a parameter.
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
