//! Logs of statements from untrusted sources.

use assay_capture::{
    Capture, FORMATS, LogFormat, LogHints, PlanOptions, WorkloadFiles, WorkloadTarget,
    format_named, plan, planner_statistics, probe, schema, statistics_type, summary, workload,
};
use assay_model::Dialect;
use assay_workloads::{
    DumpPart, DumpParts, dump_dialect, fate, table_database, without_database, without_definer,
};

/// Parses bytes as a log in their apparent format, and in every other.
pub(crate) fn logs(bytes: &[u8]) {
    let given = LogHints::default();
    if let Ok(found) = probe(bytes, None, &given) {
        let format = format_named(found.format.name).unwrap_or(found.format);
        assert_eq!(
            read(bytes, format),
            read(bytes, format),
            "the same log makes the same workload"
        );
    }
    FORMATS.iter().for_each(|format| drop(read(bytes, format)));
}

/// Reads bytes as a dump without rows, and writes rows for its tables.
pub(crate) fn dumps(bytes: &[u8]) {
    let captured = Capture::new(LogHints::default()).finish();
    let Ok(plan) = plan(&captured, &PlanOptions::default()) else { return };
    let _ = dump_dialect(bytes);
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        statements(bytes, dialect);
        let target =
            WorkloadTarget { stem: "app".to_owned(), dump: None, schema: schema(bytes, dialect) };
        let written = workload(&captured, &plan, &target).text;
        let parsed: Result<toml::Table, _> = toml::from_str(&written);
        assert!(parsed.is_ok(), "{written}");
    }
}

/// Reads bytes as statistics of the planner. Only values of known types come out.
pub(crate) fn statistics(bytes: &[u8]) {
    let Ok(found) = planner_statistics(bytes) else { return };
    for entry in found.relations.iter().chain(&found.columns) {
        assert!(!entry.schema.is_empty() && !entry.relation.is_empty());
        for (argument, value) in &entry.values {
            let is_text = statistics_type(argument) == Some("text");
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-.,{} ".contains(c);
            assert!(is_text || value.chars().all(is_plain), "{argument}: {value}");
        }
    }
}

/// Splits bytes into the statements of a dump, and removes the names of databases.
fn statements(bytes: &[u8], dialect: Dialect) {
    let mut parts = DumpParts::new(bytes, dialect);
    while let Ok(Some(part)) = parts.next_part() {
        match part {
            DumpPart::Statement { sql, .. } => {
                let _ = (fate(&sql, dialect), without_definer(&sql, &|_| false));
                let database = table_database(&sql).unwrap_or_else(|| "a".to_owned());
                let without = without_database(&sql, &database);
                assert!(without.is_none_or(|it| it.len() < sql.len()));
            }
            DumpPart::Copy { .. } => while parts.next_rows(&mut Vec::new()).is_ok_and(|it| it) {},
            DumpPart::Command { .. } => {}
        }
    }
}

fn read(bytes: &[u8], format: &'static LogFormat) -> Option<WorkloadFiles> {
    let given = LogHints::default();
    let probe = probe(bytes, Some(format), &given).ok()?;
    let mut capture = Capture::new(given);
    capture.read("log", bytes, &probe, &mut &*bytes).ok()?;
    let captured = capture.finish();
    let plan = plan(&captured, &PlanOptions { writes: true, ..PlanOptions::default() }).ok()?;
    assert!(!summary(&captured, &plan, 100).is_empty());
    let target = WorkloadTarget { stem: "app".to_owned(), dump: None, schema: None };
    let written = workload(&captured, &plan, &target);
    for values in &written.values {
        let file = format!("file = \"{}\"", values.path);
        assert!(written.text.contains(&file), "{file}");
        let widths: Vec<usize> = values.text.lines().map(width).collect();
        assert!(!widths.is_empty() && widths.windows(2).all(|pair| pair.first() == pair.last()));
    }
    Some(written)
}

/// The number of values of a line, which must be JSON.
fn width(line: &str) -> usize {
    let list: Result<Vec<serde_json::Value>, _> = serde_json::from_str(line);
    list.unwrap_or_else(|error| panic!("{error}: {line}")).len()
}
