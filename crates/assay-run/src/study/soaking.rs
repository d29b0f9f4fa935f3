//! Longer looks at changed tests, after the study and on separate instances: every system takes long turns, in which
//! its server is not frozen.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use assay_model::{
    CellId, CellSoak, EventKind, PlannedCell, Soak, SoakTurn, StudyRecord, Verdict, counted,
};
use assay_options::duration_text;
use assay_study::Phase;
use assay_verdict::{CellJudgement, soak_rounds};

use super::executor::StudyExecutor;
use super::outlook::SUSPECTS;
use super::profiling::{is_of_ledger, message};
use crate::clock::now_ms;
use crate::systems::Clients;

const CHANGED: [Verdict; 3] = [Verdict::Faster, Verdict::Slower, Verdict::Uneven];
const UNCHANGED: [Verdict; 2] = [Verdict::Undecided, Verdict::Same];

const USED_UP: &str = "its events use up the rows that they change";

struct Unseen {
    cell: PlannedCell,
    soaks: Vec<Soak>,
}

impl Unseen {
    fn done(&self) -> u32 {
        let turns = self.soaks.iter().map(|soak| soak.turns.len());
        u32::try_from(turns.min().unwrap_or(0)).unwrap_or(u32::MAX)
    }
}

impl StudyExecutor<'_, '_> {
    /// Looks longer at the changed tests, unless that was done before. Failures are noted, and do not affect the study.
    /// Fails if the user asked to stop, the data cannot be loaded, or the ledger cannot be written.
    pub(crate) fn soak(&mut self) -> Result<()> {
        let Some(length_s) = self.request.soak_s else { return Ok(()) };
        self.recorder.forget_not_soaked()?;
        let (cells, are_suspects) = cells_to_soak(&self.record_to_judge());
        if cells.is_empty() {
            self.env
                .progress
                .note("no test was measured on two systems, so none is looked at for longer");
            return Ok(());
        }
        let mut phases: BTreeMap<Phase, Vec<Unseen>> = BTreeMap::new();
        let mut left_s = 0.0;
        for cell in cells {
            if cell.id.test.planning.uses_up_rows {
                self.not_soaked(cell.id, USED_UP.to_owned())?;
                continue;
            }
            let unseen = self.seen_before(cell, soak_rounds(length_s))?;
            let rounds = soak_rounds(length_s);
            if unseen.done() < rounds {
                let part = f64::from(rounds - unseen.done()) / f64::from(rounds);
                left_s += part * length_s * self.participants.len() as f64;
                phases.entry(Phase::of(unseen.cell.id)).or_default().push(unseen);
            }
        }
        let count = phases.values().map(Vec::len).sum::<usize>() as u64;
        if count == 0 {
            return Ok(());
        }
        let which = if are_suspects { ", though none is known to have changed" } else { "" };
        let time = duration_text(left_s.ceil());
        let tests = counted(count, "test");
        self.env.progress.note(&format!("a longer look at {tests}{which}: about {time}"));
        if self.templates.is_empty() {
            self.load()?;
        }
        for (phase, cells) in phases {
            for mut unseen in cells {
                // Writes age the data, so each test begins on fresh instances.
                self.servers.clear();
                let done = self.start_apart(phase).and_then(|()| self.soak_cell(&mut unseen));
                self.clients.clear();
                self.servers.clear();
                let Err(error) = done else { continue };
                self.env.interrupt.check()?;
                if is_of_ledger(&error) {
                    return Err(error);
                }
                self.not_soaked(unseen.cell.id, message(&error))?;
            }
        }
        Ok(())
    }

    fn not_soaked(&mut self, cell: CellId, why: String) -> Result<()> {
        self.note(None, EventKind::NotSoaked { test: cell.test.name.clone(), why })
    }

    /// Results of a cell before an interruption: the rounds that all systems have.
    fn seen_before(&self, cell: PlannedCell, rounds: u32) -> Result<Unseen> {
        let known = self.recorder.soaked()?;
        let of = |system: usize| {
            let mut all = known.iter();
            all.find(|it| (it.system, it.cell) == (system, cell.id)).map(|it| it.soak.clone())
        };
        let soaks = (0..self.participants.len()).map(|system| of(system).unwrap_or_default());
        let soaks = soaks.map(|soak| Soak { rounds, ..soak }).collect();
        let mut unseen = Unseen { cell, soaks };
        let done = unseen.done() as usize;
        unseen.soaks.iter_mut().for_each(|soak| soak.turns.truncate(done));
        Ok(unseen)
    }

