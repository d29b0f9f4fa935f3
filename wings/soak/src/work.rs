//! Longer looks at changed tests, after the study and on separate instances: every system takes long turns, in which
//! its server is not frozen.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use anyhow::{Context, Result};
use assay_model::{
    CellId, PlannedCell, Preset, StudyDocument as _, StudyDocuments, StudyRecord, Test, Verdict,
    counted,
};
use assay_options::duration_text;
use assay_plan::{PlanError, Request};
use assay_run::advice::HintedError;
use assay_run::clock::now_ms;
use assay_run::study::afterwards::{Afterwards, StudyExecutor};
use assay_run::study_records::DocumentCheck;
use assay_run::systems::LongTurn;
use assay_study::Phase;
use assay_verdict::CellJudgement;

use crate::LongerLooks;
use crate::judgement::{SOAK_INTERVALS_S, soak_rounds};
use crate::turns::{Soak, SoakTurn};

const CHANGED: [Verdict; 3] = [Verdict::Faster, Verdict::Slower, Verdict::Uneven];
const UNCHANGED: [Verdict; 2] = [Verdict::Undecided, Verdict::Same];

const USED_UP: &str = "its events use up the rows that they change";

/// Shorter ones show nothing, and longer ones have too long a series.
const LENGTH_S: RangeInclusive<f64> = 4.0..=86_400.0;

/// Tests for longer looks if none changed: short turns miss what takes minutes to begin.
const SUSPECTS: usize = 3;

