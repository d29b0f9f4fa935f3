//! Instructions per operation: a table of all tests, then the functions and calls of each; and the answer of a study
//! that counts nothing else.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use assay_model::{CountSource, CountVerdict, Estimate, Verdict, counted, thousands};
use assay_verdict::{
    CellJudgement, CountChange, CountJudgement, FunctionCounts, InstructionSets, Instructions,
    Kind, SystemSummary, count_threshold, counted_pair, instruction_sets, median, moved,
};

use super::profiles::Calls;
use super::shades::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::charts::flame::{self, Cost, Side};
use crate::document::{Block, Fold, Frame, Look, Section, Table, Wish};
use crate::number::{NONE, duration, figure, share};
use crate::words::{Symbol as _, function_name};

const LIMITS: &str = "Not counted: the kernel, caches and waiting. There is one client, and valgrind runs one thread \
    at a time, so threads do not contend.";

const OTHER_CODE: &str =
    ", so a server that chooses code by CPU may choose other code than in the measurements.";

const LIMITS_OF_HARDWARE: &str =
    "The ratio leaves out the kernel, caches and waiting. There is one client.";

/// A short report has only the first table.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let Some(tables) = tables(study) else { return Vec::new() };
    let limits = limits(study);
    let is_alone = study.compared.is_empty();
    let is_shown = |cell: &&CellJudgement| {
        cell.count.is_some() && (is_alone || study.compared.contains(&cell.system))
    };
    let cells = study.judgement.cells.iter().filter(is_shown);
    if wish.is_page() {
        let look = Look { class: "shaded stack".to_owned(), ..Look::default() };
        let mut blocks = vec![Block::Table(Table { look, ..tables[0].table() })];
        blocks.extend(Block::prose("basis", limits));
        let sections = cells.enumerate();
        blocks.extend(sections.filter_map(|(number, cell)| section(study, cell, number)));
        return Block::place("counts", "Instructions", "Instructions per operation", blocks);
    }
    let bare = Wish::without_images(wish.medium, wish.is_verbose);
    let choice = move |number: usize| {
        let table: &ShadedTable = tables.get(number)?;
        Some(vec![Block::Table(table.titled(&bare))])
    };
    let mut blocks = vec![Block::Fitted(Box::new(choice))];
    if !wish.is_short() {
        blocks.push(Block::Lines(limits));
        let functions = cells.filter_map(|cell| functions(study, cell));
        blocks.extend(functions.map(|table| Block::Table(table.titled(wish))));
    }
    blocks
}

fn section(study: &JudgedStudy, cell: &CellJudgement, number: usize) -> Option<Block<'static>> {
    let system = study.label(cell.system);
    let table = functions(study, cell).map(|table| Block::Table(table.table()));
    let calls = calls(study, cell).filter(|_| !study.is_large());
    let calls = calls.map(|calls| {
        let heading = format!("Calls of {system} by instructions");
        calls.block(study, &heading, ["more instructions", "fewer"])
    });
    let blocks: Vec<Block> = table.into_iter().chain(calls).collect();
    let several = study.several_systems().then(|| system.to_owned());
    let names = std::iter::once(study.cell_name(cell.cell)).chain(several);
    let heading = names.collect::<Vec<_>>().join(", ");
    (!blocks.is_empty()).then(|| {
        Block::Section(Section {
            id: format!("count-{}", number + 1),
            class: "profile",
            blocks: Block::part(Frame::Plain, "sampled", blocks),
            ..Section::new(heading, if number == 0 { Fold::Open } else { Fold::Closed })
        })
    })
}

