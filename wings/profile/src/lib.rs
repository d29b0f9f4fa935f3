//! Profiles of the systems, taken after a study on separate instances.

mod error;
mod rings;
mod sampler;
mod sampling;
mod space;
mod threads;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use assay_command::stacks::NONE_CHANGED;
use assay_model::{
    CellId, PlannedCell, Preset, Profile, Profiling, StudyDocument as _, StudyDocuments,
    StudyRecord, Test, Verdict, counted,
};
use assay_plan::{PlanError, Request};
use assay_run::study::afterwards::{Afterwards, StudyExecutor};
use assay_run::study_records::DocumentCheck;
use assay_study::Phase;
use assay_verdict::CellJudgement;

pub use error::ProfileError;
pub use sampler::{ServerProfile, StackSampler};
use sampling::{PARTS, Sampling};

/// `--profile`. The report has its section, because profiles are among the causes of changes.
#[derive(Debug, Clone, Copy)]
pub struct Profiles;

impl Afterwards for Profiles {
    fn name(&self) -> &'static str {
        Profile::NAME
    }

    fn words(&self) -> &'static str {
        "profiles"
    }

    fn is_wanted(&self, request: &Request) -> bool {
        request.profile != Profiling::None
    }

    fn check(&self, request: &Request) -> Result<(), PlanError> {
        if request.insert_bench.is_none() && request.preset == Preset::Published {
            return Err(PlanError::Conflict("`--profile` does not work with preset `published`"));
        }
        Ok(())
    }

    fn not_done(&self, test: Test) -> String {
        format!("no profile of {}", test.name)
    }

    fn check_of_documents(&self) -> DocumentCheck {
        StudyDocuments::check::<Profile>
    }

    fn perform(&self, executor: &mut StudyExecutor<'_, '_>) -> Result<()> {
        let known: BTreeSet<CellId> =
            executor.known::<Profile>()?.into_iter().map(|(_, cell, _)| cell).collect();
        let wanted = executor.request().profile;
        let mut phases: BTreeMap<Phase, Vec<PlannedCell>> = BTreeMap::new();
        for cell in cells(&executor.record_to_judge(), wanted) {
            if !known.contains(&cell.id) {
                phases.entry(Phase::new(cell.id)).or_default().push(cell);
            }
        }
        let progress = executor.environment().progress;
        let count = phases.values().map(Vec::len).sum::<usize>() as u64;
        if count == 0 {
            if wanted == Profiling::Changed && known.is_empty() {
                progress.note(NONE_CHANGED);
            }
            return Ok(());
        }
        let each = sampling::seconds() * executor.participants().len() as f64;
        progress.note(&format!(
            "taking profiles of {}, about {:.0} s{}",
            counted(count, "test"),
            each,
            if count > 1 { " each" } else { "" },
        ));
        executor.load_once()?;
        let mut prevented: Option<(Scope, String)> = None;
        for (phase, cells) in phases {
            prevented = prevented.filter(|(scope, _)| *scope == Scope::Study);
            for cell in &cells {
                if prevented.is_none() {
                    prevented = profile_apart(executor, phase, cell)?;
                }
                if let Some((_, why)) = &prevented {
                    executor.note_not_done(self, cell.id, why.clone())?;
                }
                prevented = prevented.filter(|(scope, _)| *scope != Scope::Test);
            }
            executor.stop_servers();
        }
        Ok(())
    }
}

/// Takes the profiles of a cell on the instances of its phase. Returns a failure and the profiles that it affects.
fn profile_apart(
    executor: &mut StudyExecutor<'_, '_>,
    phase: Phase,
    cell: &PlannedCell,
) -> Result<Option<(Scope, String)>> {
    let started = executor.start_apart(phase);
    let scope = if started.is_ok() { Scope::Test } else { Scope::Phase };
    let Err(error) = started.and_then(|()| profile_cell(executor, cell)) else { return Ok(None) };
    let hints = hints(&error);
    let scope = if hints.is_empty() { scope } else { Scope::Study };
    let why = [vec![executor.reason(error)?], hints].concat().join("; ");
    // One of them may have ended, so the next cell gets others.
    executor.stop_servers();
    Ok(Some((scope, why)))
}

