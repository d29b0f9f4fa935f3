//! What an examination found, what it means for studies, and what to change: `assay doctor`.

pub(crate) mod facts;

use assay_model::{Examination, Host, Noise, Preset, printable};
use serde::Serialize;

use crate::data::json;
use crate::data::row::Number;
use crate::format::TextOptions;
use crate::number::{duration, share};
use crate::text::table::{left, plain_table, right, trimmed};
use crate::text::{paint, wrap::wrap};
use facts::{Fact, Harm, SHOWN_S, facts};

/// Raised when the shape below changes incompatibly.
const SCHEMA: u32 = 1;

/// What a preset would detect here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prospect {
    /// The preset.
    pub preset: Preset,
    /// Its time, seconds.
    pub seconds: f64,
    /// The smallest relative change that it would call in half of the tests that read.
    pub reads: Option<f64>,
    /// The same for tests that write.
    pub writes: Option<f64>,
    /// The same for all tests with as many clients as CPUs; `None` if it has no such tests.
    pub several: Option<f64>,
}

/// What a study needs to call a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Needed {
    /// The relative change.
    pub change: f64,
    /// The threshold that such a study should have.
    pub threshold: f64,
    /// Time and number of blocks; `None` if no time is enough.
    pub time: Option<(f64, u32)>,
    /// The number of blocks that a study has unless told otherwise.
    pub blocks: u32,
}

/// A machine and its prospects.
#[derive(Debug, Clone, Copy)]
pub struct Diagnosis<'a> {
    /// The machine, with an examination.
    pub host: &'a Host,
    /// By preset.
    pub prospects: &'a [Prospect],
    /// By size of the change.
    pub needed: &'a [Needed],
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
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

/// The diagnosis for scripts: schema 1.
#[must_use]
pub fn doctor_json(diagnosis: Diagnosis) -> String {
    let facts = diagnosis.host.doctor.as_ref().map(|it| facts(diagnosis.host, it));
    let facts = facts.unwrap_or_default();
    json::text(&Document {
        schema: SCHEMA,
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
    })
}

