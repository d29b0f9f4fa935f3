//! CSV (RFC 4180) of a table. Nulls are empty fields.

use std::borrow::Cow;

use assay_model::no_formula;
use csv::{Terminator, WriterBuilder};

use crate::table::{Kind, Table, Value};

impl Table {
    /// Its rows as CSV, below the names of the columns.
    #[must_use]
    pub fn csv(&self) -> Vec<u8> {
        let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
        // Writing to memory cannot fail, and all rows have as many fields.
        let _ = writer.write_record(self.columns.iter().map(|column| column.name));
        for row in &self.rows {
            let fields = row
                .iter()
                .zip(self.columns.iter())
                .map(|(value, column)| field(value, column.kind));
            let _ = writer.write_record(fields.map(Cow::into_owned));
        }
        writer.into_inner().unwrap_or_default()
    }
}

fn field(value: &Value, kind: Kind) -> Cow<'_, str> {
    match value {
        Value::Null => "".into(),
        Value::Text(text) => no_formula(text.into()),
        Value::Integer(ms) if kind == Kind::Moment => {
            // Every moment of a ledger is in these years.
            jiff::Timestamp::from_millisecond(*ms)
                .map(|it| it.to_string())
                .unwrap_or_default()
                .into()
        }
        Value::Integer(number) => number.to_string().into(),
        Value::Real(number) => number.to_string().into(),
        Value::Boolean(is) => is.to_string().into(),
    }
}
