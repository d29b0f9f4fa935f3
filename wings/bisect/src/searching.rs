//! Carries out a search: gets or builds versions, and compares them.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, bail};
use assay_ledger::Ledger;
use assay_model::{BisectPart, SystemSpec, counted};
use assay_plan::{Plan, Request, SystemRequest, parse_system};
use assay_study::BisectAction;

use super::held::Held;
use super::state::Search;
use super::unusable::own_fault;
use assay_run::advice::Advised;
use assay_run::progress::Progress;
use assay_run::study::{self, Stopped};
use assay_run::systems::{Environment, fetch_one, machine_facts, on_disk, provisioner};
use assay_run::{recorded, workload};

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
    search: &mut Search,
    held: &Held,
    env: &Environment<'_>,
    ledger: &mut Ledger,
) -> Option<Halt> {
    let began = Instant::now();
    let spent_s = search.spent_s;
    let mut driver = Searching { search, held, env, ledger, spent_s, began, skipped: 0 };
    let halted = driver.search_on().err();
    search.spent_s = search.spent_s.max(spent_s);
    env.progress.finish();
    halted
}

struct Searching<'a, 'e> {
    search: &'a mut Search,
    held: &'a Held,
    env: &'a Environment<'e>,
    ledger: &'a mut Ledger,
    /// Seconds spent before this process.
    spent_s: f64,
    began: Instant,
    skipped: u32,
}

const SKIPPED_MAX: u32 = 8;

impl Searching<'_, '_> {
    fn search_on(&mut self) -> Result<(), Halt> {
        self.finish_unfinished()?;
        self.leave_out_known();
        loop {
            let Some(range) = self.search.range() else { return Ok(()) };
            if let ControlFlow::Continue(action) = range.next(self.search.terms()) {
                self.compare(action)?;
                continue;
            }
            let Some(narrower) = self.search.narrower() else { return Ok(()) };
            self.env.progress.note(&format!(
                "{} changed between two series; searching {} releases there",
                self.test(),
                narrower.len()
            ));
            let narrower = range.narrowed(narrower);
            self.search.ranges.push(narrower);
            self.leave_out_known();
        }
    }

    /// Skips versions that an earlier process could not use after the last comparison.
    fn leave_out_known(&mut self) {
        let Some(range) = self.search.ranges.last_mut() else { return };
        for (version, why) in self.held.skipped(&range.versions) {
            range.skip(version, why);
        }
    }

    fn test(&self) -> &str {
        self.search.request.tests.first().map_or("the test", String::as_str)
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
        let record = recorded::read(self.ledger, id)?;
        let Some(part) = record.study.bisect.clone() else { return Ok(()) };
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
        let last = self.search.range().and_then(|range| range.unusable.last());
        let why = last.map_or("", |it| it.why.as_str()).to_owned();
        self.held.forget();
        Err(Halt::Failed(
            Advised::new(
                format!("{SKIPPED_MAX} versions in a row cannot be used; the last one: {why}"),
                "remove the cause, and run the same command again",
            )
            .into(),
        ))
    }

    fn compare(&mut self, action: BisectAction) -> Result<(), Halt> {
        for version in [action.base, action.candidate] {
            if let Some(why) = self.lacking(version)? {
                return self.skip(version, why);
            }
        }
        let plan = self.plan(action)?;
        let names: Vec<String> = plan.systems.iter().map(|it| it.name.clone()).collect();
        self.env.progress.note(&format!(
            "comparison {}, {}: {} with {}",
            self.search.comparisons() + 1,
            self.search.at_most(),
            names.last().map_or("", String::as_str),
            names.first().map_or("", String::as_str),
        ));
        match study::run(plan, self.env, self.ledger) {
            Ok(id) => self.add(&id),
            Err(Stopped { study, error }) => {
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
        names: &[String],
        error: &anyhow::Error,
    ) -> Option<usize> {
        let message = format!("{error:#}");
        let is_named =
            |at: usize| names.get(at).is_some_and(|name| message.contains(&format!("`{name}`")));
        match (is_named(0), is_named(1)) {
            (true, false) => Some(action.base),
            (false, true) => Some(action.candidate),
            _ => self.search.range().filter(|it| it.has_run(action.base)).map(|_| action.candidate),
        }
    }

    fn skip(&mut self, version: usize, why: String) -> Result<(), Halt> {
        let Some(range) = self.search.ranges.last_mut() else { return Ok(()) };
        let Some(skipped) = range.versions.get(version) else { return Ok(()) };
        let why = why.lines().next().unwrap_or_default().to_owned();
        self.env.progress.failed(&skipped.name, &format!("is skipped: {why}"));
        self.held.skip(skipped, &why)?;
        range.skip(version, why);
        self.count_skip()
    }

    /// Gets or builds a version; returns the reason if the version itself is at fault.
    fn lacking(&self, version: usize) -> Result<Option<String>, Halt> {
        let Some(range) = self.search.range().filter(|it| !it.has_run(version)) else {
            return Ok(None);
        };
        let Some(words) = range.versions.get(version).map(|it| it.words.as_str()) else {
            return Ok(None);
        };
        let source = self.search.request.source.as_deref();
        lacking(words, source, self.search.terms.is_of_commits, self.env)
            .map_err(|error| self.halted(error))
    }

    fn plan(&self, action: BisectAction) -> Result<Plan> {
        let range = self.search.range().context("there is nothing to search")?;
        let words = [action.base, action.candidate].map(|at| range.versions.get(at));
        let systems = words.iter().flatten().map(|it| SystemRequest::of(&it.words)).collect();
        let request = Request { systems, ..self.search.request.clone() };
        let cache_dir = &self.env.cache_dir;
        let suite = workload::suite(&request)?;
        let plan = assay_plan::plan_of(&request, machine_facts(cache_dir)?, suite);
        let mut plan = plan.map_err(|error| on_disk(error, cache_dir))?;
        if plan.study.cells.len() > 1 {
            let tests = counted(plan.study.cells.len() as u64, "test");
            bail!(Advised::new(
                format!("`--test {}` stands for {tests} or setups", self.test()),
                "a search is for one test with one number of clients"
            ));
        }
        plan.study.bisect = Some(BisectPart {
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
        plan.study.watch = self.search.watch.clone();
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
