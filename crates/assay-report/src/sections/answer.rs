//! The answer: a sentence for each system, with its caveats and, on a page, a card.

use std::cmp::Ordering;

use assay_model::{Verdict, counted};
use assay_verdict::{CellJudgement, SystemSummary, WeightedTotal, weighted_totals};

use super::caveats::Caveats;
use super::study::JudgedStudy;
use super::{counts, gate, ranking, reasons};
use crate::document::{Block, Figure, Frame, TableCell, Wish};
use crate::number::{change, figure};
use crate::ratio::{Ratio, change_in_words, short};
use crate::scale::RatioScale;
use crate::section;
use crate::text::{Text, bold, code, interval, link, of_class, symbol, words};
use crate::words::{Symbol as _, origin, sentence};

const LARGEST: usize = 4;

struct SystemAnswer<'a> {
    system: &'a str,
    /// A standalone line: `B is slower than A in 3 of 5 tests, same in 2`.
    sentence: String,
    /// For use below the system's name: `Slower than A in 3 of 5 tests, same in 2.`
    sentence_below_name: String,
    /// Common causes of its changes.
    reasons: Vec<String>,
    /// Direction of most called changes; `same` on a tie.
    tendency: Verdict,
    /// Tests by verdict, from slower to failed; verdicts without tests are omitted.
    counts: Vec<(Verdict, u32)>,
    /// None if only instructions were counted.
    cells: Vec<&'a CellJudgement>,
}

/// With the result of a gate, which comes first except on a page.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let (answers, caveats) = (answers(study), Caveats::new(study));
    if wish.is_page() {
        let mut blocks = cards(study, &answers, &caveats);
        blocks.extend(gate::blocks(study, wish));
        return blocks;
    }
    let mut blocks = gate::blocks(study, wish);
    blocks.push(Block::Answer(answer_lines(study, &answers, &caveats)));
    blocks.push(Block::Lines(caveat_lines(&answers, caveats)));
    blocks
}

pub(super) fn lines(study: &JudgedStudy) -> Vec<String> {
    answer_lines(study, &answers(study), &Caveats::new(study))
}

/// Systems that are the same, the ranking of three or more systems, and a line for each system, or the false calls if
/// the base is only compared with itself. A suspicious audit is stamped on the line after the equal systems.
fn answer_lines(study: &JudgedStudy, answers: &[SystemAnswer], caveats: &Caveats) -> Vec<String> {
    let sentences: Vec<String> = if answers.is_empty() {
        caveats.twins.clone()
    } else {
        answers.iter().map(|answer| answer.sentence.clone()).collect()
    };
    let fastest = ranking::headline(study).into_iter();
    let mut lines: Vec<String> = fastest.chain(contradictions(study)).chain(sentences).collect();
    if let (Some(first), false) = (lines.first_mut(), caveats.suspicious.is_empty()) {
        *first = format!("[suspicious audit] {first}");
    }
    caveats.same.iter().cloned().chain(lines).collect()
}

/// Sentences of the work after the study that contradict the answer.
fn contradictions(study: &JudgedStudy) -> Vec<String> {
    section::sections(study).into_iter().flat_map(|it| it.content.contradictions).collect()
}

pub(super) fn warning_lines(study: &JudgedStudy) -> Vec<String> {
    let caveats = Caveats::new(study);
    let mut lines: Vec<String> = suspicious_line(&caveats).into_iter().collect();
    lines.extend(caveats.warnings.iter().map(|it| format!("warning: {it}")));
    lines.extend(caveats.unmeasured.map(|it| format!("not measured: {it}")));
    lines
}

fn suspicious_line(caveats: &Caveats) -> Option<String> {
    let settings = caveats.suspicious.join(", ");
    let line = format!("suspicious: differences that matter: {settings}");
    (!caveats.suspicious.is_empty()).then_some(line)
}

