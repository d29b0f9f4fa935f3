//! Markdown as GitHub reads it: the answer, causes, groups, a table per group, conditions, how to reproduce it.

use crate::charts::{ChartFile, Place};
use crate::lines;
use crate::number::{NONE, figure};
use crate::text;
use crate::view::Report;
use crate::view::again::Again;
use crate::view::gate::Gate;
use crate::view::groups::GroupRow;
use crate::view::insert_bench::InsertBench;
use crate::view::matrix::MatrixSection;
use crate::view::shaded::ShadedTable;
use crate::view::sweep::Sweep;
use crate::view::tests::{TestRow, TestSection, Tests};
use crate::view::{metrics, published};
use crate::words::{CROSSOVERS_LEGEND, STEPS_LEGEND, Symbol, sentence, title};

/// The charts that a report shows as images.
#[derive(Clone, Copy)]
pub(crate) struct Images<'a> {
    pub(crate) charts: &'a [ChartFile],
    /// The ending of their files.
    pub(crate) ending: &'a str,
}

impl Images<'_> {
    /// A report without images.
    pub(crate) fn none() -> Self {
        Self { charts: &[], ending: "" }
    }

    /// The images of a section.
    pub(crate) fn at(self, place: &Place) -> Vec<String> {
        let charts = self.charts.iter().filter(|chart| chart.place == *place);
        charts.map(|it| format!("![{}]({}.{})", escaped(&it.alt), it.name, self.ending)).collect()
    }
}

/// Explains the columns of a study of many systems.
const LEGEND_OF_MANY: &str = "rQPS: QPS divided by that of the base. ▲ faster, ▼ slower, = same, ≠ uneven, \
    ? undecided, ✗ failed. ±: half the width of the widest 95% interval in the row; `--format csv` has all \
    intervals.";

/// Explains the columns of a study of few systems.
const LEGEND: &str = "rQPS: QPS divided by that of the base, with its 95% interval. \
    Same ±1%: a change by more than 1% is ruled out. \
    Server CPU ratio: server CPU per operation divided by that of the base.";

fn legend(report: &Report) -> String {
    let certainty = report.tests.certainty.iter();
    let certainty: String = certainty.map(|it| format!(" {}", escaped(&sentence(it)))).collect();
    let legend = match (report.matrix.has_many_systems(), report.matrix.has_intervals()) {
        (true, true) => LEGEND_OF_MANY,
        (true, false) => "rQPS: QPS divided by that of the base, without intervals.",
        (false, _) => LEGEND,
    };
    format!("{legend}{certainty}")
}

/// Renders the report.
pub(crate) fn render(report: &Report, images: Images) -> String {
    let answers = report.answer_lines();
    let mut sections: Vec<String> = report.gate.iter().flat_map(gate_sections).collect();
    sections.extend(answers.iter().map(|line| format!("**{}**", escaped(line.trim()))));
    sections.extend(report.caveat_lines().iter().map(|line| at_start(line.trim())));
    let causes = report.causes.iter().map(|cause| {
        format!("{} {}: {}", cause.verdict.symbol(), escaped(&cause.name), escaped(&cause.why))
    });
    sections.extend(list(causes).map(|list| unfolded("Why, the largest changes first", &list)));
    let undecided = list(report.undecided.iter().map(|line| escaped(line)));
    sections.extend(undecided.map(|list| folded("Undecided, and what would help", &list)));
    sections.extend(images.at(&Place::InsertBench));
    sections.extend(report.insert_bench.iter().flat_map(insert_bench));
    sections.extend(images.at(&Place::Groups));
    sections.extend(groups(report));
    sections.extend(images.at(&Place::Clients));
    sections.extend(report.sweep.iter().flat_map(sweep));
    sections.extend(images.at(&Place::Matrix));
    sections.extend(report.tests.sections.iter().flat_map(|section| {
        let place = Place::Tests(section.setup, section.group.word.clone());
        let (heading, table) = tests(report, section);
        [heading].into_iter().chain(images.at(&place)).chain([table]).collect::<Vec<_>>()
    }));
    sections.push(legend(report));
    sections.extend(report.responses.iter().map(responses));
    let changes = list(report.changes().iter().map(|change| escaped(&change.line())));
    sections.extend(changes.map(|list| {
        let legend = sentence(STEPS_LEGEND);
        format!("### Where it changed, the largest changes first\n\n{list}\n\n{legend}")
    }));
    sections.extend(images.at(&Place::Versions));
    let crossovers = list(report.crossovers.iter().map(|line| escaped(line)));
    sections.extend(crossovers.map(|list| {
        let legend = escaped(&sentence(CROSSOVERS_LEGEND));
        format!("### Crossovers\n\n{list}\n\n{legend}")
    }));
    let conditions = lines::conditions(&report.conditions);
    let conditions = list(conditions.iter().map(|line| at_start(line.text.trim())));
    sections.extend(conditions.map(|list| folded("Conditions", &list)));
    sections.push(again(&report.again));
    sections.retain(|section| !section.is_empty());
    sections.join("\n\n") + "\n"
}

