//! CSV (RFC 4180): one line per cell and system, the figures of the JSON under the names of its fields.
//!
//! Nothing that was never measured has a field: it is empty. A field that a spreadsheet would take for a formula gets
//! an apostrophe in front, unless it is a number.

use std::borrow::Cow;

use assay_model::{Estimate, StudyRecord, printable};
use assay_verdict::Judgement;

use crate::number::Digits;
use crate::words::{rfc3339, system_name, why};

/// The columns, in order; new ones come last.
const HEADER: [&str; 51] = [
    "study",
    "started",
    "test",
    "group",
    "clients",
    "tables",
    "rows",
    "system",
    "is_base",
    "is_twin",
    "qps",
    "qps_low",
    "qps_high",
    "rqps",
    "rqps_low",
    "rqps_high",
    "verdict",
    "slices",
    "troubled",
    "disturbed",
    "blocks",
    "ops",
    "errors",
    "latency_p50_us",
    "latency_p95_us",
    "latency_p99_us",
    "latency_max_us",
    "time_us",
    "client_cpu_us",
    "server_cpu_us",
    "server_user_us",
    "server_sys_us",
    "runq_us",
    "disk_wait_us",
    "other_wait_us",
    "background_cpu_us",
    "cs",
    "reads",
    "read_kb",
    "write_kb",
    "cpu_ratio",
    "cpu_ratio_low",
    "cpu_ratio_high",
    "cpu_verdict",
    "detectable",
    "why",
    "workload_version",
    "troubled_steal",
    "troubled_other_process",
    "troubled_clock_jump",
    "overlap_us",
];

/// Renders the cells.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> String {
    let mut lines = vec![HEADER.map(str::to_owned).to_vec()];
    lines.extend((0..judgement.cells.len()).map(|index| line(record, judgement, index)));
    lines.iter().map(|fields| joined(fields)).collect()
}

fn line(record: &StudyRecord, judgement: &Judgement, index: usize) -> Vec<String> {
    let judged = &judgement.cells[index];
    let system = record.systems.get(judged.system);
    let setup = judged.cell.setup;
    let mut fields = vec![
        record.study.id.clone(),
        rfc3339(record.study.started_ms).unwrap_or_default(),
        judged.cell.test.name.clone(),
        judged.group.word.clone(),
        setup.clients.to_string(),
        setup.tables.to_string(),
        setup.rows.to_string(),
        system_name(record, judged.system).to_owned(),
        system.is_some_and(|system| system.is_base).to_string(),
        system.is_some_and(|system| system.is_twin).to_string(),
    ];
    fields.extend(interval(judged.qps));
    fields.extend(interval(judged.rqps));
    fields.extend([
        judged.verdict.word().to_owned(),
        judged.slices.to_string(),
        judged.troubled.to_string(),
        judged.is_disturbed.to_string(),
        judged.blocks.to_string(),
        number(Some(judged.ops)),
        judged.errors.to_string(),
    ]);
    let latency = judged.latency;
    fields.extend(
        [
            latency.map(|it| it.p50),
            latency.map(|it| it.p95),
            latency.map(|it| it.p99),
            latency.map(|it| it.max),
        ]
        .map(number),
    );
    let per_op = judged.per_op;
    let server = per_op.and_then(|it| it.server);
    fields.extend(
        [
            per_op.map(|it| it.time_us),
            per_op.and_then(|it| it.client_cpu_us),
            server.map(|it| it.cpu_us),
            server.map(|it| it.user_us),
            server.map(|it| it.sys_us),
            server.map(|it| it.runq_us),
            server.and_then(|it| it.disk_wait_us),
            server.and_then(|it| it.other_wait_us),
            server.map(|it| it.background_cpu_us),
            server.map(|it| it.cs),
            per_op.and_then(|it| it.reads),
            per_op.and_then(|it| it.read_kb),
            per_op.and_then(|it| it.write_kb),
        ]
        .map(number),
    );
    fields.extend(interval(judged.cpu_ratio));
    fields.extend([
        judged.cpu_verdict.map_or_else(String::new, |verdict| verdict.word().to_owned()),
        number(judged.detectable),
        why(record, judged).unwrap_or_default().into_owned(),
        record.study.workload_version.to_string(),
        judged.troubled_by.steal.to_string(),
        judged.troubled_by.other_process.to_string(),
        judged.troubled_by.clock_jump.to_string(),
        number(server.and_then(|it| it.overlap_us)),
    ]);
    fields
}

fn interval(estimate: Option<Estimate>) -> [String; 3] {
    [estimate.map(|it| it.value), estimate.map(|it| it.low), estimate.map(|it| it.high)].map(number)
}

/// With the digits that JSON has.
fn number(value: Option<f64>) -> String {
    value.and_then(Digits::of).map_or_else(String::new, |digits| digits.to_string())
}

/// Fields that hold a separator or a quote stand in quotes; none holds a line end or is a formula.
pub(crate) fn joined(fields: &[String]) -> String {
    let quoted = |field: &String| {
        let text = no_formula(printable(field));
        if text.contains([',', '"']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.into_owned()
        }
    };
    fields.iter().map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

/// What a formula begins with, in the letters of Latin and of East Asian scripts.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// The text so that a spreadsheet shows it instead of computing it.
fn no_formula(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    if text.trim_start().starts_with(FORMULA) && !is_number() {
        format!("'{text}").into()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_shown_and_numbers_stay() {
        let line = |field: &str| joined(&[field.to_owned()]);
        for field in ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "＝1", "-inf"] {
            assert_eq!(line(field), format!("'{field}\r\n"));
        }
        assert_eq!(line("\t=1"), "' =1\r\n");
        assert_eq!(line("\r=1,\n2"), "\"' =1, 2\"\r\n");
        for field in ["-1.5", "+2", "-1e-7", "", "a=b", "mysql@8.0"] {
            assert_eq!(line(field), format!("{field}\r\n"));
        }
    }
}
