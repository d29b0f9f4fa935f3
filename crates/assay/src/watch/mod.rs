//! `assay watch`: what is new of a product, beside what was before. A watch has no state of its own: its studies and
//! searches are in the ledger, and what they say follows from them and from the versions that there are now.

mod told;
mod values;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use assay_ledger::Ledger;
use assay_model::{BisectMeasure, COUNT_THRESHOLD, Counting, Experiment, Origin, StudyRecord};
use assay_plan::{Request, SetupRequest, SystemRequest, THRESHOLD, WatchRequest};
use assay_study::{WatchSearch, suspect};

use crate::advice::Advised;
use crate::bisect::{self, First, Terms, Wanted, Wish};
use crate::cli::{self, Measuring};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::state_lock::{Locked, StateLock};
use crate::study::{self, NoResume, OtherMachine};
use crate::systems::{Environment, environment, key, machine_facts, on_disk};
use crate::{compare, paths, recorded, report, workload};
use told::{Seen, told};
use values::{Line, Searched, Versions};

/// Seconds of all searches of a run, unless the file says otherwise.
const SEARCHES_S: f64 = 3600.0;

/// The newest commits that are tried until one builds.
const TRIED: usize = 5;

/// `assay watch`.
pub(crate) fn watch(args: &cli::Watch, cache_dir: Option<&Path>) -> Result<Exit> {
    report::check(&args.measuring.output, None, &args.measuring.ledger)?;
    let Measuring { accept_expired_index, quiet, .. } = args.measuring;
    let (asked, request) = read(&args.watch_file, quiet)?;
    let range = Wanted::read(&asked.range, asked.commits.as_deref())?;
    if range.place.is_none() && !asked.paths.is_empty() {
        bail!(Advised::new(
            "`paths` narrows commits, but `range` names releases",
            "leave `paths` out of the `[watch]` table"
        ));
    }
    let progress = Progress::new(quiet);
    let offline = args.measuring.offline || request.offline;
    let is_expired_accepted = accept_expired_index || request.accept_expired_index;
    let env = environment(cache_dir, offline, is_expired_accepted, &progress)?;
    let file = paths::ledger_file(args.measuring.ledger.file.as_deref())?;
    let mut ledger = Ledger::open(&file)?;
    let _lock = held(&file, &range)?;
    let range = with_baseline(range, &ledger)?;
    let found = bisect::first(&[range], &asked.paths, request.source.as_deref(), &env)?;
    let versions = Versions::new(found.all());
    let request = Request { offline, accept_expired_index: is_expired_accepted, ..request };
    let mut watching = Watching {
        began: Instant::now(),
        asked,
        request,
        found,
        versions,
        file,
        env: &env,
        ledger: &mut ledger,
        new: Vec::new(),
        unusable: Vec::new(),
        ended: BTreeSet::new(),
        waiting: 0,
    };
    let end = watching.run()?;
    progress.finish();
    let (lines, searches) = watching.known()?;
    let seen = Seen {
        range: &watching.found.range,
        is_of_commits: watching.found.is_of_commits,
        versions: &watching.versions,
        new: &watching.new,
        unusable: &watching.unusable,
        ended: &watching.ended,
        waiting: watching.waiting,
        is_interrupted: end == End::Interrupted,
    };
    let page = told(&seen, &lines, &searches);
    report::put(&args.measuring.output, &assay_report::watched(&page))?;
    if let Some(program) = args.run_on_found.as_deref() {
        for line in &page.lines {
            for change in line.changes.iter().filter(|it| it.is_new) {
                let [after, version] = [change.after, change.at].map(|at| page.versions.get(at));
                let Some(version) = version else { continue };
                let (search, test) = (&change.search, &line.test);
                bisect::Found { search, test, version, after, step: change.step }.run(program)?;
            }
        }
    }
    Ok(match end {
        End::Interrupted => Exit::Interrupted,
        End::Done if watching.lacks_newest() => Exit::Incomplete,
        End::Done => Exit::Done,
    })
}

/// Reads a watch file.
fn read(file: &Path, quiet: bool) -> Result<(WatchRequest, Request)> {
    const ADVICE: &str =
        "name a watch file: TOML with `[watch]` and, by the same names, options of `assay compare`";
    paths::check_file(file, ADVICE)?;
    let name = file.display().to_string();
    let text = paths::text(fs_err::File::open(file)?, &name, ADVICE)?;
    let (asked, request) = assay_plan::read_watch(&name, &text)?;
    let request = compare::resolved(request, file, quiet)?;
    // The versions repeat from run to run, which says more than a twin.
    let twin = (request.count != Counting::Only).then_some(false);
    Ok((asked, Request { twin, ..request }))
}