    /// The missing rounds of a cell. Each is stored as soon as all systems have had their turn.
    fn soak_cell(&mut self, unseen: &mut Unseen) -> Result<()> {
        let Unseen { cell, .. } = unseen;
        let systems = self.participants.len();
        for system in 0..systems {
            self.env.interrupt.check()?;
            let clients = self.thawed(system, |study| study.connect_one(system, cell));
            let clients = clients.with_context(|| format!("`{}`", self.name(system)))?;
            self.clients.insert(system, clients);
        }
        let last = unseen.soaks.iter().filter_map(|soak| soak.turns.last());
        let instance = last.map(|turn| turn.instance + 1).max().unwrap_or(0);
        let length_s = self.request.soak_s.unwrap_or_default();
        let rounds = soak_rounds(length_s);
        let turn_s = (length_s / f64::from(rounds)).max(1.0);
        for round in unseen.done()..rounds {
            let mut order: Vec<usize> = (0..systems).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            let mut turns = BTreeMap::new();
            for system in order {
                self.env.interrupt.check()?;
                let of = format!("{} of {rounds}", round + 1);
                let what = format!("{}, {}, turn {of}", self.name(system), unseen.cell.id.test);
                self.env.progress.update(&format!("a longer look at {what}"));
                let turn = self.long_turn(system, &unseen.cell, round, turn_s);
                let turn = turn.with_context(|| format!("`{}`", self.name(system)))?;
                turns.insert(system, SoakTurn { instance, ..turn });
            }
            for (system, turn) in turns {
                unseen.soaks.get_mut(system).context("no such system")?.turns.push(turn);
            }
            let kept = unseen.soaks.iter().enumerate();
            let kept = kept.map(|(system, soak)| CellSoak {
                system,
                cell: unseen.cell.id,
                soak: soak.clone(),
            });
            self.recorder.soaks(&kept.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// A turn of a system; `None` if the user asks to stop meanwhile.
    fn long_turn(
        &mut self,
        system: usize,
        cell: &PlannedCell,
        round: u32,
        turn_s: f64,
    ) -> Result<SoakTurn> {
        let stop = self.env.interrupt.stop();
        let started_ms = now_ms();
        let turn = self.thawed(system, |study| {
            let clients: &mut Clients =
                study.clients.get_mut(&system).context("its clients are not connected")?;
            let turn = clients.long_turn(cell, round, turn_s, stop);
            study.remove_binary_logs(system);
            turn
        })?;
        self.env.interrupt.check()?;
        Ok(SoakTurn { started_ms, ..turn })
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
    let of = |verdicts: &'static [Verdict]| {
        compared.clone().filter(move |it| verdicts.contains(&it.verdict))
    };
    let changed: Vec<&CellJudgement> = of(&CHANGED).collect();
    if !changed.is_empty() {
        return changed;
    }
    let suspicion = |it: &CellJudgement| {
        let change = it.rqps.map_or(0.0, |rqps| rqps.value.ln().abs());
        (it.beyond_threshold.unwrap_or(0.0), change)
    };
    let mut suspects: Vec<&CellJudgement> = of(&UNCHANGED).filter(|it| it.rqps.is_some()).collect();
    suspects.sort_by(|one, other| {
        let ((a, b), (c, d)) = (suspicion(other), suspicion(one));
        a.total_cmp(&c).then(b.total_cmp(&d))
    });
    suspects.truncate(SUSPECTS);
    suspects
}

#[cfg(test)]
mod tests {
    use assay_model::{
        Artifact, Block, BlockCell, Host, RunningServer, Slice, System, WorkCounters,
    };
    use assay_plan::{MachineFacts, Request};

    use super::*;

    /// A study of one test, which ended after the first of many blocks; the pairs of the test have this ratio, and vary
    /// by a fifth.
    fn ended_early(ratio: f64) -> StudyRecord {
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
        record.blocks.push(Block { number: 0, run: 0, left: 20, cells });
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
                record.slices.push(Slice { round, work, ..Slice::of(system, cell) });
            }
        }
        record
    }

    /// The last look spends the rest of the error, and thus decides what earlier looks could not.
    #[test]
    fn what_to_look_at_follows_from_the_verdicts_of_the_report() {
        let of = |ratio: f64, finished: bool| {
            let record = StudyRecord { finished, ..ended_early(ratio) };
            let (cells, are_suspects) = cells_to_soak(&record);
            assert_eq!(cells.len(), 1, "{ratio} {finished}");
            let judged = assay_verdict::judge(&record).cells;
            let changed = judged.iter().any(|it| it.system == 1 && CHANGED.contains(&it.verdict));
            assert_eq!(changed, !are_suspects, "{ratio} {finished}");
            are_suspects
        };
        let ratios = [0.98, 0.96, 0.94, 0.92, 0.9, 0.88, 0.86];
        assert!(ratios.into_iter().any(|ratio| of(ratio, false) && !of(ratio, true)));
        assert!(!of(0.5, true));
    }
}
