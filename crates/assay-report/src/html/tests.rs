//! The table of tests: one row per test and setup, grouped as published.

use std::borrow::Cow;

use assay_model::{CellId, Group, Setup, StudyRecord, Verdict};
use assay_verdict::{CellJudgement, Judgement};

use super::answer::anchor;
use super::chart::{Axis, Scale, Strip};
use super::figure::{Ratio, figure, key, setup_words};
use crate::label::label;
use crate::number::{NONE, share, spread, thousands};
use crate::trouble;
use crate::words::{base_index, symbol, why};

/// The table and what it can be filtered by.
pub(crate) struct Tests {
    pub(crate) base: String,
    /// Names of the systems compared with the base.
    pub(crate) systems: Vec<String>,
    pub(crate) axis: Axis,
    /// Columns of the table.
    pub(crate) columns: usize,
    pub(crate) groups: Vec<TestGroup>,
    /// Words of the groups, for the filter.
    pub(crate) group_words: Vec<&'static str>,
    /// Setups, for the filter; empty where there is one.
    pub(crate) setups: Vec<String>,
    /// Verdicts that occur, for the filter.
    pub(crate) verdicts: Vec<&'static str>,
}

/// The tests of one group under one setup.
pub(crate) struct TestGroup {
    pub(crate) word: &'static str,
    pub(crate) title: &'static str,
    pub(crate) setup: String,
    pub(crate) rows: Vec<Row>,
}

/// One test.
pub(crate) struct Row {
    pub(crate) anchor: String,
    pub(crate) test: String,
    /// QPS of the base.
    pub(crate) qps: String,
    pub(crate) qps_width: Option<String>,
    pub(crate) qps_key: String,
    pub(crate) cells: Vec<Compared>,
    /// Words of the verdicts on it, separated by spaces.
    pub(crate) verdicts: String,
    pub(crate) figures: Vec<Figures>,
    pub(crate) notes: Vec<Note>,
}

/// A system against the base in one test.
pub(crate) struct Compared {
    pub(crate) system: String,
    pub(crate) verdict: &'static str,
    pub(crate) symbol: &'static str,
    /// Slower first.
    pub(crate) rank: u8,
    pub(crate) ratio: Ratio,
    pub(crate) strip: Strip,
    pub(crate) cpu: Ratio,
    /// The verdict on the CPU time, where it is more or less.
    pub(crate) cpu_class: &'static str,
}

/// What else is known of a system in one test; columns as in [`FIGURES`].
pub(crate) struct Figures {
    pub(crate) system: String,
    pub(crate) values: Vec<String>,
}

/// A sentence on a system in one test.
pub(crate) struct Note {
    pub(crate) class: &'static str,
    pub(crate) symbol: &'static str,
    pub(crate) system: String,
    pub(crate) text: String,
}

/// Heading and explanation of the columns of [`Figures`].
pub(crate) const FIGURES: [(&str, &str); 17] = [
    ("QPS", "operations per second"),
    ("CPU ×", "server CPU per operation divided by that of the base, with 95 % interval"),
    ("server µs/o", "CPU time of the server per operation, threads that serve the connections"),
    ("backgr. µs/o", "CPU time of the server's other threads per operation"),
    ("client µs/o", "CPU time of assay's clients per operation"),
    (
        "CPU wait µs/o",
        "those threads in line for a CPU, without the time in which their own client had it",
    ),
    (
        "other wait µs/o",
        "all other waiting: locks, network, waking up, the disk; – where the counters do not tell",
    ),
    ("cs/o", "context switches of the server per operation"),
    ("reads/o", "reads completed by the block device per operation"),
    ("wKB/o", "KiB sent towards block devices per operation"),
    ("p50 µs", "median latency of events"),
    ("p95 µs", "95th percentile of the latency of events"),
    ("p99 µs", "99th percentile of the latency of events"),
    ("slices", "good slices; with + those in machine trouble, shown but not judged"),
    ("blocks", "sets of fresh servers"),
    ("errors", "retried errors"),
    ("would see", "smallest change that 4 of 5 studies like this one would call"),
];

