//! Page of a search. Pure, except for reading counts and profiles of two studies.

use std::collections::BTreeSet;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{CellCount, CellProfile, Estimate, Setup, StudyRecord};
use assay_plan::{Request, SystemRequest, parse_system};
use assay_verdict::{CountChange, PlanFindings, TimeTerm};

use super::decisions::{BisectAnswer, BisectEnd, BisectStep};
use super::page::{
    Bisection, ChangedFunctions, FunctionUnit, RangeEnd, SearchedRange, SearchedVersion,
    VersionStep,
};
use super::search::{
    ComparedRange, SearchTerms, VersionComparison, VersionSearch, largest, pooled, ratio,
};
use assay_run::study_records;

const FUNCTIONS: usize = 8;

pub(super) fn bisection(
    search: &VersionSearch,
    is_interrupted: bool,
    functions: Functions,
) -> Bisection<'_> {
    let last = search.ranges.len() - 1;
    let ranges = search.ranges.iter().enumerate();
    let ranges = ranges.map(|(at, compared)| {
        if at == last {
            range(compared, search.terms(), is_interrupted)
        } else {
            range(compared, search.terms, false)
        }
    });
    let ranges: Vec<SearchedRange> = ranges.collect();
    let built = search.ranges.iter().map(built).sum();
    let mut commands = Vec::new();
    if let Some(step) = ranges[last].largest() {
        let system = |at: usize| SystemRequest::parse(&ranges[last].versions[at].version.words);
        let systems = [step.after, step.at].map(system).to_vec();
        let study = assay_plan::write_study(&Request { systems, ..search.request.clone() });
        let command = study.lines().next().and_then(|line| line.strip_prefix("# "));
        let command = command.filter(|command| command.starts_with("assay "));
        commands.extend(command.map(|it| ("the two versions side by side", it.to_owned())));
    }
    if let Some(study) = functions.study {
        commands.push(("the comparison that has the change", format!("assay report {study}")));
    }
    Bisection {
        id: &search.id,
        range: &search.words,
        test: search.test(),
        setup: functions.setup.unwrap_or(Setup { clients: 1, tables: 1, rows: 1 }),
        measure: search.terms.measure,
        is_of_commits: search.terms.is_of_commits,
        ranges,
        comparisons: search.comparisons() as u32,
        builds: if search.terms.is_of_commits { built } else { 0 },
        elapsed_s: search.spent_s,
        functions: functions.changes,
        plan: functions.plan,
        commands,
    }
}

fn built(range: &ComparedRange) -> u32 {
    let tried = (0..range.versions.len())
        .filter(|at| range.has_run(*at) || range.why_unusable(*at).is_some());
    tried.count() as u32
}

fn range(range: &ComparedRange, terms: SearchTerms, is_interrupted: bool) -> SearchedRange {
    let answer = range.next(terms).break_value().or_else(|| range.so_far(terms));
    let end = match answer.as_ref().map(|answer| answer.end) {
        _ if is_interrupted => RangeEnd::Interrupted,
        Some(BisectEnd::Found) => RangeEnd::Found,
        Some(BisectEnd::NoStep) => RangeEnd::NoStep,
        Some(BisectEnd::TooNoisy) => RangeEnd::TooNoisy,
        Some(BisectEnd::Budget) if range.compared.len() >= terms.comparisons_max as usize => {
            RangeEnd::Budget
        }
        Some(BisectEnd::Budget) => RangeEnd::Unsure,
        Some(BisectEnd::NothingToCompare) | None => RangeEnd::Nothing,
    };
    let comparisons = |at: usize| range.compared.iter().filter(move |it| it.version == at);
    let log_ratio_of = |version: usize| {
        if version == range.base() { Some((0.0, 0.0)) } else { log_ratio(comparisons(version)) }
    };
    // Direct counts of two versions describe the change between them better than the mean of all versions.
    let direct = |it: &BisectStep| {
        let (after, at) =
            log_ratio_of(it.after).zip(log_ratio_of(it.at)).filter(|_| terms.is_exact())?;
        let source = range.source(terms, it.after, it.at);
        Some(ratio((at.0 - after.0, at.1.hypot(after.1).hypot(source))))
    };
    let step = |it: &BisectStep| VersionStep {
        after: it.after,
        at: it.at,
        probability: it.probability,
        ratio: direct(it).unwrap_or(it.ratio),
    };
    let steps = |list: fn(&BisectAnswer) -> &Vec<BisectStep>| {
        answer.iter().flat_map(|it| list(it).iter().map(step)).collect()
    };
    let versions = range.versions.iter().enumerate().map(|(at, version)| {
        let own = || comparisons(at);
        let posterior = answer.as_ref().and_then(|it| it.posterior.get(at));
        let series =
            parse_system(&version.words).map(|spec| spec.product.series(&version.name).to_owned());
        SearchedVersion {
            version: version.clone(),
            series: series.unwrap_or_default(),
            ratio: match at == range.base() && range.has_run(at) {
                true => Some(Estimate::without_interval(1.0)),
                false => {
                    let bound = own().map(|it| it.ratio).find(|it| it.is_bound());
                    bound.or_else(|| log_ratio(own()).map(ratio))
                }
            },
            comparisons: own().count() as u32,
            probability: posterior.copied().unwrap_or(0.0),
            unusable: range.why_unusable(at).map(str::to_owned),
            source: range.maker(at).map(str::to_owned),
        }
    });
    let versions: Vec<SearchedVersion> = versions.collect();
    let versions = if terms.is_of_commits { of_commits(versions) } else { versions };
    SearchedRange {
        end,
        versions,
        steps: steps(|it| &it.steps),
        runners_up: steps(|it| &it.runners_up),
        ends: answer.as_ref().map_or(Estimate::without_interval(1.0), |it| it.ends),
        no_step: answer.as_ref().map_or(1.0, |it| it.no_step),
        several: answer.as_ref().map_or(0.0, |it| it.several),
    }
}