/// The range from the baseline that its studies have had so far. A series as the first end stands for the release that
/// was the baseline at first; what is its newest one changes.
fn with_baseline(range: Wanted, ledger: &Ledger) -> Result<Wanted> {
    let [first, last] = range.ends.clone();
    let series = format!("{first}.");
    for summary in ledger.studies()?.iter().filter(|it| !it.is_reported) {
        let Some(base) = summary.systems.first().filter(|name| name.contains(&series)) else {
            continue;
        };
        let Ok(spec) = assay_plan::parse_system(base) else { continue };
        let Origin::Version(version) = &spec.origin else { continue };
        let is_searched = || ledger.read(&summary.id).map(|it| it.study.bisect.is_some());
        if range.release(version).words == *base && version.starts_with(&series) && !is_searched()?
        {
            return Ok(range.clone().between_ends([version.clone(), last]));
        }
    }
    Ok(range)
}

/// Takes the watch of a range for this process: a timer may start it while it still runs.
fn held(ledger: &Path, range: &Wanted) -> Result<StateLock> {
    let ledger = std::path::absolute(ledger)?;
    let name = key(&[&ledger.to_string_lossy(), &range.words()]);
    let path = paths::state_dir()?.join("watches").join(name);
    let lock = StateLock::take(path, true).map_err(|error| match error.downcast::<Locked>() {
        Ok(Locked { pid }) => {
            let by = pid.map(|pid| format!(" by process {pid}")).unwrap_or_default();
            let what = format!("`{}` is being watched{by}", range.words());
            Advised::new(
                what,
                "wait until that ends; an interrupted watch goes on when it is run again",
            )
            .into()
        }
        Err(error) => error,
    })?;
    lock.context("the watch cannot be locked")
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Interrupted,
}

/// A run of a watch.
struct Watching<'a, 'e> {
    began: Instant,
    asked: WatchRequest,
    /// What each study asks for, without its systems.
    request: Request,
    found: First,
    versions: Versions,
    file: PathBuf,
    env: &'a Environment<'e>,
    ledger: &'a mut Ledger,
    /// The versions that this run measured.
    new: Vec<usize>,
    /// The versions that this run could not use, and why.
    unusable: Vec<(usize, String)>,
    /// The searches that this run ended.
    ended: BTreeSet<String>,
    /// Suspected changes for which this run had no time.
    waiting: usize,
}

impl Watching<'_, '_> {
    fn run(&mut self) -> Result<End> {
        if self.finish_unfinished()? == End::Interrupted || self.measure()? == End::Interrupted {
            return Ok(End::Interrupted);
        }
        self.search_on()
    }

    /// Finishes a study that was cut off.
    fn finish_unfinished(&mut self) -> Result<End> {
        for record in self.studies(|finished| !finished)? {
            if !assay_plan::request_of(&record.study)
                .is_some_and(|request| bisect::is_alike(&request, &self.request))
            {
                continue;
            }
            let id = record.study.id.clone();
            self.env.progress.note(&format!("going on with study {id}"));
            match study::resume(&id, None, self.env, self.ledger) {
                Ok(_) => {
                    self.new.extend(self.versions.measured(&record).into_iter().flatten().skip(1))
                }
                Err(_) if self.env.interrupt.check().is_err() => return Ok(End::Interrupted),
                Err(stopped)
                    if stopped.error.is::<NoResume>() || stopped.error.is::<OtherMachine>() =>
                {
                    self.env.progress.note(&format!("it is measured anew: {}", stopped.error));
                }
                Err(stopped) => return Err(stopped.error),
            }
        }
        Ok(End::Done)
    }