/// Lines below the answer: the twin, warnings, notes, and the basis of the answer.
fn caveat_lines(answers: &[SystemAnswer], caveats: Caveats) -> Vec<String> {
    let reasons = answers.iter().flat_map(|answer| {
        answer.reasons.iter().map(|reason| match answers.len() {
            1 => reason.clone(),
            _ => format!("{}: {reason}", answer.system),
        })
    });
    let mut lines: Vec<String> = reasons.collect();
    lines.extend(suspicious_line(&caveats));
    if !answers.is_empty() {
        lines.extend(caveats.twins);
    }
    lines.extend(caveats.warnings.iter().map(|it| format!("warning: {it}")));
    lines.extend(caveats.notes.iter().map(|it| format!("note: {it}")));
    lines.extend(caveats.unmeasured.map(|it| format!("not measured: {it}")));
    lines.push(caveats.basis);
    lines
}

/// Warnings above the heading of a page.
pub(super) fn above(study: &JudgedStudy) -> Vec<Block<'static>> {
    let caveats = Caveats::new(study);
    let same = Block::prose("", caveats.same.iter().map(|it| Text::from(sentence(it))));
    let mut blocks = Block::part(Frame::Warning, "stamp", same);
    if caveats.suspicious.is_empty() {
        return blocks;
    }
    let settings =
        caveats.suspicious.iter().enumerate().flat_map(|(number, setting)| {
            [words(if number > 0 { ", " } else { " " }), code(setting)]
        });
    let stamp = Text::from("Differences that matter:").and(settings).and([
        words(". Read the verdicts with this in mind; see the "),
        link("#audit", "audit"),
        words("."),
    ]);
    let title = Text::from(bold("✗ Suspicious audit"));
    let warnings = warnings(study, &caveats).into_iter().map(Text::from);
    let lines = [title, stamp].into_iter().chain(warnings);
    blocks.extend(Block::part(Frame::Warning, "stamp", Block::prose("", lines)));
    blocks
}

/// A card for each system, with its largest changes.
fn cards(study: &JudgedStudy, answers: &[SystemAnswer], caveats: &Caveats) -> Vec<Block<'static>> {
    let scale = study.scale();
    let cards = answers.iter().flat_map(|answer| card(study, answer, scale));
    let contradictions = contradictions(study).into_iter();
    let contradictions = Block::prose("", contradictions.map(|it| sentence(&it)));
    let mut blocks = Block::part(Frame::Warning, "warning", contradictions);
    let fastest = ranking::headline(study);
    blocks.extend(Block::prose("fastest", fastest.map(|line| sentence(&line))));
    blocks.extend(Block::part(Frame::Plain, "answers", cards.collect()));
    let Caveats { suspicious, twins, notes, unmeasured, basis, .. } = caveats;
    blocks.extend(Block::prose("twin", twins.iter().map(|twin| sentence(twin))));
    // Otherwise they are above the heading.
    if suspicious.is_empty() {
        let warnings = warnings(study, caveats).into_iter().enumerate();
        let warnings = warnings.map(|(number, warning)| {
            let first = (number == 0).then(|| [bold("Warning"), words(" ")]);
            first.into_iter().flatten().chain([words(warning)]).collect::<Text>()
        });
        blocks.extend(Block::part(Frame::Warning, "warning", Block::prose("", warnings)));
    }
    let unmeasured = unmeasured.iter().map(|what| {
        [bold("Not measured"), words(format!(" {}", sentence(what)))].into_iter().collect()
    });
    let notes = notes.iter().map(|note| sentence(note).into());
    let basis = Text::from(sentence(basis));
    blocks.extend(Block::prose("basis", notes.chain(unmeasured).chain([basis])));
    Block::place("answer", "", "", blocks)
}

/// Includes a warning about builds that are not releases.
fn warnings(study: &JudgedStudy, caveats: &Caveats) -> Vec<String> {
    let systems = study.record.systems.iter().enumerate();
    let unreleased =
        systems.filter(|(_, system)| !system.is_twin && !system.artifact.is_released());
    let unreleased = unreleased.map(|(index, system)| {
        let (label, origin) = (study.label(index), origin(system));
        format!("{label} is from {origin}, which is not a release channel")
    });
    let warnings = caveats.warnings.iter().cloned().chain(unreleased);
    warnings.map(|warning| sentence(&warning)).collect()
}

