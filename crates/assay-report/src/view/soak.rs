//! Results of a soak, besides the verdicts of the short turns.

use assay_model::{EventKind, Verdict, counted};
use assay_verdict::{CellJudgement, SOAK_STALL, SoakJudgement, soak};

use super::drawing::{self, Chart, Values};
use super::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::number::{NONE, duration, figure, thousands};
use crate::ratio::Ratio;

pub(crate) struct LongerLook {
    /// A sentence for each system and test in which the steady rates contradict the short turns. They come first.
    pub(crate) contradictions: Vec<String>,
    /// A row for each test and system: the widest table first, then those for less room.
    pub(crate) tables: Vec<ShadedTable>,
    pub(crate) notes: Vec<String>,
    pub(crate) systems: Vec<String>,
    pub(crate) charts: Vec<SoakChart>,
}

pub(crate) struct SoakChart {
    pub(crate) test: String,
    pub(crate) chart: Chart,
    pub(crate) summary: String,
}

const COLUMNS_NARROW: usize = 3;

const NOTE: &str = "steady: the last third of the long turns, with 95% intervals over turns; decay: the steady rate \
    divided by that of the first turns, as many";

impl LongerLook {
    /// `None` without a soak.
    pub(crate) fn new(study: &JudgedStudy) -> Option<Self> {
        let judged = study.judgement.cells.iter();
        let seen: Vec<(&CellJudgement, SoakJudgement)> =
            judged.filter_map(|judged| Some((judged, soak(study.record, judged)?))).collect();
        if seen.is_empty() {
            return None;
        }
        let contradictions =
            seen.iter().filter_map(|(judged, soak)| contradiction(study, judged, soak));
        Some(Self {
            contradictions: contradictions.collect(),
            tables: tables(study, &seen),
            notes: notes(study, &seen),
            systems: (0..study.record.systems.len()).map(|it| study.label(it).to_owned()).collect(),
            charts: charts(study, &seen),
        })
    }
}

fn contradiction(
    study: &JudgedStudy,
    judged: &CellJudgement,
    soak: &SoakJudgement,
) -> Option<String> {
    let (long, short) = soak.ratio.zip(judged.rqps).filter(|_| soak.agrees == Some(false))?;
    let [long, short] = [long, short].map(|it| Ratio(Some(it)).value_with_interval());
    Some(format!(
        "the longer look contradicts the short turns: {} of {} has a steady relative QPS of {long}, not {short}",
        study.cell_name(judged.cell),
        study.label(judged.system),
    ))
}

fn tables(study: &JudgedStudy, seen: &[(&CellJudgement, SoakJudgement)]) -> Vec<ShadedTable> {
    let columns = [
        "short turns",
        "steady",
        "agree",
        "steady QPS",
        "decay",
        "decay against the base",
        "stalled s",
        "longest stall",
        "events",
    ];
    let row = |(judged, soak): &(&CellJudgement, SoakJudgement)| {
        let is_base = judged.system == study.base;
        let ratio = |it| if is_base { "base".to_owned() } else { value_with_interval(it) };
        let shade = match soak.agrees {
            Some(false) => Shade::Low,
            _ => Shade::None,
        };
        let stalls = |of: fn(&assay_verdict::SoakStalls) -> u32, unit: &str| {
            soak.stalls.map_or_else(|| NONE.to_owned(), |it| format!("{}{unit}", of(&it)))
        };
        let agree = match soak.agrees {
            Some(true) => "yes",
            Some(false) => "no",
            None => NONE,
        };
        let cells = [
            (ratio(judged.rqps), Shade::None),
            (ratio(soak.ratio), shade),
            (agree.to_owned(), shade),
            (rate(soak.qps), Shade::None),
            (value_with_interval(soak.decay), Shade::None),
            (
                if is_base { NONE.to_owned() } else { value_with_interval(soak.decay_ratio) },
                Shade::None,
            ),
            (stalls(|it| it.seconds, ""), Shade::None),
            (stalls(|it| it.longest_s, " s"), Shade::None),
            (thousands(soak.events as f64), Shade::None),
        ];
        let cells = cells.map(|(text, shade)| ShadedCell { text, shade }).to_vec();
        let name = format!("{}, {}", study.cell_name(judged.cell), study.label(judged.system));
        ShadedRow { name, cells }
    };
    let whole = ShadedTable {
        title: "a longer look".to_owned(),
        note: NOTE.to_owned(),
        corner: "test, system",
        columns: columns.map(str::to_owned).to_vec(),
        rows: seen.iter().map(row).collect(),
    };
    let narrowed = |keep: &[usize]| {
        let mut table = whole.clone();
        let chosen =
            |all: &[ShadedCell]| keep.iter().filter_map(|at| all.get(*at).cloned()).collect();
        table.columns = keep.iter().filter_map(|at| whole.columns.get(*at).cloned()).collect();
        table.rows.iter_mut().for_each(|row| row.cells = chosen(&row.cells));
        table
    };
    let (middle, narrow) = (narrowed(&[0, 1, 3, 5, 6]), narrowed(&[0, 1, 5][..COLUMNS_NARROW]));
    vec![whole, middle, narrow]
}

