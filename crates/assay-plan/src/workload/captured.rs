//! Captured values of a test: a file with a line per event, and the names of a line's values.

use assay_model::limits::captured::{FILE_BYTES, WIDTH};
use assay_model::{Captured, CapturedDraw, CapturedKind, Generator, UserRowsFile};
use assay_workloads::sql::leading_name;
use assay_workloads::{CapturedLines, keep_captured};

use super::files::{ReadFile, UserFile, Wanted};
use crate::document::{Fault, Value, all};

pub(super) const KEYS: [&str; 3] = ["file", "names", "draw"];

const EXPECTED: &str = "a table such as `{ file = \"values.jsonl\", names = [\"id\"] }`";

pub(super) fn names<'t>(value: &Value<'t>) -> Result<Vec<Value<'t>>, Fault> {
    let table = value.table(EXPECTED)?;
    table.refuse_unknown(&KEYS)?;
    let lacks = || {
        value.fault("`values` lacks `names`").hint("they name the values of a line, in its order")
    };
    let listed = table.get("names").ok_or_else(lacks)?;
    let names = listed.list("a list of names")?;
    if names.is_empty() || names.len() > WIDTH {
        return Err(listed.fault(format!("a line has 1 to {WIDTH} values")));
    }
    let check = |(number, it): (usize, &Value<'t>)| {
        let name = it.text("the name of a variable, in quotes")?;
        if name.is_empty() || leading_name(name) != name {
            return Err(it.fault(format!(
                "`{name}` cannot name a variable: use letters, digits and `_`, and begin with no digit"
            )));
        }
        let before = names.iter().take(number);
        match before.filter_map(|it| it.value.as_str()).any(|other| other == name) {
            true => Err(it.fault(format!("`{name}` is named twice"))),
            false => Ok(()),
        }
    };
    all(names.iter().enumerate().map(check))?;
    Ok(names)
}

/// Reads the file of `values`, and keeps its lines for the sender. Returns it and the generators of its names.
pub(super) fn read(
    value: &Value<'_>,
    width: usize,
    files: ReadFile<'_>,
) -> Result<(Captured, Vec<Generator>), Fault> {
    let table = value.table(EXPECTED)?;
    let draw = match table.get("draw") {
        None => CapturedDraw::Random,
        Some(draw) => match draw.text("`\"random\"` or `\"in-order\"`")? {
            "random" => CapturedDraw::Random,
            "in-order" => CapturedDraw::InOrder,
            _ => return Err(draw.fault("`draw` must be `random` or `in-order`")),
        },
    };
    let lacks = || {
        value
            .fault("`values` lacks `file`")
            .hint("each line of the file is a JSON array, such as `[42, \"DE\"]`")
    };
    let named = table.get("file").ok_or_else(lacks)?;
    let name = named.text("the name of a file, in quotes")?;
    let read = files(name, Wanted::Whole)
        .map_err(|why| named.fault(format!("`{name}` cannot be read: {why}")))?;
    let UserFile { path, sha256, content, .. } = read;
    if content.len() as u64 > FILE_BYTES {
        return Err(named.fault(format!("`{name}` has more than {FILE_BYTES} bytes")));
    }
    let lines = CapturedLines::parse(&content, width).map_err(|errors| {
        let faults = errors.iter().map(|error| named.fault(format!("`{name}`, {error}")));
        let hint = "each line is a JSON array with a value for each of `names`; a value is a number, a text, `null`, \
                    `true`, `false`, `{\"hex\": \"ff00\"}` or an array of those";
        let faults = Fault::of_all(faults.map(|fault| fault.hint(hint)));
        faults.unwrap_or_else(|| named.fault("a mistake"))
    })?;
    let generators = (0..).zip(lines.columns()).map(|(column, it)| Generator::Captured {
        column,
        of: it.kind.unwrap_or(CapturedKind::Texts),
        most_bytes: it.most_bytes,
    });
    let generators = generators.collect();
    let file = UserRowsFile { path, sha256 };
    let captured = Captured { lines: lines.len(), width: width as u32, draw, file };
    keep_captured(&captured.file.sha256, lines);
    Ok((captured, generators))
}
