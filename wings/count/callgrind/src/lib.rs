//! Instructions by function, as counted by valgrind's tool callgrind.
//!
//! [`read`] parses a report in the format of <https://valgrind.org/docs/manual/cl-format.html>, with compressed names
//! and positions. A report has one or more parts, each with the counts of one thread or of all threads. Function names
//! are demangled as in sampled profiles, so the tool must not demangle them itself (`--demangle=no`).

mod costs;
mod cpu;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::HashMap;
use std::path::PathBuf;

use assay_symbols::names::{cut, plain};

pub use costs::{Costs, Edge};
use costs::{FunctionId, NameIds, ReportName};
pub use cpu::hidden_features;

/// Size of the largest accepted report, bytes. The report of a server's thread usually has 0.1 to 1 MB.
pub const REPORT_MAX: usize = 256 << 20;

/// Length of the longest line, bytes. Symbols of C++ templates and command lines may have several kilobytes.
const LINE_MAX: usize = 64 << 10;

/// Largest numbers of functions and calls in a report: about a hundred times those of a server.
const FUNCTIONS_MAX: usize = 1 << 20;
const CALLS_MAX: usize = 1 << 22;

/// Largest number of names, which are repeated where a report has no numbers for them.
const NAMES_MAX: usize = 1 << 22;

/// Largest number of parts: a dump has one for each thread.
const PARTS_MAX: usize = 100_000;

const INSTRUCTIONS: &[u8] = b"Ir";

/// The object of code that belongs to no file.
const UNKNOWN: &str = "[unknown]";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of a report of callgrind: {why}")]
pub struct MalformedReport {
    /// From 1.
    pub line: usize,
    pub why: &'static str,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportPart {
    pub pid: Option<u32>,
    /// Valgrind's number of the thread, from 1; `None` if the part covers all threads.
    pub thread: Option<u32>,
    /// Increases with each dump of a process.
    pub number: Option<u32>,
    /// Total instructions: the sum over all functions.
    pub total: u64,
    pub costs: Costs,
}

/// Parses a report. An empty report has no parts: the tool creates the file before it writes to it. Fails if the report
/// violates the format, is truncated, or its counts do not add up to its total.
pub fn read(report: &[u8]) -> Result<Vec<ReportPart>, MalformedReport> {
    let wrong = |line, why| MalformedReport { line, why };
    if report.len() > REPORT_MAX {
        return Err(wrong(0, "it is too long"));
    }
    let mut reader = ReportReader::default();
    let mut line = 0;
    for text in report.split(|byte| *byte == b'\n') {
        line += 1;
        if text.len() > LINE_MAX {
            return Err(wrong(line, "it is too long"));
        }
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        reader.line(text.trim_ascii_start()).map_err(|why| wrong(line, why))?;
    }
    reader.end_part().map_err(|why| wrong(line, why))?;
    Ok(reader.parts)
}

type ReportFault = &'static str;

#[derive(Default)]
struct ReportReader {
    parts: Vec<ReportPart>,
    part: ReportPart,
    is_begun: bool,
    has_body: bool,
    stated: Option<u64>,
    /// Number of positions that precede the counts in a line.
    positions: usize,
    /// Index of the instructions among the counts of a line.
    event: Option<usize>,
    names: ReportNames,
    ids: NameIds,
    here: CodePlace,
    /// The object of the next called function; `None` if it is that of the caller.
    called_object: Option<u32>,
    called: Option<u32>,
    /// A called function and the number of calls, whose instructions are in the next line.
    call: Option<(FunctionId, u64)>,
}

#[derive(Default)]
struct CodePlace {
    object: Option<u32>,
    function: Option<u32>,
}

#[derive(Default)]
struct ReportNames {
    objects: NameTable,
    functions: NameTable,
    /// The texts that both tables refer to. Names of source files are not kept.
    texts: Vec<ReportName>,
}

type NameTable = HashMap<u64, u32>;

