//! Instructions per operation: a table of all tests, then the functions and calls of each; and the answer of a study
//! that counts nothing else.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;

use assay_model::{CountSource, CountVerdict, Estimate, Verdict, counted, thousands};
use assay_verdict::{
    CellJudgement, CountChange, CountJudgement, FunctionCounts, InstructionSets, Instructions,
    Kind, SystemSummary, count_threshold, counted_pair, instruction_sets, median, moved,
};

use super::profiles::Calls;
use super::shades::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::{JudgedStudy, TestRow};
use crate::charts::flame::{self, Cost, Side};
use crate::document::{Block, Wish};
use crate::number::{NONE, duration, figure, share};
use crate::scale::RatioScale;
use crate::words::{Symbol as _, function_name, one_line};

const LIMITS: &str = "Not counted: the kernel, caches and waiting. There is one client, and valgrind runs one thread \
    at a time, so threads do not contend.";

const OTHER_CODE: &str =
    ", so a server that chooses code by CPU may choose other code than in the measurements.";

const LIMITS_OF_HARDWARE: &str =
    "The ratio leaves out the kernel, caches and waiting. There is one client.";

/// Mark of names that are those of matching code of another build.
const MATCHED: &str = "≈";

/// What the counts leave out.
pub(super) fn limits(study: &JudgedStudy) -> &'static str {
    match instruction_sets(&study.record.counts) {
        Some(_) => LIMITS,
        None => LIMITS_OF_HARDWARE,
    }
}

/// Tables of text and Markdown. A short report has only the first one.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if tests(study).next().is_none() {
        return Vec::new();
    }
    let bare = Wish::without_images(wish.medium, wish.is_verbose);
    let choices = choices(study);
    let choice = move |number: usize| {
        let tables: &Vec<ShadedTable> = choices.get(number)?;
        Some(tables.iter().map(|table| table.block(&bare)).collect::<Vec<_>>())
    };
    let mut blocks = vec![Block::Fitted(Box::new(choice))];
    if !wish.is_short() {
        blocks.push(Block::Lines(vec![limits(study).to_owned()]));
        let cells = study.judgement.cells.iter();
        let compared = cells.filter(|cell| study.compared.contains(&cell.system));
        let functions = compared.filter_map(|cell| functions(study, cell));
        blocks.extend(functions.map(|table| table.block(wish)));
    }
    blocks
}

/// The tests that were counted on a system.
pub(super) fn tests<'a>(study: &JudgedStudy<'a>) -> impl Iterator<Item = TestRow<'a>> {
    let is_counted = |test: &TestRow<'a>| {
        let mut cells = std::iter::once(test.base).chain(test.others.iter().copied().flatten());
        cells.any(|cell| cell.count.is_some())
    };
    study.tests().into_iter().flat_map(|group| group.rows).filter(is_counted)
}

/// The scale of the ratios of all tests.
pub(super) fn scale(study: &JudgedStudy) -> RatioScale {
    let cells = study.judgement.cells.iter();
    let ratios: Vec<Estimate> = cells.filter_map(|cell| cell.count.as_ref()?.ratio).collect();
    RatioScale::fitting(&ratios, count_threshold(&study.record.study))
}

/// What decides which code the servers executed, and how functions got their names.
pub(super) fn conditions(study: &JudgedStudy) -> Vec<String> {
    let counts = &study.record.counts;
    let known = instruction_sets(counts);
    let mut lines = known.map(|known| choice_of_code(study, &known)).unwrap_or_default();
    let builds = counts.iter().flat_map(|counted| &counted.count.matched.builds);
    let builds: BTreeSet<&str> = builds.map(String::as_str).collect();
    if !builds.is_empty() {
        let builds: Vec<&str> = builds.into_iter().collect();
        lines.push(format!(
            "{MATCHED} marks names of functions in stripped files. Their code matches that of functions in {}: by \
             instructions, strings, calls, or order and size. Such a name may be wrong.",
            builds.join(", ")
        ));
    }
    let stripped = counts.iter().flat_map(|counted| &counted.count.stripped).map(String::as_str);
    // Names in brackets are those of code outside any file.
    let stripped: BTreeSet<&str> = stripped.filter(|module| !module.starts_with('[')).collect();
    if !stripped.is_empty() {
        let files: Vec<&str> = stripped.into_iter().collect();
        lines.push(format!(
            "These files name only some of their functions: {}. The others share a line for each named function that \
             calls them, directly or through others without a name, and may include those that only the other system \
             names (–). If both systems run the same build, each has its offset in the file instead. With debug \
             symbols installed, DEBUGINFOD_URLS set, or a server with symbols and a near version in the cache, the \
             next count names more of them.",
            files.join(", ")
        ));
    }
    lines
}

