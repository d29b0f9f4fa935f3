//! Markdown as GitHub reads it: the answer, causes, groups, a table per group, conditions, how to do it again.

use assay_model::{CellId, Group, Setup, StudyRecord};
use assay_verdict::Judgement;

use crate::doubt;
use crate::headline::{self, compared};
use crate::label::label;
use crate::number::{NONE, median, rate, ratio};
use crate::text::conditions;
use crate::words::{base_index, causes, command, symbol};

/// What the columns are.
const LEGEND: &str = "rQPS: QPS divided by that of the base, with its 95 % interval. \
    Server CPU ratio: server CPU per operation divided by that of the base.";

/// Renders the report.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> String {
    let answers = headline::answers(record, judgement);
    let mut sections: Vec<String> =
        answers.iter().map(|line| format!("**{}**", escaped(line.trim()))).collect();
    let rest = headline::lines(record, judgement);
    sections.extend(rest.iter().skip(answers.len()).map(|line| at_start(line.trim())));
    let causes: Vec<String> = causes(record, judgement)
        .into_iter()
        .map(|(judged, name, why)| {
            format!("- {} {}: {}", symbol(judged.verdict), escaped(&name), escaped(why))
        })
        .collect();
    if !causes.is_empty() {
        sections.push(unfolded("Why, the largest changes first", &causes.join("\n")));
    }
    let doubts: Vec<String> =
        doubt::lines(record, judgement).iter().map(|line| format!("- {}", escaped(line))).collect();
    if !doubts.is_empty() {
        sections.push(folded("Undecided, and what would help", &doubts.join("\n")));
    }
    sections.extend(groups(record, judgement));
    sections.extend(tests(record, judgement));
    sections.push(LEGEND.to_owned());
    let conditions = conditions::list(record, judgement);
    let items: Vec<String> =
        conditions.iter().map(|line| format!("- {}", at_start(line.trim()))).collect();
    sections.push(folded("Conditions", &items.join("\n")));
    sections.push(again(record));
    sections.retain(|section| !section.is_empty());
    sections.join("\n\n") + "\n"
}

/// What is long and seldom read stands behind its title.
fn folded(title: &str, text: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{text}\n\n</details>")
}

/// What may be long, and is read.
fn unfolded(title: &str, text: &str) -> String {
    folded(title, text).replacen("<details>", "<details open>", 1)
}

/// One table for each setup and group.
fn tests(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let base = base_index(record);
    let mut cells: Vec<(Setup, &'static Group, CellId)> = judgement
        .cells
        .iter()
        .filter(|judged| judged.system == base)
        .map(|judged| (judged.cell.setup, judged.group, judged.cell))
        .collect();
    cells.sort_by_key(|(setup, group, _)| (*setup, *group));
    let several_setups = record.study.setups.len() > 1;
    let columns = columns(record);
    let of_group = |a: &(Setup, &'static Group, CellId), b: &(Setup, &'static Group, CellId)| {
        (a.0, a.1) == (b.0, b.1)
    };
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
            let Group { word, title, .. } = group;
            let name = if word == title { word.to_owned() } else { format!("{word}: {title}") };
            Some(format!("### {name}{of}\n\n{}", table(&columns, rows)))
        })
        .collect()
}

fn columns(record: &StudyRecord) -> Vec<Column> {
    let mut columns = vec![Column::left("test"), Column::right("base QPS")];
    for system in compared(record) {
        let name = label(record, system);
        columns.extend([
            Column::right(format!("{name} rQPS [95 %]")),
            Column::left("verdict"),
            Column::right("server CPU ratio"),
        ]);
    }
    columns
}

fn row(record: &StudyRecord, judgement: &Judgement, cell: CellId) -> Vec<String> {
    let base = judgement.cell(cell, base_index(record));
    let mut row = vec![cell.test.name.clone(), rate(base.and_then(|base| base.qps))];
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
    let (several_setups, several_systems) = (record.study.setups.len() > 1, systems.len() > 1);
    let mut columns = vec![Column::left("group")];
    columns.extend(several_setups.then(|| Column::left("clients × tables × rows")));
    columns.extend(several_systems.then(|| Column::left("system")));
    columns.extend(["n", "min", "max", "avg", "median [95 %]", "stddev"].map(Column::right));
    let shown = judgement.groups.iter().filter(|summary| systems.contains(&summary.system));
    let rows: Vec<Vec<String>> = shown
        .map(|summary| {
            let mut row = vec![summary.group.word.clone()];
            row.extend(several_setups.then(|| summary.setup.to_string()));
            row.extend(several_systems.then(|| label(record, summary.system)));
            row.push(summary.n.to_string());
            row.extend([summary.min, summary.max, summary.avg].map(|value| format!("{value:.2}")));
            row.push(median(summary));
            row.push(summary.stddev.map_or_else(|| NONE.to_owned(), |sd| format!("{sd:.3}")));
            row
        })
        .collect();
    let table = |rows: Vec<Vec<String>>| table(&columns, rows.into_iter());
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

/// A column of a table.
pub(crate) struct Column {
    header: String,
    /// How GitHub is told to align it.
    rule: &'static str,
}

impl Column {
    /// Of words.
    pub(crate) fn left(header: impl Into<String>) -> Self {
        Self { header: header.into(), rule: "---" }
    }

    /// Of numbers.
    pub(crate) fn right(header: impl Into<String>) -> Self {
        Self { header: header.into(), rule: "---:" }
    }
}

/// A table of which no text is markup.
pub(crate) fn table(columns: &[Column], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let safe = |cells: Vec<String>| line(cells.iter().map(|cell| escaped(cell)).collect());
    let header = safe(columns.iter().map(|column| column.header.clone()).collect());
    let rule = line(columns.iter().map(|column| column.rule.to_owned()).collect());
    [header, rule].into_iter().chain(rows.map(safe)).collect::<Vec<_>>().join("\n")
}

/// Text as it is where a line or an item begins: `-`, `+`, `=` and numbers with a point would make lists and headings.
fn at_start(text: &str) -> String {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let is_mark =
        if digits > 0 { rest.starts_with(['.', ')']) } else { rest.starts_with(['-', '+', '=']) };
    format!("{number}{}{}", if is_mark { "\\" } else { "" }, escaped(rest))
}

/// Text as it is, whatever it holds: nothing in it is markup.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            c if c.is_control() => safe.push(' '),
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // It would mention somebody; within a word, as in names of systems, it does not.
            '@' if !before.is_alphanumeric() => safe.push_str("@\u{200b}"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => {
                safe.push('\\');
                safe.push(c);
            }
            _ => safe.push(c),
        }
        before = c;
    }
    safe
}
