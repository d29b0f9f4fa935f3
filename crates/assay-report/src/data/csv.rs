//! CSV (RFC 4180): one line per row, with the figures of the JSON.
//!
//! Fields of figures that were never measured are empty. A field that a spreadsheet would take for a formula gets an
//! apostrophe in front, unless it is a number.

use assay_model::{StudyRecord, no_formula, printable};
use assay_verdict::Judgement;
use csv::{Terminator, WriterBuilder};
use serde::Serialize;
use serde_json::Value;

use super::cell::CELL_COLUMNS;
use super::field::{csv_columns, csv_fields, csv_row};
use crate::number::Digits;
use crate::sections::study::JudgedStudy;

/// The cells of studies, one study after the other.
pub fn cells_csv(studies: &[(&StudyRecord, &Judgement)]) -> String {
    let fields = csv_fields(CELL_COLUMNS);
    let rows = studies.iter().flat_map(|(record, judgement)| {
        let study = JudgedStudy::new(record, judgement);
        let cells = judgement.cells.iter();
        cells.map(|judged| csv_row(&fields, &study, judged)).collect::<Vec<_>>()
    });
    table(csv_columns(CELL_COLUMNS), rows)
}

/// `names` are those of fields of the rows, or of an interval and its end: `rqps rqps_low rqps_high`.
pub fn fields_csv(names: &str, rows: impl Iterator<Item = impl Serialize>) -> String {
    let column = |name: &str| match name.rsplit_once('_') {
        Some((field, end @ ("low" | "high"))) => (name.to_owned(), format!("/{field}/{end}")),
        _ => (name.to_owned(), format!("/{name}")),
    };
    table(names.split(' ').map(column).collect(), rows)
}

/// The columns of rows, below their names.
fn table(columns: Vec<(String, String)>, rows: impl Iterator<Item = impl Serialize>) -> String {
    let (names, places): (Vec<String>, Vec<String>) = columns.into_iter().unzip();
    let lines = rows.map(|row| {
        let row = serde_json::to_value(row).expect("rows have names as keys");
        places.iter().map(|place| field(row.pointer(place))).collect()
    });
    text(std::iter::once(names).chain(lines))
}

/// A value as JSON writes it, without quotes; lists are joined, and an interval is its value.
fn field(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) => {
            values.iter().map(|value| field(Some(value))).collect::<Vec<_>>().join(" vs ")
        }
        Some(Value::Number(number)) if number.is_f64() => {
            let digits = number.as_f64().and_then(Digits::from_value);
            digits.map_or_else(String::new, |digits| digits.to_string())
        }
        Some(Value::Object(interval)) => field(interval.get("value")),
        Some(other) => other.to_string(),
    }
}

/// Fields have no line ends and no formulas.
pub(crate) fn text(lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    for line in lines {
        let fields = line.iter().map(|field| no_formula(printable(field)).into_owned());
        writer.write_record(fields).expect("lines in memory with as many fields each");
    }
    let bytes = writer.into_inner().expect("memory needs no flush");
    String::from_utf8(bytes).expect("fields are text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_shown_and_numbers_stay() {
        let line = |field: &str| text(std::iter::once(vec![field.to_owned(), "x".to_owned()]));
        for field in ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "＝1", "-inf"] {
            assert_eq!(line(field), format!("'{field},x\r\n"));
        }
        assert_eq!(line("\t=1"), "' =1,x\r\n");
        assert_eq!(line("\r=1,\n2"), "\"' =1, 2\",x\r\n");
        for field in ["-1.5", "+2", "-1e-7", "", "a=b", "mysql@8.0"] {
            assert_eq!(line(field), format!("{field},x\r\n"));
        }
    }
}
