//! Results of an examination, their meaning for studies, and changes to make. Pure: no I/O, no clock.

use assay_model::{Examination, Host, Noise, Preset};
use assay_report::Page;
use assay_report::blocks::{
    Block, Column, Heading, Indent, Number, PageContent, PageDocument, Row, Table, Wish, duration,
    share, versioned,
};
use assay_report::machine_facts::{Fact, Harm, SHOWN_S, facts};
use serde::Serialize;

/// Sensitivity of a preset on this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prospect {
    pub(crate) preset: Preset,
    /// Seconds.
    pub(crate) seconds: f64,
    /// Smallest relative change called in half of the tests that read.
    pub(crate) reads: Option<f64>,
    /// The same for tests that write.
    pub(crate) writes: Option<f64>,
    /// The same for all tests with as many clients as CPUs; `None` without such tests.
    pub(crate) several: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NeededTime {
    /// Relative.
    pub(crate) change: f64,
    /// Threshold that such a study should have.
    pub(crate) threshold: f64,
    /// Time and number of blocks; `None` if no time suffices.
    pub(crate) time: Option<(f64, u32)>,
    /// Default number of blocks.
    pub(crate) blocks: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Diagnosis<'a> {
    pub(crate) host: &'a Host,
    pub(crate) prospects: &'a [Prospect],
    pub(crate) needed: &'a [NeededTime],
}

#[derive(Serialize)]
struct DoctorDocument<'a> {
    host: &'a Host,
    fit: bool,
    facts: Vec<Fact>,
    presets: Vec<PresetRow>,
    needed: Vec<NeededRow>,
}

#[derive(Serialize)]
struct PresetRow {
    preset: &'static str,
    seconds: Number,
    reads: Number,
    writes: Number,
    several_clients: Number,
}

#[derive(Serialize)]
struct NeededRow {
    change: Number,
    threshold: Number,
    seconds: Number,
    blocks: Option<u32>,
}

