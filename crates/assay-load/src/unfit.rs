//! Databases that take no tables.

/// Why no tables are loaded into a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnfitReason {
    /// It belongs to the server itself.
    System,
    /// The server is a replica.
    Replica,
    /// The server is read-only.
    ReadOnly,
    /// The search path names no schema that exists.
    NoSchema,
}

impl UnfitReason {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::System => "it belongs to the server itself",
            Self::Replica => "the server is a replica of another one",
            Self::ReadOnly => "the server is read-only (`read_only` is set)",
            Self::NoSchema => "the search path of the user names no schema that exists",
        }
    }

    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::System => {
                "create a database for the tables, such as `sbtest`, and name it in the URL"
            }
            Self::Replica | Self::ReadOnly => {
                "name a server in the URL that takes writes, such as the primary"
            }
            Self::NoSchema => {
                "create the schema, or set `search_path` of the user to one that exists"
            }
        }
    }
}