/// CPU features hidden by valgrind, and the instruction sets that systems used, as far as names of functions show.
fn choice_of_code(study: &JudgedStudy, known: &InstructionSets) -> Vec<String> {
    let list = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    let hides = |hidden| format!("valgrind hides features of the CPU ({hidden}){OTHER_CODE}");
    let hidden = (!known.hidden.is_empty()).then(|| list(&known.hidden));
    let mut said: Vec<String> = hidden.map(hides).into_iter().collect();
    let named = known.used.iter().filter(|(_, sets)| !sets.is_empty());
    said.extend(named.map(|(system, sets)| {
        let system = study.label(*system);
        format!("{system} executed functions that are named after {}.", list(sets))
    }));
    let is_common = |set: &&str| known.used.iter().all(|(_, sets)| sets.contains(*set));
    let all: BTreeSet<&str> = known.used.iter().flat_map(|(_, sets)| sets).copied().collect();
    let differ: BTreeSet<&str> = all.into_iter().filter(|set| !is_common(set)).collect();
    if !differ.is_empty() {
        said.push(format!("Not all of these systems executed functions for {}.", list(&differ)));
    }
    said
}

pub(super) fn calls(study: &JudgedStudy, cell: &CellJudgement) -> Option<Calls> {
    let [of_base, of_system] = counted_pair(study.record, cell.cell, [study.base, cell.system])
        .or_else(|| counted_pair(study.record, cell.cell, [cell.system; 2]))?;
    let is_compared = !std::ptr::eq(of_base.0, of_system.0);
    let [base, here] = [&of_base, &of_system].map(|(count, modules)| {
        let per_op = count.calls.total() as f64 / count.ops.max(1) as f64;
        Side { tree: &count.calls, modules, per_op }
    });
    let base = Some(base).filter(|_| is_compared);
    let drawing = flame::graph(study.label(cell.system), Cost::Instructions, here, base)?;
    Some(Calls { drawing, is_compared })
}

/// Counts for tests that are undecided in QPS: `2 of these take more instructions (2.1% in the median)`. `None` if the
/// counts call no change.
pub(super) fn of_undecided(cells: &[&CellJudgement]) -> Option<String> {
    let undecided = cells.iter().filter(|cell| cell.verdict == Verdict::Undecided);
    let changes_of = |called: CountVerdict| {
        let counts = undecided.clone().filter_map(|cell| cell.count.as_ref());
        let of_it = counts.filter(|count| count.verdict == Some(called));
        let changes = of_it.filter_map(|count| Some((count.ratio?.value - 1.0).abs()));
        changes.collect::<Vec<f64>>()
    };
    let [more, fewer] = [CountVerdict::More, CountVerdict::Fewer].map(changes_of);
    let all = undecided.clone().count();
    let part = |(changes, word): (Vec<f64>, &str)| {
        let median = share(median(&changes)?);
        Some(match changes.len() {
            1 if all == 1 => format!("it takes {median} {word} instructions"),
            1 => format!("1 of these takes {median} {word} instructions"),
            several => {
                let which = if several == all { "these" } else { &format!("{several} of these") };
                format!("{which} take {word} instructions ({median} in the median)")
            }
        })
    };
    let parts: Vec<String> =
        [(more, "more"), (fewer, "fewer")].into_iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// The columns of a system, by the room that they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountWidth {
    All,
    /// Without the instructions of other threads and of the kernel.
    Total,
    /// Without background threads.
    Ratio,
    /// Also without the intervals of ratios.
    Value,
}