pub(crate) fn doctor(diagnosis: Diagnosis<'_>) -> Page<'_> {
    Page::new(diagnosis)
}

impl PageContent for Diagnosis<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let heading = Heading { before: "This machine".to_owned(), ..Heading::default() };
        let blocks = self.host.doctor.iter().flat_map(|it| blocks(*self, it, wish)).collect();
        then(&PageDocument { title: heading.line(), heading, blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        Some(versioned(document(*self)))
    }
}

fn blocks(diagnosis: Diagnosis, examination: &Examination, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let facts = facts(diagnosis.host, examination);
    let mut blocks = vec![Block::Answer(answer(&facts, diagnosis.prospects))];
    blocks.extend(Block::section(wish.heading("what to change"), Block::list(advice(&facts))));
    blocks.extend(prospects(diagnosis, wish));
    blocks.extend(needed(diagnosis.needed, wish));
    blocks.extend(found(&facts, wish));
    blocks.extend(examination.noise.iter().flat_map(|it| spectrum("", it, wish)));
    let realtime = examination.noise_realtime.iter();
    blocks.extend(realtime.flat_map(|it| spectrum(" at real-time priority", it, wish)));
    blocks
}

fn document(diagnosis: Diagnosis<'_>) -> DoctorDocument<'_> {
    let facts = diagnosis.host.doctor.as_ref().map(|it| facts(diagnosis.host, it));
    let facts = facts.unwrap_or_default();
    DoctorDocument {
        host: diagnosis.host,
        fit: !facts.iter().any(|fact| fact.harm == Harm::Spoils),
        facts,
        presets: (diagnosis.prospects.iter())
            .map(|prospect| PresetRow {
                preset: prospect.preset.word(),
                seconds: prospect.seconds.into(),
                reads: Number(prospect.reads),
                writes: Number(prospect.writes),
                several_clients: Number(prospect.several),
            })
            .collect(),
        needed: (diagnosis.needed.iter())
            .map(|needed| NeededRow {
                change: needed.change.into(),
                threshold: needed.threshold.into(),
                seconds: Number(needed.time.map(|(seconds, _)| seconds)),
                blocks: needed.time.map(|(_, blocks)| blocks),
            })
            .collect(),
    }
}

/// Whether the machine can measure, and how small a change it could show.
fn answer(facts: &[Fact], prospects: &[Prospect]) -> Vec<String> {
    let with_harm = |harm| facts.iter().filter(move |fact| fact.harm == harm);
    let names: Vec<&str> = with_harm(Harm::Spoils).map(|fact| fact.fact).collect();
    let changes = with_harm(Harm::Change).count();
    let fitness = match (names.is_empty(), changes) {
        (false, _) => {
            format!("This machine is not fit to measure at the moment: {}.", names.join(", "))
        }
        (true, 0) => "This machine is fit to measure.".to_owned(),
        (true, 1) => "This machine can measure; one thing is worth changing.".to_owned(),
        (true, _) => format!("This machine can measure; {changes} things are worth changing."),
    };
    let quick = prospects.iter().find(|it| it.preset == Preset::Quick);
    let prospect = quick.and_then(|quick| {
        let (seconds, change) = (duration(quick.seconds), at_least(quick.reads?));
        let condition = match names.is_empty() {
            true => "With its present noise",
            false => "Without that, and with its present noise",
        };
        Some(format!(
            "{condition}, `assay compare BASE OTHER` ({seconds}, 32 tests) would detect changes of {change} in half of \
             the tests that read."
        ))
    });
    [Some(fitness), prospect].into_iter().flatten().collect()
}

/// Worst first.
fn advice(facts: &[Fact]) -> Vec<String> {
    let mut harmful: Vec<&Fact> = facts.iter().filter(|fact| fact.harm != Harm::Fine).collect();
    harmful.sort_by_key(|fact| std::cmp::Reverse(fact.harm));
    let line = |fact: &&Fact| {
        let mark = if fact.harm == Harm::Spoils { "✗" } else { "!" };
        Some(format!("{mark} {}: {}", fact.fact, fact.advice.as_ref()?))
    };
    harmful.iter().filter_map(line).collect()
}

/// Rounded up, so that nothing smaller is promised.
fn at_least(change: f64) -> String {
    match 100.0 * change {
        small if small < 9.95 => format!("{:.1}%", (10.0 * small).ceil() / 10.0),
        large if large <= 100.0 => format!("{:.0}%", large.ceil()),
        _ => ">100%".to_owned(),
    }
}

fn prospects(diagnosis: Diagnosis, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let cpus = diagnosis.host.doctor.as_ref().map_or(0, |doctor| doctor.cpus.allowed);
    let has_several = diagnosis.prospects.iter().any(|it| it.several.is_some());
    let mut columns = vec![Column::words("preset")];
    columns.extend(["takes", "reads", "writes"].map(Column::numbers));
    columns.extend(has_several.then(|| Column::numbers(format!("{cpus} clients"))));
    let shown = |change: Option<f64>| change.map_or_else(String::new, at_least);
    let row = |prospect: &Prospect| {
        let Prospect { preset, seconds, reads, writes, several } = *prospect;
        let cells = [preset.word().to_owned(), duration(seconds), shown(reads), shown(writes)];
        Row::new(cells.into_iter().chain(has_several.then(|| shown(several))))
    };
    let table = Table::new(columns, diagnosis.prospects.iter().map(row)).indented(Indent::Whole);
    let legend =
        "in half of the tests, in four of five such studies; a smaller one may stay undecided";
    let heading = "the smallest change that a study of two systems and 32 tests would detect here";
    Block::section(
        wish.heading(heading),
        vec![Block::Table(table), Block::Notes(vec![legend.to_owned()])],
    )
}

fn needed(list: &[NeededTime], wish: &Wish<'_>) -> Vec<Block<'static>> {
    let line = |needed: &NeededTime| {
        let change = share(needed.change);
        let Some((seconds, blocks)) = needed.time else {
            return format!("{change}: not with the noise that this machine has now");
        };
        let minutes = (seconds / 60.0).ceil().max(1.0);
        let blocks = match blocks {
            same if same == needed.blocks => String::new(),
            blocks => format!(" --key blocks={blocks}"),
        };
        let percent = 100.0 * needed.threshold;
        let time = duration(60.0 * minutes);
        let budget = time.replace(" min", "m").replace(' ', "");
        format!("{change}: {time}, with `--threshold {percent}% --budget {budget}{blocks}`")
    };
    let heading = "the time that such a study needs to detect, in half of the tests, a change of";
    Block::section(wish.heading(heading), Block::list(list.iter().map(line)))
}

fn found(facts: &[Fact], wish: &Wish<'_>) -> Vec<Block<'static>> {
    let rows = facts.iter().map(|fact| {
        let judgement = match fact.harm {
            Harm::Fine => "fine",
            Harm::Change => "worth changing",
            Harm::Spoils => "spoils results",
        };
        Row::new([fact.fact, judgement, fact.found.as_str()])
    });
    let columns = vec![Column::words(""); 3];
    let table = Table::new(columns, rows).indented(Indent::Whole);
    Block::section(wish.heading("what was found"), vec![Block::Table(table)])
}

/// Correlation of the speeds of two moments, and its consequences for turns.
fn spectrum(at: &str, noise: &Noise, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let line = |corner: &str, headings: Vec<String>, name: String, values: Vec<String>| {
        let columns = headings.into_iter().map(Column::numbers);
        let columns = std::iter::once(Column::words(corner)).chain(columns).collect();
        let row = Row::new(std::iter::once(name).chain(values));
        Block::Table(Table::new(columns, [row]).indented(Indent::Whole))
    };
    let mut blocks = Vec::new();
    if !noise.correlations.is_empty() {
        let lags = noise.correlations.iter().map(|it| format!("{} ms", it.lag_ms)).collect();
        let values = noise.correlations.iter();
        let values = values.map(|it| format!("{:.2}", it.value).replace('-', "−")).collect();
        let name = "correlation of their speed".to_owned();
        blocks.push(line("time between two moments", lags, name, values));
    }
    let turns = noise.turns.iter().map(|it| format!("{} ms", it.turn_ms)).collect();
    let errors = noise.turns.iter();
    let errors = errors.map(|it| format!("±{:.2}%", 100.0 * 2.0 * it.error / SHOWN_S.sqrt()));
    blocks.push(line("turns of", turns, format!("95% error after {SHOWN_S} s"), errors.collect()));
    blocks.push(Block::Notes(vec![format!(
        "with short turns, two systems see nearly the same speed; this machine asks for {} ms or less",
        noise.asked_ms
    )]));
    let time = duration(noise.seconds);
    let heading =
        format!("noise{at}: fixed work that touches caches and memory, timed over and over for");
    Block::section(wish.heading(&format!("{heading} {time}")), blocks)
}

#[cfg(test)]
mod tests;