fn card(study: &JudgedStudy, answer: &SystemAnswer, scale: RatioScale) -> Vec<Block<'static>> {
    let mut left = vec![Block::Heading(0, answer.system.into())];
    left.extend(Block::prose("sentence", [answer.sentence_below_name.as_str()]));
    left.extend(Block::prose("reason", answer.reasons.iter().map(String::as_str)));
    let counts = answer.counts.iter().map(|(verdict, count)| {
        let (count, word) = (bold(count.to_string()), verdict.word());
        let text = [count, words(" "), symbol(verdict.symbol()), words(format!(" {word}"))];
        TableCell::from(Text::from_iter(text)).class(word)
    });
    left.extend(Block::list_of("counts", counts));
    let tests = answer.cells.iter();
    let tests: Vec<_> =
        tests.filter_map(|cell| Some((cell.cell.test.name(), cell.rqps?, cell.verdict))).collect();
    if !tests.is_empty() {
        let figure = Figure {
            caption: format!("Relative QPS of every test; {} is 1.00", study.base_label()),
            svg: scale.dots(&tests) + &scale.axis(12.0),
            is_caption_below: true,
            ..Figure::default()
        };
        left.push(Block::Figures("", vec![figure]));
    }
    let mut parts = Block::part(Frame::Plain, "", left);
    let changes = largest(&answer.cells).into_iter().map(|cell| largest_change(study, cell));
    let changes = Block::ordered_list("largest", changes);
    if !changes.is_empty() {
        let mut right = vec![Block::Heading(1, "Largest changes".into())];
        right.extend(changes);
        parts.extend(Block::part(Frame::Plain, "", right));
    }
    Block::part(Frame::Whole, format!("answer {}", answer.tendency.word()), parts)
}

fn largest<'a>(cells: &[&'a CellJudgement]) -> Vec<&'a CellJudgement> {
    let size = |cell: &CellJudgement| cell.rqps.map_or(0.0, |ratio| ratio.value.ln().abs());
    let is_called =
        |cell: &&CellJudgement| matches!(cell.verdict, Verdict::Slower | Verdict::Faster);
    let mut called: Vec<&CellJudgement> = cells.iter().copied().filter(is_called).collect();
    called.sort_by(|a, b| size(b).total_cmp(&size(a)));
    called.truncate(LARGEST);
    called
}

fn largest_change(study: &JudgedStudy, cell: &CellJudgement) -> Text {
    let setup = study.setup_if_several(cell.cell.setup);
    let setup = setup.map(|setup| of_class("setup", setup));
    let why = cell.why.as_deref().map(|why| of_class("why", why));
    let spaced = |span| [words(" "), span];
    let (verdict, ratio) = (cell.verdict, Ratio(cell.rqps));
    let value = of_class(
        format!("v {}", verdict.word()),
        format!("{} {}", verdict.symbol(), ratio.value()),
    );
    Text::from(link(format!("#test-{}", study.number_of(cell.cell)), cell.cell.test.name()))
        .and(setup.into_iter().chain([value]).flat_map(spaced))
        .and(interval(ratio.interval()))
        .and(why.into_iter().flat_map(spaced))
}

/// One for each system but the base and its twin; for all of them if only instructions were counted.
fn answers<'a>(study: &'a JudgedStudy) -> Vec<SystemAnswer<'a>> {
    let all = study.judgement.systems.iter();
    if study.counts_only() {
        return all.map(|summary| counted_answer(study, summary)).collect();
    }
    let others = all.filter(|other| !study.is_twin(other.system));
    others.map(|summary| answer(study, summary)).collect()
}

fn counted_answer<'a>(study: &'a JudgedStudy, summary: &SystemSummary) -> SystemAnswer<'a> {
    let counts::CountedAnswer { words, tendency, with_background } = counts::answer(study, summary);
    SystemAnswer {
        system: study.label(summary.system),
        sentence: format!("{} {words}", study.titled(summary.system)),
        sentence_below_name: sentence(&words),
        reasons: with_background.into_iter().collect(),
        tendency,
        counts: Vec::new(),
        cells: Vec::new(),
    }
}

