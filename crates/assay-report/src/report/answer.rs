//! The answer and its caveats.

use assay_model::Verdict;

use crate::document::{Block, Figure, Fold, Frame, TableCell, Wish};
use crate::scale::RatioScale;
use crate::text::{Text, bold, code, interval, link, of_class, symbol, words};
use crate::view::Report;
use crate::view::answer::{LargestChange, SystemAnswer};
use crate::view::causes::ExplainedCause;
use crate::view::caveats::Caveats;
use crate::view::{ranking, undecided};
use crate::words::{Symbol as _, origin, sentence};

pub(super) fn above(report: &Report) -> Vec<Block<'static>> {
    let Caveats { same, suspicious, .. } = &report.caveats;
    let same = Block::prose("", same.iter().map(|it| Text::from(sentence(it))));
    let mut blocks = Block::part(Frame::Warning, "stamp", same);
    if suspicious.is_empty() {
        return blocks;
    }
    let settings = suspicious
        .iter()
        .enumerate()
        .flat_map(|(number, setting)| [words(if number > 0 { ", " } else { " " }), code(setting)]);
    let stamp = Text::from("Differences that matter:").and(settings).and([
        words(". Read the verdicts with this in mind; see the "),
        link("#audit", "audit"),
        words("."),
    ]);
    let title = Text::from(bold("✗ Suspicious audit"));
    let warnings = warnings(report).into_iter().map(Text::from);
    let lines = [title, stamp].into_iter().chain(warnings);
    blocks.extend(Block::part(Frame::Warning, "stamp", Block::prose("", lines)));
    blocks
}

/// A card for each system, with its largest changes.
pub(super) fn cards<'r>(report: &'r Report<'r>) -> Vec<Block<'r>> {
    let scale = RatioScale::fitting(&report.ratios, report.threshold);
    let cards = report.answers.iter().flat_map(|answer| card(report, answer, scale));
    let contradictions = Block::prose("", report.contradictions().map(sentence));
    let mut blocks = Block::part(Frame::Warning, "warning", contradictions);
    let fastest = ranking::headline(report.study);
    blocks.extend(Block::prose("fastest", fastest.map(|line| sentence(&line))));
    blocks.extend(Block::part(Frame::Plain, "answers", cards.collect()));
    let Caveats { suspicious, twins, notes, unmeasured, basis, .. } = &report.caveats;
    blocks.extend(Block::prose("twin", twins.iter().map(|twin| sentence(twin))));
    // Otherwise they are above the heading.
    if suspicious.is_empty() {
        let warnings = warnings(report).into_iter().enumerate().map(|(number, warning)| {
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
fn warnings(report: &Report) -> Vec<String> {
    let systems = report.study.record.systems.iter().enumerate();
    let unreleased =
        systems.filter(|(_, system)| !system.is_twin && !system.artifact.is_released());
    let unreleased = unreleased.map(|(index, system)| {
        let (label, origin) = (report.study.label(index), origin(system));
        format!("{label} is from {origin}, which is not a release channel")
    });
    let warnings = report.caveats.warnings.iter().cloned().chain(unreleased);
    warnings.map(|warning| sentence(&warning)).collect()
}

fn card<'r>(report: &Report, answer: &'r SystemAnswer<'r>, scale: RatioScale) -> Vec<Block<'r>> {
    let mut left = vec![Block::Heading(0, answer.system.into())];
    left.extend(Block::prose("sentence", [answer.sentence_below_name.as_str()]));
    left.extend(Block::prose("reason", answer.reasons.iter().map(String::as_str)));
    let counts = answer.counts.iter().map(|(verdict, count)| {
        let (count, word) = (bold(count.to_string()), verdict.word());
        let text = [count, words(" "), symbol(verdict.symbol()), words(format!(" {word}"))];
        TableCell::from(Text::from_iter(text)).class(word)
    });
    left.extend(Block::list_of("counts", counts));
    if !answer.tests.is_empty() {
        let figure = Figure {
            caption: format!("Relative QPS of every test; {} is 1.00", report.base),
            svg: scale.dots(&answer.tests) + &scale.axis(12.0),
            is_caption_below: true,
            ..Figure::default()
        };
        left.push(Block::Figures("", vec![figure]));
    }
    let mut parts = Block::part(Frame::Plain, "", left);
    if !answer.largest.is_empty() {
        let changes = answer.largest.iter().map(|change| largest(report, change));
        let mut right = vec![Block::Heading(1, "Largest changes".into())];
        right.extend(Block::ordered_list("largest", changes));
        parts.extend(Block::part(Frame::Plain, "", right));
    }
    Block::part(Frame::Whole, format!("answer {}", answer.tendency.word()), parts)
}

fn largest(report: &Report, change: &LargestChange) -> Text {
    let setup = report.several_setups.then(|| of_class("setup", report.setup(change.setup)));
    let why = change.why.map(|why| of_class("why", why));
    let spaced = |span| [words(" "), span];
    let (verdict, ratio) = (change.verdict, change.ratio);
    let value = of_class(
        format!("v {}", verdict.word()),
        format!("{} {}", verdict.symbol(), ratio.value()),
    );
    Text::from(link(format!("#test-{}", change.cell), change.test))
        .and(setup.into_iter().chain([value]).flat_map(spaced))
        .and(interval(ratio.interval()))
        .and(why.into_iter().flat_map(spaced))
}

pub(super) fn causes(
    heading: String,
    causes: &[ExplainedCause],
    more: usize,
) -> Vec<Block<'static>> {
    let line = |it: &ExplainedCause| format!("{} {}: {}", it.verdict.symbol(), it.name, it.why);
    let lines = causes.iter().map(line).chain(and_more(more));
    Block::folded(heading, Fold::Open, Block::list(lines))
}

pub(super) fn and_more(more: usize) -> Option<String> {
    (more > 0).then(|| format!("and {more} more"))
}

pub(super) fn undecided(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let mark = Verdict::Undecided.symbol();
    let lines = undecided::lines(report.study).into_iter();
    let lines = Block::list(lines.map(|line| format!("{mark} {line}")));
    Block::folded(wish.heading("undecided, and what would help"), Fold::Closed, lines)
}