fn limits(study: &JudgedStudy) -> Vec<String> {
    let counts = &study.record.counts;
    let mut said = match instruction_sets(counts) {
        Some(known) => {
            let mut said = vec![LIMITS.to_owned()];
            said.extend(choice_of_code(study, &known));
            said
        }
        None => vec![LIMITS_OF_HARDWARE.to_owned()],
    };
    let stripped = counts.iter().flat_map(|counted| &counted.count.stripped).map(String::as_str);
    // Names in brackets are those of code outside any file.
    let stripped: BTreeSet<&str> = stripped.filter(|module| !module.starts_with('[')).collect();
    if !stripped.is_empty() {
        let files: Vec<&str> = stripped.into_iter().collect();
        said.push(format!(
            "These files name only some of their functions: {}. The other functions share one line for each file and \
             may include those that only the other system names (–); if both systems run the same build, each of \
             them has its offset in the file instead. With debug symbols installed, or DEBUGINFOD_URLS set, the next \
             count names all functions.",
            files.join(", ")
        ));
    }
    said
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

fn calls(study: &JudgedStudy, cell: &CellJudgement) -> Option<Calls> {
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

/// The column of the ratio, and the number of columns of a narrow table.
const RATIO: usize = 1;
const COLUMNS_NARROW: usize = 3;

const COLUMNS_TOTAL: usize = 5;

/// Row per test and system: instructions per operation, their ratio to the base with the verdict, and the same with
/// background threads, which narrower tables omit. The narrowest table has neither intervals of ratios nor background
/// threads. `None` unless instructions were counted.
fn tables(study: &JudgedStudy) -> Option<Vec<ShadedTable>> {
    let widest = table(study)?;
    let first_columns = |count: usize| {
        let mut table = widest.clone();
        table.columns.truncate(count);
        table.rows.iter_mut().for_each(|row| row.cells.truncate(count));
        table
    };
    let (total, narrower) = (first_columns(COLUMNS_TOTAL), first_columns(COLUMNS_NARROW));
    let mut narrowest = narrower.clone();
    for ratio in narrowest.rows.iter_mut().filter_map(|row| row.cells.get_mut(RATIO)) {
        ratio.text.truncate(ratio.text.find(" [").unwrap_or(ratio.text.len()));
    }
    Some(vec![widest, total, narrower, narrowest])
}

fn table(study: &JudgedStudy) -> Option<ShadedTable> {
    let cells = study.judgement.cells.iter().filter(|cell| cell.count.is_some());
    let cells: Vec<&CellJudgement> = cells.collect();
    let by = cells.first()?.count.as_ref()?.by.word();
    let threshold = share(count_threshold(&study.record.study));
    let left_out: u32 = cells.iter().filter_map(|it| it.count.as_ref()).map(|it| it.left_out).sum();
    let left_out = match left_out {
        0 => String::new(),
        some => format!(
            "; {} of batches left out of ratios because of work that few batches have; all other numbers include it",
            counted(some, "pair")
        ),
    };
    let mut columns = vec![
        "instructions/op",
        "ratio to the base",
        "verdict",
        "ratio with background",
        "verdict with background",
        "background/op",
    ];
    let has_kernel = cells.iter().any(|it| it.count.as_ref().is_some_and(|it| it.kernel.is_some()));
    columns.extend(has_kernel.then_some("kernel/op"));
    let row = |cell| row(study, cell, has_kernel);
    Some(ShadedTable {
        title: "instructions per operation".to_owned(),
        note: format!(
            "outside the kernel, by one client, counted by {by}; a ratio within {threshold} of 1 is the same; ▼ more, \
             ▲ fewer; background threads are part of the figures with background alone{left_out}"
        ),
        corner: "test, system",
        columns: columns.into_iter().map(str::to_owned).collect(),
        rows: cells.into_iter().filter_map(row).collect(),
    })
}

fn row(study: &JudgedStudy, cell: &CellJudgement, has_kernel: bool) -> Option<ShadedRow> {
    let CountJudgement { instructions, background, kernel, ratio, verdict, total, .. } =
        cell.count.as_ref()?;
    let mut texts = vec![(thousands(instructions.value.round() as u64), Shade::None)];
    let base = || "base".to_owned();
    texts.extend(compared(ratio.map_or_else(base, exact), *verdict));
    let with_background =
        total.map_or_else(|| NONE.to_owned(), |total| total.ratio.map_or_else(base, exact));
    texts.extend(compared(with_background, total.and_then(|total| total.verdict)));
    texts.push((figure(background.map(f64::round)), Shade::None));
    texts.extend(has_kernel.then(|| (figure(kernel.map(f64::round)), Shade::None)));
    let cells = texts.into_iter().map(|(text, shade)| ShadedCell { text, shade });
    let name = format!("{}, {}", study.cell_name(cell.cell), study.label(cell.system));
    Some(ShadedRow { name, cells: cells.collect() })
}

/// A ratio and its verdict, with the symbol for the same change of a time.
fn compared(ratio: String, verdict: Option<CountVerdict>) -> [(String, Shade); 2] {
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

fn as_time(verdict: CountVerdict) -> Verdict {
    match verdict {
        CountVerdict::More => Verdict::Slower,
        CountVerdict::Fewer => Verdict::Faster,
        CountVerdict::Same => Verdict::Same,
        CountVerdict::Undecided => Verdict::Undecided,
    }
}

/// With its interval, to 0.01%: counts are that exact.
fn exact(Estimate { value, low, high }: Estimate) -> String {
    format!("{value:.4} [{low:.4}, {high:.4}]")
}

/// Per operation of a function, or of several functions on one line.
pub(crate) struct FunctionLine {
    pub(crate) name: String,
    pub(crate) object: String,
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
            base: Some(base).filter(|_| is_in(|it| it.is_in[0])),
            other: Some(other).filter(|_| is_in(|it| it.is_in[1])),
            change: all.per_op(change.by),
        }
    });
    let rest = rest.map(|rest| {
        let [base, other] = all.each_per_op(rest.own).map(Some);
        let name = format!("other functions ({})", rest.functions);
        FunctionLine { name, object: String::new(), base, other, change: all.per_op(rest.by) }
    });
    (shown.collect(), rest)
}

fn name(change: &CountChange) -> String {
    let name = |FunctionCounts { function, module, .. }: &FunctionCounts| match function {
        Some(function) => function_name(function, module).into_owned(),
        None => format!("functions of {module} without a name"),
    };
    let mut names = change.functions.iter().map(name);
    let first = names.next().unwrap_or_default();
    match change.kind {
        Kind::One => first,
        Kind::Renamed => format!("{first} → {}", names.collect::<Vec<_>>().join(", ")),
        Kind::Inlined => format!("{first} with inlined {}", names.collect::<Vec<_>>().join(", ")),
    }
}

const SHOWN: usize = 10;

fn functions(study: &JudgedStudy, cell: &CellJudgement) -> Option<ShadedTable> {
    let called = [Some(CountVerdict::More), Some(CountVerdict::Fewer)];
    let count = cell.count.as_ref().filter(|count| called.contains(&count.verdict))?;
    let (shown, rest) = lines(count.functions.as_ref()?, SHOWN);
    let row = |line: FunctionLine| {
        let FunctionLine { name, object, base, other, change } = line;
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
    Some(ShadedTable {
        title: format!("{test}: functions whose instructions changed in {system}"),
        note: format!("instructions per operation; the lines add up to the change{left_out}"),
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
    let functions = cell.count.as_ref()?.functions.as_ref()?;
    let (shown, _) = lines(functions, NAMED);
    let named = shown.iter().map(|line| format!("{} {:+.0}", line.name, line.change));
    let named: Vec<String> = named.map(|it| it.replace('-', "−")).collect();
    (!named.is_empty()).then(|| format!("instructions per operation: {}", named.join(", ")))
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