impl Tests {
    pub(crate) fn new(record: &StudyRecord, judgement: &Judgement, scale: Scale) -> Self {
        let base = base_index(record);
        let others: Vec<usize> = (0..record.systems.len())
            .filter(|&index| index != base && !record.systems[index].is_twin)
            .collect();
        let mut keys: Vec<(Setup, &'static Group, CellId)> = judgement
            .cells
            .iter()
            .filter(|judged| judged.system == base)
            .map(|judged| (judged.cell.setup, judged.group, judged.cell))
            .collect();
        // Stable: within a group the tests stay in the order in which they run.
        keys.sort_by_key(|(setup, group, _)| (*setup, *group));
        let groups: Vec<TestGroup> = keys
            .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
            .map(|cells| TestGroup {
                word: cells[0].1.word.as_str(),
                title: cells[0].1.title.as_str(),
                setup: setup_words(cells[0].0),
                rows: cells.iter().map(|it| row(record, judgement, it.2, &others, scale)).collect(),
            })
            .collect();
        let mut setups: Vec<String> = groups.iter().map(|group| group.setup.clone()).collect();
        setups.dedup();
        let mut group_words: Vec<&str> = groups.iter().map(|group| group.word).collect();
        group_words.sort_unstable();
        group_words.dedup();
        let occurs = |verdict: &Verdict| {
            judgement.cells.iter().any(|c| c.verdict == *verdict && others.contains(&c.system))
        };
        Self {
            base: label(record, base),
            systems: others.iter().map(|&index| label(record, index)).collect(),
            axis: Axis { scale, distance: 25.0 },
            columns: 2 + 3 * others.len(),
            group_words,
            setups: if setups.len() > 1 { setups } else { Vec::new() },
            verdicts: VERDICTS.iter().filter(|v| occurs(v)).map(|v| v.word()).collect(),
            groups,
        }
    }
}

/// In the order in which a column of verdicts is sorted.
const VERDICTS: [Verdict; 5] =
    [Verdict::Slower, Verdict::Faster, Verdict::Same, Verdict::Undecided, Verdict::Failed];

fn row(
    record: &StudyRecord,
    judgement: &Judgement,
    id: CellId,
    others: &[usize],
    scale: Scale,
) -> Row {
    let base_of = judgement.cell(id, base_index(record));
    let judged: Vec<&CellJudgement> =
        others.iter().filter_map(|&other| judgement.cell(id, other)).collect();
    let cells: Vec<Compared> = judged.iter().map(|cell| compared(record, cell, scale)).collect();
    let mut verdicts: Vec<&str> = cells.iter().map(|cell| cell.verdict).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    let qps = base_of.and_then(|base| base.qps);
    let all = base_of.into_iter().chain(judged);
    Row {
        anchor: base_of.map_or_else(String::new, |base| anchor(record, base)),
        test: id.test.name.clone(),
        qps: figure(qps.map(|qps| qps.value)),
        qps_width: spread(qps),
        qps_key: key(qps.map(|qps| qps.value)),
        verdicts: verdicts.join(" "),
        cells,
        figures: all.clone().map(|cell| figures(record, cell)).collect(),
        notes: all.flat_map(|cell| notes(record, cell)).collect(),
    }
}

fn compared(record: &StudyRecord, cell: &CellJudgement, scale: Scale) -> Compared {
    let verdict = cell.verdict;
    let shown = cell.rqps.filter(|_| verdict != Verdict::Failed);
    Compared {
        system: label(record, cell.system),
        verdict: verdict.word(),
        symbol: symbol(verdict),
        rank: VERDICTS.iter().position(|it| *it == verdict).unwrap_or(0) as u8,
        ratio: Ratio::new(shown),
        strip: Strip { scale, estimate: shown, span: None, class: verdict.word() },
        cpu: Ratio::new(cell.cpu_ratio),
        cpu_class: match cell.cpu_verdict {
            Some(verdict @ (Verdict::Slower | Verdict::Faster)) => verdict.word(),
            _ => "",
        },
    }
}

fn figures(record: &StudyRecord, cell: &CellJudgement) -> Figures {
    let server = cell.per_op.and_then(|per_op| per_op.server);
    let latency = cell.latency;
    let cpu = Ratio::new(cell.cpu_ratio);
    let troubled = if cell.troubled > 0 { format!(" + {}", cell.troubled) } else { String::new() };
    Figures {
        system: label(record, cell.system),
        values: vec![
            figure(cell.qps.map(|qps| qps.value)),
            cpu.interval.map_or(cpu.value.clone(), |interval| format!("{} {interval}", cpu.value)),
            figure(server.map(|server| server.cpu_us)),
            figure(server.map(|server| server.background_cpu_us)),
            figure(cell.per_op.and_then(|per_op| per_op.client_cpu_us)),
            figure(server.and_then(|server| server.cpu_wait_us())),
            figure(server.and_then(|server| {
                server.other_wait_us.map(|other| other + server.disk_wait_us.unwrap_or(0.0))
            })),
            figure(server.map(|server| server.cs)),
            figure(cell.per_op.and_then(|per_op| per_op.reads)),
            figure(cell.per_op.and_then(|per_op| per_op.write_kb)),
            figure(latency.map(|latency| latency.p50)),
            figure(latency.map(|latency| latency.p95)),
            figure(latency.map(|latency| latency.p99)),
            format!("{}{troubled}", cell.slices),
            cell.blocks.to_string(),
            thousands(cell.errors as f64),
            cell.detectable.map_or_else(|| NONE.to_owned(), share),
        ],
    }
}

/// Why it failed, changed or is undecided, and what troubled it.
fn notes(record: &StudyRecord, cell: &CellJudgement) -> Vec<Note> {
    let texts = [why(record, cell).map(Cow::into_owned), trouble::of_cell(cell)];
    let note = |text| Note {
        class: cell.verdict.word(),
        symbol: symbol(cell.verdict),
        system: label(record, cell.system),
        text,
    };
    texts.into_iter().flatten().map(note).collect()
}
