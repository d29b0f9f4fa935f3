//! Profiles of a test: the functions whose CPU time changed, what threads wait for, and a drawing of all calls.

use assay_model::CallTree;
use assay_verdict::{CellJudgement, Changed, FunctionChange, Term};

use super::account::{AccountRow, row};
use super::study::JudgedStudy;
use crate::charts::flame;

/// The most functions of a table.
const FUNCTIONS: usize = 12;

/// Functions that are shown even if none changed for certain.
const FUNCTIONS_LEAST: usize = 4;

/// What the profiles of a system and of the base say.
pub(crate) struct ProfileRows {
    /// Functions of serving threads, and of other threads unless these use next to no CPU time: the functions, then the
    /// rest, then the whole.
    pub(crate) tables: Vec<(&'static str, Vec<AccountRow>)>,
    /// What serving threads wait for: µs per operation of the base and of the system.
    pub(crate) waits: Vec<(&'static str, [String; 2])>,
    /// Instructions per operation and cycles per instruction, if the processor counts them.
    pub(crate) processor: Vec<AccountRow>,
}

/// Other threads with less CPU time than this part of that of the serving threads are left out.
const BACKGROUND_MIN: f64 = 0.05;

/// What the profiles say of a system; `None` without them.
pub(crate) fn rows(cell: &CellJudgement) -> Option<ProfileRows> {
    let profile = cell.profile.as_ref()?;
    let most = |all: &[FunctionChange]| {
        let sum = |of: fn(&Changed) -> f64| all.iter().map(|it| of(&it.changed)).sum::<f64>();
        sum(|it| it.before).max(sum(|it| it.after))
    };
    let is_busy = most(&profile.background) > BACKGROUND_MIN * most(&profile.serving);
    // What was not sampled is no part of these tables.
    let change = cell.change.as_ref().filter(|_| profile.has_kernel);
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
            let signed = |value: f64| format!("{value:+.digits$}").replace('-', "−");
            let Changed { before, after, by } = changed;
            AccountRow {
                name: name.into(),
                by: format!("{} [{}, {}]", signed(by.value), signed(by.low), signed(by.high)),
                share: format!("{before:.digits$} → {after:.digits$}"),
                is_certain: changed.is_certain(),
            }
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
    // Those of which it is certain first; both parts keep their order.
    let (first, rest): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.is_certain);
    let ordered: Vec<&FunctionChange> = first.into_iter().chain(rest).collect();
    let (named, others) = ordered.split_at(shown);
    let mut rows: Vec<AccountRow> = named
        .iter()
        .map(|it| {
            let name = match &it.function {
                Some(function) if it.module == "[kernel]" => format!("{function} (kernel)"),
                Some(function) => function.clone(),
                None => format!("functions of {} that have no name everywhere", it.module),
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

/// The sum of several functions, whose interval is unknown: their shares depend on each other.
fn summed(all: &[&FunctionChange]) -> Option<Changed> {
    let sum = |of: fn(&Changed) -> f64| all.iter().map(|it| of(&it.changed)).sum::<f64>();
    let (before, after) = (sum(|it| it.before), sum(|it| it.after));
    let by = assay_model::Estimate::without_interval(after - before);
    (!all.is_empty()).then_some(Changed { before, after, by })
}

/// What could not be seen in the profiles of a cell, in sentences.
pub(crate) fn limits(study: &JudgedStudy, cell: &CellJudgement) -> Vec<String> {
    let profile = study.record.profiles.iter();
    let mut profile = profile.filter(|it| it.cell == cell.cell && it.system == cell.system);
    let Some(profile) = profile.next().map(|it| &it.profile) else { return Vec::new() };
    let limits = &profile.limits;
    let samples = profile.serving.total() + profile.background.total();
    let part = |count: u64| 100.0 * count as f64 / (samples + count).max(1) as f64;
    let mut said = Vec::new();
    if !limits.stripped.is_empty() {
        said.push(format!(
            "{} tell the names of only some functions: install their debug symbols or set DEBUGINFOD_URLS, and \
             the next profile has all",
            limits.stripped.join(", ")
        ));
    }
    if limits.no_kernel {
        let what = "the kernel did not show its own functions and waits, so the times are those of the server's code";
        said.push(what.to_owned());
    }
    if limits.unnamed_kernel {
        let what = "the kernel hides the names of its functions (`kernel.kptr_restrict`), so waits are unknown";
        said.push(what.to_owned());
    }
    if part(limits.lost) >= 1.0 {
        said.push(format!("{:.0} % of the samples were lost", part(limits.lost)));
    }
    let broken = 100.0 * limits.broken as f64 / samples.max(1) as f64;
    if broken >= 5.0 {
        said.push(format!("{broken:.0} % of the stacks are not complete"));
    }
    said
}

/// The calls of the serving threads of a system, drawn; `None` without a profile.
pub(crate) fn calls(study: &JudgedStudy, cell: &CellJudgement) -> Option<String> {
    let of = |system: usize| {
        let mut all = study.record.profiles.iter();
        all.find(|it| it.cell == cell.cell && it.system == system).map(|it| &it.profile)
    };
    let mine = of(cell.system)?;
    let cpu_us = |system: usize, tree: &CallTree| {
        let judged = study.cell(cell.cell, system)?;
        let server = judged.per_op?.server?;
        (tree.total() > 0).then_some(server.cpu_us)
    };
    let label = study.label(cell.system);
    let here = (&mine.serving, cpu_us(cell.system, &mine.serving)?);
    let base = of(study.base).filter(|_| cell.system != study.base);
    let base = base.and_then(|base| Some((&base.serving, cpu_us(study.base, &base.serving)?)));
    flame::graph(label, here, base)
}