fn answer<'a>(study: &'a JudgedStudy, summary: &SystemSummary) -> SystemAnswer<'a> {
    let cells: Vec<&CellJudgement> =
        study.judgement.cells.iter().filter(|cell| cell.system == summary.system).collect();
    let of_base = cells.first().and_then(|it| study.cell(it.cell, study.base));
    let (name, base) = (study.titled(summary.system), study.titled(study.base));
    let (name, base) = (name.as_str(), base.as_str());
    let instructions = counts::of_undecided(&cells);
    let instructions = instructions.as_deref();
    let [sentence, sentence_below_name] = if study.has_verdicts() {
        [
            comparison(name, base, summary, instructions),
            comparison_below_name(base, summary, instructions),
        ]
    } else {
        let ratios = published(summary, of_base, &cells);
        [format!("{name} against {base}: {ratios}"), format!("Against {base}: {ratios}.")]
    };
    let counts = verdicts(summary).into_iter();
    let is_shown = |(verdict, count): &(Verdict, u32)| *count > 0 && study.says(*verdict);
    SystemAnswer {
        system: study.label(summary.system),
        sentence,
        sentence_below_name,
        reasons: weighted(study, summary.system)
            .chain(reasons::reasons(study, summary.system))
            .collect(),
        tendency: match summary.slower.cmp(&summary.faster) {
            Ordering::Greater => Verdict::Slower,
            Ordering::Less => Verdict::Faster,
            Ordering::Equal => Verdict::Same,
        },
        counts: counts.filter(is_shown).collect(),
        cells,
    }
}

fn verdicts(summary: &SystemSummary) -> [(Verdict, u32); 6] {
    [
        (Verdict::Slower, summary.slower),
        (Verdict::Same, summary.same),
        (Verdict::Faster, summary.faster),
        (Verdict::Uneven, summary.uneven),
        (Verdict::Undecided, summary.undecided),
        (Verdict::Failed, summary.failed),
    ]
}

/// Verdicts that occur, in the order of a sentence: called changes first, the more frequent before the other.
/// `instructions` is a remark on undecided tests, which then come next.
fn in_order(
    summary: &SystemSummary,
    instructions: Option<&str>,
) -> impl Iterator<Item = (Verdict, u32)> {
    let mut found: Vec<(Verdict, u32)> =
        verdicts(summary).into_iter().filter(|it| it.1 > 0).collect();
    found.sort_by_key(|(verdict, count)| {
        let is_called = matches!(verdict, Verdict::Slower | Verdict::Faster);
        let is_counted = *verdict == Verdict::Undecided && instructions.is_some();
        (!is_called, !is_counted, if is_called { u32::MAX - count } else { 0 })
    });
    found.into_iter()
}

fn rest(verdicts: impl Iterator<Item = (Verdict, u32)>, instructions: Option<&str>) -> String {
    let message = |(verdict, number): (Verdict, u32)| {
        format!(", {} in {number}{}", verdict.word(), but(verdict, instructions))
    };
    verdicts.map(message).collect()
}

fn but(verdict: Verdict, instructions: Option<&str>) -> String {
    let instructions = instructions.filter(|_| verdict == Verdict::Undecided);
    instructions.map_or_else(String::new, |instructions| format!(", but {instructions}"))
}

/// For single runs without intervals, which have no verdict.
fn published(
    summary: &SystemSummary,
    base: Option<&CellJudgement>,
    cells: &[&CellJudgement],
) -> String {
    let ratios: Vec<f64> = cells.iter().filter_map(|cell| Some(cell.rqps?.value)).collect();
    let Some(median) = summary.median.filter(|_| !ratios.is_empty()) else {
        return format!("no test has a relative QPS{}", response_time(base, cells));
    };
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let tests = counted(ratios.len() as u64, "test");
    let failed = match summary.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let median = median.value;
    let [median, least, most] = [median, least, most].map(short);
    format!("median relative QPS {median} over {tests}, from {least} to {most}{failed}")
}

