//! The profiles of the sampled tests: functions with changed CPU time, waits of threads, and a drawing of all calls.

use assay_model::{CellId, Estimate, KERNEL, Profile};
use assay_verdict::{
    CellJudgement, FunctionChange, Modules, ProfileChange, QuantityChange, TimeTerm, are_comparable,
};

use super::account::{self, AccountRow, row, row_with_digits};
use super::study::JudgedStudy;
use crate::charts::flame::{self, Cost, Side};
use crate::document::{Block, Column, Figure, Fold, Frame, Row, Section, Table, Wish};
use crate::text::{Text, of_class, words};

const FUNCTIONS: usize = 12;

/// Functions shown even if none changed for certain.
const FUNCTIONS_LEAST: usize = 4;

/// Minimum CPU time of other threads to be shown, relative to the serving threads.
const BACKGROUND_MIN: f64 = 0.05;

const UNMATCHED: usize = 3;

/// Share of lost records above which waits are incomplete.
const LOST_WAITS: f64 = 0.01;

/// Only a page has them.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if !wish.is_page() || study.is_large() {
        return Vec::new();
    }
    let intro = "What the servers spend CPU time on and what their threads wait for, in the tests that were sampled.";
    let mut blocks = Block::prose("", [intro]);
    let groups = study.grouped(|base| is_profiled(study, base.cell).then_some(base));
    if groups.is_empty() {
        return Vec::new();
    }
    for group in groups {
        blocks.extend(group.rows.into_iter().enumerate().map(|(number, base)| {
            let setup = study.setup_if_several(group.setup);
            let fold = if number == 0 { Fold::Open } else { Fold::Closed };
            Block::Section(Section {
                id: format!("profile-{}", study.number_of(base.cell)),
                class: "profile",
                blocks: Block::part(Frame::Plain, "sampled", of_test(study, base)),
                ..Section::new(Text::from(base.cell.test.name()).with_setup(setup), fold)
            })
        }));
    }
    Block::place("profiles", "Profiles", "Profiles", blocks)
}

pub(super) fn is_profiled(study: &JudgedStudy, cell: CellId) -> bool {
    let is_profiled = |cell: &CellJudgement| {
        cell.profile.is_some() || sampled_us(study, cell) > 0.0 || !limits(study, cell).is_empty()
    };
    study.measured(cell).any(is_profiled)
}

fn of_test(study: &JudgedStudy, base: &CellJudgement) -> Vec<Block<'static>> {
    let others = study.others().filter_map(|system| study.cell(base.cell, system));
    let profiled =
        others.filter_map(|cell| Some((study.label(cell.system), cell, cell.profile.as_ref()?)));
    let tables = profiled.flat_map(|(system, cell, profile)| tables(study, system, cell, profile));
    let mut blocks: Vec<Block> = tables.map(Block::Table).collect();
    for cell in study.measured(base.cell) {
        let system = study.label(cell.system);
        blocks.extend(calls(study, cell).map(|calls| {
            let heading = format!("Calls of {system} by CPU time");
            calls.block(study, &heading, ["longer", "less time"])
        }));
        let limits = limits(study, cell).into_iter().map(|limit| {
            let whose = format!("Profile of {system}:");
            Text::from_iter([of_class("v", whose), words(format!(" {limit}."))])
        });
        blocks.extend(Block::prose("", limits));
    }
    blocks
}

const PARTS: [&str; 3] = ["", "change", "base → system"];

