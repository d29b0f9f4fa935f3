//! Databases that accept no tables.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnfitReason {
    System,
    Replica,
    ReadOnly,
    /// The search path names no existing schema.
    NoSchema,
}

impl UnfitReason {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::System => "it belongs to the server itself",
            Self::Replica => "the server is a replica of another one",
            Self::ReadOnly => "the server is read-only (`read_only` is set)",
            Self::NoSchema => "the user's search path names no existing schema",
        }
    }

    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::System => {
                "create a database for the tables, such as `sbtest`, and name it in the URL"
            }
            Self::Replica | Self::ReadOnly => {
                "name a server that accepts writes, such as the primary, in the URL"
            }
            Self::NoSchema => {
                "create the schema, or set the user's `search_path` to an existing one"
            }
        }
    }
}