/// Renders relative QPS as in published posts.
pub(crate) fn render_published(report: &Report, images: Images) -> String {
    let others: Vec<&str> = report.matrix.labels.iter().skip(1).copied().collect();
    let (base, others, id) = (report.base, others.join(", "), report.again.id);
    let mut sections = vec![
        format!("**{}**", escaped(&format!("{base} against {others}"))),
        format!("Study {}, {}.", escaped(id), published::NOTE),
    ];
    let tables = published::tables(&report.matrix, report.several_setups);
    for (section, shown) in report.matrix.sections.iter().zip(&tables) {
        sections.push(format!("### {}", escaped(&shown.title)));
        sections.extend(images.at(&Place::Tests(section.setup, section.group.word.clone())));
        sections.push(shaded(shown));
    }
    sections.push(escaped(&format!("QPS divided by that of {base}.")));
    if !report.metrics.is_empty() {
        sections.push(format!("### Hardware per operation\n\n{}.", escaped(metrics::NOTE)));
    }
    for shown in &report.metrics {
        sections.push(folded(&escaped(&shown.title), &shaded(shown)));
    }
    sections.join("\n\n") + "\n"
}

/// Renders what the gate says as the summary of a pull request.
pub(crate) fn render_gate(report: &Report, gate: &Gate) -> String {
    let mut sections = gate_sections(gate);
    sections.extend(list(report.warning_lines().iter().map(|line| at_start(line))));
    let id = report.again.id;
    sections.push(format!("Study {}: `assay report {id}` shows every test.", escaped(id)));
    sections.join("\n\n") + "\n"
}

fn gate_sections(gate: &Gate) -> Vec<String> {
    let mut columns = vec![Column::left("result"), Column::left("test")];
    columns.extend(gate.several_systems.then(|| Column::left("system")));
    columns.extend(["QPS against the base [bounds]", "limit"].map(Column::right));
    columns.push(Column::left("why"));
    let rows = gate.rows.iter().map(|row| {
        let mut cells =
            vec![format!("{} {}", row.verdict.symbol(), row.verdict.word()), row.test.clone()];
        cells.extend(gate.several_systems.then(|| row.system.to_owned()));
        cells.extend([row.change.clone(), row.limit.clone()]);
        cells.push(row.why.clone().unwrap_or_default());
        cells
    });
    let mut sections = vec![format!("### assay {}", escaped(&gate.headline))];
    sections.extend((!gate.rows.is_empty()).then(|| table(&columns, rows)));
    sections.extend(gate.rest.iter().map(|line| at_start(line)));
    sections.push(at_start(&gate.basis));
    sections
}

/// A list; `None` if there are no items.
fn list(items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.map(|item| format!("- {item}")).collect();
    (!items.is_empty()).then(|| items.join("\n"))
}