/// Commits belong to no series, and have one compiler, unless some do not build with it.
fn of_commits(versions: Vec<SearchedVersion>) -> Vec<SearchedVersion> {
    let compilers = versions.iter().filter_map(|it| it.source.as_ref()).collect::<BTreeSet<_>>();
    let is_alike = compilers.len() < 2;
    let of_commit = |it: SearchedVersion| SearchedVersion {
        series: String::new(),
        source: it.source.filter(|_| !is_alike),
        ..it
    };
    versions.into_iter().map(of_commit).collect()
}

/// Combined log ratio of all comparisons of a version, with its standard error.
fn log_ratio<'a>(compared: impl Iterator<Item = &'a VersionComparison>) -> Option<(f64, f64)> {
    pooled(&compared.map(VersionComparison::believed).collect::<Vec<_>>())
}

#[derive(Default)]
pub(super) struct Functions {
    /// Study of the version that has the change.
    study: Option<String>,
    setup: Option<Setup>,
    changes: Option<ChangedFunctions>,
    plan: Option<[String; 2]>,
}

/// Functions that changed at the step: compares counts or profiles of the versions at and before it.
pub(super) fn functions(search: &VersionSearch, ledger: &Ledger) -> Result<Functions> {
    let first = search.ranges.iter().flat_map(|it| &it.compared).next();
    let Some(first) = first else { return Ok(Functions::default()) };
    let setup = ledger.read(&first.study)?.study.setups.first().copied();
    let none = Functions { setup, ..Functions::default() };
    let range = search.range();
    let answer = range.next(search.terms()).break_value();
    let Some(step) = answer.as_ref().and_then(largest) else { return Ok(none) };
    let study_of = |version: usize| range.compared.iter().rev().find(|it| it.version == version);
    let Some(at) = study_of(step.at) else { return Ok(none) };
    let record = study_records::read(ledger, &at.study)?;
    let study = Some(at.study.clone());
    if step.after == at.base {
        return Ok(Functions { study, changes: changes(&record), plan: plans(&record), ..none });
    }
    let Some(after) = study_of(step.after) else { return Ok(none) };
    let after = study_records::read(ledger, &after.study)?;
    let plan = plan_of_step(plans(&after), plans(&record));
    Ok(Functions { study, changes: changes(&beside(record, after)), plan, ..none })
}

fn plans(record: &StudyRecord) -> Option<[String; 2]> {
    let cell = record.study.cells.first()?.id;
    let plans = PlanFindings::new(&record.audit).pair(cell, [0, 1])?;
    Some(plans.map(str::to_owned))
}

fn plan_of_step<P: PartialEq>(after: Option<[P; 2]>, at: Option<[P; 2]>) -> Option<[P; 2]> {
    match (after, at) {
        (None, at) => at,
        (Some([base, before]), None) => Some([before, base]),
        (Some([_, before]), Some([_, now])) => (before != now).then_some([before, now]),
    }
}

/// The other system of the first study, with the other one of the second study as its base.
fn beside(mut record: StudyRecord, base: StudyRecord) -> StudyRecord {
    let times = [&base, &record].map(cpu_us);
    // The base was measured beside another version.
    record.slices.clear();
    record.profiles = profiles_beside([base.profiles, record.profiles], times);
    record.counts.retain(|count| count.system == 1);
    let of_base = base.counts.into_iter().filter(|count| count.system == 1);
    record.counts.extend(of_base.map(|count| CellCount { system: 0, ..count }));
    if let Some(system) = base.systems.into_iter().nth(1)
        && let Some(place) = record.systems.first_mut()
    {
        *place = assay_model::System { is_base: true, ..system };
    }
    record
}

/// CPU time per operation, microseconds, by system. It was measured without sampling.
fn cpu_us(record: &StudyRecord) -> Option<[f64; 2]> {
    let judgement = assay_verdict::judge(record);
    let change = judgement.cells.iter().find(|cell| cell.system == 1)?.change.as_ref()?;
    let (_, cpu) = change.terms.iter().find(|(term, _)| *term == TimeTerm::ServerCpu)?;
    if !record.profiles.iter().any(|it| it.profile.limits.no_kernel) {
        return Some([cpu.before, cpu.after]);
    }
    let unseen = change.kernel_cpu?;
    Some([cpu.before - unseen.before, cpu.after - unseen.after])
}