/// Tables of a row for each test, widest first: instructions per operation of the base, and the ratio and verdict of
/// each system, without and with background threads. In the last ones, each system has a table of its own.
fn choices(study: &JudgedStudy) -> Vec<Vec<ShadedTable>> {
    use CountWidth::{All, Ratio, Total, Value};
    let systems = study.compared.len();
    let together = [All, Total, Ratio, Value].map(|width| vec![table(study, 0..systems, width)]);
    let mut choices: Vec<Vec<ShadedTable>> = together.into();
    if study.several_systems() {
        let apart =
            |width| (0..systems).map(|at| table(study, at..at + 1, width)).collect::<Vec<_>>();
        choices.extend([Ratio, Value].map(apart));
    }
    choices
}

fn table(study: &JudgedStudy, systems: Range<usize>, width: CountWidth) -> ShadedTable {
    let cells = study.judgement.cells.iter().filter_map(|cell| cell.count.as_ref());
    let counts: Vec<&CountJudgement> = cells.collect();
    let by = counts.first().map_or_else(CountSource::default, |count| count.by).word();
    let threshold = share(count_threshold(&study.record.study));
    let left_out = match counts.iter().map(|count| count.left_out).sum::<u32>() {
        0 => String::new(),
        number => format!(
            "; {} of batches left out of ratios because of work that few batches have; all other numbers include it",
            counted(number, "pair")
        ),
    };
    let has_kernel = counts.iter().any(|count| count.kernel.is_some());
    let shown = &study.compared[systems.clone()];
    let mut columns = vec![format!("{} instructions/op", study.base_label())];
    columns.extend(shown.iter().flat_map(|system| headings(study, *system, width, has_kernel)));
    let row = |test: TestRow| row(study, &test, &systems, (width, has_kernel));
    ShadedTable {
        title: "instructions per operation".to_owned(),
        note: format!(
            "outside the kernel, by one client, counted by {by}; ratios to {}; a ratio within {threshold} of 1 is the \
             same; ▼ more, ▲ fewer; background threads are part of the figures with background alone{left_out}",
            study.base_label()
        ),
        corner: "test",
        columns,
        rows: tests(study).map(row).collect(),
    }
}

fn headings(
    study: &JudgedStudy,
    system: usize,
    width: CountWidth,
    has_kernel: bool,
) -> Vec<String> {
    let mut headings = vec![format!("{} ratio", study.label(system)), "verdict".to_owned()];
    if matches!(width, CountWidth::All | CountWidth::Total) {
        headings.extend(["ratio with background", "verdict with background"].map(str::to_owned));
    }
    if width == CountWidth::All {
        headings.push("background/op".to_owned());
        headings.extend(has_kernel.then(|| "kernel/op".to_owned()));
    }
    headings
}

fn row(
    study: &JudgedStudy,
    test: &TestRow,
    systems: &Range<usize>,
    (width, has_kernel): (CountWidth, bool),
) -> ShadedRow {
    let base = test.base.count.as_ref();
    let mut texts = vec![(instructions(base), Shade::None)];
    for other in &test.others[systems.clone()] {
        let count = other.and_then(|other| other.count.as_ref());
        let ratio = count.and_then(|count| count.ratio);
        let total = count.and_then(|count| count.total);
        let shown = |ratio: Option<Estimate>| match ratio {
            None => NONE.to_owned(),
            Some(ratio) if width == CountWidth::Value => format!("{:.4}", ratio.value),
            Some(ratio) => exact(ratio),
        };
        texts.extend(compared(shown(ratio), count.and_then(|count| count.verdict)));
        if matches!(width, CountWidth::All | CountWidth::Total) {
            let verdict = total.and_then(|total| total.verdict);
            texts.extend(compared(shown(total.and_then(|total| total.ratio)), verdict));
        }
        if width == CountWidth::All {
            texts.push((both([base, count], |count| count.background), Shade::None));
            let kernel = || (both([base, count], |count| count.kernel), Shade::None);
            texts.extend(has_kernel.then(kernel));
        }
    }
    let cells = texts.into_iter().map(|(text, shade)| ShadedCell { text, shade });
    ShadedRow { name: study.cell_name(test.base.cell), cells: cells.collect() }
}

/// Instructions per operation; a dash if they were not counted.
pub(super) fn instructions(count: Option<&CountJudgement>) -> String {
    let value = count.map(|count| count.instructions.value.round() as u64);
    value.map_or_else(|| NONE.to_owned(), thousands)
}