/// Functions of serving threads, and of other threads unless these use next to no CPU time; instructions and cycles, if
/// the processor counts them; and waits.
fn tables(
    study: &JudgedStudy,
    system: &str,
    cell: &CellJudgement,
    profile: &ProfileChange,
) -> Vec<Table> {
    let mut tables = Vec::new();
    let most = |all: &[FunctionChange]| {
        let sum =
            |part: fn(&QuantityChange) -> f64| all.iter().map(|it| part(&it.changed)).sum::<f64>();
        sum(|it| it.before).max(sum(|it| it.after))
    };
    let is_busy = most(&profile.background) > BACKGROUND_MIN * most(&profile.serving);
    let change = cell.change.as_ref().filter(|_| profile.adds_up);
    let serving_cpu = change.and_then(|change| {
        let found = change.terms.iter().find(|(term, _)| *term == TimeTerm::ServerCpu);
        found.map(|(_, changed)| *changed)
    });
    let background_cpu = change.and_then(|it| it.background_cpu);
    let mut threads = vec![("serving threads", functions(&profile.serving, serving_cpu))];
    if is_busy {
        threads.push(("other threads", functions(&profile.background, background_cpu)));
    }
    for (title, lines) in threads {
        let caption = format!(
            "{system}: change of the CPU time per operation of {title}, µs [95% of sampling], by function, without \
             what it calls"
        );
        let table = account::table(&lines, PARTS);
        tables.push(table.small("figures account functions", caption));
    }
    if let Some(processor) = &profile.processor {
        let row = |name: &'static str, changed: &QuantityChange, digits: usize| {
            let share = format!("{:.digits$} → {:.digits$}", changed.before, changed.after);
            row_with_digits(name, changed, share, digits)
        };
        let lines = [
            row("instructions per operation", &processor.instructions, 0),
            row("cycles per instruction", &processor.cycles, 3),
        ];
        let caption = format!("{system}: instructions and cycles of serving threads [95%]");
        tables.push(account::table(&lines, PARTS).small("figures account", caption));
    }
    let mut waits = profile.waits.iter().flatten().peekable();
    if waits.peek().is_some() {
        let caption = format!(
            "{system}: what serving threads wait for, µs per operation while they were sampled; without intervals. \
             Waiting for a CPU includes the time in which the client runs on it."
        );
        let columns = ["", study.base_label(), system].map(Column::words).to_vec();
        let us = |value: f64| format!("{value:.2}");
        let rows = waits.map(|(wait, changed)| {
            Row::new([wait.word().to_owned(), us(changed.before), us(changed.after)])
        });
        tables.push(Table::new(columns, rows).small("figures account", caption));
    }
    tables
}

fn functions(all: &[FunctionChange], whole: Option<QuantityChange>) -> Vec<AccountRow> {
    let certain = all.iter().filter(|it| it.is_certain).count();
    let shown = certain.clamp(FUNCTIONS_LEAST, FUNCTIONS).min(all.len());
    // Certain changes first; both parts keep their order.
    let (first, rest): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.is_certain);
    let ordered: Vec<&FunctionChange> = first.into_iter().chain(rest).collect();
    let (named, others) = ordered.split_at(shown);
    let mut rows: Vec<AccountRow> = named
        .iter()
        .map(|it| {
            let name = match &it.function {
                Some(function) if it.module == KERNEL => format!("{function} (kernel)"),
                Some(function) => function.clone(),
                None if it.module == KERNEL => "the kernel".to_owned(),
                None => format!("functions of {} without a name", it.module),
            };
            let share = format!("{:.2} → {:.2}", it.changed.before, it.changed.after);
            AccountRow { is_certain: it.is_certain, ..row(name, &it.changed, share) }
        })
        .collect();
    if let Some(sum) = summed(others) {
        rows.push(row(format!("{} other functions", others.len()), &sum, String::new()));
    }
    let whole = whole.or_else(|| summed(&ordered));
    rows.extend(whole.map(|whole| {
        let share = format!("{:.2} → {:.2}", whole.before, whole.after);
        row("all of them", &whole, share)
    }));
    rows
}

/// The sum has no known interval: the shares depend on each other.
fn summed(all: &[&FunctionChange]) -> Option<QuantityChange> {
    let sum =
        |part: fn(&QuantityChange) -> f64| all.iter().map(|it| part(&it.changed)).sum::<f64>();
    let (before, after) = (sum(|it| it.before), sum(|it| it.after));
    let by = Estimate::without_interval(after - before);
    (!all.is_empty()).then_some(QuantityChange { before, after, by })
}

/// A drawing of calls.
pub(super) struct Calls {
    pub(super) drawing: String,
    /// Whether colours show the change against the base.
    pub(super) is_compared: bool,
}

impl Calls {
    /// With the meanings of amber and of blue boxes.
    pub(super) fn block(
        self,
        study: &JudgedStudy,
        heading: &str,
        [more, less]: [&str; 2],
    ) -> Block<'static> {
        let base = study.base_label();
        let colours = match self.is_compared {
            true => format!(": amber boxes take {more} than in {base}, blue ones {less}"),
            false => String::new(),
        };
        let figure = Figure { svg: self.drawing, ..Figure::default() };
        Block::Section(Section {
            class: "calls",
            blocks: vec![Block::Figures("", vec![figure])],
            ..Section::new(format!("{heading}{colours}"), Fold::Closed)
        })
    }
}

fn find_profile<'a>(study: &'a JudgedStudy, cell: CellId, system: usize) -> Option<&'a Profile> {
    let mut all = study.record.profiles.iter();
    all.find(|it| it.cell == cell && it.system == system).map(|it| &it.profile)
}

fn with_samples<'a>(study: &'a JudgedStudy, cell: CellId, system: usize) -> Option<&'a Profile> {
    find_profile(study, cell, system).filter(|it| it.serving.total() > 0)
}