    /// Measures what is new.
    fn measure(&mut self) -> Result<End> {
        let mut measured: BTreeSet<usize> = BTreeSet::new();
        for record in self.studies(|finished| finished)? {
            measured.extend(self.versions.measured(&record).into_iter().flatten());
        }
        let measured: Vec<usize> = measured.into_iter().collect();
        let mut places = BTreeSet::from([0]);
        let mut new = Vec::new();
        for (before, newest) in self.versions.new_ones(&measured) {
            let Some(usable) = self.usable(newest, &measured)? else { continue };
            places.extend(before);
            places.insert(usable);
            new.push(usable);
        }
        if self.env.interrupt.check().is_err() {
            return Ok(End::Interrupted);
        }
        if new.is_empty() {
            self.env.progress.note("nothing new to measure");
            return Ok(End::Done);
        }
        let versions: Vec<_> = places.iter().filter_map(|at| self.versions.all.get(*at)).collect();
        let systems = versions.iter().map(|it| SystemRequest::of(&it.words)).collect();
        let names: Vec<&str> = versions.iter().map(|it| it.name.as_str()).collect();
        self.env.progress.note(&format!("comparing {}", names.join(", ")));
        let source = self.found.source.clone().or(self.request.source.clone());
        let request = Request { systems, source, ..self.request.clone() };
        let cache_dir = &self.env.cache_dir;
        let suite = workload::suite(&request)?;
        let plan = assay_plan::plan_of(&request, machine_facts(cache_dir)?, suite);
        let plan = plan.map_err(|error| on_disk(error, cache_dir))?;
        match study::run(plan, self.env, self.ledger) {
            Ok(_) => self.new.extend(new),
            Err(_) if self.env.interrupt.check().is_err() => return Ok(End::Interrupted),
            Err(stopped) => return Err(stopped.error),
        }
        Ok(End::Done)
    }