impl ReportReader {
    fn line(&mut self, line: &[u8]) -> Result<(), ReportFault> {
        match line.first() {
            None | Some(b'#') => Ok(()),
            Some(b'0'..=b'9' | b'+' | b'-' | b'*') => self.counts(line),
            Some(_) => {
                let is_end = |byte: &u8| matches!(byte, b'=' | b':');
                let at = line.iter().position(is_end).ok_or("it is neither a count nor named")?;
                let (name, rest) = line.split_at(at);
                let (sign, value) = rest.split_first().ok_or("it is neither a count nor named")?;
                match sign {
                    b'=' => self.specification(name, value.trim_ascii()),
                    _ => self.header(name, value.trim_ascii()),
                }
            }
        }
    }

    fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), ReportFault> {
        if self.has_body && !matches!(name, b"totals" | b"summary") {
            self.end_part()?;
        }
        self.is_begun = true;
        let small = || u32::try_from(number(value)?).map_err(|_| "the number is too large");
        match name {
            b"pid" => self.part.pid = Some(small()?),
            b"thread" => self.part.thread = Some(small()?),
            b"part" => self.part.number = Some(small()?),
            b"positions" => self.positions = words(value).count(),
            b"events" => self.event = words(value).position(|word| word == INSTRUCTIONS),
            // In callgrind's reports, `summary` may be smaller than `totals`.
            b"totals" => {
                let event = self.event.ok_or("no event is `Ir`")?;
                self.stated = Some(words(value).nth(event).map_or(Ok(0), number)?);
            }
            _ => {}
        }
        Ok(())
    }

    fn specification(&mut self, name: &[u8], value: &[u8]) -> Result<(), ReportFault> {
        self.has_body = true;
        match name {
            b"ob" => {
                self.here.object = Some(self.names.object(value)?);
                self.here.function = None;
            }
            b"fn" => self.here.function = Some(self.names.function(value)?),
            b"cob" => self.called_object = Some(self.names.object(value)?),
            b"cfn" => self.called = Some(self.names.function(value)?),
            b"calls" => {
                let count = words(value).next().ok_or("there is no number of calls")?;
                let called = self.called.take().ok_or("the called function is not named")?;
                let object = self.called_object.take().or(self.here.object);
                let function = self.costs_of(object, called)?;
                self.call = Some((function, number(count)?));
            }
            // Source files and jumps are ignored.
            b"fl" | b"fi" | b"fe" | b"cfi" | b"cfl" | b"jump" | b"jcnd" => {}
            _ => return Err("it says nothing that is known"),
        }
        Ok(())
    }

    /// Reads a line of counts: those of the current function itself, or of the call in the line before.
    fn counts(&mut self, line: &[u8]) -> Result<(), ReportFault> {
        self.has_body = true;
        let mut words = words(line);
        for _ in 0..self.positions.max(1) {
            position(words.next().ok_or("it has too few numbers")?)?;
        }
        let event = self.event.ok_or("no event is `Ir`")?;
        // Omitted counts at the end of a line are zero.
        let counted = words.nth(event).map_or(Ok(0), number)?;
        let here = self.here.function.ok_or("the function is not named")?;
        let here = self.costs_of(self.here.object, here)?;
        match self.call.take() {
            Some((called, calls)) => {
                if self.ids.calls() >= CALLS_MAX {
                    return Err("there are too many calls");
                }
                // For a call that spans two dumps, the tool may write a negative cost as an unsigned number. It says
                // nothing about the instructions of the callee.
                let counted = if i64::try_from(counted).is_ok() { counted } else { 0 };
                self.part.costs.call(&mut self.ids, [here, called], calls, counted)
            }
            None => self.part.costs.spend(here, counted),
        }
        .ok_or("the counts are too large")
    }

    fn costs_of(&mut self, object: Option<u32>, name: u32) -> Result<FunctionId, ReportFault> {
        if let Some(known) = self.ids.known(object, name) {
            return Ok(known);
        }
        if self.ids.functions() >= FUNCTIONS_MAX {
            return Err("there are too many functions");
        }
        let text = |index: u32| &self.names.texts[index as usize];
        let file = object.map(text);
        let module = file.map_or(UNKNOWN, |file| file.plain.as_str());
        if let Some(path) = file.and_then(|file| file.path.as_ref())
            && !self.part.costs.files.contains_key(module)
        {
            self.part.costs.files.insert(module.to_owned(), path.clone());
        }
        Ok(self.part.costs.function(&mut self.ids, (object, name), module, text(name)))
    }

    fn end_part(&mut self) -> Result<(), ReportFault> {
        let mut part = std::mem::take(&mut self.part);
        let is_begun = std::mem::take(&mut self.is_begun);
        if !std::mem::take(&mut self.has_body) && self.stated.is_none() {
            // A header without a body is only valid before the next part.
            return if is_begun { Err("the report was cut off") } else { Ok(()) };
        }
        let stated = self.stated.take().ok_or("the report was cut off")?;
        if self.call.take().is_some() {
            return Err("the report was cut off");
        }
        part.total = part.costs.total().ok_or("the counts are too large")?;
        if part.total != stated {
            return Err("the counts do not add up to the total");
        }
        // Later parts do not repeat these.
        self.part = ReportPart { pid: part.pid, ..ReportPart::default() };
        self.ids = NameIds::default();
        self.here = CodePlace::default();
        if self.parts.len() >= PARTS_MAX {
            return Err("there are too many parts");
        }
        self.parts.push(part);
        Ok(())
    }
}