/// Profiles of the other systems of two studies, with that of the first study as base. As in a report, they add up to
/// the times measured without sampling; empty if these are unknown. The times of the first version, which both studies
/// measured, cancel out different speeds of the machine.
fn profiles_beside(
    studies: [Vec<CellProfile>; 2],
    times: [Option<[f64; 2]>; 2],
) -> Vec<CellProfile> {
    let [Some([first, before]), Some([first_now, after])] = times else { return Vec::new() };
    let wanted = [before * first_now / first, after];
    if !wanted.iter().all(|us| us.is_finite() && *us > 0.0) {
        return Vec::new();
    }
    let scaled = |((system, profiles), us): ((usize, Vec<CellProfile>), f64)| {
        let others = profiles.into_iter().filter(|it| it.system == 1);
        others.map(move |CellProfile { cell, mut profile, .. }| {
            let sampled = profile.sampled_us(&profile.serving);
            profile.ops *= sampled / us;
            CellProfile { system, cell, profile }
        })
    };
    studies.into_iter().enumerate().zip(wanted).flat_map(scaled).collect()
}

fn changes(record: &StudyRecord) -> Option<ChangedFunctions> {
    let judgement = assay_verdict::judge(record);
    let changed =
        |unit, changes: Vec<_>| (!changes.is_empty()).then_some(ChangedFunctions { unit, changes });
    let cells = || judgement.cells.iter().filter(|cell| cell.system == 1);
    let named = |function: &Option<String>, module: &str| {
        function.clone().unwrap_or_else(|| format!("other functions of {module}"))
    };
    if let Some(counted) = cells().find_map(|cell| cell.count.as_ref()?.functions.as_ref()) {
        let all = counted.denominator() as f64;
        let change = |change: &CountChange| {
            let names =
                change.functions.iter().map(|counts| match (&counts.function, &counts.caller) {
                    (None, Some(caller)) => {
                        format!("functions of {} called from {caller}", counts.module)
                    }
                    (function, _) => named(function, &counts.module),
                });
            let by = Estimate::without_interval(change.by as f64 / all);
            (names.take(2).collect::<Vec<_>>().join(", "), by)
        };
        let changes = counted.changes.iter().map(change).filter(|(_, by)| by.value.abs() >= 1.0);
        return changed(FunctionUnit::Instructions, changes.take(FUNCTIONS).collect());
    }
    let profile = cells().find_map(|cell| cell.profile.as_ref())?;
    let changes = profile.causes().map(|it| (named(&it.function, &it.module), it.changed.by));
    changed(FunctionUnit::CpuMicroseconds, changes.take(FUNCTIONS).collect())
}

#[cfg(test)]
mod tests {
    use assay_model::{CallTree, CellId, Profile, ProfileLimits, StackFrame};

    use super::*;

    /// The machine took half as long again in the study of the version before the change.
    #[test]
    fn profiles_of_two_studies_are_compared_as_if_the_machine_was_equally_fast() {
        let tests = assay_workloads::tests_of(assay_model::TestSet::Set32);
        let cell = CellId { test: tests[0], setup: Setup { clients: 1, tables: 1, rows: 1000 } };
        let profile = |system: usize, samples: u64| {
            let frames =
                vec![StackFrame { function: "read".to_owned(), module: "server".to_owned() }];
            let profile = Profile {
                frequency: 1000,
                ops: 1e4,
                server: "server".to_owned(),
                serving: CallTree { frames, nodes: vec![(0, 0, samples).into()] },
                dispersion: 1.0,
                background: CallTree::default(),
                waits: None,
                processor: Vec::new(),
                limits: ProfileLimits::default(),
            };
            CellProfile { system, cell, profile }
        };
        let studies =
            || [vec![profile(0, 1500), profile(1, 1300)], vec![profile(0, 1000), profile(1, 750)]];
        let found = |times| {
            let beside = profiles_beside(studies(), times);
            let us = |it: &CellProfile| it.profile.sampled_us(&it.profile.serving).round();
            beside.iter().map(|it| (it.system, us(it))).collect::<Vec<_>>()
        };
        let times = [Some([150.0, 120.0]), Some([100.0, 70.0])];
        assert_eq!(found(times), [(0, 80.0), (1, 70.0)]);
        // If one time is unknown, samples of two studies are not comparable.
        assert_eq!(found([None, Some([100.0, 70.0])]), []);
        assert_eq!(found([Some([150.0, -1.0]), Some([100.0, 70.0])]), []);
    }

    #[test]
    fn the_plan_of_a_step_is_that_of_its_versions() {
        let plan = plan_of_step;
        assert_eq!(plan(None, Some(["index", "table"])), Some(["index", "table"]));
        assert_eq!(plan(Some(["index", "table"]), None), Some(["table", "index"]));
        assert_eq!(plan(Some(["index", "table"]), Some(["index", "table"])), None);
        assert_eq!(
            plan(Some(["index", "table"]), Some(["index", "both"])),
            Some(["table", "both"])
        );
        assert_eq!(plan(None, None), None);
    }
}