    /// A version that can be had: of commits, one before it if it does not build.
    fn usable(&mut self, newest: usize, measured: &[usize]) -> Result<Option<usize>> {
        let source = self.found.source.clone().or(self.request.source.clone());
        let tried = if self.found.is_of_commits { TRIED } else { 1 };
        for at in (1..=newest).rev().take(tried).take_while(|at| !measured.contains(at)) {
            let Some(version) = self.versions.all.get(at) else { continue };
            let lacking = bisect::lacking(
                &version.words,
                source.as_deref(),
                self.found.is_of_commits,
                self.env,
            );
            match lacking {
                Ok(None) => return Ok(Some(at)),
                Ok(Some(why)) => {
                    let why = why.lines().next().unwrap_or_default().to_owned();
                    self.env.progress.failed(&version.name, &format!("is skipped: {why}"));
                    self.unusable.push((at, why));
                }
                Err(_) if self.env.interrupt.check().is_err() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Whether a newest version could not be measured, or any before it.
    fn lacks_newest(&self) -> bool {
        self.unusable.iter().any(|(at, _)| self.new.iter().all(|new| new + TRIED < *at))
    }

    /// Searches for what changed between versions that were measured.
    fn search_on(&mut self) -> Result<End> {
        let most_s = self.asked.searches_s.unwrap_or(SEARCHES_S);
        let mut tried: BTreeSet<(usize, [usize; 2])> = BTreeSet::new();
        loop {
            let (lines, searches) = self.known()?;
            let mut wanted = self.wanted(&lines, &searches);
            wanted.retain(|it| !tried.contains(it));
            let Some(&(place, ends)) = wanted.first() else { return Ok(End::Done) };
            let left_s = most_s - self.began.elapsed().as_secs_f64();
            if left_s < bisect::COMPARISON_S {
                self.waiting = wanted.len();
                return Ok(End::Done);
            }
            tried.insert((place, ends));
            let Some(line) = lines.get(place) else { continue };
            let Some(wish) = self.wish(line, ends, left_s) else { continue };
            let [first, last] = &wish.ranges.first().context("there is nothing to search")?.ends;
            self.env.progress.note(&format!(
                "{} may have changed between {first} and {last}; searching there",
                line.test
            ));
            if bisect::search(&wish, &self.file, self.env, self.ledger)? {
                return Ok(End::Interrupted);
            }
            let (_, now) = self.known()?;
            let new = now.into_iter().filter(|it| it.known.has_ended).map(|it| it.known.id);
            let before: BTreeSet<String> = (searches.into_iter())
                .filter(|it| it.known.has_ended)
                .map(|it| it.known.id)
                .collect();
            self.ended.extend(new.filter(|id| !before.contains(id)));
        }
    }

    /// The searches that are worthwhile: those that were cut off, then the most significant one of each line. What was
    /// counted explains what is timed.
    fn wanted(&self, lines: &[Line], searches: &[Searched]) -> Vec<(usize, [usize; 2])> {
        let cut_off = searches.iter().filter(|it| !it.known.has_ended);
        let mut wanted: Vec<(usize, [usize; 2])> = cut_off.map(|it| (it.line, it.ends)).collect();
        for (place, line) in lines.iter().enumerate() {
            let own = searches.iter().filter(|it| it.line == place && it.known.has_ended);
            let mut known: Vec<WatchSearch> = own
                .map(|it| WatchSearch { ends: it.ends, has_found: !it.known.steps.is_empty() })
                .collect();
            let counted = searches.iter().filter(|it| {
                line.measure != BisectMeasure::Instructions
                    && it.known.measure == BisectMeasure::Instructions
                    && lines.get(it.line).is_some_and(|it| it.test == line.test)
            });
            for ([after, at], _) in counted.flat_map(|it| &it.known.steps) {
                let places = [self.versions.place(after), self.versions.place(at)];
                if let [Some(after), Some(at)] = places {
                    known.push(WatchSearch { ends: [after, at], has_found: true });
                }
            }
            let threshold = match line.measure {
                BisectMeasure::Instructions => COUNT_THRESHOLD,
                _ => self.request.threshold.unwrap_or(THRESHOLD),
            };
            let noise = self.terms(line.measure).of_watch(threshold);
            wanted.extend(suspect(&line.values, &known, noise).map(|ends| (place, ends)));
        }
        wanted
    }

    fn wish(&self, line: &Line, ends: [usize; 2], budget_s: f64) -> Option<Wish> {
        let [first, last] = ends.map(|at| self.versions.all.get(at));
        let names = [first?.name.clone(), last?.name.clone()];
        let setup = SetupRequest {
            clients: Some(vec![line.setup.clients]),
            tables: Some(line.setup.tables),
            rows: Some(line.setup.rows),
        };
        let source = self.found.source.clone().or(self.request.source.clone());
        let tests = vec![line.test.clone()];
        let request = Request { tests, setups: vec![setup], source, ..self.request.clone() };
        Some(Wish {
            ranges: vec![self.found.range.clone().between_ends(names)],
            paths: self.asked.paths.clone(),
            measure: line.measure,
            request,
            budget_s,
        })
    }

    fn terms(&self, measure: BisectMeasure) -> Terms {
        Terms { measure, is_of_commits: self.found.is_of_commits, comparisons_max: 0 }
    }

    /// The studies of the watch, by whether they are finished, the oldest first.
    fn studies(&self, is_meant: impl Fn(bool) -> bool) -> Result<Vec<StudyRecord>> {
        let base = self.versions.all.first().map_or("", |it| it.name.as_str());
        let mut records = Vec::new();
        for summary in self.ledger.studies()? {
            let has_base = summary.systems.first().is_some_and(|name| name.contains(base));
            if !is_meant(summary.finished) || summary.is_reported || !has_base {
                continue;
            }
            let record = recorded::read(self.ledger, &summary.id)?;
            if self.versions.measured(&record).is_some() {
                records.push(record);
            }
        }
        Ok(records)
    }

    /// What the ledger says of the versions.
    fn known(&self) -> Result<(Vec<Line>, Vec<Searched>)> {
        let mut lines = Vec::new();
        for record in self.studies(|finished| finished)? {
            let measures: &[BisectMeasure] = match record.study.experiment {
                Experiment::Counted => &[BisectMeasure::Instructions],
                _ => &[BisectMeasure::Instructions, BisectMeasure::Qps],
            };
            let judgement = assay_verdict::judge(&record);
            let judged = (&record, &judgement);
            values::add(&mut lines, judged, &self.versions, measures, |it| self.terms(it));
        }
        lines.sort_by(|a, b| (&a.test, a.setup, a.measure).cmp(&(&b.test, b.setup, b.measure)));
        let product = self.found.range.product.to_string();
        let known = bisect::known(self.ledger, |part| part.range.starts_with(&product))?;
        let searches = known.into_iter().filter_map(|known| {
            let is_of = |line: &Line| {
                let setup = known.request.setups.first();
                known.request.tests == [line.test.clone()]
                    && known.measure == line.measure
                    && setup.is_some_and(|it| {
                        it.rows.is_none_or(|rows| rows == line.setup.rows)
                            && it.tables.is_none_or(|tables| tables == line.setup.tables)
                            && it.clients.as_ref().is_none_or(|it| *it == [line.setup.clients])
                    })
            };
            let line = lines.iter().position(is_of)?;
            let [first, last] = &known.ends;
            let ends = [self.versions.place(first)?, self.versions.place(last)?];
            Some(Searched { known, line, ends })
        });
        let searches = searches.collect();
        Ok((lines, searches))
    }
}
