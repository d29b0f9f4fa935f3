//! Rows of the files of the map, which are CSV.

use std::cmp::Ordering;

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

/// Most bytes of a text. A file may come from anyone.
const TEXT_BYTES: usize = 300;

/// Most instructions per operation.
const INSTRUCTIONS_MAX: f64 = 1e15;

/// A file of the map that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {why}")]
pub struct MapError {
    pub(crate) file: String,
    pub(crate) why: String,
}

/// A row of a file of the map.
pub trait MapRow: Serialize + DeserializeOwned {
    /// The bounds of its values.
    fn check(&self) -> Result<(), String>;

    /// Order in the file, which has only one of rows that are equal here.
    fn order(&self, other: &Self) -> Ordering;
}

/// Reads the text of a file.
pub fn read_rows<R: MapRow>(file: &str, text: &str) -> Result<Vec<R>, MapError> {
    let fail = |why: String| MapError { file: file.to_owned(), why };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows =
        reader.deserialize::<R>().zip(1_usize..).map(|(row, number)| -> Result<R, MapError> {
            let row = row.map_err(|error: csv::Error| fail(error.to_string()))?;
            row.check().map_err(|why| fail(format!("row {number}: {why}")))?;
            Ok(row)
        });
    rows.collect()
}

/// The text of a file with these rows.
pub fn rows_text(rows: impl IntoIterator<Item = impl Serialize>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).expect("rows in memory with the same fields");
    }
    let bytes = writer.into_inner().expect("memory needs no flush");
    String::from_utf8(bytes).expect("fields are text")
}

/// Rows in order, each once: a newer one replaces its predecessor.
pub fn merged<R: MapRow>(old: Vec<R>, new: Vec<R>) -> Vec<R> {
    let mut all = new;
    all.extend(old);
    // The sort keeps newer ones ahead of equal older ones.
    all.sort_by(R::order);
    all.dedup_by(|later, kept| later.order(kept).is_eq());
    all
}

/// A text on one line that is short enough for a row.
pub fn short_text(text: &str) -> String {
    let mut line = String::new();
    for letter in text.trim().chars() {
        if line.len() + letter.len_utf8() > TEXT_BYTES {
            break;
        }
        line.push(if letter.is_control() { ' ' } else { letter });
    }
    line
}

pub(crate) fn check_texts<const N: usize>(texts: [&str; N]) -> Result<(), String> {
    let is_wrong = |text: &&str| text.len() > TEXT_BYTES || text.chars().any(char::is_control);
    match texts.into_iter().find(is_wrong) {
        Some(text) => Err(format!("{:?} is longer than a line", short_text(text))),
        None => Ok(()),
    }
}

pub(crate) fn check_given<const N: usize>(texts: [(&str, &String); N]) -> Result<(), String> {
    match texts.into_iter().find(|(_, text)| text.is_empty()) {
        Some((name, _)) => Err(format!("`{name}` is empty")),
        None => Ok(()),
    }
}

pub(crate) fn check_count(name: &str, value: f64) -> Result<(), String> {
    if (0.0..=INSTRUCTIONS_MAX).contains(&value) {
        return Ok(());
    }
    Err(format!("`{name}` is {value}, which is not from 0 to {INSTRUCTIONS_MAX:e}"))
}

/// Writes a count with one decimal.
pub(crate) fn tenths<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{value:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_line() {
        assert_eq!(short_text(" \"a\", b\n\u{1b}[2J "), "\"a\", b  [2J");
        assert_eq!(short_text(&"ä".repeat(1000)).len(), TEXT_BYTES);
        assert!(check_texts([&short_text(&"ä".repeat(1000))]).is_ok());
        assert!(check_texts(["a", "b\nc"]).is_err() && check_texts([&"a".repeat(301)]).is_err());
    }

    #[test]
    fn counts_are_finite() {
        for wrong in [-1.0, f64::INFINITY, f64::NAN, 1e16] {
            assert!(check_count("instructions", wrong).is_err(), "{wrong}");
        }
        assert_eq!(check_count("instructions", 1234.5), Ok(()));
    }
}
