//! The answer: a sentence for each system, with its caveats and, on a page, a card.

use std::cmp::Ordering;

use assay_model::{CpuVerdict, Estimate, JudgedFigures, Verdict, counted};
use assay_verdict::{CellJudgement, JudgedFigure, SystemSummary, WeightedTotal, weighted_totals};

use super::caveats::Caveats;
use super::study::JudgedStudy;
use super::{counts, cpu, limits, outcomes, ranking, reasons};
use crate::document::{Block, Figure, Frame, TableCell, Wish};
use crate::number::{change, figure};
use crate::ratio::{Quotient, Ratio, change_in_words, short};
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
    /// Tests by verdict and its word, from slower to failed; verdicts without tests are omitted.
    counts: Vec<(Verdict, &'static str, u32)>,
    /// Empty if CPU time decides the study.
    cells: Vec<&'a CellJudgement>,
}

/// With the result of limits, which comes first except on a page.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let (answers, caveats) = (answers(study), Caveats::new(study));
    if wish.is_page() {
        let mut blocks = cards(study, &answers, &caveats);
        blocks.extend(limits::blocks(study, wish));
        return blocks;
    }
    let mut blocks = limits::blocks(study, wish);
    blocks.push(Block::Answer(answer_lines(study, &answers, &caveats)));
    blocks.push(Block::Lines(caveat_lines(&answers, caveats)));
    blocks
}

pub(super) fn lines(study: &JudgedStudy) -> Vec<String> {
    answer_lines(study, &answers(study), &Caveats::new(study))
}

/// Systems that are the same, what happens to a user's statements, the ranking of three or more systems, and a line for
/// each system, or the false calls if the base is only compared with itself. A suspicious audit is stamped on the line
/// after the equal systems.
fn answer_lines(study: &JudgedStudy, answers: &[SystemAnswer], caveats: &Caveats) -> Vec<String> {
    let sentences: Vec<String> = if answers.is_empty() {
        caveats.twins.clone()
    } else {
        answers.iter().map(|answer| answer.sentence.clone()).collect()
    };
    let first = outcomes::headlines(study).into_iter().chain(fastest(study));
    let mut lines: Vec<String> = first.chain(contradictions(study)).chain(sentences).collect();
    if let (Some(first), false) = (lines.first_mut(), caveats.suspicious.is_empty()) {
        *first = format!("[suspicious audit] {first}");
    }
    caveats.same.iter().cloned().chain(lines).collect()
}

/// The fastest of three or more systems, if time decides the study.
pub(super) fn fastest(study: &JudgedStudy) -> Option<String> {
    ranking::headline(study).filter(|_| study.figure() == JudgedFigure::Time)
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
    let same = caveats.same.iter().map(|line| Text::from(study.sentence(line)));
    let same = Block::prose("", same);
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
    let scale = if study.counts_only() { counts::scale(study) } else { study.scale() };
    let cards = answers.iter().flat_map(|answer| card(study, answer, scale));
    let contradictions = contradictions(study).into_iter();
    let contradictions = Block::prose("", contradictions.map(|line| study.sentence(&line)));
    let first = outcomes::headlines(study).into_iter().chain(fastest(study));
    let mut blocks = Block::prose("sentence", first.map(|line| study.sentence(&line)));
    blocks.extend(Block::part(Frame::Warning, "warning", contradictions));
    blocks.extend(Block::part(Frame::Plain, "answers", cards.collect()));
    let Caveats { suspicious, twins, notes, unmeasured, basis, .. } = caveats;
    blocks.extend(Block::prose("twin", twins.iter().map(|twin| study.sentence(twin))));
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
    let notes = notes.iter().map(|note| study.sentence(note).into());
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
    warnings.map(|warning| study.sentence(&warning)).collect()
}

fn card(study: &JudgedStudy, answer: &SystemAnswer, scale: RatioScale) -> Vec<Block<'static>> {
    let mut left = vec![Block::Heading(0, answer.system.into())];
    left.extend(Block::prose("sentence", [answer.sentence_below_name.as_str()]));
    left.extend(Block::prose("reason", answer.reasons.iter().map(String::as_str)));
    let counts = answer.counts.iter().map(|(verdict, word, count)| {
        let count = bold(count.to_string());
        let text = [count, words(" "), symbol(verdict.symbol()), words(format!(" {word}"))];
        TableCell::from(Text::from_iter(text)).class(verdict.word())
    });
    left.extend(Block::list_of("counts", counts));
    let tests = answer.cells.iter().filter_map(|cell| {
        let (ratio, verdict) = judged_ratio(study, cell)?;
        Some((cell.cell.test.name(), ratio, verdict))
    });
    let tests: Vec<_> = tests.collect();
    if !tests.is_empty() {
        let what = if study.counts_only() { "Instructions per operation" } else { "Relative QPS" };
        let figure = Figure {
            caption: format!("{what} of every test; {} is 1.00", study.base_label()),
            svg: scale.dots(&tests) + &scale.axis(12.0),
            is_caption_below: true,
            ..Figure::default()
        };
        left.push(Block::Figures("", vec![figure]));
    }
    let mut parts = Block::part(Frame::Plain, "", left);
    let changes = largest(study, &answer.cells).into_iter();
    let mut changes: Vec<Text> = changes.filter_map(|cell| largest_change(study, cell)).collect();
    changes.extend(largest_of_cpu(study, &answer.cells, LARGEST - changes.len()));
    let changes = Block::ordered_list("largest", changes);
    if !changes.is_empty() {
        let mut right = vec![Block::Heading(1, "Largest changes".into())];
        right.extend(changes);
        parts.extend(Block::part(Frame::Plain, "", right));
    }
    Block::part(Frame::Whole, format!("answer {}", answer.tendency.word()), parts)
}

