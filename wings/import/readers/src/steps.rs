//! Published summaries of the Insert Benchmark, and a study of them: rows of 21 columns (`o.sum.*`, `mrg.*` and
//! `rel.*`), and tables of rates (`tput.tsv`, `tputr.tsv` and `iput.tsv`).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::BufRead;

use assay_model::limits::SYSTEMS;
use assay_model::{
    CellId, Definition, Group, IbenchQueries, IbenchQuery, IbenchStep, IbenchTables, Preparation,
    Slice, StartFrom, Statements, StepWork, Test, Unit, WorkCounters, test_name,
};
use assay_workloads::statementless;

use crate::line::{ParseResult, each_line, name, value, without_loop};
use crate::study::{ImportFacts, NoStudy, PublishedStudy, empty, place_of, reported};

/// The columns before the name of the server: rates, disk and CPU per operation, sizes in GiB, the slowest operation in
/// seconds, and percentiles of the rate by second.
pub const COLUMNS: [&str; 20] = [
    "ips", "qps", "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups",
    "cspq", "cpupq", "dbgb1", "dbgb2", "rss", "maxop", "p50", "p99",
];

/// A server in a step, or a step of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct IbenchRow {
    pub tag: String,
    /// Family of servers, from 0. Ratios are to the first row of a family.
    pub family: usize,
    /// As printed, in the order of [`COLUMNS`].
    pub printed: Vec<String>,
    /// The same as numbers; `None` for other words.
    pub values: Vec<Option<f64>>,
}

/// Skips a header and empty lines; a `-` separates families.
pub fn step_rows(file: &str, content: impl BufRead) -> ParseResult<Vec<IbenchRow>> {
    let mut rows: Vec<IbenchRow> = Vec::new();
    let mut family = 0;
    let faults = each_line(file, content, |_, line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        match cells.as_slice() {
            [] => {}
            ["-"] => family += usize::from(rows.last().is_some_and(|row| row.family == family)),
            [first, ..] if *first == COLUMNS[0] => {}
            _ if rows.len() == SYSTEMS => return Err(format!("more than {SYSTEMS} rows")),
            [values @ .., tag] if values.len() == COLUMNS.len() => {
                let numbers = values.iter().map(|text| value(text)).collect::<Result<_, _>>()?;
                let printed = values.iter().map(|&text| text.to_owned()).collect();
                rows.push(IbenchRow { tag: name(tag)?, family, printed, values: numbers });
            }
            other => return Err(format!("{} of {} columns", other.len(), COLUMNS.len() + 1)),
        }
        Ok(())
    })?;
    Ok((rows, faults))
}

const SERVER: &str = "dbms";

/// Rates by step: of operations, the same relative to the first server, or of background inserts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RateTable {
    /// Such as `l.i0` and `qr100`, without the suffix of a loop.
    pub steps: Vec<String>,
    pub rows: Vec<IbenchRates>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IbenchRates {
    pub server: String,
    /// One per step; `None` if not a number.
    pub values: Vec<Option<f64>>,
}

pub fn rate_table(file: &str, content: impl BufRead) -> ParseResult<RateTable> {
    let mut table = RateTable::default();
    let faults = each_line(file, content, |_, line| {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        match cells.as_slice() {
            [""] => {}
            [SERVER, steps @ ..] => {
                table.steps = steps.iter().map(|step| without_loop(step).to_owned()).collect()
            }
            _ if table.rows.len() == SYSTEMS => {
                return Err(format!("more than {SYSTEMS} servers"));
            }
            [server, values @ ..] if values.len() == table.steps.len() && !values.is_empty() => {
                let values = values.iter().map(|text| value(text)).collect::<Result<_, _>>()?;
                table.rows.push(IbenchRates { server: name(server)?, values });
            }
            other => {
                return Err(format!("{} of {} values", other.len() - 1, table.steps.len()));
            }
        }
        Ok(())
    })?;
    Ok((table, faults))
}