/// CPU time per operation of the calls of a cell; 0 without samples.
fn sampled_us(study: &JudgedStudy, cell: &CellJudgement) -> f64 {
    let Some(profile) = with_samples(study, cell.cell, cell.system) else { return 0.0 };
    let measured = cell.per_op.and_then(|per_op| {
        let cpu_us = per_op.get("server_cpu_us")?;
        // Without samples of the kernel, the calls have only the user part.
        let part = if profile.limits.no_kernel { per_op.user_part()? } else { 1.0 };
        Some(part * cpu_us)
    });
    measured.unwrap_or_else(|| profile.sampled_us(&profile.serving))
}

/// `None` without samples.
fn calls(study: &JudgedStudy, cell: &CellJudgement) -> Option<Calls> {
    let mine = with_samples(study, cell.cell, cell.system)?;
    let base = with_samples(study, cell.cell, study.base).filter(|_| cell.system != study.base);
    let base = base.filter(|base| are_comparable(base, mine));
    let [modules_of_base, modules] = Modules::from_profiles(base.unwrap_or(mine), mine);
    let base = base.map(|base| Side {
        tree: &base.serving,
        modules: &modules_of_base,
        per_op: study
            .cell(cell.cell, study.base)
            .map_or_else(|| base.sampled_us(&base.serving), |judged| sampled_us(study, judged)),
    });
    let per_op = sampled_us(study, cell);
    let here = Side { tree: &mine.serving, modules: &modules, per_op };
    let drawing = flame::graph(study.label(cell.system), Cost::CpuTime, here, base)?;
    Some(Calls { drawing, is_compared: base.is_some() })
}

fn limits(study: &JudgedStudy, cell: &CellJudgement) -> Vec<String> {
    let Some(profile) = find_profile(study, cell.cell, cell.system) else { return Vec::new() };
    let limits = &profile.limits;
    let samples = profile.serving.total().saturating_add(profile.background.total());
    let part = |count: u64, all: u64| 100.0 * count as f64 / all.max(count).max(1) as f64;
    let mut said = Vec::new();
    if !limits.stripped.is_empty() {
        said.push(format!(
            "these files name only some of their functions: {}; with their debug symbols installed, or \
             DEBUGINFOD_URLS set, the next profile names all",
            limits.stripped.join(", ")
        ));
    }
    if limits.no_kernel {
        let what = "the kernel did not show its own functions and waits, so what it takes is known \
                    only as a whole (root, or `kernel.perf_event_paranoid` of 1, permits it)";
        said.push(what.to_owned());
    }
    if limits.unnamed_kernel {
        let what = "the kernel hides the names of its functions (`kernel.kptr_restrict`), so waits are unknown";
        said.push(what.to_owned());
    }
    let lost = part(limits.lost, samples.saturating_add(limits.lost));
    if lost >= 1.0 {
        said.push(format!("{lost:.0}% of the samples were lost"));
    }
    // A serving thread waits at least once per operation, which makes two records.
    let switches = 2.0 * profile.waits.as_ref().map_or(0.0, |it| it.ops);
    if limits.lost_waits > 0 && limits.lost_waits as f64 >= LOST_WAITS * switches {
        said.push("records of waits were lost, so threads wait longer than is told".to_owned());
    }
    let broken = part(limits.broken, samples);
    if broken >= 5.0 {
        said.push(format!("{broken:.0}% of the stacks are not complete"));
    }
    let unmatched = cell.profile.as_ref().and_then(|it| unmatched(&it.serving));
    said.extend(unmatched);
    let base = find_profile(study, cell.cell, study.base);
    if let Some(base) = base.filter(|base| !are_comparable(base, profile)) {
        let why = match base.limits.no_kernel == limits.no_kernel {
            true => "no operation ended while one of them was sampled",
            false => "the kernel showed its own functions in one of them only",
        };
        said.push(format!("it is not compared with that of the base: {why}"));
    }
    said
}

/// Functions that only one of both versions has, as far as samples show.
fn unmatched(all: &[FunctionChange]) -> Option<String> {
    let only = |is_absent: fn(&QuantityChange) -> bool, which: &str| {
        let found = all.iter().filter(|it| it.is_certain && is_absent(&it.changed));
        let mut names = found.filter_map(|it| it.function.as_deref());
        let first: Vec<&str> = names.by_ref().take(UNMATCHED).collect();
        let more = if names.next().is_some() { ", ..." } else { "" };
        (!first.is_empty())
            .then(|| format!("only {which} has samples of {}{more}", first.join(", ")))
    };
    let new = only(|it| it.before == 0.0, "this system");
    let gone = only(|it| it.after == 0.0, "the base");
    let message: Vec<String> = [new, gone].into_iter().flatten().collect();
    let what = "such functions are new, gone, renamed or inlined elsewhere";
    (!message.is_empty()).then(|| format!("{}: {what}", message.join(" and ")))
}
