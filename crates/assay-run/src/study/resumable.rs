//! Checks whether this assay can resume a study.

use assay_model::{
    EventKind, Experiment, Hint, Host, LIMITED_STUDY, Priority, RealtimeAccess, StudyEvent,
    StudyRecord, Test, counted,
};
use assay_plan::{duration_text, suggested_time};
use assay_study::forecast;
use assay_verdict::Samples;

#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct NoResume {
    what: String,
    hint: String,
}

impl NoResume {
    fn new(what: String, hint: impl Into<String>) -> Self {
        Self { what, hint: hint.into() }
    }
}

impl Hint for NoResume {
    fn hints(&self) -> Vec<String> {
        vec![self.hint.clone()]
    }
}

/// Checks that a study has something left to do, and that this assay sends the same statements for its tests.
pub(super) fn check(record: &StudyRecord, more_s: Option<f64>) -> Result<(), NoResume> {
    let (study, id) = (&record.study, &record.study.id);
    let mut shards = record.runs.iter().filter_map(|run| run.shard.as_ref());
    if shards.any(|shard| shard.study == *id) {
        return Err(NoResume::new(
            format!("study `{id}` was collected from shards, which are what is resumed"),
            format!("repeat `assay submit` for what is unfinished, then `assay collect {id}`"),
        ));
    }
    let shows = || format!("`assay report {id}` shows it");
    let is_open =
        || Samples::from_record(record).standings().iter().any(|standing| standing.is_open);
    match more_s {
        Some(_) if study.experiment != Experiment::Interleaved => {
            let what = format!("study `{id}` runs each test once, so more time changes nothing");
            return Err(NoResume::new(what, shows()));
        }
        // The error of limits is divided among the planned looks.
        Some(_) if study.limits.is_some() => {
            let what =
                format!("study `{id}` is a {LIMITED_STUDY}, which gets no more time than planned");
            return Err(NoResume::new(what, "start another one with a longer `--budget`"));
        }
        Some(_) if record.finished && !is_open() => {
            let what =
                format!("study `{id}` has decided every test and is as precise as it aims at");
            return Err(NoResume::new(what, shows()));
        }
        None if record.finished => {
            return Err(NoResume::new(
                format!("study `{id}` is already finished"),
                format!("{}; `assay resume {id} --more 10m` measures longer", shows()),
            ));
        }
        _ => {}
    }
    let is_known = |test: Test| assay_workloads::define(test.definition().clone()) == test;
    let mut tests: Vec<String> = Vec::new();
    for test in study.cells.iter().map(|cell| cell.id.test).filter(|test| !is_known(*test)) {
        if !tests.contains(&test.name) {
            tests.push(test.name.clone());
        }
    }
    if tests.is_empty() {
        return Ok(());
    }
    Err(NoResume::new(
        format!(
            "study `{id}` measured different work under the name{} of {}; assay never mixes slices of different work",
            if tests.len() == 1 { "" } else { "s" },
            tests.join(", ")
        ),
        "resume it with the assay that started it, or start a new study",
    ))
}

pub(super) fn check_priority(record: &StudyRecord, here: &Host) -> Result<(), NoResume> {
    let mut cells = record.study.cells.iter();
    let is_realtime = cells.any(|cell| cell.priority == Priority::Realtime);
    match here.realtime {
        Some(access) if is_realtime && access != RealtimeAccess::Permitted => Err(NoResume::new(
            format!(
                "study `{}` was started at real-time priority, which is not permitted now; assay never mixes \
                     slices of different priorities",
                record.study.id
            ),
            access.grant().unwrap_or("start a new study"),
        )),
        _ => Ok(()),
    }
}

/// Seconds before the first block of a run.
const PREPARATION_S: f64 = 1.0;

