//! Values captured from an application: one line of a file per event.
//!
//! A file is large, so a test's definition has only its checksum. The content of a checksum never changes: whoever
//! reads a file stores its lines here once, and programs find them by the checksum.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use assay_model::CapturedKind;
use assay_model::limits::captured::{FAULTS, LINE_BYTES, LINES, LIST};

use crate::decimal::push_integer;
use crate::json::{Json, JsonError, elements};
use crate::quoted::{push_bytes, push_quoted};

#[derive(Debug, PartialEq, Eq)]
pub struct CapturedLines {
    width: usize,
    /// The values of all lines, concatenated.
    items: Vec<Item>,
    listed: Vec<Item>,
    bytes: Vec<u8>,
    columns: Vec<CapturedColumn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedColumn {
    pub kind: Option<CapturedKind>,
    /// Bytes of the longest one as text.
    pub most_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct CapturedError {
    line: usize,
    why: String,
}

/// A value: its kind, and its range in the bytes or in the values of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item {
    form: Form,
    start: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Null,
    /// An integer in every server's notation.
    Integer,
    Number,
    Text,
    /// Hexadecimal digits after `\x`.
    Bytes,
    List,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken<'l> {
    Null,
    Integer(i64),
    /// A number that is not a 64-bit integer, in its original notation.
    Number(&'l [u8]),
    Text(&'l [u8]),
    /// Hexadecimal digits after `\x`.
    Bytes(&'l [u8]),
    List(List<'l>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct List<'l> {
    lines: &'l CapturedLines,
    start: usize,
    end: usize,
}

impl CapturedLines {
    /// Parses a file whose lines are JSON arrays of `width` values. Reports all mistakes, up to a limit.
    pub fn parse(content: &[u8], width: usize) -> Result<Self, Vec<CapturedError>> {
        let empty = CapturedColumn { kind: None, most_bytes: 4 };
        let mut lines = Self {
            width,
            items: Vec::new(),
            listed: Vec::new(),
            bytes: Vec::new(),
            columns: vec![empty; width],
        };
        let mut faults = Vec::new();
        for (line, text) in (1..).zip(content.split(|byte| *byte == b'\n')) {
            let text = text.trim_ascii();
            if text.is_empty() {
                continue;
            }
            if let Err(why) = lines.add(text) {
                faults.push(CapturedError { line, why });
                if faults.len() == FAULTS {
                    break;
                }
            }
        }
        if faults.is_empty() && lines.items.is_empty() {
            faults.push(CapturedError { line: 1, why: "the file has no values".to_owned() });
        }
        if faults.is_empty() { Ok(lines) } else { Err(faults) }
    }

    #[must_use]
    pub fn len(&self) -> u32 {
        (self.items.len() / self.width.max(1)) as u32
    }

    /// Never true for a parsed file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[must_use]
    pub fn columns(&self) -> &[CapturedColumn] {
        &self.columns
    }

    /// NULL if out of range.
    pub(crate) fn value(&self, line: u32, column: u32) -> Taken<'_> {
        let at = (line as usize).saturating_mul(self.width).saturating_add(column as usize);
        self.items.get(at).map_or(Taken::Null, |item| self.taken(*item))
    }

    fn taken(&self, Item { form, start, end }: Item) -> Taken<'_> {
        let (start, end) = (start as usize, end as usize);
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        match form {
            Form::Null => Taken::Null,
            Form::Integer => integer(bytes).map_or(Taken::Number(bytes), Taken::Integer),
            Form::Number => Taken::Number(bytes),
            Form::Text => Taken::Text(bytes),
            Form::Bytes => Taken::Bytes(bytes),
            Form::List => Taken::List(List { lines: self, start, end }),
        }
    }

    fn add(&mut self, text: &[u8]) -> Result<(), String> {
        if text.len() > LINE_BYTES {
            return Err(format!("a line may have at most {LINE_BYTES} bytes"));
        }
        if self.items.len() / self.width.max(1) >= LINES {
            return Err(format!("a file may have at most {LINES} lines"));
        }
        let text = std::str::from_utf8(text).map_err(|_| "this is not UTF-8".to_owned())?;
        let values = elements(text).map_err(|error| error.to_string())?;
        if values.len() != self.width {
            return Err(format!("{} values, not {}", values.len(), self.width));
        }
        let before = self.items.len();
        for (column, value) in values.into_iter().enumerate() {
            let begin = self.bytes.len();
            let item = self.item(value, true).inspect_err(|_| self.items.truncate(before))?;
            let more = (self.bytes.len() - begin) as u64;
            // Quotes, and escapes for half of the bytes.
            let listed = (item.end - item.start) as u64;
            let bytes = if item.form == Form::List { more * 3 / 2 + 4 * listed } else { more };
            if let Some(known) = self.columns.get_mut(column) {
                known.most_bytes = known.most_bytes.max(bytes);
                let kind = kind_of(item.form);
                known.kind = known.kind.map_or(kind, |known| Some(known.with(kind)));
            }
            self.items.push(item);
        }
        Ok(())
    }

    fn item(&mut self, value: Json<'_>, may_be_list: bool) -> Result<Item, String> {
        let start = self.bytes.len();
        let form = match value {
            Json::Null => Form::Null,
            // Both families of servers read these as booleans.
            Json::Truth(is_true) => {
                self.bytes.push(if is_true { b'1' } else { b'0' });
                Form::Text
            }
            Json::Number(text) => {
                self.bytes.extend_from_slice(text.as_bytes());
                if integer(text.as_bytes()).is_some() { Form::Integer } else { Form::Number }
            }
            Json::Text(text) => {
                self.bytes.extend_from_slice(text.as_bytes());
                Form::Text
            }
            Json::Object(object) => {
                let digits = hex_digits(object)?;
                self.bytes.extend_from_slice(b"\\x");
                self.bytes.extend_from_slice(digits.to_ascii_lowercase().as_bytes());
                Form::Bytes
            }
            Json::Array(_) if !may_be_list => return Err("a list cannot have lists".to_owned()),
            Json::Array(array) => return self.list(array),
        };
        Ok(Item { form, start: place(start)?, end: place(self.bytes.len())? })
    }

    fn list(&mut self, array: &str) -> Result<Item, String> {
        let values = elements(array).map_err(|error: JsonError| error.to_string())?;
        if values.is_empty() || values.len() > LIST {
            return Err(format!("a list has 1 to {LIST} values"));
        }
        let start = self.listed.len();
        for value in values {
            let item = self.item(value, false)?;
            self.listed.push(item);
        }
        Ok(Item { form: Form::List, start: place(start)?, end: place(self.listed.len())? })
    }
}

impl List<'_> {
    pub(crate) fn push_sql(&self, has_escapes: bool, out: &mut Vec<u8>) {
        let items = self.lines.listed.get(self.start..self.end).unwrap_or_default();
        for (number, item) in items.iter().enumerate() {
            if number > 0 {
                out.extend_from_slice(b", ");
            }
            match self.lines.taken(*item) {
                Taken::Null | Taken::List(_) => out.extend_from_slice(b"NULL"),
                Taken::Integer(value) => push_integer(out, value),
                Taken::Number(text) => out.extend_from_slice(text),
                Taken::Text(text) => push_quoted(out, has_escapes, text),
                Taken::Bytes(text) => push_bytes(out, has_escapes, text),
            }
        }
    }
}

/// Parses an integer in servers' notation: `007` and `-0` are different values as texts.
fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_usual = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    std::str::from_utf8(text).ok().filter(|_| is_usual)?.parse().ok()
}

fn place(at: usize) -> Result<u32, String> {
    u32::try_from(at).map_err(|_| "the file has too many values".to_owned())
}

fn kind_of(form: Form) -> Option<CapturedKind> {
    Some(match form {
        Form::Null => return None,
        Form::Integer => CapturedKind::Integers,
        Form::Number => CapturedKind::Mixed,
        Form::Text => CapturedKind::Texts,
        Form::Bytes => CapturedKind::Bytes,
        Form::List => CapturedKind::Lists,
    })
}

/// The digits of `{"hex": "ff00"}`.
fn hex_digits(object: &str) -> Result<String, String> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Bytes {
        hex: String,
    }
    let read: Bytes = serde_json::from_str(object)
        .map_err(|_| "bytes are written `{\"hex\": \"ff00\"}`".to_owned())?;
    let is_digits =
        read.hex.len().is_multiple_of(2) && read.hex.bytes().all(|it| it.is_ascii_hexdigit());
    if is_digits {
        return Ok(read.hex);
    }
    Err(format!("`{}` is not an even number of hexadecimal digits", read.hex))
}

type Known = BTreeMap<String, Arc<CapturedLines>>;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

pub fn keep_captured(sha256: &str, lines: CapturedLines) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(sha256.to_owned(), Arc::new(lines));
}

