//! Carries out a search: gets or builds versions, and compares them.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use assay_ledger::Ledger;
use assay_model::{SearchPart, SystemSpec, counted};
use assay_plan::{Request, StudyPlan, SystemRequest, parse_system};

use super::decisions::BisectAction;
use super::known_step::{beside_step, known_of_ends};
use super::lock::SearchLock;
use super::search::{VersionSearch, own_fault};
use assay_run::advice::HintedError;
use assay_run::progress::Progress;
use assay_run::study::{self, StudyError, afterwards};
use assay_run::systems::{Environment, fetch_one, machine_facts, on_disk, provisioner};
use assay_run::{study_records, workload};

pub(super) enum Halt {
    Interrupted,
    Failed(anyhow::Error),
}

impl<T: Into<anyhow::Error>> From<T> for Halt {
    fn from(error: T) -> Self {
        Self::Failed(error.into())
    }
}

pub(super) fn searched(
    search: &mut VersionSearch,
    lock: &SearchLock,
    env: &Environment<'_>,
    ledger: &mut Ledger,
) -> Option<Halt> {
    let began = Instant::now();
    let spent_s = search.spent_s;
    let mut driver = SearchDriver { search, lock, env, ledger, spent_s, began, skipped: 0 };
    let halted = driver.search_on().err();
    search.spent_s = search.spent_s.max(spent_s);
    env.progress.finish();
    halted
}

struct SearchDriver<'a, 'e> {
    search: &'a mut VersionSearch,
    lock: &'a SearchLock,
    env: &'a Environment<'e>,
    ledger: &'a mut Ledger,
    /// Seconds spent before this process.
    spent_s: f64,
    began: Instant,
    skipped: u32,
}

const SKIPPED_MAX: u32 = 8;

impl SearchDriver<'_, '_> {
    fn search_on(&mut self) -> Result<(), Halt> {
        self.finish_unfinished()?;
        self.leave_out_known();
        if let Some(known) = known_of_ends(self.search) {
            self.env.progress.note(&known);
        }
        loop {
            if let ControlFlow::Continue(action) = self.search.range().next(self.search.terms()) {
                let action = self.beside_known_step(action);
                self.compare(action)?;
                continue;
            }
            let Some(narrower) = self.search.narrower() else { return Ok(()) };
            self.env.progress.note(&format!(
                "{} changed between two series; searching {} releases there",
                self.search.test(),
                narrower.len()
            ));
            let narrower = self.search.range().narrowed(narrower);
            self.search.ranges.push(narrower);
            self.leave_out_known();
        }
    }

    /// Compares first where known counts change.
    fn beside_known_step(&self, action: BisectAction) -> BisectAction {
        let Some(step) = beside_step(self.search) else { return action };
        if step.version == step.at {
            self.env.progress.note(&format!(
                "known counts of instructions change by a factor of {:.2} with {}, which is compared first",
                step.ratio,
                self.search.range().versions[step.at].name,
            ));
        }
        BisectAction { candidate: step.version, ..action }
    }

    /// Skips versions that an earlier process could not use after the last comparison.
    fn leave_out_known(&mut self) {
        let range = self.search.range_mut();
        for (version, why) in self.lock.skipped(&range.versions) {
            range.skip(version, why);
        }
    }

    fn finish_unfinished(&mut self) -> Result<(), Halt> {
        let Some(id) = self.search.unfinished.take() else { return Ok(()) };
        let outcome = study::resume(&id, None, self.env, self.ledger);
        if let Err(stopped) = outcome {
            self.search.unfinished = Some(id);
            return Err(self.halted(stopped.error));
        }
        self.add(&id)
    }

    fn halted(&self, error: anyhow::Error) -> Halt {
        match self.env.interrupt.check() {
            Err(_) => Halt::Interrupted,
            Ok(()) => Halt::Failed(error),
        }
    }

    fn add(&mut self, id: &str) -> Result<(), Halt> {
        let record = study_records::read(self.ledger, id)?;
        let Some(part) = record.study.search.clone() else { return Ok(()) };
        let spent_s = self.search.spent_s;
        let compared = self.search.comparisons();
        let why = self.search.add(&part, &record);
        self.search.spent_s = self.search.spent_s.max(spent_s);
        match why {
            Some(why) => Err(Halt::Failed(anyhow!("study `{id}` found nothing: {why}"))),
            None if self.search.comparisons() > compared => {
                self.skipped = 0;
                Ok(())
            }
            None => self.count_skip(),
        }
    }

    /// Counts an unusable version. Many in a row have a common cause.
    fn count_skip(&mut self) -> Result<(), Halt> {
        self.skipped += 1;
        if self.skipped < SKIPPED_MAX {
            return Ok(());
        }
        let why = self.search.range().unusable.last().map_or("", |it| it.why.as_str());
        let what = format!("{SKIPPED_MAX} versions in a row cannot be used; the last one: {why}");
        self.lock.forget();
        Err(HintedError::new(what, "remove the cause, and run the same command again").into())
    }