/// Long text that is seldom read, hidden behind its title.
fn folded(title: &str, text: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{text}\n\n</details>")
}

/// Text that may be long and is read, with a title that hides it.
fn unfolded(title: &str, text: &str) -> String {
    folded(title, text).replacen("<details>", "<details open>", 1)
}

/// Heading and table of a group.
fn tests(report: &Report, section: &TestSection) -> (String, String) {
    let of = if report.several_setups {
        format!(", {} (clients × tables × rows)", section.setup)
    } else {
        String::new()
    };
    let table = match report.matrix.has_many_systems() {
        true => many_systems(report, section),
        false => table(&columns(&report.tests), section.rows.iter().map(row)),
    };
    (format!("### {}{of}", title(section.group)), table)
}

/// The tests of a group with a column for each system.
fn many_systems(report: &Report, section: &TestSection) -> String {
    let matrix = &report.matrix;
    let mut columns = vec![Column::left("test"), Column::right("base QPS")];
    columns.extend(matrix.short.iter().skip(1).map(|name| Column::right(name.clone())));
    let has_intervals = matrix.has_intervals();
    columns.extend(has_intervals.then(|| Column::right("±")));
    let is_this = |of: &&MatrixSection| (of.setup, of.group) == (section.setup, section.group);
    let rows = matrix.sections.iter().filter(is_this).flat_map(|section| &section.rows);
    let rows = rows.map(|row| {
        let mut cells = vec![row.test.to_owned(), figure(row.base_qps)];
        cells.extend(row.cells.iter().skip(1).map(text::matrix::marked));
        cells.extend(has_intervals.then(|| text::matrix::widest(row)));
        cells
    });
    table(&columns, rows)
}

fn columns(tests: &Tests) -> Vec<Column> {
    let mut columns = vec![Column::left("test"), Column::right("base QPS")];
    for system in &tests.systems {
        columns.extend([
            Column::right(format!("{} rQPS [95%]", system.label)),
            Column::left("verdict"),
            Column::right(format!("confidence > {}", tests.threshold)),
            Column::right("server CPU ratio"),
        ]);
    }
    columns
}

fn row(test: &TestRow) -> Vec<String> {
    let mut row = vec![test.test.to_owned(), test.base.qps.to_string()];
    for other in &test.others {
        row.push(other.rqps.to_string());
        let bound = other.bound.iter().map(|bound| format!(" {bound}")).collect::<String>();
        row.push(format!("{} {}{bound}", other.symbol(), other.word()).trim().to_owned());
        row.push(other.beyond_threshold.clone().unwrap_or_else(|| NONE.to_owned()));
        row.push(other.cpu_ratio.to_string());
    }
    row
}

fn groups(report: &Report) -> Option<String> {
    let (several_setups, several_systems) = (report.several_setups, report.several_systems());
    let mut columns = vec![Column::left("group")];
    columns.extend(several_setups.then(|| Column::left("clients × tables × rows")));
    columns.extend(several_systems.then(|| Column::left("system")));
    columns.extend(["n", "min", "max", "avg", "median [95%]", "stddev"].map(Column::right));
    let rows = report.groups.iter().map(|row: &GroupRow| {
        let mut cells = vec![row.group.word.clone()];
        cells.extend(several_setups.then(|| row.setup.to_string()));
        cells.extend(several_systems.then(|| row.system.to_owned()));
        cells.extend([&row.n, &row.min, &row.max, &row.avg].map(String::clone));
        cells.extend([row.median.to_string(), row.stddev.clone()]);
        cells
    });
    let table = || table(&columns, rows);
    (!report.groups.is_empty()).then(|| format!("### Relative QPS by group\n\n{}", table()))
}