#[derive(Debug, Clone, PartialEq)]
pub struct StepResult {
    /// Such as `l.i0`, `qr100` or `q100.2`.
    pub step: String,
    pub server: String,
    /// Rows inserted, or indexed in `l.x`, per second; `None` if only the queries were published.
    pub inserts: Option<f64>,
    /// Per second.
    pub queries: f64,
    /// All published figures by their published names.
    pub published: Vec<(String, f64)>,
}

/// From a row of a file with a row per server, such as `mrg.qr100.L1`; `None` without rates.
pub fn step_result(step: &str, row: &IbenchRow) -> Option<StepResult> {
    let named = COLUMNS.iter().zip(&row.values);
    let known = named.filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?)));
    Some(StepResult {
        step: without_loop(step).to_owned(),
        server: row.tag.clone(),
        inserts: Some(row.values[0]?),
        queries: row.values[1]?,
        published: known.collect(),
    })
}

/// The steps of the published runs, in order: today's, and those of 2021.
const ORDERS: [&[&str]; 2] = [
    &["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"],
    &[
        "l.i0", "l.x", "l.i1", "q100.1", "q100.2", "q200.1", "q200.2", "q400.1", "q400.2",
        "q600.1", "q600.2", "q800.1", "q800.2", "q1000.1", "q1000.2",
    ],
];

/// From a file with a row per step of one server, such as `o.sum.t.20m.pg131.cx5`, which does not name the steps; empty
/// if their number is not that of the published runs.
pub fn steps_of_server(rows: &[IbenchRow]) -> Vec<StepResult> {
    let Some(order) = ORDERS.iter().find(|order| order.len() == rows.len()) else {
        return Vec::new();
    };
    let results = order.iter().zip(rows).filter_map(|(step, row)| {
        let result = step_result(step, row)?;
        Some(StepResult { server: without_size(&row.tag).to_owned(), ..result })
    });
    results.collect()
}

/// Strips the size of the tables from the name of a server: `pg131.cx5` for `20m.pg131.cx5` and `1.5m.pg131.cx5`.
pub fn without_size(name: &str) -> &str {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let is_size = |it: &str| it.strip_suffix(['k', 'm', 'b']).is_some_and(is_number);
    let Some((first, rest)) = name.split_once('.') else { return name };
    match rest.split_once('.') {
        _ if is_size(first) => rest,
        Some((second, rest)) if is_number(first) && is_size(second) => rest,
        _ => name,
    }
}

/// From a summary of rates, `tput.tsv`, and that of the background inserts, `iput.tsv`.
pub fn summary_results(rates: &RateTable, inserts: Option<&RateTable>) -> Vec<StepResult> {
    let background = |inserts: &RateTable, server: &str, step: &str| {
        let row = inserts.rows.iter().find(|row| row.server == server)?;
        let at = inserts.steps.iter().position(|it| it == step)?;
        row.values.get(at).copied().flatten()
    };
    let mut results = Vec::new();
    for row in &rates.rows {
        for (step, rate) in rates.steps.iter().zip(&row.values) {
            let (Some(rate), Some(kind)) = (*rate, StepKind::named(step)) else { continue };
            let (inserts, queries) = match (kind, inserts) {
                (StepKind::Load { .. }, _) => (Some(rate), 0.0),
                (StepKind::Query { .. }, None) => (None, rate),
                // Without its background rate, a step's rate cannot be compared.
                (StepKind::Query { .. }, Some(inserts)) => {
                    let Some(inserts) = background(inserts, &row.server, step) else { continue };
                    (Some(inserts), rate)
                }
            };
            let published = inserts.map(|rate| ("ips", rate)).into_iter().chain([("qps", queries)]);
            results.push(StepResult {
                step: step.clone(),
                server: row.server.clone(),
                inserts,
                queries,
                published: published.map(|(name, value)| (name.to_owned(), value)).collect(),
            });
        }
    }
    results
}