/// `1,531 → 1,384`
pub(super) fn both(
    counts: [Option<&CountJudgement>; 2],
    value: fn(&CountJudgement) -> Option<f64>,
) -> String {
    let [base, other] = counts.map(|count| figure(count.and_then(value).map(f64::round)));
    format!("{base} → {other}")
}

/// A ratio and its verdict, with the symbol for the same change of a time.
pub(super) fn compared(ratio: String, verdict: Option<CountVerdict>) -> [(String, Shade); 2] {
    let shade = match verdict {
        Some(CountVerdict::More) => Shade::More,
        Some(CountVerdict::Fewer) => Shade::Fewer,
        _ => Shade::None,
    };
    let word = verdict.map_or_else(
        || NONE.to_owned(),
        |verdict| format!("{} {}", as_time(verdict).symbol(), verdict.word()),
    );
    [(ratio, shade), (word, Shade::None)]
}

pub(super) fn as_time(verdict: CountVerdict) -> Verdict {
    match verdict {
        CountVerdict::More => Verdict::Slower,
        CountVerdict::Fewer => Verdict::Faster,
        CountVerdict::Same => Verdict::Same,
        CountVerdict::Undecided => Verdict::Undecided,
    }
}

/// A ratio and its interval, to 0.01%: counts are that exact.
pub(super) fn exact_parts(Estimate { value, low, high }: Estimate) -> [String; 2] {
    [format!("{value:.4}"), format!("[{low:.4}, {high:.4}]")]
}

pub(super) fn exact(ratio: Estimate) -> String {
    exact_parts(ratio).join(" ")
}

/// Per operation of a function, or of several functions on one line.
pub(crate) struct FunctionLine {
    pub(crate) name: String,
    pub(crate) object: String,
    /// How it is known: by a `symbol`, a `match` with code of another build, or its `caller`; `None` if it is not.
    pub(crate) by: Option<&'static str>,
    /// `None` if the base has no function of this name.
    pub(crate) base: Option<f64>,
    /// `None` if the other system has no function of this name.
    pub(crate) other: Option<f64>,
    pub(crate) change: f64,
}

/// At most `most` functions, those that changed most, and a line for all others.
pub(crate) fn lines(all: &Instructions, most: usize) -> (Vec<FunctionLine>, Option<FunctionLine>) {
    let (largest, rest) = all.largest(most);
    let shown = largest.iter().map(|change| {
        let object = change.functions.first().map(|first| first.module.clone());
        let is_in = |side: fn(&FunctionCounts) -> bool| change.functions.iter().any(side);
        let [base, other] = all.each_per_op(change.own());
        FunctionLine {
            name: name(change),
            object: object.unwrap_or_default(),
            by: change.functions.first().and_then(known_by),
            base: Some(base).filter(|_| is_in(|it| it.is_in[0])),
            other: Some(other).filter(|_| is_in(|it| it.is_in[1])),
            change: all.per_op(change.by),
        }
    });
    let rest = rest.map(|rest| {
        let [base, other] = all.each_per_op(rest.own).map(Some);
        let name = format!("other functions ({})", rest.functions);
        let (object, change) = (String::new(), all.per_op(rest.by));
        FunctionLine { name, object, by: None, base, other, change }
    });
    (shown.collect(), rest)
}

fn name(change: &CountChange) -> String {
    let mut names = change.functions.iter().map(function_in_words);
    let first = names.next().unwrap_or_default();
    match change.kind {
        Kind::One => first,
        Kind::Renamed => format!("{first} → {}", names.collect::<Vec<_>>().join(", ")),
        Kind::Inlined => format!("{first} with inlined {}", names.collect::<Vec<_>>().join(", ")),
    }
}

fn function_in_words(counts: &FunctionCounts) -> String {
    let FunctionCounts { function, module, caller, is_matched, .. } = counts;
    let name = match function {
        Some(function) => function_name(function, module),
        None => format!("functions of {module} without a name").into(),
    };
    let mark = if *is_matched { format!(" {MATCHED}") } else { String::new() };
    let caller =
        caller.as_ref().map_or_else(String::new, |caller| format!(", called from {caller}"));
    format!("{name}{mark}{caller}")
}