/// Checks that more time is enough for another block, if it is for new blocks only.
pub(super) fn check_time(record: &StudyRecord, more_s: Option<f64>) -> Result<(), NoResume> {
    let Some(more_s) = more_s else { return Ok(()) };
    let mut longer = record.clone();
    let when_ms = record.runs.last().map_or(0, |run| run.updated_ms);
    let event = |what| StudyEvent { when_ms, system: None, what };
    longer.events.push(event(extension(record, more_s)));
    let forecast = forecast(&longer, record.elapsed_s());
    let (fitting, needed_s) = (forecast.fitting, forecast.fitting.needed_s() + PREPARATION_S);
    let left_s = (record.budget_s() - record.elapsed_s()).max(0.0);
    if forecast.is_begun || forecast.cells.is_empty() || left_s + more_s >= needed_s {
        return Ok(());
    }
    let id = &record.study.id;
    let tests = counted(forecast.cells.len() as u64, "test");
    let systems = counted(fitting.systems as u64, "system");
    let left = if left_s < 1.0 {
        "nothing is left of its budget".to_owned()
    } else {
        format!("its budget has {} left", duration_text(left_s.floor()))
    };
    Err(NoResume::new(
        format!(
            "`--more {}` is too short for study `{id}`: the shortest block of {tests} on {systems} takes about {}, and \
             {left}",
            duration_text(more_s),
            duration_text(needed_s.ceil()),
        ),
        format!(
            "`assay resume {id} --more {}` is about the least that measures anything",
            suggested_time(needed_s - left_s)
        ),
    ))
}

/// Extends the plan of a study by blocks in proportion to its extra time. Time over the budget is added too, so that
/// the new time is left for measuring.
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
    use assay_model::{Artifact, BlockCell, Definition, Host, PlannedBlock, RunningServer, System};
    use assay_plan::{MachineFacts, ROUNDS_MIN, Request};

    use super::*;

    fn record() -> StudyRecord {
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let machine =
            MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
        let request = Request { blocks: Some(4), ..Request::of_systems(&words) };
        let plan = assay_plan::plan(&request, machine).unwrap();
        let system = |planned: assay_plan::PlannedSystem| System {
            name: planned.name,
            artifact: Artifact::Running(RunningServer {
                url: String::new(),
                product: planned.spec.product,
                version: String::new(),
                program: None,
                notes: Vec::new(),
            }),
            spec: planned.spec,
            is_base: false,
            is_twin: false,
            options: Vec::new(),
        };
        let systems = plan.systems.into_iter().map(system).collect();
        StudyRecord::new(plan.study, Host::default(), systems)
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

    /// Too little time adds no block; the time named in the hint does.
    #[test]
    fn a_time_that_is_too_short_for_a_block_is_refused_with_one_that_is_not() {
        let mut record = record();
        let cells = record.study.cells.iter();
        let cells = cells.map(|cell| BlockCell { id: cell.id, rounds: ROUNDS_MIN }).collect();
        record.blocks.push(PlannedBlock { number: 0, run: 0, left: 1, cells });
        // The begun block goes on.
        assert!(check_time(&record, Some(1.0)).is_ok());
        record.finished = true;
        for used_s in [0.5, 1.0, 1.5].map(|part| part * record.study.budget_s) {
            let run = record.runs.first_mut().unwrap();
            run.updated_ms = run.started_ms + (1000.0 * used_s) as i64;
            let is_left = used_s < record.study.budget_s;
            assert!(check_time(&record, None).is_ok());
            let refused = check_time(&record, Some(1.0));
            assert_eq!(refused.is_ok(), is_left, "{refused:?}");
            let Err(error) = refused else { continue };
            let hint = error.hints().remove(0);
            assert!(error.to_string().contains("nothing is left of its budget"), "{error}");
            let least = hint.split("--more ").nth(1).unwrap().split('`').next().unwrap();
            let least = assay_plan::parse_duration_s(least).unwrap();
            assert!(check_time(&record, Some(least)).is_ok(), "{hint}");
            assert!(check_time(&record, Some(0.75 * least)).is_err(), "{hint}");
        }
    }

    #[test]
    fn slices_of_another_workload_are_never_mixed() {
        let mut record = record();
        assert!(check(&record, None).is_ok());
        let finished = StudyRecord { finished: true, ..record.clone() };
        let error = check(&finished, None).unwrap_err().to_string();
        assert!(error.ends_with("is already finished"), "{error}");
        let changed = record.study.cells[3].id.test.definition().clone();
        let changed = Test::intern(Definition { digest: "0".repeat(16), ..changed });
        record.study.cells[3].id.test = changed;
        let error = check(&record, None).unwrap_err().to_string();
        assert!(error.contains("under the name of update-one;"), "{error}");
    }
}