    fn compare(&mut self, action: BisectAction) -> Result<(), Halt> {
        for version in [action.base, action.candidate] {
            if let Some(why) = self.lacking(version)? {
                return self.skip(version, why);
            }
        }
        let plan = self.plan(action)?;
        let names = [0, 1].map(|system| plan.systems[system].name.clone());
        self.env.progress.note(&format!(
            "comparison {}, {}: {} with {}",
            self.search.comparisons() + 1,
            self.search.at_most(),
            names[1],
            names[0],
        ));
        match study::run(plan, self.env, self.ledger) {
            Ok(id) => self.add(&id),
            Err(StudyError { study, error }) => {
                if self.env.interrupt.check().is_err() {
                    self.search.unfinished = study;
                    return Err(Halt::Interrupted);
                }
                let fault = own_fault(&error).filter(|_| study.is_none());
                match fault.zip(self.at_fault(action, &names, &error)) {
                    Some((why, version)) => self.skip(version, why),
                    None => Err(Halt::Failed(error)),
                }
            }
        }
    }

    /// The version that did not start: the one that the error names, or the one that has not run before.
    fn at_fault(
        &self,
        action: BisectAction,
        names: &[String; 2],
        error: &anyhow::Error,
    ) -> Option<usize> {
        let message = format!("{error:#}");
        match names.each_ref().map(|name| message.contains(&format!("`{name}`"))) {
            [true, false] => Some(action.base),
            [false, true] => Some(action.candidate),
            _ => self.search.range().has_run(action.base).then_some(action.candidate),
        }
    }

    fn skip(&mut self, version: usize, why: String) -> Result<(), Halt> {
        let range = self.search.range_mut();
        let skipped = &range.versions[version];
        let why = why.lines().next().unwrap_or_default().to_owned();
        self.env.progress.failed(&skipped.name, &format!("is skipped: {why}"));
        self.lock.skip(skipped, &why)?;
        range.skip(version, why);
        self.count_skip()
    }

    /// Gets or builds a version; returns the reason if the version itself is at fault.
    fn lacking(&self, version: usize) -> Result<Option<String>, Halt> {
        let range = self.search.range();
        if range.has_run(version) {
            return Ok(None);
        }
        let words = &range.versions[version].words;
        let source = self.search.request.source.as_deref();
        lacking(words, source, self.search.terms.is_of_commits, self.env)
            .map_err(|error| self.halted(error))
    }

    fn plan(&self, action: BisectAction) -> Result<StudyPlan> {
        let range = self.search.range();
        let versions = [action.base, action.candidate].map(|at| &range.versions[at]);
        let systems = versions.map(|version| SystemRequest::parse(&version.words)).to_vec();
        let request = Request { systems, ..self.search.request.clone() };
        let cache_dir = &self.env.cache_dir;
        let suite = workload::suite(&request)?;
        let plan = afterwards::plan_of(&request, machine_facts(cache_dir)?, suite);
        let mut plan = plan.map_err(|error| on_disk(error, cache_dir))?;
        if plan.study.cells.len() > 1 {
            let tests = counted(plan.study.cells.len() as u64, "test");
            bail!(HintedError::new(
                format!("`--test {}` stands for {tests} or setups", self.search.test()),
                "a search is for one test with one number of clients"
            ));
        }
        plan.study.search = Some(SearchPart {
            id: self.search.id.clone(),
            range: self.search.words.clone(),
            measure: self.search.terms.measure,
            comparisons_max: self.search.terms.comparisons_max,
            level: (self.search.ranges.len() - 1) as u32,
            releases: self.search.releases.clone(),
            versions: range.versions.clone(),
            unusable: range.unusable.clone(),
            version: action.candidate,
            spent_s: self.spent_s + self.began.elapsed().as_secs_f64(),
        });
        plan.study.followed = self.search.followed.clone();
        Ok(plan)
    }
}

/// Gets or builds a version; returns the reason if the version itself is at fault.
pub fn lacking(
    words: &str,
    source: Option<&str>,
    is_of_commits: bool,
    env: &Environment<'_>,
) -> Result<Option<String>> {
    let spec: SystemSpec = parse_system(words)?;
    // The study reports its own downloads; only a build shows its progress here.
    let quiet = Progress::new(true);
    let progress = if is_of_commits { env.progress } else { &quiet };
    let env = Environment {
        cache_dir: env.cache_dir.clone(),
        interrupt: env.interrupt.clone(),
        progress,
        ..*env
    };
    let provisioner = provisioner(&env)?.with_source(source.map(str::to_owned))?;
    let Err(error) = fetch_one(&provisioner, words, &spec, None, &env) else { return Ok(None) };
    env.interrupt.check()?;
    own_fault(&error).map_or(Err(error), |why| Ok(Some(why)))
}