fn known_by(counts: &FunctionCounts) -> Option<&'static str> {
    if counts.is_matched {
        Some("match")
    } else if counts.has_name() {
        Some("symbol")
    } else {
        counts.caller.is_some().then_some("caller")
    }
}

const SHOWN: usize = 10;

/// The functions whose instructions changed most; `None` unless a change is called.
pub(super) fn functions(study: &JudgedStudy, cell: &CellJudgement) -> Option<ShadedTable> {
    let called = [Some(CountVerdict::More), Some(CountVerdict::Fewer)];
    let count = cell.count.as_ref().filter(|count| called.contains(&count.verdict))?;
    let all = count.functions.as_ref()?;
    let (shown, rest) = lines(all, SHOWN);
    let row = |line: FunctionLine| {
        let FunctionLine { name, object, base, other, change, .. } = line;
        let numbers = [figure(base), figure(other), signed(change)];
        // The line for functions without a name already contains the object.
        let has_object = object.is_empty() || name.contains(&object);
        let name = if has_object { name } else { format!("{name} ({object})") };
        let cells = numbers.map(|text| ShadedCell { text, shade: Shade::None });
        ShadedRow { name, cells: cells.into() }
    };
    let (test, system) = (study.cell_name(cell.cell), study.label(cell.system));
    let left_out = match count.left_out {
        0 => "",
        _ => " of all batches, also of those left out of the ratio",
    };
    let named = all.named_share().map_or_else(String::new, |named| {
        format!("; {} of all changes are in functions with a name or a named caller", share(named))
    });
    Some(ShadedTable {
        title: format!("{test}: functions whose instructions changed in {system}"),
        note: format!(
            "instructions per operation; the lines add up to the change{left_out}{named}"
        ),
        corner: "function",
        columns: ["base", "other", "change"].map(str::to_owned).into(),
        rows: shown.into_iter().chain(rest).map(row).collect(),
    })
}

fn signed(change: f64) -> String {
    let sign = if change >= 0.0 { "+" } else { "−" };
    format!("{sign}{}", figure(Some(change.abs())))
}

pub(super) struct CountedAnswer {
    /// To follow the name of the system.
    pub(super) words: String,
    pub(super) tendency: Verdict,
    pub(super) with_background: Option<String>,
}

/// Counts tests with more or fewer instructions than the base.
pub(super) fn answer(study: &JudgedStudy, summary: &SystemSummary) -> CountedAnswer {
    let of_system = |cell: &&CellJudgement| cell.system == summary.system;
    let cells: Vec<&CellJudgement> = study.judgement.cells.iter().filter(of_system).collect();
    let counts: Vec<&CountJudgement> = cells.iter().filter_map(|it| it.count.as_ref()).collect();
    let count = |verdict| counts.iter().filter(|it| it.verdict == Some(verdict)).count();
    let (more, fewer) = (count(CountVerdict::More), count(CountVerdict::Fewer));
    let failed = cells.iter().filter(|it| it.verdict == Verdict::Failed).count();
    let base = study.titled(study.base);
    // The words for the first outcome, and for the others.
    let mut outcomes = [
        (more, format!("executes more instructions than {base}"), "more in"),
        (fewer, format!("executes fewer instructions than {base}"), "fewer in"),
        (
            count(CountVerdict::Same),
            format!("executes as many instructions as {base}"),
            "as many in",
        ),
        (count(CountVerdict::Undecided), format!("is undecided against {base}"), "undecided in"),
        (failed, "could not be counted".to_owned(), "not counted in"),
    ];
    if fewer > more {
        outcomes.swap(0, 1);
    }
    let mut found = outcomes.into_iter().filter(|(number, ..)| *number > 0);
    let ratios: Vec<f64> = counts.iter().filter_map(|it| Some(it.ratio?.value)).collect();
    let median = median(&ratios)
        .filter(|_| ratios.len() > 1)
        .map_or_else(String::new, |median| format!(" (median over tests: {})", percent(median)));
    let tests = counted(cells.len() as u64, "test");
    let words = match found.next() {
        None => "is not counted yet".to_owned(),
        Some((number, first, _)) => {
            let rest: String = found.map(|(number, _, it)| format!(", {it} {number}")).collect();
            format!("{first} in {number} of {tests}{rest}{median}")
        }
    };
    let tendency = match more.cmp(&fewer) {
        Ordering::Greater => Verdict::Slower,
        Ordering::Less => Verdict::Faster,
        Ordering::Equal => Verdict::Same,
    };
    CountedAnswer { words, tendency, with_background: with_background(&counts) }
}

