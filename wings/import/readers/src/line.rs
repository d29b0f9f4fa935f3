//! The lines of a file from an untrusted source.

use std::fmt;
use std::io::{self, BufRead, Read as _};

use assay_model::limits::NAME_BYTES;

/// Longest line of the published layouts, with room for a hundred times as many columns.
const LINE_BYTES: u64 = 1 << 20;

/// Maximum number of faults kept per file. One more fault gives the number of the rest.
const FAULTS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFault {
    pub file: String,
    /// From 1.
    pub line: u64,
    pub why: String,
}

impl fmt::Display for LineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.why)
    }
}

/// The results of a parser, and the lines that it could not parse.
pub type ParseResult<T> = io::Result<(T, Vec<LineFault>)>;

/// Calls `each` with the number and the text of every line, without its end, which may be CRLF. Lines that `each`
/// refuses, that are too long or that are no text are faults.
pub(crate) fn each_line(
    file: &str,
    mut content: impl BufRead,
    mut each: impl FnMut(u64, &str) -> Result<(), String>,
) -> io::Result<Vec<LineFault>> {
    let mut faults = Vec::new();
    let mut more = 0_u64;
    let mut last = 0;
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = content.by_ref().take(LINE_BYTES).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            break;
        }
        let is_cut = read as u64 == LINE_BYTES && bytes.last() != Some(&b'\n');
        let message = match std::str::from_utf8(&bytes) {
            _ if is_cut => {
                skip_rest(&mut content)?;
                Err("the line is longer than 1 MiB".to_owned())
            }
            Ok(text) => {
                let text = if line == 1 { text.trim_start_matches('\u{feff}') } else { text };
                each(line, text.trim_end_matches(['\n', '\r']))
            }
            Err(_) => Err("the line is not UTF-8 text".to_owned()),
        };
        let Err(why) = message else { continue };
        last = line;
        if faults.len() < FAULTS {
            faults.push(LineFault { file: file.to_owned(), line, why })
        } else {
            more += 1
        }
    }
    if more > 0 {
        let why = format!(
            "{} before and in this line cannot be read",
            assay_model::counted(more, "more line")
        );
        faults.push(LineFault { file: file.to_owned(), line: last, why });
    }
    Ok(faults)
}

fn skip_rest(content: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffered = content.fill_buf()?;
        let (used, is_end) = match buffered.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffered.len(), buffered.is_empty()),
        };
        content.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

/// Strips the number of the loop from the name of a step: `qr100` for `qr100.L1`.
pub(crate) fn without_loop(step: &str) -> &str {
    match step.rsplit_once(".L") {
        Some((plain, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => step,
    }
}

/// The name of a server, a test or a step.
pub(crate) fn name(text: &str) -> Result<String, String> {
    match text.len() {
        ..=NAME_BYTES => Ok(text.to_owned()),
        bytes => Err(format!("a name of {bytes} bytes")),
    }
}

/// A finite number that is not negative.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}

pub(crate) fn not_a_number(text: &str) -> String {
    format!("`{}` is not a number", assay_model::shortened(text))
}

/// A number, or `None` for `NA`, `-`, `inf` and similar words.
pub(crate) fn value(text: &str) -> Result<Option<f64>, String> {
    match text {
        "" | "-" | "NA" | "N/A" | "na" | "nan" | "NaN" | "-nan" | "inf" => Ok(None),
        text => number(text).map(Some).ok_or_else(|| not_a_number(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content: &[u8]) -> (Vec<(u64, String)>, Vec<LineFault>) {
        let mut lines = Vec::new();
        let faults = each_line("a/file", content, |number, text| {
            lines.push((number, text.to_owned()));
            if text == "bad" { Err("is bad".to_owned()) } else { Ok(()) }
        });
        (lines, faults.unwrap())
    }

    #[test]
    fn bad_lines_are_named_and_the_rest_is_read() {
        let (read, faults) = lines(b"one\r\nbad\n\xff\n\nlast");
        let message: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(message, ["a/file:2: is bad", "a/file:3: the line is not UTF-8 text"]);
        let texts: Vec<_> = read.iter().map(|(number, text)| (*number, text.as_str())).collect();
        assert_eq!(texts, [(1, "one"), (2, "bad"), (4, ""), (5, "last")]);
    }

    #[test]
    fn the_first_faults_are_kept_and_the_others_counted() {
        let (_, faults) = lines("bad\n".repeat(1000).as_bytes());
        assert_eq!(faults.len(), FAULTS + 1);
        let message = faults.last().unwrap().to_string();
        assert_eq!(message, "a/file:1000: 900 more lines before and in this line cannot be read");
        assert_eq!(lines("\u{feff}one".as_bytes()).0, [(1, "one".to_owned())]);
    }

    #[test]
    fn an_endless_line_is_skipped() {
        let long = [vec![b'x'; 3 << 20], b"\nnext\n".to_vec()].concat();
        let (read, faults) = lines(&long);
        assert_eq!(read, [(2, "next".to_owned())]);
        assert_eq!(faults[0].to_string(), "a/file:1: the line is longer than 1 MiB");
    }

    #[test]
    fn words_for_no_number_are_none() {
        assert_eq!(value("0.000097"), Ok(Some(0.000_097)));
        assert_eq!((value("NA"), value("inf"), value("")), (Ok(None), Ok(None), Ok(None)));
        assert_eq!(value("12x").unwrap_err(), "`12x` is not a number");
        assert!(value("-1").is_err() && value("infinity").is_err());
    }
}