impl ReportNames {
    fn object(&mut self, value: &[u8]) -> Result<u32, ReportFault> {
        let base = |path: &str| match path {
            "???" => UNKNOWN.to_owned(),
            path => cut(path.rsplit('/').next().unwrap_or(path)).to_owned(),
        };
        let path = |text: &str| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
        let named = |text: &str| ReportName { plain: base(text), nested: 0, path: path(text) };
        named_by(&mut self.objects, &mut self.texts, value, named)
    }

    fn function(&mut self, value: &[u8]) -> Result<u32, ReportFault> {
        named_by(&mut self.functions, &mut self.texts, value, |text| {
            let (symbol, nested) = nested(text);
            ReportName { plain: function_name(symbol), nested, path: None }
        })
    }
}

/// The index of the name that `(NUMBER) NAME`, `(NUMBER)` or `NAME` refers to.
fn named_by(
    table: &mut NameTable,
    texts: &mut Vec<ReportName>,
    value: &[u8],
    named: impl Fn(&str) -> ReportName,
) -> Result<u32, ReportFault> {
    let mut add = |text: &[u8]| {
        if texts.len() >= NAMES_MAX {
            return Err("there are too many names");
        }
        let index = texts.len() as u32;
        texts.push(named(&String::from_utf8_lossy(text)));
        Ok(index)
    };
    let Some(rest) = value.strip_prefix(b"(") else { return add(value) };
    let end = rest.iter().position(|byte| *byte == b')');
    let Some((inside, name)) = end.and_then(|end| rest.split_at_checked(end)) else {
        return add(value);
    };
    // A name may itself begin with a parenthesis, such as `(below main)`.
    let Ok(id) = number(inside) else { return add(value) };
    let name = name.get(1..).unwrap_or_default().trim_ascii();
    if name.is_empty() {
        return table.get(&id).copied().ok_or("the number of the name is not known");
    }
    let index = add(name)?;
    table.insert(id, index);
    Ok(index)
}

/// A name and the recursion level that the tool appends to it: `walk'2` is `walk` called within `walk`.
fn nested(text: &str) -> (&str, u32) {
    let parts = text.rsplit_once('\'').and_then(|(name, level)| Some((name, level.parse().ok()?)));
    parts.filter(|(name, _)| !name.is_empty()).unwrap_or((text, 0))
}

/// The name of a function, or the offset of its code in the object, such as `0x8a40f0`, if it has none.
fn function_name(symbol: &str) -> String {
    let digits = symbol.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    match (digits, symbol) {
        (Some(offset), _) => format!("{offset:#x}"),
        (None, "???") => UNKNOWN.to_owned(),
        (None, _) => plain(symbol),
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// A decimal number, or a hexadecimal one after `0x`.
fn number(word: &[u8]) -> Result<u64, ReportFault> {
    let wrong = "it has a number that is none";
    let text = std::str::from_utf8(word).map_err(|_| wrong)?;
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong);
    }
    u64::from_str_radix(digits, radix).map_err(|_| "it has a number that is none or too large")
}

/// Checks the form of a position: a number, its distance from the previous one, or `*` if it is the same.
fn position(word: &[u8]) -> Result<(), ReportFault> {
    match word.split_first() {
        Some((b'*', [])) => Ok(()),
        Some((b'+' | b'-', distance)) => number(distance).map(drop),
        _ => number(word).map(drop),
    }
}