/// Servers are in the order in which they first appear.
pub fn study_of_steps(
    results: &[StepResult],
    about: &ImportFacts,
) -> Result<PublishedStudy, NoStudy> {
    let mut repeated = Vec::new();
    let mut steps: Vec<(&str, CellId)> = Vec::new();
    let mut servers: Vec<String> = Vec::new();
    let mut slices: BTreeMap<(usize, usize), Slice> = BTreeMap::new();
    for result in results {
        let Some(kind) = StepKind::named(&result.step) else { continue };
        let number = steps.iter().position(|(name, _)| *name == result.step);
        let number = number.unwrap_or_else(|| {
            let test = test(&result.step, kind, result.inserts.is_some());
            steps.push((&result.step, CellId { test, setup: about.setup }));
            steps.len() - 1
        });
        let system = place_of(&mut servers, &result.server);
        let Some(slice) = slice(steps[number].1, system, kind, result, about) else { continue };
        match slices.entry((number, system)) {
            Entry::Vacant(place) => drop(place.insert(slice)),
            Entry::Occupied(_) => repeated.push(format!("{} of {}", result.step, result.server)),
        }
    }
    if slices.is_empty() {
        return Err(NoStudy::NoTests);
    }
    // Files come in the order of their names, steps ran in another.
    steps.sort_by_key(|(name, _)| order(name));
    let mut record = empty(&servers, steps.into_iter().map(|(_, cell)| cell).collect(), about);
    record.slices = slices.into_values().collect();
    Ok(PublishedStudy { record, repeated, left_out: Vec::new() })
}

