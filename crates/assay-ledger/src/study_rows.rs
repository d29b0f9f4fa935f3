//! All rows of a study as stored.

use std::collections::BTreeMap;

use rusqlite::types::Value;

use crate::Problem;
use crate::values::index;

/// All rows of a study. Ids of runs, slices and other rows are numbered from 1 in the order of writing, so copies of a
/// study are equal in all ledgers.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRows {
    pub(crate) study: String,
    /// In the order of [`TABLES`].
    pub(crate) tables: Vec<RowsOfTable>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowsOfTable {
    pub(crate) name: &'static str,
    /// In order, without generated columns.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl RowsOfTable {
    /// Refuses rows of another study, which a damaged index may return.
    pub(crate) fn refuse_others(&self, study: &str) -> Result<(), Problem> {
        let owner = if self.name == "study" { "id" } else { "study" };
        let Some(at) = self.columns.iter().position(|column| column == owner) else {
            // Its rows belong to slices.
            return Ok(());
        };
        let is_other =
            |row: &Vec<Value>| !matches!(row.get(at), Some(Value::Text(text)) if text == study);
        match self.rows.iter().position(is_other) {
            Some(row) => Err(Problem::Row {
                table: self.name,
                row: (row + 1).to_string(),
                what: "belongs to another study".to_owned(),
            }),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextPlace {
    pub table: &'static str,
    pub column: &'static str,
    pub is_json: bool,
}

/// Every table, each after those to which it refers, with the columns that order its rows. The names that a user gave
/// to studies stay with the user.
pub(crate) const TABLES: [(&str, &str); 17] = [
    ("study", "id"),
    ("test", "name"),
    ("system", "number"),
    ("cell", "number"),
    ("run", "id"),
    ("block", "number"),
    ("instance", "id"),
    ("content", "rowid"),
    ("setting", "system, name"),
    ("audit", "id"),
    ("event", "id"),
    ("counter_names", "number"),
    ("slice", "id"),
    ("series", "slice, name"),
    ("attachment", "slice, name"),
    ("verdict", "cell, system"),
    ("document", "cell, system, name"),
];

/// Columns with arbitrary text: names, messages, settings. All others have numbers, digests and words defined by assay.
const TEXTS: &[TextPlace] = &[
    json("study", "request"),
    json("study", "plan"),
    json("test", "definition"),
    text("system", "name"),
    json("system", "spec"),
    json("system", "artifact"),
    json("system", "options"),
    json("run", "host"),
    json("run", "shard"),
    text("setting", "value"),
    text("audit", "setting"),
    json("audit", "values"),
    text("audit", "why"),
    json("event", "what"),
    text("slice", "failure"),
    json("slice", "published"),
    json("counter_names", "names"),
    text("document", "name"),
    json("document", "document"),
];

const fn text(table: &'static str, column: &'static str) -> TextPlace {
    TextPlace { table, column, is_json: false }
}

const fn json(table: &'static str, column: &'static str) -> TextPlace {
    TextPlace { table, column, is_json: true }
}

/// Beginning of the names of studies of published results.
pub const PUBLISHED_PREFIX: &str = "imported-";

/// Adds a value with its type and length. The order of JSON fields does not matter.
fn put(all: &mut Vec<u8>, value: &Value) {
    let of_json = |text: &str| {
        let mut json: serde_json::Value = serde_json::from_str(text).ok()?;
        if let Some(fields) = json.as_object_mut() {
            // Where they were published, in an artifact.
            fields.remove("reported_in");
        }
        Some(json.to_string())
    };
    let (kind, bytes) = match value {
        Value::Null => ('n', Vec::new()),
        Value::Integer(number) => ('i', number.to_string().into_bytes()),
        Value::Real(number) => ('r', number.to_bits().to_string().into_bytes()),
        Value::Text(text) => ('t', of_json(text).unwrap_or_else(|| text.clone()).into_bytes()),
        Value::Blob(bytes) => ('b', bytes.clone()),
    };
    all.extend(format!("{kind}{}:", bytes.len()).into_bytes());
    all.extend(bytes);
}

impl StudyRows {
    pub fn study(&self) -> &str {
        &self.study
    }

    /// Whether both are the same study, whatever their origin. Published results are named after their content, which
    /// alone counts.
    pub fn is_same(&self, other: &Self) -> bool {
        let are_published = self.is_published() && self.study == other.study;
        if are_published {
            return self.content() == other.content();
        }
        self.clone().marked_foreign() == other.clone().marked_foreign()
    }

    pub fn marked_foreign(mut self) -> Self {
        for value in self.column("study", "is_foreign") {
            *value = Value::Integer(1);
        }
        self
    }

    pub fn is_published(&self) -> bool {
        self.study.starts_with(PUBLISHED_PREFIX)
    }

    /// The content of published results in a form for digests: without the name of the study, the time, file and assay
    /// version of the import, and conclusions.
    pub fn content(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let of_origin = [
            "assay_version",
            "is_foreign",
            "judged_by",
            "started_ms",
            "when_ms",
            "written_ms",
            "study",
        ];
        for RowsOfTable { name, columns, rows } in
            self.tables.iter().filter(|it| it.name != "verdict")
        {
            let counts =
                |column: &str| !of_origin.contains(&column) && (*name, column) != ("study", "id");
            for (row, at) in rows.iter().zip(0_u64..) {
                for (value, column) in row.iter().zip(columns).filter(|(_, it)| counts(it)) {
                    all.extend(format!("{name} {at} {column} ").into_bytes());
                    put(&mut all, value);
                }
            }
        }
        all
    }

    pub fn renamed(mut self, study: String) -> Self {
        for table in &mut self.tables {
            let owner = if table.name == "study" { "id" } else { "study" };
            let at = table.columns.iter().position(|column| column == owner);
            for value in table.rows.iter_mut().filter_map(|row| row.get_mut(at?)) {
                *value = Value::Text(study.clone());
            }
        }
        self.study = study;
        self
    }

    /// Calls `change` with every arbitrary text, and replaces it by the result.
    pub fn change_texts(&mut self, mut change: impl FnMut(TextPlace, &str) -> Option<String>) {
        for place in TEXTS {
            for value in self.column(place.table, place.column) {
                if let Value::Text(text) = value
                    && let Some(changed) = change(*place, text)
                {
                    *text = changed;
                }
            }
        }
    }

    pub fn retain_settings(&mut self, keeps: impl Fn(&str) -> bool) {
        for table in self.tables.iter_mut().filter(|table| table.name == "setting") {
            let name = table.columns.iter().position(|column| column == "name");
            let is_kept = |row: &[Value]| match name.and_then(|at| row.get(at)) {
                Some(Value::Text(name)) => keeps(name),
                _ => false,
            };
            table.rows.retain(|row| is_kept(row));
        }
    }

    pub fn attachments(&mut self) -> impl Iterator<Item = &mut Vec<u8>> {
        self.column("attachment", "bytes").filter_map(|value| match value {
            Value::Blob(bytes) => Some(bytes),
            _ => None,
        })
    }

    fn column(&mut self, name: &str, column: &str) -> impl Iterator<Item = &mut Value> {
        let tables = self.tables.iter_mut().filter(move |table| table.name == name);
        tables.flat_map(move |table| {
            let at = table.columns.iter().position(|it| it == column);
            table.rows.iter_mut().filter_map(move |row| row.get_mut(at?))
        })
    }
}

pub(crate) fn listed(columns: &[String]) -> String {
    columns.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>().join(", ")
}

/// The table whose ids a column has, if it is not a study.
pub(crate) fn refers_to<'a>(table: &'a str, column: &'a str) -> Option<&'a str> {
    match column {
        "id" if table != "study" => Some(table),
        "run" | "slice" => Some(column),
        _ => None,
    }
}

/// Renumbers ids from 1. `ids` has the ids of each table, ascending.
pub(crate) fn number(
    table: &mut RowsOfTable,
    ids: &mut BTreeMap<String, Vec<i64>>,
) -> Result<(), Problem> {
    for (at, column) in table.columns.iter().enumerate() {
        let Some(of) = refers_to(table.name, column) else { continue };
        let values = table.rows.iter_mut().filter_map(|row| row.get_mut(at));
        let known = ids.entry(of.to_owned()).or_default();
        for value in values {
            let Value::Integer(id) = value else { continue };
            if of == table.name {
                known.push(*id);
            }
            let number = known.binary_search(id).map_err(|_| Problem::Dangling)?;
            *id = index(number + 1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape;

    /// A table forgotten here would be lost in a pack.
    #[test]
    fn every_table_of_the_schema_is_copied() {
        let columns = shape::columns().unwrap();
        let mut copied: Vec<&str> = TABLES.iter().map(|(name, _)| *name).chain(["name"]).collect();
        copied.sort_unstable();
        assert!(columns.keys().eq(&copied), "{columns:?}");
        for place in TEXTS {
            assert!(columns[place.table].iter().any(|it| it == place.column), "{place:?}");
        }
    }
}