/// The tables of the Insert Benchmark: those of response times are folded.
fn insert_bench(bench: &InsertBench) -> Vec<String> {
    let open = bench.summaries.iter().chain(&bench.longest);
    let mut sections: Vec<String> = open
        .map(|shown| {
            let note = escaped(&sentence(&shown.note));
            format!("### {}\n\n{}\n\n{note}", title_case(&shown.title), shaded(shown))
        })
        .collect();
    sections.extend(folded_tables("Metrics", &bench.metrics));
    sections.extend(folded_tables("Response times", &bench.responses));
    sections
}

/// Throughput and response times by client count.
fn sweep(sweep: &Sweep) -> Vec<String> {
    let table = |shown: &ShadedTable| {
        let note = escaped(&sentence(&shown.note));
        folded(&title_case(&shown.title), &format!("{note}\n\n{}", shaded(shown)))
    };
    sweep.tables.iter().map(table).collect()
}

/// Response times and errors of published results.
fn responses(shown: &ShadedTable) -> String {
    let note = escaped(&sentence(&shown.note));
    format!("### {}\n\n{}\n\n{note}", title_case(&shown.title), shaded(shown))
}

/// Tables with the same note, behind a title.
fn folded_tables(title: &str, tables: &[ShadedTable]) -> Option<String> {
    let note = escaped(&sentence(&tables.first()?.note));
    let table =
        |shown: &ShadedTable| format!("#### {}\n\n{}", escaped(&shown.title), shaded(shown));
    let tables: Vec<String> = tables.iter().map(table).collect();
    Some(folded(title, &format!("{note}\n\n{}", tables.join("\n\n"))))
}

fn title_case(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    escaped(&(first + letters.as_str()))
}

fn shaded(shown: &ShadedTable) -> String {
    let mut columns = vec![Column::left(shown.corner)];
    columns.extend(shown.columns.iter().map(|name| Column::right(name.clone())));
    let rows = shown.rows.iter().map(|row| {
        let cells = row.cells.iter().map(|cell| cell.text.clone());
        std::iter::once(row.name.clone()).chain(cells).collect()
    });
    table(&columns, rows)
}

fn again(again: &Again) -> String {
    let (what, text) = match again.command {
        Some(command) => ("", command),
        None => ("With this as `study.toml`, run `assay run study.toml`:\n\n", again.recipe),
    };
    let reproduce = (!text.is_empty()).then(|| format!("### Reproduce\n\n{what}{}", fenced(text)));
    let profiles = again.profiles();
    let profiles =
        profiles.map(|(command, shows)| format!("`{command}` writes a page with the {shows}."));
    [reproduce, profiles].into_iter().flatten().collect::<Vec<_>>().join("\n\n")
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
    /// The mark of its alignment.
    rule: &'static str,
}

impl Column {
    /// A column of words.
    pub(crate) fn left(header: impl Into<String>) -> Self {
        Self { header: header.into(), rule: "---" }
    }

    /// A column of numbers.
    pub(crate) fn right(header: impl Into<String>) -> Self {
        Self { header: header.into(), rule: "---:" }
    }
}

/// A table in which no text is markup.
pub(crate) fn table(columns: &[Column], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let safe = |cells: Vec<String>| line(cells.iter().map(|cell| escaped(cell)).collect());
    let header = safe(columns.iter().map(|column| column.header.clone()).collect());
    let rule = line(columns.iter().map(|column| column.rule.to_owned()).collect());
    [header, rule].into_iter().chain(rows.map(safe)).collect::<Vec<_>>().join("\n")
}

/// Escapes text at the start of a line or item, where `-`, `+`, `=` and numbers with a point would make lists and
/// headings.
fn at_start(text: &str) -> String {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let is_mark =
        if digits > 0 { rest.starts_with(['.', ')']) } else { rest.starts_with(['-', '+', '=']) };
    format!("{number}{}{}", if is_mark { "\\" } else { "" }, escaped(rest))
}

/// Escapes text, so that nothing in it is markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            c if c.is_control() => safe.push(' '),
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // An `@` would mention a user. Within a word, as in names of systems, it does not.
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