/// Samples all systems part by part in the order A B, B A, B A, A B.
fn profile_cell(executor: &mut StudyExecutor<'_, '_>, cell: &PlannedCell) -> Result<()> {
    let environment = executor.environment();
    let systems = executor.participants().len();
    let mut samplings = Vec::with_capacity(systems);
    for system in 0..systems {
        environment.interrupt.check()?;
        let sampling = executor.thawed(system, |executor| {
            let clients = executor.connect_one(system, cell)?;
            Sampling::new(clients, system, executor.symbols())
        });
        samplings.push(sampling.with_context(|| format!("`{}`", executor.name(system)))?);
    }
    for part in 0..PARTS {
        let mut turns: Vec<(usize, &mut Sampling)> = samplings.iter_mut().enumerate().collect();
        if matches!(part % 4, 1 | 2) {
            turns.reverse();
        }
        for (system, sampling) in turns {
            environment.interrupt.check()?;
            let (name, test) = (executor.name(system), cell.id.test);
            let number = part + 1;
            let progress = environment.progress;
            progress.update(&format!("sampling {name}, {test}, {number} of {PARTS}"));
            let sampled =
                executor.thawed(system, |executor| sampling.part(cell, part, executor.symbols()));
            sampled.with_context(|| format!("`{name}`"))?;
        }
    }
    let mut profiles = Vec::with_capacity(samplings.len());
    for (system, sampling) in samplings.into_iter().enumerate() {
        // The last requests of its clients reach the server before it is frozen.
        let profile = executor.thawed(system, |_| sampling.profile());
        profiles.push(profile.with_context(|| format!("`{}`", executor.name(system)))?);
    }
    executor.keep(profiles.iter().enumerate().map(|(system, it)| (system, cell.id, it)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Test,
    /// All tests on the same data, because a server does not start.
    Phase,
    /// All tests, because the kernel refuses profiles for a lasting reason.
    Study,
}

/// Remedies if the kernel refuses profiles, else nothing.
fn hints(error: &anyhow::Error) -> Vec<String> {
    let found = error.chain().find_map(|cause| cause.downcast_ref::<ProfileError>());
    found.map(ProfileError::hints).unwrap_or_default()
}

fn cells(record: &StudyRecord, wanted: Profiling) -> Vec<PlannedCell> {
    let planned = record.study.cells.iter();
    match wanted {
        Profiling::None => Vec::new(),
        Profiling::All => planned.cloned().collect(),
        Profiling::Changed => {
            let judged = assay_verdict::judge(record).cells;
            let is_wanted = |cell: &&PlannedCell| {
                let changed = [Verdict::Faster, Verdict::Slower, Verdict::Uneven];
                let has_changed = |it: &CellJudgement| {
                    changed.contains(&it.verdict)
                        || it.cpu_verdict.is_some_and(|it| changed.contains(&it))
                };
                judged.iter().any(|it| it.cell == cell.id && has_changed(it))
            };
            planned.filter(is_wanted).cloned().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernel_refuses_all_profiles() {
        let refused = |error: ProfileError| {
            !hints(&anyhow::Error::from(error).context("`mysql@8.0`")).is_empty()
        };
        assert!(
            refused(ProfileError::NotPermitted("3".to_owned()))
                && refused(ProfileError::LockedMemory)
        );
        assert!(!refused(ProfileError::NoThread));
    }

    #[test]
    fn profiles_need_repeated_measurements() {
        let request = Request { profile: Profiling::All, ..Request::default() };
        assert_eq!(Profiles.check(&request), Ok(()));
        let published = Request { preset: Preset::Published, ..request };
        assert!(matches!(Profiles.check(&published), Err(PlanError::Conflict(_))));
    }
}