/// Loads first, then queries by their background rate, ranges before points, and their loops.
fn order(name: &str) -> (u32, u32, bool, &str) {
    let loads = ["l.i0", "l.x", "l.i1", "l.i2"];
    if let Some(place) = loads.iter().position(|it| *it == name) {
        return (0, place as u32, false, name);
    }
    match StepKind::named(name) {
        Some(StepKind::Query { kind, per_second }) => {
            (1, per_second, kind == IbenchQuery::Point, name)
        }
        _ => (2, 0, false, name),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Load { builds_indexes: bool, rows_per_commit: u32 },
    Query { kind: IbenchQuery, per_second: u32 },
}

impl StepKind {
    /// `None` if `name` is not a step of the Insert Benchmark.
    fn named(name: &str) -> Option<Self> {
        let load =
            |builds_indexes, rows_per_commit| Some(Self::Load { builds_indexes, rows_per_commit });
        match name {
            "l.i0" => return load(false, 100),
            "l.x" => return load(true, 100),
            "l.i1" => return load(false, 50),
            "l.i2" => return load(false, 5),
            _ => {}
        }
        let rest = name.strip_prefix('q')?;
        let (kind, rate) = match rest.strip_prefix('p') {
            Some(rate) => (IbenchQuery::Point, rate),
            None => (IbenchQuery::Range, rest.strip_prefix('r').unwrap_or(rest)),
        };
        let rate = rate.split_once('.').map_or(rate, |(rate, _)| rate);
        let per_second = rate.parse().ok().filter(|it| (1..=1_000_000).contains(it))?;
        Some(Self::Query { kind, per_second })
    }
}

/// Plain name and test; `None` if `name` is not a step of the Insert Benchmark.
pub(crate) fn step_of(name: &str) -> Option<(&str, Test)> {
    let name = without_loop(name);
    Some((name, test(name, StepKind::named(name)?, true)))
}

/// The name is all that is known. The step has a background rate only if its inserts are known.
fn test(name: &str, kind: StepKind, has_inserts: bool) -> Test {
    let group = |rank, word: &str| Group { rank, word: word.to_owned(), title: word.to_owned() };
    let none = IbenchTables { is_shared: false, indexes: 3, partitions: None, exceed_cache: false };
    let step = IbenchStep {
        tables: none,
        before: Preparation::Nothing,
        rows: 0,
        rows_per_commit: 50,
        deletes: false,
        per_second: None,
        queries: None,
        builds_indexes: false,
        transaction_s: None,
    };
    let (group, unit, step) = match kind {
        StepKind::Load { builds_indexes, rows_per_commit } => (
            group(0, "load"),
            if builds_indexes { Unit::IndexedRow } else { Unit::InsertedRow },
            IbenchStep { builds_indexes, rows_per_commit, ..step },
        ),
        StepKind::Query { kind, per_second } => {
            let queries = Some(IbenchQueries { kind, is_prepared: false });
            let group = match kind {
                IbenchQuery::Range => group(1, "range"),
                IbenchQuery::Point => group(2, "point"),
            };
            let per_second = has_inserts.then_some(per_second);
            (group, Unit::Query, IbenchStep { per_second, queries, ..step })
        }
    };
    Test::intern(Definition {
        start_from: StartFrom::Fresh,
        unit,
        digest: "unknown".to_owned(),
        ..statementless(&test_name(name), "unknown", group, step.into())
    })
}

/// Seconds for which a rate gives counts exact to three decimals.
const LONG_S: u64 = 1000;

fn slice(
    cell: CellId,
    system: usize,
    kind: StepKind,
    result: &StepResult,
    about: &ImportFacts,
) -> Option<Slice> {
    let inserts = result.inserts.unwrap_or(0.0);
    let counted = |rate: f64| (rate * LONG_S as f64).round() as u64;
    let mut elapsed_ns = LONG_S * 1_000_000_000;
    let mut step = StepWork::default();
    let mut work = WorkCounters::default();
    match kind {
        StepKind::Load { builds_indexes: true, .. } => {
            // The setup gives the number of rows; all of them are indexed.
            step.insert.rows = 1;
            let setup = cell.setup;
            let rows = f64::from(setup.rows) * f64::from(setup.clients) + 100.0;
            elapsed_ns = (rows / inserts * 1e9) as u64;
        }
        StepKind::Load { .. } => step.insert.rows = counted(inserts),
        StepKind::Query { .. } => {
            let statements = counted(result.queries);
            step.insert.rows = counted(inserts);
            step.query = Statements { statements, ..Statements::default() };
            work.read = statements;
        }
    }
    let is_known = match kind {
        StepKind::Load { .. } => inserts > 0.0,
        StepKind::Query { .. } => result.queries > 0.0,
    };
    let work = WorkCounters { elapsed_ns, ..work };
    let slice = reported(cell, system, work, about);
    let published = result.published.clone();
    is_known.then(|| Slice { step: Some(Box::new(step)), published, ..slice })
}

#[cfg(test)]
mod tests {
    use assay_model::Setup;

    use super::*;
    use crate::{rate_table, step_rows};

    #[test]
    fn rows_belong_to_families() {
        let row = |tag: &str| format!("{} {tag}\n", ["1.5"; 20].join("\t"));
        let text = format!(
            "{} tag\n{}{}-\n-\n{}1 2 three\n",
            COLUMNS.join("\t"),
            row("my5651.cx6d"),
            row("my8021.cx6d").replacen("1.5", "NA", 1),
            row("pg131.cx5")
        );
        let (rows, faults) = step_rows("mrg.l.i0", text.as_bytes()).unwrap();
        let message: Vec<_> = rows.iter().map(|row| (row.tag.as_str(), row.family)).collect();
        assert_eq!(message, [("my5651.cx6d", 0), ("my8021.cx6d", 0), ("pg131.cx5", 1)]);
        assert_eq!((rows[1].values[0], rows[1].values[1]), (None, Some(1.5)));
        assert_eq!(faults[0].to_string(), "mrg.l.i0:7: 3 of 21 columns");
    }

    #[test]
    fn servers_have_a_rate_for_each_step() {
        let text = "dbms\tl.i0\tqr100.L1\nmy5651_rel.cz11a\t93930\t100\nmy8036\t5\n\n";
        let (table, faults) = rate_table("iput.tsv", text.as_bytes()).unwrap();
        assert_eq!(table.steps, ["l.i0", "qr100"]);
        assert_eq!(table.rows[0].values, [Some(93930.0), Some(100.0)]);
        let message: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!((message, table.rows.len()), (vec!["iput.tsv:3: 1 of 2 values".to_owned()], 1));
    }

    fn about() -> ImportFacts {
        ImportFacts::of_tests(Setup { clients: 1, tables: 1, rows: 50_000_000 })
    }

    #[test]
    fn rates_of_all_kinds_of_steps_are_kept() {
        let rates = "dbms\tl.i0\tl.x\tqr100.L1\nmy5651_rel.cz11a\t174216\t179212\t10706\n\
                     my8036_rel.cz11a\t120000\tNA\t9000\n";
        let inserts = "dbms\tqr100.L1\nmy5651_rel.cz11a\t100\nmy8036_rel.cz11a\t90\n";
        let [rates, inserts] =
            [rates, inserts].map(|text| rate_table("t", text.as_bytes()).unwrap().0);
        let record =
            study_of_steps(&summary_results(&rates, Some(&inserts)), &about()).unwrap().record;
        assert!(record.study.is_insert_benchmark());
        let names: Vec<_> = record.systems.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["mysql@5.6.51", "mysql@8.0.36"]);
        let found: Vec<_> = record
            .slices
            .iter()
            .map(|it| {
                let rate = it.ops_per_second().unwrap().round();
                (it.cell.test.name(), it.system, rate, Slice::misses_sla(&[it]))
            })
            .collect();
        assert_eq!(
            found,
            [
                ("l.i0", 0, 174_216.0, false),
                ("l.i0", 1, 120_000.0, false),
                ("l.x", 0, 179_212.0, false),
                ("qr100", 0, 10_706.0, false),
                ("qr100", 1, 9000.0, true),
            ]
        );
    }

    /// A step whose insert rate was not published can neither meet nor miss its SLA.
    #[test]
    fn unknown_inserts_are_no_missed_sla() {
        let read = |text: &str| rate_table("t", text.as_bytes()).unwrap().0;
        let rates = read("dbms\tl.i0\tqr100\na\t900\t50\nb\t800\t40\n");
        let record = study_of_steps(&summary_results(&rates, None), &about()).unwrap().record;
        assert!(record.slices.iter().all(|it| !Slice::misses_sla(&[it])));
        assert_eq!(record.slices.len(), 4);
        let inserts = read("dbms\tqr100\na\t100\nb\tNA\n");
        let record =
            study_of_steps(&summary_results(&rates, Some(&inserts)), &about()).unwrap().record;
        assert_eq!(record.slices.len(), 3);
    }

    #[test]
    fn sizes_are_no_part_of_a_name() {
        for (name, plain) in [
            ("20m.pg131.cx5", "pg131.cx5"),
            ("1.5m.pg131.cx5", "pg131.cx5"),
            ("pg131.cx5", "pg131.cx5"),
            ("11.8.cx5", "11.8.cx5"),
            ("20m", "20m"),
        ] {
            assert_eq!(without_size(name), plain);
        }
    }

    #[test]
    fn rows_keep_their_figures_and_other_files_are_no_steps() {
        let line = format!("{}NA my5649.cx6d\n", "7 ".repeat(19));
        let (rows, _) = step_rows("mrg.q100.1", line.as_bytes()).unwrap();
        let result = step_result("q100.1", &rows[0]).unwrap();
        assert_eq!((result.step.as_str(), result.published.len()), ("q100.1", 19));
        let record = study_of_steps(&[result], &about()).unwrap().record;
        assert_eq!(record.slices[0].published.last(), Some(&("p50".to_owned(), 7.0)));
        for other in ["l.i9", "qr", "q0", "q9999999999", "x"] {
            assert_eq!(StepKind::named(other), None, "{other}");
        }
        assert_eq!(study_of_steps(&[], &about()), Err(NoStudy::NoTests));
    }
}
