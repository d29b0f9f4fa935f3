//! CSV (RFC 4180): one line per row, with the figures of the JSON.
//!
//! Fields of figures that were never measured are empty. A field that a spreadsheet would take for a formula gets an
//! apostrophe in front, unless it is a number.

use assay_model::{StudyRecord, Verdict, no_formula, printable};
use assay_verdict::{
    CellFigure, CellJudgement, FigurePlace, Judgement, LATENCIES, METRICS, PER_OP, PublishedMetric,
};
use csv::{Terminator, WriterBuilder};
use serde::Serialize;
use serde_json::Value;

use super::row::{CellRow, change_names, latency_name, verdict};
use crate::number::Digits;
use crate::words::rfc3339;

/// Name of a column, and path of its field in the JSON.
type CsvColumn = (&'static str, &'static str);

/// Columns of a study, in order; new ones come last. A star means the figures of a group, except those added later
/// ([`FigurePlace::FilesLast`]).
const COLUMNS: &[CsvColumn] = &[
    ("study", "/study"),
    ("started", "/started"),
    ("test", "/test"),
    ("group", "/group"),
    ("clients", "/clients"),
    ("tables", "/tables"),
    ("rows", "/rows"),
    ("system", "/system"),
    ("is_base", "/is_base"),
    ("is_twin", "/is_twin"),
    ("qps", "/qps/value"),
    ("qps_low", "/qps/low"),
    ("qps_high", "/qps/high"),
    ("rqps", "/rqps/value"),
    ("rqps_low", "/rqps/low"),
    ("rqps_high", "/rqps/high"),
    ("verdict", "/judged"),
    ("slices", "/slices"),
    ("troubled", "/troubled"),
    ("disturbed", "/disturbed"),
    ("blocks", "/blocks"),
    ("ops", "/ops"),
    ("errors", "/errors"),
    ("*", "/latency_us"),
    ("*", "/per_op"),
    ("cpu_ratio", "/cpu_ratio/value"),
    ("cpu_ratio_low", "/cpu_ratio/low"),
    ("cpu_ratio_high", "/cpu_ratio/high"),
    ("cpu_verdict", "/cpu_verdict"),
    ("detectable", "/detectable"),
    ("why", "/why"),
    ("workload_version", "/workload_version"),
    ("troubled_steal", "/troubled_by/steal"),
    ("troubled_other_process", "/troubled_by/other_process"),
    ("troubled_clock_jump", "/troubled_by/clock_jump"),
    ("troubled_throttled", "/troubled_by/throttled"),
    ("overlap_us", "/per_op/overlap_us"),
    ("beyond_threshold", "/beyond_threshold"),
    ("same_within", "/same_within"),
    ("tps", "/tps"),
    ("latency_avg_us", "/latency_us/avg"),
    ("terms", "/terms"),
    ("*", "/change_us"),
    ("reconnects", "/published/reconnects"),
    ("target_tps", "/published/target_tps"),
    ("*", "/published"),
    ("instructions", "/count/instructions/value"),
    ("instructions_low", "/count/instructions/low"),
    ("instructions_high", "/count/instructions/high"),
    ("instructions_ratio", "/count/ratio/value"),
    ("instructions_ratio_low", "/count/ratio/low"),
    ("instructions_ratio_high", "/count/ratio/high"),
    ("instructions_verdict", "/count/verdict"),
    ("instructions_total", "/count/instructions_total/value"),
    ("instructions_total_low", "/count/instructions_total/low"),
    ("instructions_total_high", "/count/instructions_total/high"),
    ("instructions_total_ratio", "/count/instructions_total/ratio/value"),
    ("instructions_total_ratio_low", "/count/instructions_total/ratio/low"),
    ("instructions_total_ratio_high", "/count/instructions_total/ratio/high"),
    ("instructions_total_verdict", "/count/instructions_total/verdict"),
    ("fingerprint", "/fingerprint"),
    ("calls", "/calls"),
    ("share", "/share"),
    ("plan_changed", "/plan_changed"),
    ("answers_differ", "/answers_differ"),
    ("new_errors", "/new_errors"),
    ("new_warnings", "/new_warnings"),
];

fn columns() -> Vec<(String, String)> {
    let group =
        |rows: &'static [CellFigure], place| rows.iter().filter(move |it| it.place == place);
    let latency =
        |it: &CellFigure| (it.key.to_owned(), format!("/latency_us/{}", latency_name(it)));
    let per_op = |it: &CellFigure| (it.key.to_owned(), format!("/per_op/{}", it.key));
    let metric = |it: PublishedMetric| {
        (it.column.to_owned(), format!("/published/{}", it.name.replace('/', "~1")))
    };
    let change = |name: &str| {
        ["value", "low", "high"].map(|end| {
            let suffix = if end == "value" { String::new() } else { format!("_{end}") };
            (format!("change_{name}_us{suffix}"), format!("/change_us/{name}/{end}"))
        })
    };
    let one = |(name, place): &CsvColumn| match (*name, *place) {
        ("*", "/latency_us") => group(LATENCIES, FigurePlace::Files).map(latency).collect(),
        ("*", "/per_op") => group(PER_OP, FigurePlace::Files).map(per_op).collect(),
        ("*", "/change_us") => change_names().flat_map(change).collect(),
        ("*", "/published") => METRICS.map(metric).to_vec(),
        (name, place) => vec![(name.to_owned(), place.to_owned())],
    };
    let mut columns: Vec<(String, String)> = COLUMNS.iter().flat_map(one).collect();
    let later = group(LATENCIES, FigurePlace::FilesLast).map(latency);
    for column in later.chain(group(PER_OP, FigurePlace::FilesLast).map(per_op)) {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

#[derive(Serialize)]
struct CsvRow<'a> {
    study: &'a str,
    started: Option<String>,
    is_base: bool,
    is_twin: bool,
    /// None on the base, which is compared with nothing, unless it failed.
    judged: Option<&'static str>,
    workload_version: Option<u32>,
    terms: Option<&'a str>,
    #[serde(flatten)]
    cell: CellRow<'a>,
}

/// The cells of studies, one study after the other.
#[must_use]
pub fn cells_csv(studies: &[(&StudyRecord, &Judgement)]) -> String {
    let rows = studies.iter().flat_map(|(record, judgement)| {
        judgement.cells.iter().map(move |judged| row(record, judged))
    });
    table(columns(), rows)
}

fn row<'a>(record: &'a StudyRecord, judged: &'a CellJudgement) -> CsvRow<'a> {
    let (study, system) = (&record.study, record.systems.get(judged.system));
    let is_base = system.is_some_and(|system| system.is_base);
    CsvRow {
        study: &study.id,
        started: record.began_ms().and_then(rfc3339),
        is_base,
        is_twin: system.is_some_and(|system| system.is_twin),
        judged: (!is_base || judged.verdict == Verdict::Failed)
            .then(|| verdict(record, judged))
            .flatten(),
        workload_version: (!record.is_reported()).then_some(study.workload_version),
        terms: study.terms.as_deref(),
        cell: CellRow::new(record, judged),
    }
}

/// `names` are those of fields of the rows, or of an interval and its end: `rqps rqps_low rqps_high`.
pub(crate) fn of_fields(names: &str, rows: impl Iterator<Item = impl Serialize>) -> String {
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
            let digits = number.as_f64().and_then(Digits::of);
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