/// The ratio that the study is about, with its verdict. `None` if it was not measured.
pub(super) fn judged_ratio(
    study: &JudgedStudy,
    cell: &CellJudgement,
) -> Option<(Estimate, Verdict)> {
    let figure = study.figure();
    match study.counts_only() {
        true => counts::judged_ratio(cell),
        false => Some((cell.ratio_by(figure)?, cell.verdict_by(figure))),
    }
}

fn largest<'a>(study: &JudgedStudy, cells: &[&'a CellJudgement]) -> Vec<&'a CellJudgement> {
    let called = cells.iter().filter_map(|cell| match judged_ratio(study, cell)? {
        (ratio, Verdict::Slower | Verdict::Faster) => Some((ratio.value.ln().abs(), *cell)),
        _ => None,
    });
    let mut called: Vec<(f64, &CellJudgement)> = called.collect();
    called.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    called.into_iter().map(|(_, cell)| cell).take(LARGEST).collect()
}

fn largest_change(study: &JudgedStudy, cell: &CellJudgement) -> Option<Text> {
    let setup = study.setup_if_several(cell.cell.setup);
    let setup = setup.map(|setup| of_class("setup", setup));
    let (place, why) = match study.counts_only() {
        true => ("count", counts::causes(cell)),
        false => ("test", cell.why.clone()),
    };
    let why = why.map(|why| of_class("why", why));
    let spaced = |span| [words(" "), span];
    let (ratio, verdict) = judged_ratio(study, cell)?;
    let (value, between, percent) = if study.counts_only() {
        let [value, between] = counts::exact_parts(ratio);
        (value, Some(between), None)
    } else {
        let ratio = Ratio(Some(ratio));
        (ratio.value(), ratio.interval(), ratio.percent())
    };
    let value = of_class(format!("v {}", verdict.word()), format!("{} {value}", verdict.symbol()));
    let to = format!("#{place}-{}", study.number_of(cell.cell));
    let text = Text::from(link(to, cell.cell.test.name()))
        .and(setup.into_iter().chain([value]).flat_map(spaced))
        .and(interval(between))
        .and(interval(percent))
        .and(why.into_iter().flat_map(spaced));
    Some(text)
}

/// The largest changes of CPU per operation in tests that are undecided by time, at most so many.
fn largest_of_cpu(study: &JudgedStudy, cells: &[&CellJudgement], most: usize) -> Vec<Text> {
    let changed = |cell: &&CellJudgement| {
        let is_changed = |verdict| matches!(verdict, CpuVerdict::More | CpuVerdict::Less);
        let cpu = cell.cpu.filter(|cpu| is_changed(cpu.verdict))?;
        let ratio = Quotient(Some(cpu.ratio)).value_with_interval();
        let text = format!(" CPU {}: {ratio}", cpu.verdict.word());
        let name = cell.cell.test.name();
        let name = link(format!("#test-{}", study.number_of(cell.cell)), name);
        let setup = study.setup_if_several(cell.cell.setup);
        Some((cpu.ratio.value.ln().abs(), Text::from(name).with_setup(setup).and([words(text)])))
    };
    if study.record.study.judge != JudgedFigures::Both {
        return Vec::new();
    }
    let undecided = cells.iter().filter(|cell| cell.verdict == Verdict::Undecided);
    let mut found: Vec<(f64, Text)> = undecided.filter_map(changed).collect();
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.into_iter().take(most).map(|(_, text)| text).collect()
}

/// One for each system but the base and its twin; for all of them if only instructions were counted.
fn answers<'a>(study: &'a JudgedStudy) -> Vec<SystemAnswer<'a>> {
    let all = study.judgement.systems.iter();
    if study.counts_only() {
        return all.map(|summary| counted_answer(study, summary)).collect();
    }
    let others = all.filter(|other| !study.is_twin(other.system));
    if study.figure() == JudgedFigure::Cpu && study.has_verdicts() {
        return others.map(|summary| cpu_answer(study, summary)).collect();
    }
    others.map(|summary| answer(study, summary)).collect()
}

