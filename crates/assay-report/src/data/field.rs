//! Lists of fields: all that files say of a row. JSON, CSV, feeds and the reference are made of them.

use super::value::JsonValue;
use crate::sections::study::JudgedStudy;

/// A field of a row: its names in JSON and CSV, its meaning with its unit, and how its value is read.
pub(crate) struct FileField<T> {
    name: &'static str,
    /// For the reference; empty if only the fields below it, or none, are there.
    about: &'static str,
    value: fn(&JudgedStudy<'_>, &T) -> JsonValue,
    kind: FieldKind,
    /// Position among the columns of CSV, and name.
    csv: Option<(u8, &'static str)>,
    below: fn() -> Vec<FieldFacts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Single,
    /// Three columns of CSV: the value and both ends.
    Interval,
    /// The fields of its value are fields of the row.
    Spread,
    OnlyCsv,
}

/// What the reference and CSV have of a field.
pub(crate) struct FieldFacts {
    /// In the row, `count.ratio`.
    pub(crate) path: String,
    /// Empty if the reference does not have it.
    pub(crate) about: String,
    csv: Option<(u8, String)>,
}

pub(crate) const fn field<T>(
    name: &'static str,
    about: &'static str,
    value: fn(&JudgedStudy<'_>, &T) -> JsonValue,
) -> FileField<T> {
    FileField { name, about, value, kind: FieldKind::Single, csv: None, below: Vec::new }
}

/// A list of fields, one a line: name in JSON, meaning, value, and what else is set.
macro_rules! file_fields {
    (|$study:ident, $row:ident: $type:ty|
        $($name:literal, $about:expr, $value:expr $(, $set:ident($($argument:expr),*))*;)+
    ) => {
        &[$($crate::data::field::field::<$type>(
            $name,
            $about,
            |$study: &$crate::sections::study::JudgedStudy<'_>, $row: &$type| {
                let _ = ($study, $row);
                $crate::data::value::JsonValue::from($value)
            },
        )$(.$set($($argument),*))*),+]
    };
}

pub(crate) use file_fields;

impl<T> FileField<T> {
    pub(super) const fn csv(mut self, position: u8, name: &'static str) -> Self {
        self.csv = Some((position, name));
        self
    }

    /// An interval, which has three columns in CSV.
    pub(super) const fn ends(mut self, position: u8, name: &'static str) -> Self {
        self.csv = Some((position, name));
        self.kind = FieldKind::Interval;
        self
    }

    pub(super) const fn only_csv(mut self, position: u8) -> Self {
        self.csv = Some((position, self.name));
        self.kind = FieldKind::OnlyCsv;
        self
    }

    pub(super) const fn spread(mut self, below: fn() -> Vec<FieldFacts>) -> Self {
        self.kind = FieldKind::Spread;
        self.below = below;
        self
    }

    /// Fields of its value by their paths in it.
    pub(super) const fn below(mut self, below: fn() -> Vec<FieldFacts>) -> Self {
        self.below = below;
        self
    }

    fn facts(&self) -> Vec<FieldFacts> {
        let below = (self.below)();
        if self.kind == FieldKind::Spread {
            return below;
        }
        let mut facts = vec![described(self.name, self.about)];
        match self.csv {
            Some((position, csv)) if self.kind == FieldKind::Interval => {
                facts.extend(ends(self.name, position, csv));
            }
            csv => facts[0].csv = csv.map(|(position, name)| (position, name.to_owned())),
        }
        let path = |below: &str| match below.starts_with('[') {
            true => format!("{}{below}", self.name),
            false => format!("{}.{below}", self.name),
        };
        facts.extend(below.into_iter().map(|it| FieldFacts { path: path(&it.path), ..it }));
        facts
    }
}

/// A row of the reference.
pub(super) fn described(path: &str, about: impl Into<String>) -> FieldFacts {
    FieldFacts { path: path.to_owned(), about: about.into(), csv: None }
}

pub(super) fn all_described(rows: &[(&str, &str)]) -> Vec<FieldFacts> {
    rows.iter().map(|(path, about)| described(path, *about)).collect()
}

/// A column of CSV.
pub(super) fn column(path: &str, position: u8, name: impl Into<String>) -> FieldFacts {
    described(path, "").in_csv(position, name)
}

/// The columns of an interval: its value and both ends.
pub(super) fn ends(path: &str, position: u8, name: &str) -> [FieldFacts; 3] {
    [("value", ""), ("low", "_low"), ("high", "_high")]
        .map(|(end, suffix)| column(&format!("{path}.{end}"), position, format!("{name}{suffix}")))
}

impl FieldFacts {
    pub(super) fn in_csv(self, position: u8, name: impl Into<String>) -> Self {
        Self { csv: Some((position, name.into())), ..self }
    }
}

pub(crate) fn facts<T>(fields: &[FileField<T>]) -> Vec<FieldFacts> {
    fields.iter().flat_map(FileField::facts).collect()
}

/// A row as an object of JSON.
pub(crate) fn json<T>(fields: &[FileField<T>], study: &JudgedStudy<'_>, row: &T) -> JsonValue {
    object(fields.iter().filter(|it| it.kind != FieldKind::OnlyCsv), study, row)
}

pub(crate) fn json_rows<T>(
    fields: &[FileField<T>],
    study: &JudgedStudy<'_>,
    rows: &[T],
) -> JsonValue {
    rows.iter().map(|row| json(fields, study, row)).collect()
}

/// The value of a field with this name.
pub(crate) fn value<T>(
    fields: &[FileField<T>],
    name: &str,
    study: &JudgedStudy<'_>,
    row: &T,
) -> JsonValue {
    let mut found = fields.iter().filter(|it| it.kind != FieldKind::OnlyCsv);
    let found = found.find(|it| it.name == name).expect("a name of the list");
    (found.value)(study, row)
}

fn object<'f, T: 'f>(
    fields: impl Iterator<Item = &'f FileField<T>>,
    study: &JudgedStudy<'_>,
    row: &T,
) -> JsonValue {
    let mut object = Vec::new();
    for field in fields {
        match ((field.value)(study, row), field.kind) {
            (JsonValue::Fields(fields), FieldKind::Spread) => object.extend(fields),
            (_, FieldKind::Spread) => {}
            (value, _) => object.push((field.name, value)),
        }
    }
    JsonValue::Fields(object)
}

/// Names of the columns of CSV and their places in rows, by position.
pub(super) fn csv_columns<T>(fields: &[FileField<T>]) -> Vec<(String, String)> {
    let column = |FieldFacts { path, csv, .. }: FieldFacts| {
        let (position, name) = csv?;
        let place = path.replace('/', "~1").replace('.', "/");
        Some((position, name, format!("/{place}")))
    };
    let mut columns: Vec<_> = facts(fields).into_iter().filter_map(column).collect();
    // A stable sort keeps the order of columns with the same position.
    columns.sort_by_key(|(position, ..)| *position);
    columns.into_iter().map(|(_, name, place)| (name, place)).collect()
}

/// The fields with columns in CSV.
pub(super) fn csv_fields<T>(fields: &[FileField<T>]) -> Vec<&FileField<T>> {
    let is_in_csv = |it: &&FileField<T>| it.facts().iter().any(|it| it.csv.is_some());
    fields.iter().filter(is_in_csv).collect()
}

pub(super) fn csv_row<T>(fields: &[&FileField<T>], study: &JudgedStudy<'_>, row: &T) -> JsonValue {
    object(fields.iter().copied(), study, row)
}
