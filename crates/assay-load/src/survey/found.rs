//! Objects and properties of a server that a survey finds.

/// An object whose name the load needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) kind: ObjectKind,
    pub(super) of: Option<String>,
    /// Why it is not a table of an earlier load; `None` if it is one.
    pub(super) foreign: Option<String>,
    /// Description of an object that is kept and refers to it, so it cannot be dropped.
    pub(super) referrer: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Table,
    View,
    MaterializedView,
    Sequence,
    Index,
    ForeignTable,
    Type,
}

impl ObjectKind {
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::View => "VIEW",
            Self::MaterializedView => "MATERIALIZED VIEW",
            Self::Sequence => "SEQUENCE",
            Self::Index => "INDEX",
            Self::ForeignTable => "FOREIGN TABLE",
            Self::Type => "TYPE",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Table => "a table",
            Self::View => "a view",
            Self::MaterializedView => "a materialized view",
            Self::Sequence => "a sequence",
            Self::Index => "an index",
            Self::ForeignTable => "a foreign table",
            Self::Type => "a type",
        }
    }
}

pub(super) struct Found {
    pub(super) schema: String,
    pub(super) objects: Vec<Object>,
    pub(super) may_create: bool,
    pub(super) sees_triggers: bool,
}