impl Afterwards for LongerLooks {
    fn name(&self) -> &'static str {
        Soak::NAME
    }

    fn words(&self) -> &'static str {
        "longer looks"
    }

    fn is_wanted(&self, request: &Request) -> bool {
        request.soak_s.is_some()
    }

    fn check(&self, request: &Request) -> Result<(), PlanError> {
        if request.insert_bench.is_some() {
            return Err(PlanError::Conflict(
                "`soak` is for tests that can go on for any time, not for the Insert Benchmark",
            ));
        }
        if request.preset == Preset::Published {
            return Err(PlanError::Conflict("`--soak` does not work with preset `published`"));
        }
        match request.soak_s {
            Some(seconds) if !LENGTH_S.contains(&seconds) => Err(PlanError::OutOfRange {
                option: "--soak",
                value: duration_text(seconds),
                why: "a longer look takes from 4 seconds to a day on each system".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn refusal_on_shards(&self) -> Option<HintedError> {
        Some(HintedError::new(
            "`--soak` does not work with shards: which tests changed is known once all shards are collected",
            "leave `soak` out, and then look at a test that changed with `assay compare ... --tests TEST --soak 15m` \
             on one machine",
        ))
    }

    fn outlook(&self, request: &Request, systems: usize) -> Option<String> {
        let length_s = request.soak_s?;
        let few = match length_s < SOAK_INTERVALS_S {
            true => format!(
                "; its turns are too few for intervals, which `--soak {}` has",
                duration_text(SOAK_INTERVALS_S)
            ),
            false => String::new(),
        };
        Some(format!(
            "after the study, each test that changed, or up to {SUSPECTS} if none did, is looked at for longer: {} on \
             each of {systems} systems, {} in all; this is no part of the budget{few}",
            duration_text(length_s),
            duration_text(length_s * systems as f64),
        ))
    }

    fn not_done(&self, test: Test) -> String {
        format!("the longer look at {} has no end", test.name)
    }

    fn check_of_documents(&self) -> DocumentCheck {
        StudyDocuments::check::<Soak>
    }

    /// Looks longer at the changed tests.
    fn perform(&self, executor: &mut StudyExecutor<'_, '_>) -> Result<()> {
        let Some(length_s) = executor.request().soak_s else { return Ok(()) };
        let progress = executor.environment().progress;
        let (cells, are_suspects) = cells_to_soak(&executor.record_to_judge());
        if cells.is_empty() {
            progress.note("no test was measured on two systems, so none is looked at for longer");
            return Ok(());
        }
        let known = executor.known::<Soak>()?;
        let (systems, rounds) = (executor.participants().len(), soak_rounds(length_s));
        let mut phases: BTreeMap<Phase, Vec<CellToSoak>> = BTreeMap::new();
        let mut left_s = 0.0;
        for cell in cells {
            if cell.id.test.planning.uses_up_rows {
                executor.note_not_done(self, cell.id, USED_UP.to_owned())?;
                continue;
            }
            let unseen = CellToSoak::new(cell, &known, systems, length_s);
            if unseen.done() < rounds {
                let part = f64::from(rounds - unseen.done()) / f64::from(rounds);
                left_s += part * length_s * systems as f64;
                phases.entry(Phase::new(unseen.cell.id)).or_default().push(unseen);
            }
        }
        let count = phases.values().map(Vec::len).sum::<usize>() as u64;
        if count == 0 {
            return Ok(());
        }
        let which = if are_suspects { ", though none is known to have changed" } else { "" };
        let time = duration_text(left_s.ceil());
        let tests = counted(count, "test");
        progress.note(&format!("a longer look at {tests}{which}: about {time}"));
        executor.load_once()?;
        for (phase, cells) in phases {
            for mut unseen in cells {
                // Writes age the data, so each test begins on fresh instances.
                let done = executor.on_fresh_servers(phase, |executor| unseen.look(executor))?;
                if let Err(why) = done {
                    executor.note_not_done(self, unseen.cell.id, why)?;
                }
            }
        }
        Ok(())
    }
}

struct CellToSoak {
    cell: PlannedCell,
    length_s: f64,
    /// By system.
    soaks: Vec<Soak>,
}

impl CellToSoak {
    /// With the results before an interruption: the rounds that all systems have.
    fn new(
        cell: PlannedCell,
        known: &[(usize, CellId, Soak)],
        systems: usize,
        length_s: f64,
    ) -> Self {
        let rounds = soak_rounds(length_s);
        let soak = |system: usize| {
            let mut all = known.iter();
            let found = all.find(|(number, id, _)| (*number, *id) == (system, cell.id));
            let turns = found.map(|(_, _, soak)| soak.turns.clone());
            Soak { rounds, turns: turns.unwrap_or_default() }
        };
        let mut unseen = Self { soaks: (0..systems).map(soak).collect(), cell, length_s };
        let done = unseen.done() as usize;
        unseen.soaks.iter_mut().for_each(|soak| soak.turns.truncate(done));
        unseen
    }

    fn done(&self) -> u32 {
        let turns = self.soaks.iter().map(|soak| soak.turns.len());
        u32::try_from(turns.min().unwrap_or(0)).unwrap_or(u32::MAX)
    }

    /// The missing rounds of a cell. Each is stored as soon as all systems have had their turn.
    fn look(&mut self, executor: &mut StudyExecutor<'_, '_>) -> Result<()> {
        let environment = executor.environment();
        let systems = self.soaks.len();
        for system in 0..systems {
            environment.interrupt.check()?;
            executor.connect_apart(system, &self.cell)?;
        }
        let last = self.soaks.iter().filter_map(|soak| soak.turns.last());
        let instance = last.map(|turn| turn.instance + 1).max().unwrap_or(0);
        let rounds = soak_rounds(self.length_s);
        for round in self.done()..rounds {
            let mut order: Vec<usize> = (0..systems).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            let mut turns = BTreeMap::new();
            for system in order {
                environment.interrupt.check()?;
                let (name, test) = (executor.name(system), self.cell.id.test);
                let number = round + 1;
                let what = format!("{name}, {test}, turn {number} of {rounds}");
                environment.progress.update(&format!("a longer look at {what}"));
                let turn = self.turn(executor, system, round);
                let turn = turn.with_context(|| format!("`{name}`"))?;
                turns.insert(system, SoakTurn { instance, ..turn });
            }
            for (system, turn) in turns {
                self.soaks.get_mut(system).context("no such system")?.turns.push(turn);
            }
            let soaks = self.soaks.iter().enumerate();
            executor.keep(soaks.map(|(system, soak)| (system, self.cell.id, soak)))?;
        }
        Ok(())
    }

    /// A turn of a system. Fails if the user asks to stop meanwhile.
    fn turn(
        &self,
        executor: &mut StudyExecutor<'_, '_>,
        system: usize,
        round: u32,
    ) -> Result<SoakTurn> {
        let interrupt = &executor.environment().interrupt;
        let turn_s = (self.length_s / f64::from(soak_rounds(self.length_s))).max(1.0);
        let started_ms = now_ms();
        let turn = executor.thawed(system, |executor| {
            let clients = executor.clients(system)?;
            let turn = clients.long_turn(&self.cell, round, turn_s, interrupt.stop());
            executor.remove_binary_logs(system);
            turn
        })?;
        interrupt.check()?;
        let LongTurn { elapsed_ms, events, ops, seconds } = turn;
        Ok(SoakTurn { round, instance: 0, started_ms, elapsed_ms, events, ops, seconds })
    }
}

/// Cells with a faster or slower system; if there are none, the most likely ones, and `true`.
fn cells_to_soak(record: &StudyRecord) -> (Vec<PlannedCell>, bool) {
    let judged = assay_verdict::judge(record).cells;
    let wanted = wanted(&judged, |system| {
        record.systems.get(system).is_some_and(|it| it.is_base || it.is_twin)
    });
    let are_suspects = wanted.iter().all(|it| UNCHANGED.contains(&it.verdict));
    let is_wanted = |cell: &&PlannedCell| wanted.iter().any(|it| it.cell == cell.id);
    (record.study.cells.iter().filter(is_wanted).cloned().collect(), are_suspects)
}

/// The judged cells to look at for longer. `is_left_out` says which systems are not compared.
fn wanted(judged: &[CellJudgement], is_left_out: impl Fn(usize) -> bool) -> Vec<&CellJudgement> {
    let compared = judged.iter().filter(|it| !is_left_out(it.system));
    let with_verdict = |verdicts: &'static [Verdict]| {
        compared.clone().filter(move |it| verdicts.contains(&it.verdict))
    };
    let changed: Vec<&CellJudgement> = with_verdict(&CHANGED).collect();
    if !changed.is_empty() {
        return changed;
    }
    let suspicion = |it: &CellJudgement| {
        let change = it.rqps.map_or(0.0, |rqps| rqps.value.ln().abs());
        (it.beyond_threshold.unwrap_or(0.0), change)
    };
    let mut suspects: Vec<&CellJudgement> =
        with_verdict(&UNCHANGED).filter(|it| it.rqps.is_some()).collect();
    suspects.sort_by(|one, other| {
        let ((a, b), (c, d)) = (suspicion(other), suspicion(one));
        a.total_cmp(&c).then(b.total_cmp(&d))
    });
    suspects.truncate(SUSPECTS);
    suspects
}

#[cfg(test)]
pub(crate) mod tests {
    use assay_model::{
        Artifact, BlockCell, Host, PlannedBlock, RunningServer, Slice, System, WorkCounters,
    };
    use assay_plan::{InsertBenchRequest, MachineFacts};

    use super::*;

    /// A study of one test, which ended after the first of many blocks; the pairs of the test have this ratio, and vary
    /// by a fifth.
    pub(crate) fn ended_early(ratio: f64) -> StudyRecord {
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let machine =
            MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
        let tests = vec!["point-query".to_owned()];
        let request = Request { tests, ..Request::of_systems(&words) };
        let plan = assay_plan::plan(&request, machine).unwrap();
        let system = |(number, planned): (usize, assay_plan::PlannedSystem)| System {
            name: planned.name,
            artifact: Artifact::Running(RunningServer {
                url: String::new(),
                product: planned.spec.product,
                version: String::new(),
                program: None,
                notes: Vec::new(),
            }),
            spec: planned.spec,
            is_base: number == 0,
            is_twin: false,
            options: Vec::new(),
        };
        let systems = plan.systems.into_iter().enumerate().map(system).collect();
        let mut record = StudyRecord::new(plan.study, Host::default(), systems);
        let cell = record.study.cells[0].id;
        let cells = vec![BlockCell { id: cell, rounds: 12 }];
        record.blocks.push(PlannedBlock { number: 0, run: 0, left: 20, cells });
        for round in 0..12 {
            let wobble = 1.0 + 0.2 * (f64::from(round * 7 % 12) / 11.0 - 0.5);
            for (system, rate) in [(0, 1.0), (1, ratio * wobble)] {
                let events = (20_000.0 * rate) as u64;
                let work = WorkCounters {
                    events,
                    read: events,
                    elapsed_ns: 1_000_000_000,
                    event_ns_sum: 1_000_000_000,
                    ..WorkCounters::default()
                };
                record.slices.push(Slice { round, work, ..Slice::new(system, cell) });
            }
        }
        record
    }

    /// The last look spends the rest of the error, and thus decides what earlier looks could not.
    #[test]
    fn what_to_look_at_follows_from_the_verdicts_of_the_report() {
        let soaks_suspects = |ratio: f64, finished: bool| {
            let record = StudyRecord { finished, ..ended_early(ratio) };
            let (cells, are_suspects) = cells_to_soak(&record);
            assert_eq!(cells.len(), 1, "{ratio} {finished}");
            let judged = assay_verdict::judge(&record).cells;
            let changed = judged.iter().any(|it| it.system == 1 && CHANGED.contains(&it.verdict));
            assert_eq!(changed, !are_suspects, "{ratio} {finished}");
            are_suspects
        };
        let ratios = [0.98, 0.96, 0.94, 0.92, 0.9, 0.88, 0.86];
        assert!(
            ratios
                .into_iter()
                .any(|ratio| soaks_suspects(ratio, false) && !soaks_suspects(ratio, true))
        );
        assert!(!soaks_suspects(0.5, true));
    }

    #[test]
    fn a_longer_look_needs_a_test_that_goes_on() {
        let soak_request = |soak_s| Request { soak_s: Some(soak_s), ..Request::default() };
        assert_eq!(LongerLooks.check(&soak_request(600.0)), Ok(()));
        for seconds in [2.0, 90_000.0] {
            let refused = LongerLooks.check(&soak_request(seconds));
            assert!(matches!(refused, Err(PlanError::OutOfRange { option: "--soak", .. })));
        }
        let published = Request { preset: Preset::Published, ..soak_request(600.0) };
        let steps =
            Request { insert_bench: Some(InsertBenchRequest::default()), ..soak_request(600.0) };
        for request in [published, steps] {
            assert!(matches!(LongerLooks.check(&request), Err(PlanError::Conflict(_))));
        }
    }
}