#[must_use]
pub fn captured(sha256: &str) -> Option<Arc<CapturedLines>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(sha256).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, width: usize) -> Result<CapturedLines, Vec<String>> {
        let message = |errors: Vec<CapturedError>| errors.iter().map(ToString::to_string).collect();
        CapturedLines::parse(text.as_bytes(), width).map_err(message)
    }

    #[test]
    fn values_are_kept_as_they_are_written() {
        let text = "[1, \"a\\u00e9\\n\"]\r\n\n[-5, null]\n[1.50, true]\n[9223372036854775808, \"\"]\n[1e3, \"x\"]";
        let lines = parsed(text, 2).unwrap();
        assert_eq!((lines.len(), lines.is_empty()), (5, false));
        assert_eq!(lines.value(0, 0), Taken::Integer(1));
        assert_eq!(lines.value(0, 1), Taken::Text("aé\n".as_bytes()));
        assert_eq!(lines.value(1, 0), Taken::Integer(-5));
        assert_eq!(lines.value(1, 1), Taken::Null);
        assert_eq!(lines.value(2, 0), Taken::Number(b"1.50"));
        assert_eq!(lines.value(2, 1), Taken::Text(b"1"));
        assert_eq!(lines.value(3, 0), Taken::Number(b"9223372036854775808"));
        assert_eq!(lines.value(4, 0), Taken::Number(b"1e3"));
        assert_eq!(lines.value(5, 0), Taken::Null);
        let kinds: Vec<_> = lines.columns().iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [Some(CapturedKind::Mixed), Some(CapturedKind::Texts)]);
    }

    #[test]
    fn lists_and_bytes_become_literals_of_the_dialect() {
        let lines = parsed("[[1, \"it's \\\\\", null, {\"hex\": \"FF00\"}], 7]", 2).unwrap();
        let Taken::List(list) = lines.value(0, 0) else { panic!("no list") };
        let sql = |has_escapes| {
            let mut out = Vec::new();
            list.push_sql(has_escapes, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(sql(true), "1, 'it''s \\\\', NULL, X'ff00'");
        assert_eq!(sql(false), "1, 'it''s \\', NULL, '\\xff00'");
        assert_eq!(lines.columns()[0].kind, Some(CapturedKind::Lists));
        assert!(lines.columns()[0].most_bytes >= sql(true).len() as u64);
        assert_eq!(lines.columns()[1].kind, Some(CapturedKind::Integers));
    }

    #[test]
    fn all_mistakes_are_told_with_their_lines() {
        let text = "[1, 2]\n[1]\n{}\n[1, [[2]]]\n[1, []]\n[1, {\"hex\": \"abc\"}]\n[1, 2\n[01, 2]\n[1, nul]\n";
        let message = parsed(text, 2).unwrap_err();
        assert_eq!(
            message,
            [
                "line 2: 1 values, not 2",
                "line 3: this is no JSON array",
                "line 4: a list cannot have lists",
                "line 5: a list has 1 to 10000 values",
                "line 6: `abc` is not an even number of hexadecimal digits",
                "line 7: this is no JSON array",
                "line 8: `01` is no JSON value",
                "line 9: `nul` is no JSON value",
            ]
        );
        assert_eq!(parsed("\n\n", 1).unwrap_err(), ["line 1: the file has no values"]);
        let many = "x\n".repeat(1000);
        assert_eq!(parsed(&many, 1).unwrap_err().len(), FAULTS);
    }

    #[test]
    fn lines_are_found_by_the_checksum_of_their_file() {
        keep_captured("of a test", parsed("[3]", 1).unwrap());
        assert_eq!(captured("of a test").unwrap().value(0, 0), Taken::Integer(3));
        assert!(captured("of nothing").is_none());
    }
}
