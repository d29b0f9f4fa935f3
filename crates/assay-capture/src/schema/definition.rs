//! What the definition of a table says of its rows.

/// A table of a dump.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Table {
    /// Its name without schema.
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// The columns of its primary key, and of each unique key.
    pub(super) keys: Vec<Vec<String>>,
    /// The number of rows, if the dump states it.
    pub(super) rows: Option<u64>,
    /// Whether rows go to one of several tables, by their values.
    pub(super) is_partitioned: bool,
}

/// A column of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    /// The first word of its type, in lower case.
    pub(super) kind: String,
    /// What stands in parentheses after it: lengths, or the values of an `ENUM`.
    pub(super) arguments: Vec<String>,
    pub(super) is_array: bool,
    pub(super) is_required: bool,
    /// Whether the server makes its values.
    pub(super) is_filled: bool,
    /// Whether its values are numbered by the server unless they are given.
    pub(super) is_numbered: bool,
    /// The table that its foreign key refers to.
    pub(super) refers_to: Option<String>,
    /// The share of NULL, if the dump states it.
    pub(super) nulls: Option<f64>,
}

impl Table {
    pub(super) fn column(&mut self, name: &str) -> Option<&mut Column> {
        self.columns.iter_mut().find(|it| it.name == name)
    }
}
