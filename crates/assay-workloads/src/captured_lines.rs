//! Values captured from an application: one line of a file per event.
//!
//! A file is large, so a test's definition has only its checksum. The content of a checksum never changes: the
//! reader of a file stores its lines here once, and programs find them by the checksum.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use assay_model::CapturedKind;
use assay_model::limits::captured::{FAULTS, LINE_BYTES, LINES, LIST};

use crate::literal::{push_bytes, push_integer, push_quoted};

#[derive(Debug, PartialEq, Eq)]
pub struct CapturedLines {
    width: usize,
    items: Vec<CapturedItem>,
    listed: Vec<CapturedItem>,
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
struct CapturedItem {
    form: CapturedForm,
    start: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CapturedForm {
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
pub(crate) enum CapturedValue<'l> {
    Null,
    Integer(i64),
    /// A number that is not a 64-bit integer, in its original notation.
    Number(&'l [u8]),
    Text(&'l [u8]),
    /// Hexadecimal digits after `\x`.
    Bytes(&'l [u8]),
    List(CapturedList<'l>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CapturedList<'l> {
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

    pub fn count(&self) -> u32 {
        (self.items.len() / self.width.max(1)) as u32
    }

    pub fn columns(&self) -> &[CapturedColumn] {
        &self.columns
    }

    pub(crate) fn value(&self, line: u32, column: u32) -> CapturedValue<'_> {
        let at = (line as usize).saturating_mul(self.width).saturating_add(column as usize);
        self.items.get(at).map_or(CapturedValue::Null, |item| self.taken(*item))
    }

    fn taken(&self, CapturedItem { form, start, end }: CapturedItem) -> CapturedValue<'_> {
        let (start, end) = (start as usize, end as usize);
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        match form {
            CapturedForm::Null => CapturedValue::Null,
            CapturedForm::Integer => {
                integer(bytes).map_or(CapturedValue::Number(bytes), CapturedValue::Integer)
            }
            CapturedForm::Number => CapturedValue::Number(bytes),
            CapturedForm::Text => CapturedValue::Text(bytes),
            CapturedForm::Bytes => CapturedValue::Bytes(bytes),
            CapturedForm::List => CapturedValue::List(CapturedList { lines: self, start, end }),
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
        let values = elements(text)?;
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
            let bytes =
                if item.form == CapturedForm::List { more * 3 / 2 + 4 * listed } else { more };
            let known = &mut self.columns[column];
            known.most_bytes = known.most_bytes.max(bytes);
            let kind = kind_of(item.form);
            known.kind = known.kind.map_or(kind, |known| Some(known.with(kind)));
            self.items.push(item);
        }
        Ok(())
    }

    fn item(&mut self, value: Json<'_>, may_be_list: bool) -> Result<CapturedItem, String> {
        let start = self.bytes.len();
        let form = match value {
            Json::Null => CapturedForm::Null,
            // Both families of servers read these as booleans.
            Json::Truth(is_true) => {
                self.bytes.push(if is_true { b'1' } else { b'0' });
                CapturedForm::Text
            }
            Json::Number(text) => {
                self.bytes.extend_from_slice(text.as_bytes());
                if integer(text.as_bytes()).is_some() {
                    CapturedForm::Integer
                } else {
                    CapturedForm::Number
                }
            }
            Json::Text(text) => {
                self.bytes.extend_from_slice(text.as_bytes());
                CapturedForm::Text
            }
            Json::Object(object) => {
                let digits = hex_digits(object)?;
                self.bytes.extend_from_slice(b"\\x");
                self.bytes.extend_from_slice(digits.to_ascii_lowercase().as_bytes());
                CapturedForm::Bytes
            }
            Json::Array(_) if !may_be_list => return Err("a list cannot have lists".to_owned()),
            Json::Array(array) => return self.list(array),
        };
        Ok(CapturedItem { form, start: place(start)?, end: place(self.bytes.len())? })
    }

    fn list(&mut self, array: &str) -> Result<CapturedItem, String> {
        let values = elements(array)?;
        if values.is_empty() || values.len() > LIST {
            return Err(format!("a list has 1 to {LIST} values"));
        }
        let start = self.listed.len();
        for value in values {
            let item = self.item(value, false)?;
            self.listed.push(item);
        }
        Ok(CapturedItem {
            form: CapturedForm::List,
            start: place(start)?,
            end: place(self.listed.len())?,
        })
    }
}

impl CapturedList<'_> {
    pub(crate) fn push_sql(&self, has_escapes: bool, out: &mut Vec<u8>) {
        let items = self.lines.listed.get(self.start..self.end).unwrap_or_default();
        for (number, item) in items.iter().enumerate() {
            if number > 0 {
                out.extend_from_slice(b", ");
            }
            match self.lines.taken(*item) {
                CapturedValue::Null | CapturedValue::List(_) => out.extend_from_slice(b"NULL"),
                CapturedValue::Integer(value) => push_integer(out, value),
                CapturedValue::Number(text) => out.extend_from_slice(text),
                CapturedValue::Text(text) => push_quoted(out, has_escapes, text),
                CapturedValue::Bytes(text) => push_bytes(out, has_escapes, text),
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

fn kind_of(form: CapturedForm) -> Option<CapturedKind> {
    Some(match form {
        CapturedForm::Null => return None,
        CapturedForm::Integer => CapturedKind::Integers,
        CapturedForm::Number => CapturedKind::Mixed,
        CapturedForm::Text => CapturedKind::Texts,
        CapturedForm::Bytes => CapturedKind::Bytes,
        CapturedForm::List => CapturedKind::Lists,
    })
}

/// The digits of `{"hex": "ff00"}`.
fn hex_digits(object: &str) -> Result<String, String> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct HexBytes {
        hex: String,
    }
    let read: HexBytes = serde_json::from_str(object)
        .map_err(|_| "bytes are written `{\"hex\": \"ff00\"}`".to_owned())?;
    let is_digits =
        read.hex.len().is_multiple_of(2) && read.hex.bytes().all(|it| it.is_ascii_hexdigit());
    if is_digits {
        return Ok(read.hex);
    }
    Err(format!("`{}` is not an even number of hexadecimal digits", read.hex))
}

type CapturedFiles = BTreeMap<String, Arc<CapturedLines>>;

static CAPTURED_FILES: LazyLock<Mutex<CapturedFiles>> = LazyLock::new(Mutex::default);

pub fn keep_captured(sha256: &str, lines: CapturedLines) {
    let mut known = CAPTURED_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(sha256.to_owned(), Arc::new(lines));
}

pub fn captured(sha256: &str) -> Option<Arc<CapturedLines>> {
    CAPTURED_FILES.lock().unwrap_or_else(PoisonError::into_inner).get(sha256).cloned()
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Json<'t> {
    Null,
    Truth(bool),
    Number(&'t str),
    /// Without quotes and escapes.
    Text(String),
    /// With its brackets.
    Array(&'t str),
    /// With its braces.
    Object(&'t str),
}

const NO_ARRAY: &str = "this is no JSON array";

/// Keeps the text of numbers: parsing would round them.
fn elements(text: &str) -> Result<Vec<Json<'_>>, String> {
    let inside = text.trim().strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let mut rest = inside.ok_or(NO_ARRAY)?.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let length = length_of(rest).ok_or(NO_ARRAY)?;
        let (part, after) = rest.split_at_checked(length).ok_or(NO_ARRAY)?;
        found.push(json_value(part.trim_end())?);
        let after = after.trim_start();
        rest = match after.strip_prefix(',').map(str::trim_start) {
            Some("") => return Err(NO_ARRAY.to_owned()),
            Some(next) => next,
            None if after.is_empty() => "",
            None => return Err(NO_ARRAY.to_owned()),
        };
    }
    Ok(found)
}

/// Bytes of the value at the beginning; `None` if it is unterminated.
fn length_of(text: &str) -> Option<usize> {
    let opens = text.as_bytes().first()?;
    if !matches!(opens, b'"' | b'[' | b'{') {
        return Some(text.find(',').unwrap_or(text.len()));
    }
    let (mut depth, mut is_text, mut is_escaped) = (0_u32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 && !is_text {
            return Some(at + 1);
        }
    }
    None
}

fn json_value(text: &str) -> Result<Json<'_>, String> {
    let fail = || format!("`{}` is no JSON value", text.chars().take(40).collect::<String>());
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).map(Json::Text).map_err(|_| fail()),
        Some(b'[') => Ok(Json::Array(text)),
        Some(b'{') => Ok(Json::Object(text)),
        _ => match text {
            "null" => Ok(Json::Null),
            "true" => Ok(Json::Truth(true)),
            "false" => Ok(Json::Truth(false)),
            // JSON's grammar of numbers only: no server keywords such as `inf`.
            number => serde_json::from_str::<serde_json::Number>(number)
                .map(|_| Json::Number(number))
                .map_err(|_| fail()),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str, width: usize) -> Result<CapturedLines, Vec<String>> {
        let message = |errors: Vec<CapturedError>| errors.iter().map(ToString::to_string).collect();
        CapturedLines::parse(text.as_bytes(), width).map_err(message)
    }

    #[test]
    fn values_are_kept_as_they_are_written() {
        let text = "[1, \"a\\u00e9\\n\"]\r\n\n[-5, null]\n[1.50, true]\n[9223372036854775808, \"\"]\n[1e3, \"x\"]";
        let lines = parsed(text, 2).unwrap();
        assert_eq!(lines.count(), 5);
        assert_eq!(lines.value(0, 0), CapturedValue::Integer(1));
        assert_eq!(lines.value(0, 1), CapturedValue::Text("aé\n".as_bytes()));
        assert_eq!(lines.value(1, 0), CapturedValue::Integer(-5));
        assert_eq!(lines.value(1, 1), CapturedValue::Null);
        assert_eq!(lines.value(2, 0), CapturedValue::Number(b"1.50"));
        assert_eq!(lines.value(2, 1), CapturedValue::Text(b"1"));
        assert_eq!(lines.value(3, 0), CapturedValue::Number(b"9223372036854775808"));
        assert_eq!(lines.value(4, 0), CapturedValue::Number(b"1e3"));
        assert_eq!(lines.value(5, 0), CapturedValue::Null);
        let kinds: Vec<_> = lines.columns().iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [Some(CapturedKind::Mixed), Some(CapturedKind::Texts)]);
    }

    #[test]
    fn lists_and_bytes_become_literals_of_the_dialect() {
        let lines = parsed("[[1, \"it's \\\\\", null, {\"hex\": \"FF00\"}], 7]", 2).unwrap();
        let CapturedValue::List(list) = lines.value(0, 0) else { panic!("no list") };
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
        assert_eq!(captured("of a test").unwrap().value(0, 0), CapturedValue::Integer(3));
        assert!(captured("of nothing").is_none());
    }

    #[test]
    fn numbers_keep_their_text() {
        let found = elements(" [1.500, -0, 12345678901234567890, 1E+2 ,0.1] ").unwrap();
        let texts = ["1.500", "-0", "12345678901234567890", "1E+2", "0.1"];
        assert_eq!(found, texts.map(Json::Number));
        for wrong in
            ["[1,]", "[,1]", "[1 2]", "[+1]", "[.5]", "[inf]", "[1", "1]", "[\"a]", "[]]", ""]
        {
            assert!(elements(wrong).is_err(), "{wrong}");
        }
        assert_eq!(elements("[]").unwrap(), []);
    }

    #[test]
    fn brackets_in_texts_mean_nothing() {
        let found = elements(r#"["a]\"[", [1, "]"], {"hex": "}"}, null, false]"#).unwrap();
        let expected = [
            Json::Text("a]\"[".to_owned()),
            Json::Array(r#"[1, "]"]"#),
            Json::Object(r#"{"hex": "}"}"#),
            Json::Null,
            Json::Truth(false),
        ];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn arrays_are_read_as_by_a_parser(text in r#"\[[\[\]{},"\\a1:. -]{0,16}\]"#) {
            let parsed = serde_json::from_str::<Vec<serde_json::Value>>(&text);
            // Inner arrays and objects are parsed later.
            if let Ok(parsed) = parsed {
                prop_assert_eq!(elements(&text).map(|it| it.len()), Ok(parsed.len()));
            }
        }
    }
}
