//! Whether a study can be resumed by this assay.

use assay_model::{EventKind, Experiment, Hint, Study, StudyRecord, Test};
use assay_verdict::Samples;

/// Why a study cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoResume {
    /// There is nothing left to do.
    #[error("study `{0}` is already finished")]
    Finished(String),
    /// More time was asked for, but no test is left to measure.
    #[error("study `{0}` has decided every test and is as precise as it aims at")]
    Decided(String),
    /// More time was asked for, but each test runs once.
    #[error("study `{0}` runs each test once, so more time changes nothing")]
    Once(String),
    /// More time was asked for, but the error of a gate is shared out among its planned looks.
    #[error("study `{0}` is a gate, which gets no more time than planned")]
    Gate(String),
    /// Its slices measured other work.
    #[error(
        "study `{study}` measured different work under the name{} of {}; assay never mixes slices of different work",
        if .tests.len() == 1 { "" } else { "s" },
        .tests.join(", ")
    )]
    Workload {
        /// The study.
        study: String,
        /// Names of the tests that this assay defines otherwise, or not at all.
        tests: Vec<String>,
    },
}

impl Hint for NoResume {
    fn hints(&self) -> Vec<String> {
        vec![match self {
            Self::Finished(study) => {
                format!(
                    "`assay report {study}` shows it; `assay resume {study} --more 10m` measures longer"
                )
            }
            Self::Gate(_) => "start a gate with a longer `--budget`".to_owned(),
            Self::Decided(study) | Self::Once(study) => format!("`assay report {study}` shows it"),
            Self::Workload { .. } => {
                "resume it with the assay that started it, or start a new study".to_owned()
            }
        }]
    }
}

/// Whether a study may get more time once it has ended.
pub(super) fn takes_more(study: &Study) -> bool {
    study.experiment == Experiment::Interleaved && study.gate.is_none()
}

/// Checks that a study has something left to do, and that this assay defines its tests as the study does.
pub(super) fn check(record: &StudyRecord, more_s: Option<f64>) -> Result<(), NoResume> {
    let study = &record.study;
    let is_open = || Samples::of(record).standings().iter().any(|standing| standing.is_open);
    match more_s {
        Some(_) if study.experiment != Experiment::Interleaved => {
            return Err(NoResume::Once(study.id.clone()));
        }
        Some(_) if study.gate.is_some() => return Err(NoResume::Gate(study.id.clone())),
        Some(_) if record.finished && !is_open() => {
            return Err(NoResume::Decided(study.id.clone()));
        }
        None if record.finished => return Err(NoResume::Finished(study.id.clone())),
        _ => {}
    }
    let own = study.own();
    // The tests of a user's workload are what the study says, all on the same tables.
    let is_benchmark = study.is_insert_benchmark();
    let is_defined = |test: Test| assay_workloads::define(test.definition().clone()) == test;
    // The recipe has the options of sysbench's scripts. It cannot bring in other statements, so it is safe to trust:
    // a test of the ledger must equal one that this assay makes of these options.
    let recipe = assay_plan::read_study("recipe", &study.recipe);
    let shipped = recipe.map(|request| request.shipped_tests()).unwrap_or_default();
    let is_known = |test: Test| match (test.own(), test.queue()) {
        (Some(data), _) => own == Some(data) && is_defined(test),
        (None, Some(_)) => is_benchmark && is_defined(test),
        (None, None) => {
            own.is_none()
                && !is_benchmark
                && (assay_workloads::test_by_name(test.name()) == Some(test)
                    || shipped.contains(&test))
        }
    };
    let mut tests: Vec<String> = Vec::new();
    for test in study.cells.iter().map(|cell| cell.id.test).filter(|test| !is_known(*test)) {
        if !tests.contains(&test.name) {
            tests.push(test.name.clone());
        }
    }
    match tests.is_empty() {
        true => Ok(()),
        false => Err(NoResume::Workload { study: study.id.clone(), tests }),
    }
}

/// What is added to the plan of a study that gets more time: blocks in proportion. What the study took beyond its
/// budget is added too, so that the new time is left for measuring.
pub(super) fn extension(record: &StudyRecord, more_s: f64) -> EventKind {
    let over_s = (record.elapsed_s() - record.budget_s()).max(0.0);
    let (seconds, planned) = ((more_s + over_s).ceil() as u32, f64::from(record.study.blocks));
    let blocks = (planned * more_s / record.study.budget_s.max(1.0)).ceil() as u32;
    // Blocks that the plan had no time for come first.
    let begun = record.blocks.last().map_or(0, |block| block.number.saturating_add(1));
    let unused = record.blocks_max().saturating_sub(begun);
    EventKind::Extended {
        seconds,
        blocks: blocks.saturating_sub(unused).max(u32::from(unused == 0)),
        ended_after: record.blocks.last().map(|it| it.number).filter(|_| record.finished),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Definition, Host};
    use assay_plan::{MachineFacts, Request};

    use super::*;

    fn record() -> StudyRecord {
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let machine = MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20 };
        let plan = assay_plan::plan(&Request::of_systems(&words), machine).unwrap();
        StudyRecord::new(plan.study, Host::default(), Vec::new())
    }

    #[test]
    fn a_study_that_overran_its_budget_gets_all_of_the_new_time() {
        let mut record = record();
        for (over_s, expected) in [(-100, 10), (0, 10), (7, 17)] {
            let run = record.runs.first_mut().unwrap();
            run.updated_ms = run.started_ms + 1000 * (record.study.budget_s as i64 + over_s);
            let EventKind::Extended { seconds, .. } = extension(&record, 10.0) else { panic!() };
            assert_eq!(seconds, expected);
        }
    }

    #[test]
    fn slices_of_another_workload_are_never_mixed() {
        let mut record = record();
        assert!(check(&record, None).is_ok());
        let finished = StudyRecord { finished: true, ..record.clone() };
        assert!(matches!(check(&finished, None), Err(NoResume::Finished(_))));
        let changed = record.study.cells[3].id.test.definition().clone();
        let changed = Test::of(Definition { digest: "0".repeat(16), ..changed });
        record.study.cells[3].id.test = changed;
        let error = check(&record, None).unwrap_err().to_string();
        assert!(error.contains("under the name of update-one;"), "{error}");
    }
}
