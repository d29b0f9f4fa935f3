//! Profiles of a test: functions with changed CPU time, waits of threads, and a drawing of all calls.

use assay_model::{CellId, KERNEL, Profile};
use assay_verdict::{CellJudgement, Changed, FunctionChange, Modules, Term, are_comparable};

use super::account::{AccountRow, row, row_with_digits};
use super::study::JudgedStudy;
use crate::charts::flame::{self, Cost, Side};

const FUNCTIONS: usize = 12;

/// Functions shown even if none changed for certain.
const FUNCTIONS_LEAST: usize = 4;

pub(crate) struct ProfileRows {
    /// Functions of serving threads, and of other threads unless these use next to no CPU time: the functions, then the
    /// rest, then the whole.
    pub(crate) tables: Vec<(&'static str, Vec<AccountRow>)>,
    /// Waits of serving threads: µs per operation of the base and of the system.
    pub(crate) waits: Vec<(&'static str, [String; 2])>,
    /// Instructions per operation and cycles per instruction, if the processor counts them.
    pub(crate) processor: Vec<AccountRow>,
}

/// Minimum CPU time of other threads to be shown, relative to the serving threads.
const BACKGROUND_MIN: f64 = 0.05;

const UNMATCHED: usize = 3;

/// Share of lost records above which waits are incomplete.
const LOST_WAITS: f64 = 0.01;

/// `None` without profiles.
pub(crate) fn rows(cell: &CellJudgement) -> Option<ProfileRows> {
    let profile = cell.profile.as_ref()?;
    let most = |all: &[FunctionChange]| {
        let sum = |of: fn(&Changed) -> f64| all.iter().map(|it| of(&it.changed)).sum::<f64>();
        sum(|it| it.before).max(sum(|it| it.after))
    };
    let is_busy = most(&profile.background) > BACKGROUND_MIN * most(&profile.serving);
    let change = cell.change.as_ref().filter(|_| profile.adds_up);
    let whole = |term: Term| {
        let found = change?.terms.iter().find(|(it, _)| *it == term);
        found.map(|(_, changed)| *changed)
    };
    let background_cpu = change.and_then(|it| it.background_cpu);
    let waits = profile.waits.iter().flatten().map(|(wait, changed)| {
        let us = |value: f64| format!("{value:.2}");
        (wait.word(), [us(changed.before), us(changed.after)])
    });
    let serving = functions(&profile.serving, whole(Term::ServerCpu));
    let mut tables = vec![("serving threads", serving)];
    if is_busy {
        tables.push(("other threads", functions(&profile.background, background_cpu)));
    }
    let processor = profile.processor.iter().flat_map(|it| {
        let of = |name: &'static str, changed: &Changed, digits: usize| {
            let share = format!("{:.digits$} → {:.digits$}", changed.before, changed.after);
            row_with_digits(name, changed, share, digits)
        };
        [
            of("instructions per operation", &it.instructions, 0),
            of("cycles per instruction", &it.cycles, 3),
        ]
    });
    Some(ProfileRows { tables, waits: waits.collect(), processor: processor.collect() })
}

fn functions(all: &[FunctionChange], whole: Option<Changed>) -> Vec<AccountRow> {
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
fn summed(all: &[&FunctionChange]) -> Option<Changed> {
    let sum = |of: fn(&Changed) -> f64| all.iter().map(|it| of(&it.changed)).sum::<f64>();
    let (before, after) = (sum(|it| it.before), sum(|it| it.after));
    let by = assay_model::Estimate::without_interval(after - before);
    (!all.is_empty()).then_some(Changed { before, after, by })
}

pub(crate) struct Calls {
    pub(crate) drawing: String,
    /// Whether colours show the change against the base.
    pub(crate) is_compared: bool,
}

fn of<'a>(study: &'a JudgedStudy, cell: CellId, system: usize) -> Option<&'a Profile> {
    let mut all = study.record.profiles.iter();
    all.find(|it| it.cell == cell && it.system == system).map(|it| &it.profile)
}

/// `None` without samples.
pub(crate) fn calls(study: &JudgedStudy, cell: &CellJudgement) -> Option<Calls> {
    let has_samples = |it: &&Profile| it.serving.total() > 0;
    let mine = of(study, cell.cell, cell.system).filter(has_samples)?;
    let base = of(study, cell.cell, study.base).filter(|_| cell.system != study.base);
    let base = base.filter(has_samples).filter(|base| are_comparable(base, mine));
    let [modules_of_base, modules] = Modules::of(base.unwrap_or(mine), mine);
    let cpu_us = |system: usize, profile: &Profile| {
        let per_op = study.cell(cell.cell, system).and_then(|cell| cell.per_op);
        let measured = per_op.and_then(|per_op| {
            let cpu_us = per_op.get("server_cpu_us")?;
            // Without samples of the kernel, the calls have only the user part.
            let part = if profile.limits.no_kernel { per_op.user_part()? } else { 1.0 };
            Some(part * cpu_us)
        });
        measured.unwrap_or_else(|| profile.sampled_us(&profile.serving))
    };
    let side = |system, profile, modules| {
        let per_op = cpu_us(system, profile);
        Side { tree: &profile.serving, modules, per_op }
    };
    let base = base.map(|base| side(study.base, base, &modules_of_base));
    let here = side(cell.system, mine, &modules);
    let drawing = flame::graph(study.label(cell.system), Cost::CpuTime, here, base)?;
    Some(Calls { drawing, is_compared: base.is_some() })
}

pub(crate) fn limits(study: &JudgedStudy, cell: &CellJudgement) -> Vec<String> {
    let Some(profile) = of(study, cell.cell, cell.system) else { return Vec::new() };
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
    let base = of(study, cell.cell, study.base);
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
    let only = |is_absent: fn(&Changed) -> bool, which: &str| {
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