fn rate(qps: assay_model::Estimate) -> String {
    let [value, low, high] = [qps.value, qps.low, qps.high].map(|it| figure(Some(it)));
    if qps.has_interval() { format!("{value} [{low}, {high}]") } else { value }
}

fn value_with_interval(estimate: Option<assay_model::Estimate>) -> String {
    estimate.map_or_else(|| NONE.to_owned(), |it| Ratio(Some(it)).value_with_interval())
}

fn notes(study: &JudgedStudy, seen: &[(&CellJudgement, SoakJudgement)]) -> Vec<String> {
    let mut notes = Vec::new();
    let longest = seen.iter().map(|(_, soak)| soak.seconds).fold(0.0, f64::max);
    let rounds = seen.iter().map(|(_, soak)| soak.rounds[0]).max().unwrap_or(0);
    notes.push(format!(
        "Each system ran for up to {} in {}, which alternated with those of the other systems. All began on fresh \
         instances. A second is stalled if fewer than {:.0}% of the events of the median second end in it.",
        duration(longest),
        counted(u64::from(rounds), "long turn"),
        100.0 * SOAK_STALL,
    ));
    let mut summary = Vec::new();
    for (judged, soak) in seen {
        let (test, [done, planned]) = (study.cell_name(judged.cell), soak.rounds);
        if done < planned {
            summary.push(format!("{test}: {done} of {planned} long turns were measured."));
        }
        if soak.instances > 1 {
            summary.push(format!(
                "{test}: after an interruption, fresh instances went on, without the history of the turns before."
            ));
        }
    }
    summary.dedup();
    notes.extend(summary);
    let events = study.record.events.iter();
    notes.extend(events.filter_map(|event| match &event.what {
        what @ EventKind::NotSoaked { .. } => Some(format!("Not seen to the end: {what}.")),
        _ => None,
    }));
    let is_undecided = |it: &&(&CellJudgement, SoakJudgement)| {
        it.0.system != study.base && it.0.verdict == Verdict::Undecided
    };
    if seen.iter().filter(|it| it.0.system != study.base).all(|it| is_undecided(&it)) {
        notes.push(
            "No change was decided: these are the tests that may have changed most.".to_owned(),
        );
    }
    notes
}

fn charts(study: &JudgedStudy, seen: &[(&CellJudgement, SoakJudgement)]) -> Vec<SoakChart> {
    let same = |one: &(&CellJudgement, SoakJudgement), next: &(&CellJudgement, SoakJudgement)| {
        one.0.cell == next.0.cell
    };
    let chart = |of_test: &[(&CellJudgement, SoakJudgement)]| {
        let first = of_test.first()?;
        let values: Vec<Values> = of_test
            .iter()
            .map(|(judged, soak)| (judged.system, soak.series.iter().copied().map(Some).collect()))
            .collect();
        let seconds = values.iter().map(|(_, values)| values.len()).max()?;
        let caption = |top| format!("0 to {}, {seconds} s of each system", figure(Some(top)));
        let chart = drawing::chart("queries/s", &values, caption)?;
        let summary: Vec<String> = of_test
            .iter()
            .map(|(judged, soak)| {
                let decay = soak.decay.map_or_else(String::new, |it| {
                    format!(", {} of the rate at first", Ratio(Some(it)).value())
                });
                let rate = figure(Some(soak.qps.value));
                format!("{}: steady at {rate} queries/s{decay}", study.label(judged.system))
            })
            .collect();
        let test = study.cell_name(first.0.cell);
        Some(SoakChart { summary: summary.join("; "), test, chart })
    };
    seen.chunk_by(same).filter_map(chart).collect()
}
