//! Markdown as GitHub reads it: the answer, a table per group, groups, causes, conditions, how to do it again.

use assay_model::{CellId, Group, Setup, StudyRecord};
use assay_verdict::Judgement;

use crate::headline::{self, compared};
use crate::number::{median, rate, ratio};
use crate::text::conditions;
use crate::words::{base_index, causes, command, symbol, system_name};

/// Renders the report.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> String {
    let mut sections: Vec<String> = Vec::new();
    let lines = headline::lines(record, judgement);
    sections.push(lines.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("\n\n"));
    sections.extend(tests(record, judgement));
    sections.extend(groups(record, judgement));
    let causes: Vec<String> = causes(record, judgement)
        .map(|(judged, name, why)| {
            format!("- {} {}: {}", symbol(judged.verdict), escaped(&name), escaped(why))
        })
        .collect();
    if !causes.is_empty() {
        sections.push(format!("### Why\n\n{}", causes.join("\n")));
    }
    let conditions = conditions::list(record, judgement);
    let items: Vec<String> =
        conditions.iter().map(|line| format!("- {}", escaped(line.trim()))).collect();
    sections.push(format!("### Conditions\n\n{}", items.join("\n")));
    sections.push(again(record));
    sections.retain(|section| !section.is_empty());
    sections.join("\n\n") + "\n"
}

/// One table for each setup and group.
fn tests(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let base = base_index(record);
    let mut cells: Vec<(Setup, Group, CellId)> = judgement
        .cells
        .iter()
        .filter(|judged| judged.system == base)
        .map(|judged| (judged.cell.setup, judged.group, judged.cell))
        .collect();
    cells.sort_by_key(|(setup, group, _)| (*setup, *group));
    let several_setups = record.study.setups.len() > 1;
    let of_group =
        |a: &(Setup, Group, CellId), b: &(Setup, Group, CellId)| (a.0, a.1) == (b.0, b.1);
    cells
        .chunk_by(of_group)
        .filter_map(|cells| {
            let (setup, group, _) = *cells.first()?;
            let of = if several_setups {
                format!(", {setup} (clients × tables × rows)")
            } else {
                String::new()
            };
            let rows = cells.iter().map(|(_, _, cell)| row(record, judgement, *cell));
            Some(format!("### {}{of}\n\n{}", group.title(), table(&header(record), rows)))
        })
        .collect()
}

fn header(record: &StudyRecord) -> Vec<String> {
    let mut header = vec!["test".to_owned(), "base QPS".to_owned()];
    for system in compared(record) {
        let name = system_name(record, system);
        header.extend([format!("{name} rQPS [95 %]"), "verdict".into(), "server CPU ratio".into()]);
    }
    header
}

fn row(record: &StudyRecord, judgement: &Judgement, cell: CellId) -> Vec<String> {
    let base = judgement.cell(cell, base_index(record));
    let mut row = vec![cell.test.name(), rate(base.and_then(|base| base.qps))];
    for system in compared(record) {
        let judged = judgement.cell(cell, system);
        row.push(ratio(judged.and_then(|judged| judged.rqps)));
        row.push(judged.map_or_else(String::new, |judged| {
            format!("{} {}", symbol(judged.verdict), judged.verdict.word())
        }));
        row.push(ratio(judged.and_then(|judged| judged.cpu_ratio)));
    }
    row
}

fn groups(record: &StudyRecord, judgement: &Judgement) -> Option<String> {
    let systems = compared(record);
    let header = [
        "group",
        "clients × tables × rows",
        "system",
        "n",
        "min",
        "max",
        "avg",
        "median [95 %]",
        "stddev",
    ];
    let shown = judgement.groups.iter().filter(|summary| systems.contains(&summary.system));
    let rows: Vec<Vec<String>> = shown
        .map(|summary| {
            vec![
                summary.group.word().to_owned(),
                summary.setup.to_string(),
                system_name(record, summary.system).to_owned(),
                summary.n.to_string(),
                format!("{:.2}", summary.min),
                format!("{:.2}", summary.max),
                format!("{:.2}", summary.avg),
                median(summary),
                summary.stddev.map_or_else(String::new, |stddev| format!("{stddev:.3}")),
            ]
        })
        .collect();
    let table = |rows: Vec<Vec<String>>| table(&header.map(str::to_owned), rows.into_iter());
    (!rows.is_empty()).then(|| format!("### Relative QPS by group\n\n{}", table(rows)))
}

fn again(record: &StudyRecord) -> String {
    let (what, text) = match command(record) {
        Some(command) => ("", command),
        None => (
            "With this as `study.toml`, run `assay run study.toml`:\n\n",
            record.study.recipe.trim_end(),
        ),
    };
    if text.is_empty() {
        String::new()
    } else {
        format!("### Do it again\n\n{what}{}", fenced(text))
    }
}

/// A code block whose fence is longer than any in the text.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{text}\n{fence}")
}

pub(crate) fn table(header: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |", cells.join(" | "))
    };
    let rule = format!("|{}", "---|".repeat(header.len()));
    let rows: Vec<String> = rows.map(|row| line(&row)).collect();
    format!("{}\n{rule}\n{}", line(header), rows.join("\n"))
}

/// Text as it is, whatever it holds: nothing in it is markup.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '\n' | '\r' => safe.push(' '),
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // It would mention somebody; within a word, as in names of systems, it does not.
            '@' if !before.is_alphanumeric() => safe.push_str("@\u{200b}"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            _ => safe.push(c),
        }
        before = c;
    }
    safe
}