/// The diagnosis for people: the answer, what to change, the prospects, then everything that was found.
#[must_use]
pub fn doctor_text(diagnosis: Diagnosis, options: &TextOptions) -> String {
    let Some(examination) = &diagnosis.host.doctor else { return String::new() };
    let facts = facts(diagnosis.host, examination);
    let sections = [
        prose(&answer(&facts, diagnosis.prospects), options),
        prose(&advice(&facts), options),
        prospects(diagnosis),
        needed(diagnosis.needed),
        found(&facts),
        examination.noise.as_ref().map(spectrum).unwrap_or_default(),
    ];
    let sections = sections.iter().filter(|section| !section.is_empty());
    let text: Vec<String> = sections.map(|section| section.join("\n")).collect();
    let text = text.join("\n\n");
    let mut lines: Vec<String> = text.lines().map(|it| printable(it).into_owned()).collect();
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

fn prose(lines: &[String], options: &TextOptions) -> Vec<String> {
    lines.iter().flat_map(|line| wrap(line, options.width)).collect()
}

/// The lines about the machine that the report of a study needs: its noise, and what was worth changing.
pub(crate) fn state(host: &Host, examination: &Examination) -> Vec<String> {
    let facts = facts(host, examination);
    let noise = facts.iter().find(|fact| fact.fact == "noise");
    let noise = noise.map(|fact| format!("noise before the study: {}", fact.found));
    let harmful = facts.iter().filter(|fact| fact.harm != Harm::Fine && fact.fact != "noise");
    let harmful: Vec<String> =
        harmful.map(|fact| format!("{} ({})", fact.fact, fact.found)).collect();
    let harmful = (!harmful.is_empty())
        .then(|| format!("worth changing: {}; `assay doctor` says how", harmful.join("; ")));
    noise.into_iter().chain(harmful).collect()
}

/// Whether the machine can measure, and how small a change it could show.
fn answer(facts: &[Fact], prospects: &[Prospect]) -> Vec<String> {
    let of = |harm| facts.iter().filter(move |fact| fact.harm == harm);
    let names: Vec<&str> = of(Harm::Spoils).map(|fact| fact.fact).collect();
    let changes = of(Harm::Change).count();
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

/// What to do, the worst first.
fn advice(facts: &[Fact]) -> Vec<String> {
    let mut harmful: Vec<&Fact> = facts.iter().filter(|fact| fact.harm != Harm::Fine).collect();
    harmful.sort_by_key(|fact| std::cmp::Reverse(fact.harm));
    let lines = harmful.iter().filter_map(|fact| {
        let mark = if fact.harm == Harm::Spoils { "✗" } else { "!" };
        Some(format!("  {mark} {}: {}", fact.fact, fact.advice.as_ref()?))
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { lines } else { [vec!["what to change".to_owned()], lines].concat() }
}

/// A change, rounded up, so that nothing smaller is promised.
fn at_least(change: f64) -> String {
    match 100.0 * change {
        small if small < 9.95 => format!("{:.1}%", (10.0 * small).ceil() / 10.0),
        large if large <= 100.0 => format!("{:.0}%", large.ceil()),
        _ => ">100%".to_owned(),
    }
}

fn indented(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().map(|line| format!("  {line}")).collect()
}

fn prospects(diagnosis: Diagnosis) -> Vec<String> {
    let mut table = plain_table();
    let cpus = diagnosis.host.doctor.as_ref().map_or(0, |doctor| doctor.cpus.allowed);
    let has_several = diagnosis.prospects.iter().any(|it| it.several.is_some());
    let several = has_several.then(|| right(format!("{cpus} clients")));
    let header = [left("preset"), right("takes"), right("reads"), right("writes")];
    table.set_header(header.into_iter().chain(several));
    let shown = |change: Option<f64>| change.map_or_else(String::new, at_least);
    for prospect in diagnosis.prospects {
        let Prospect { preset, seconds, reads, writes, several } = *prospect;
        let mut row = vec![
            left(preset.word()),
            right(duration(seconds)),
            right(shown(reads)),
            right(shown(writes)),
        ];
        row.extend(has_several.then(|| right(shown(several))));
        table.add_row(row);
    }
    let heading = "the smallest change that a study of two systems and 32 tests would detect here";
    let legend =
        "  in half of the tests, in four of five such studies; a smaller one may stay undecided";
    let table = indented(trimmed(&table));
    [vec![heading.to_owned()], table, vec![legend.to_owned()]].concat()
}

fn needed(list: &[Needed]) -> Vec<String> {
    if list.is_empty() {
        return Vec::new();
    }
    let line = |needed: &Needed| {
        let change = share(needed.change);
        let Some((seconds, blocks)) = needed.time else {
            return format!("  {change}: not with the noise that this machine has now");
        };
        let minutes = (seconds / 60.0).ceil().max(1.0);
        let blocks = match blocks {
            same if same == needed.blocks => String::new(),
            blocks => format!(" --blocks {blocks}"),
        };
        let percent = 100.0 * needed.threshold;
        let time = duration(60.0 * minutes);
        let budget = time.replace(" min", "m").replace(' ', "");
        format!("  {change}: {time}, with `--threshold {percent}% --budget {budget}{blocks}`")
    };
    let heading = "the time that such a study needs to detect, in half of the tests, a change of";
    std::iter::once(heading.to_owned()).chain(list.iter().map(line)).collect()
}

fn found(facts: &[Fact]) -> Vec<String> {
    let mut table = plain_table();
    for fact in facts {
        let judgement = match fact.harm {
            Harm::Fine => "fine",
            Harm::Change => "worth changing",
            Harm::Spoils => "spoils results",
        };
        table.add_row([fact.fact, judgement, fact.found.as_str()].map(left));
    }
    [vec!["what was found".to_owned()], indented(trimmed(&table))].concat()
}

/// How alike the speeds of two moments are, and what follows for turns.
fn spectrum(noise: &Noise) -> Vec<String> {
    let mut lines = vec![format!(
        "noise: fixed work that touches caches and memory, timed over and over for {}",
        duration(noise.seconds)
    )];
    if !noise.correlations.is_empty() {
        let mut table = plain_table();
        let head = noise.correlations.iter().map(|it| right(format!("{} ms", it.lag_ms)));
        table.set_header(std::iter::once(left("time between two moments")).chain(head));
        let value = |value: f64| right(format!("{value:.2}").replace('-', "−"));
        let values = noise.correlations.iter().map(|it| value(it.value));
        table.add_row(std::iter::once(left("correlation of their speed")).chain(values));
        lines.extend(indented(trimmed(&table)));
    }
    let mut table = plain_table();
    let head = noise.turns.iter().map(|it| right(format!("{} ms", it.turn_ms)));
    table.set_header(std::iter::once(left("turns of")).chain(head));
    let error = |error: f64| right(format!("±{:.2}%", 100.0 * 2.0 * error / SHOWN_S.sqrt()));
    let errors = noise.turns.iter().map(|it| error(it.error));
    table.add_row(std::iter::once(left(format!("95% error after {SHOWN_S} s"))).chain(errors));
    lines.extend(indented(trimmed(&table)));
    lines.push(format!(
        "  with short turns, two systems see nearly the same speed; this machine asks for {} ms or less",
        noise.asked_ms
    ));
    lines
}