fn cpu_answer<'a>(study: &'a JudgedStudy, summary: &SystemSummary) -> SystemAnswer<'a> {
    let (words, tendency) = cpu::answer(study, summary);
    let counts = cpu::verdicts(summary).into_iter();
    SystemAnswer {
        system: study.label(summary.system),
        sentence: format!("{} {words}", study.titled(summary.system)),
        sentence_below_name: sentence(&words),
        reasons: Vec::new(),
        tendency,
        counts: counts.filter(|(.., tests)| *tests > 0).collect(),
        cells: Vec::new(),
    }
}

fn counted_answer<'a>(study: &'a JudgedStudy, summary: &SystemSummary) -> SystemAnswer<'a> {
    let counts::CountedAnswer { words, tendency, with_background } = counts::answer(study, summary);
    let cells = study.judgement.cells.iter();
    SystemAnswer {
        system: study.label(summary.system),
        sentence: format!("{} {words}", study.titled(summary.system)),
        sentence_below_name: sentence(&words),
        reasons: with_background.into_iter().collect(),
        tendency,
        counts: Vec::new(),
        cells: cells.filter(|cell| cell.system == summary.system).collect(),
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
        let cpu = cpu::remarks(study, summary, &cells, instructions.is_some());
        let because = cpu.as_ref().and_then(|cpu| cpu.because);
        let remarks = UndecidedRemarks { instructions, because };
        let sentences = [
            comparison(name, base, summary, &remarks),
            comparison_below_name(base, summary, &remarks),
        ];
        match cpu {
            Some(cpu) => with_cpu(sentences, &cpu.sentence),
            None => sentences,
        }
    } else {
        let ratios = published(summary, of_base, &cells);
        [format!("{name} against {base}: {ratios}"), format!("Against {base}: {ratios}.")]
    };
    let counts = verdicts(summary).into_iter();
    let is_shown = |(verdict, count): &(Verdict, u32)| *count > 0 && study.says(*verdict);
    let counts = counts.filter(is_shown).map(|(verdict, count)| (verdict, verdict.word(), count));
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
        counts: counts.collect(),
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

/// Remarks of a sentence on undecided tests.
struct UndecidedRemarks<'a> {
    /// What is known from their instructions.
    instructions: Option<&'a str>,
    /// Why they are undecided.
    because: Option<&'static str>,
}

/// The sentences on time, standalone and below a name, followed by the one on CPU.
fn with_cpu([standalone, below_name]: [String; 2], cpu: &str) -> [String; 2] {
    let mut letters = below_name.chars();
    let first = letters.next().map(|letter| letter.to_lowercase().collect::<String>());
    let below_name = format!("{}{}", first.unwrap_or_default(), letters.as_str());
    [format!("By time, {standalone}. {cpu}"), format!("By time, {below_name} {cpu}.")]
}

/// Verdicts that occur, in the order of a sentence: called changes first, the more frequent before the other. If the
/// instructions of undecided tests are known, those tests come next.
fn in_order(
    summary: &SystemSummary,
    remarks: &UndecidedRemarks<'_>,
) -> impl Iterator<Item = (Verdict, u32)> {
    let mut found: Vec<(Verdict, u32)> =
        verdicts(summary).into_iter().filter(|it| it.1 > 0).collect();
    found.sort_by_key(|(verdict, count)| {
        let is_called = matches!(verdict, Verdict::Slower | Verdict::Faster);
        let is_counted = *verdict == Verdict::Undecided && remarks.instructions.is_some();
        (!is_called, !is_counted, if is_called { u32::MAX - count } else { 0 })
    });
    found.into_iter()
}

fn rest(verdicts: impl Iterator<Item = (Verdict, u32)>, remarks: &UndecidedRemarks<'_>) -> String {
    let message = |(verdict, number): (Verdict, u32)| {
        format!(", {} in {number}{}", verdict.word(), remark(verdict, remarks))
    };
    verdicts.map(message).collect()
}

fn remark(verdict: Verdict, remarks: &UndecidedRemarks<'_>) -> String {
    match (remarks.instructions, remarks.because) {
        _ if verdict != Verdict::Undecided => String::new(),
        (Some(instructions), _) => format!(", but {instructions}"),
        (None, Some(because)) => format!(", {because}"),
        (None, None) => String::new(),
    }
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
    remarks: &UndecidedRemarks<'_>,
) -> String {
    let tests = counted(summary.cells(), "test");
    let mut found = in_order(summary, remarks);
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
            let in_qps = if remarks.instructions.is_some() { " in QPS" } else { "" };
            let remark = remark(verdict, remarks);
            format!("{name} against {base}: {word}{in_qps} in {number} of {tests}{remark}")
        }
    };
    let median = median(summary).map_or_else(String::new, |it| format!(" ({it})"));
    format!("{first}{}{median}", rest(found, remarks))
}

fn comparison_below_name(
    base: &str,
    summary: &SystemSummary,
    remarks: &UndecidedRemarks<'_>,
) -> String {
    let tests = counted(summary.cells(), "test");
    let mut found = in_order(summary, remarks);
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
    let remark = remark(verdict, remarks);
    format!("{first} {base} in {number} of {tests}{remark}{}{median}.", rest(found, remarks))
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