/// Tests in which background threads change the verdict: `With background threads: more instructions in 1 test, fewer
/// in 3`. `None` without any.
fn with_background(counts: &[&CountJudgement]) -> Option<String> {
    counts.iter().find_map(|count| moved(count))?;
    let count = |verdict| {
        let totals = counts.iter().filter_map(|count| count.total?.verdict);
        totals.filter(|it| *it == verdict).count() as u64
    };
    let [more, fewer, same, undecided] =
        [CountVerdict::More, CountVerdict::Fewer, CountVerdict::Same, CountVerdict::Undecided]
            .map(|verdict| counted(count(verdict), "test"));
    Some(format!(
        "With background threads: more instructions in {more}, fewer in {fewer}, as many in {same}, undecided in \
         {undecided}."
    ))
}

/// How the counts behind the answer were taken.
pub(super) fn basis(study: &JudgedStudy) -> String {
    let record = study.record;
    let count = record.counts.first().map(|it| &it.count);
    let by = count.map_or(CountSource::default(), |count| count.by).word();
    let instances = || record.counts.iter().map(|it| it.count.instances.len() as u64);
    let (least, most) = (instances().min().unwrap_or(0), instances().max().unwrap_or(0));
    let servers = match least == most {
        true => counted(most, "fresh server"),
        false => format!("{least} to {}", counted(most, "fresh server")),
    };
    format!(
        "counted by {by} on {servers} of each system, {}; changes below {} are ignored",
        duration(record.elapsed_s()),
        share(count_threshold(&record.study)),
    )
}

/// Threads whose instructions changed, where that matters, and the functions that make up most of a change.
pub(super) fn causes(cell: &CellJudgement) -> Option<String> {
    let parts: Vec<String> =
        moved(cell.count.as_ref()?).into_iter().chain(largest_functions(cell)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn largest_functions(cell: &CellJudgement) -> Option<String> {
    let named = largest(cell, usize::MAX);
    (!named.is_empty()).then(|| format!("instructions per operation: {}", named.join(", ")))
}

/// The functions that changed most, by names of at most `most` characters, with their changes.
pub(super) fn largest(cell: &CellJudgement, most: usize) -> Vec<String> {
    let functions = cell.count.as_ref().and_then(|count| count.functions.as_ref());
    let (shown, _) = functions.map(|all| lines(all, NAMED)).unwrap_or_default();
    let changed = shown.iter().filter(|line| line.change.abs() > 0.0);
    let name = |line: &FunctionLine| one_line(&line.name, most, "…");
    changed.map(|line| format!("{} {}", name(line), signed(line.change))).collect()
}

/// The ratio to the base, with its verdict as one on time. `None` if either system was not counted.
pub(super) fn judged_ratio(cell: &CellJudgement) -> Option<(Estimate, Verdict)> {
    let count = cell.count.as_ref()?;
    Some((count.ratio?, as_time(count.verdict?)))
}

/// Translates more or fewer instructions to slower or faster. `None` if neither was found, with background threads or
/// without.
pub(super) fn called(cell: &CellJudgement) -> Option<Verdict> {
    let count = cell.count.as_ref()?;
    let with_background = count.total.and_then(|total| total.verdict);
    let verdicts = [count.verdict?, with_background.unwrap_or_default()].map(as_time);
    verdicts.into_iter().find(|it| matches!(it, Verdict::Slower | Verdict::Faster))
}

const NAMED: usize = 3;

/// With the interval, to 0.01%: counts are that exact.
pub(super) fn change(Estimate { value, low, high }: Estimate) -> String {
    format!("{} [{}, {}]", percent(value), percent(low), percent(high))
}

fn percent(ratio: f64) -> String {
    format!("{:+.2}%", 100.0 * (ratio - 1.0)).replace('-', "−")
}