/// 95th percentile of the response time against that of the base, if there is a single test.
fn response_time(base: Option<&CellJudgement>, cells: &[&CellJudgement]) -> String {
    let [cell] = cells else { return String::new() };
    let p95 = |cell: &CellJudgement| Some(figure(Some(cell.latency?.p95? / 1000.0)));
    match base.and_then(p95).zip(p95(cell)) {
        Some((base, other)) => {
            format!("; 95th percentile of the response time {other} ms against {base} ms")
        }
        None => String::new(),
    }
}

fn comparison(
    name: &str,
    base: &str,
    summary: &SystemSummary,
    instructions: Option<&str>,
) -> String {
    let tests = counted(summary.cells(), "test");
    let mut found = in_order(summary, instructions);
    let Some((verdict, number)) = found.next() else {
        return format!("{name} was not compared with {base}");
    };
    let word = verdict.word();
    let first = match verdict {
        Verdict::Slower | Verdict::Faster => {
            format!("{name} is {word} than {base} in {number} of {tests}")
        }
        Verdict::Same => format!("{name} is the same as {base} in {number} of {tests}"),
        _ => {
            let in_qps = if instructions.is_some() { " in QPS" } else { "" };
            let but = but(verdict, instructions);
            format!("{name} against {base}: {word}{in_qps} in {number} of {tests}{but}")
        }
    };
    let median = median(summary).map_or_else(String::new, |it| format!(" ({it})"));
    format!("{first}{}{median}", rest(found, instructions))
}

fn comparison_below_name(
    base: &str,
    summary: &SystemSummary,
    instructions: Option<&str>,
) -> String {
    let tests = counted(summary.cells(), "test");
    let mut found = in_order(summary, instructions);
    let Some((verdict, number)) = found.next() else {
        return format!("Not compared with {base}.");
    };
    let first = match verdict {
        Verdict::Slower => "Slower than",
        Verdict::Faster => "Faster than",
        Verdict::Same => "The same as",
        Verdict::Uneven => "Uneven against",
        Verdict::Undecided => "Undecided against",
        Verdict::Failed => "Failed against",
    };
    let median = median(summary).map_or_else(String::new, |it| format!("; {it}"));
    let but = but(verdict, instructions);
    format!("{first} {base} in {number} of {tests}{but}{}{median}.", rest(found, instructions))
}

/// Median over tests; `None` for a single test, or if its uncertainty is unknown.
fn median(summary: &SystemSummary) -> Option<String> {
    let median = change_in_words(summary.median.filter(|_| summary.cells() > 1)?)?;
    Some(match summary.bounded {
        0 => format!("median over tests: {median}"),
        bounded => format!("median over tests, without {bounded} not answered: {median}"),
    })
}

/// From this factor on, a change is written as a factor.
const FACTOR: f64 = 2.0;

fn weighted(study: &JudgedStudy, system: usize) -> impl Iterator<Item = String> {
    let totals = weighted_totals(study.record, &study.judgement.cells);
    let of_system = totals.into_iter().filter(move |total| total.system == system);
    let message: Vec<String> = of_system.map(|total| weighted_sentence(study, &total)).collect();
    message.into_iter()
}

/// `Time of 12 tests, weighted as in everything: +12.1% [+10.3%, +13.9%].`
fn weighted_sentence(study: &JudgedStudy, total: &WeightedTotal) -> String {
    let WeightedTotal { mix, time, measured, kinds, .. } = *total;
    let mix = study.cell_name(mix);
    let tests = match kinds - measured {
        0 => counted(measured as u64, "test"),
        _ => format!("{measured} of {}", counted(kinds as u64, "test")),
    };
    let written = |ratio: f64| match ratio {
        far if far >= FACTOR => format!("×{}", short(far)),
        near => change(near, 1),
    };
    let by = match (time.is_bound(), time.has_interval()) {
        (true, _) => format!("at least ×{}", short(time.value)),
        (_, true) => {
            let [value, low, high] = [time.value, time.low, time.high].map(written);
            format!("{value} [{low}, {high}]")
        }
        _ => format!("{}, without an interval", written(time.value)),
    };
    format!("Time of {tests}, weighted as in {mix}: {by}.")
}
