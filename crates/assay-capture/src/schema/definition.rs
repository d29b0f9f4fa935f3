//! Table definitions, as far as they determine rows.

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Table {
    /// Without schema.
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// The columns of its primary key, and of each unique key.
    pub(super) keys: Vec<Vec<String>>,
    /// Number of rows, if the dump states it.
    pub(super) rows: Option<u64>,
    /// Rows go to one of several tables, by their values.
    pub(super) is_partitioned: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    /// First word of its type, in lower case.
    pub(super) kind: String,
    /// Arguments of the type: lengths, or the values of an `ENUM`.
    pub(super) arguments: Vec<String>,
    pub(super) is_array: bool,
    pub(super) is_required: bool,
    /// The server always computes its values.
    pub(super) is_filled: bool,
    /// The server numbers its values unless they are given.
    pub(super) is_numbered: bool,
    /// Table referenced by its foreign key.
    pub(super) refers_to: Option<String>,
    /// Share of NULL, if the dump states it.
    pub(super) nulls: Option<f64>,
}

impl Table {
    pub(super) fn column(&mut self, name: &str) -> Option<&mut Column> {
        self.columns.iter_mut().find(|it| it.name == name)
    }
}
