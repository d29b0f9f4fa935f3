//! Commands that measure: plan a study, carry it out, and write its report.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_ledger::{Ledger, Problem};
use assay_model::{Experiment, Product, Study, StudyRecord, SystemSpec, Test, cpus_in_words};
use assay_plan::{MachineFacts, NamedFile, Request, StudyPlan};
use assay_run::interrupt::Interrupt;
use assay_run::progress::{Progress, print};
use assay_run::statement_place::StatementLocator;
use assay_run::study::{self, OtherSystem, StudyError, UnfinishedStudy, afterwards};
use assay_run::systems::{Environment, machine_facts, on_disk};
use assay_run::{paths, study_records, workload};

use crate::args::MeasureArgs;
use crate::errors::print_error;
use crate::exit::Exit;
use crate::{config_file, feeds, report, stacks, which_default};

const STUDY_FILES: &str = "name a study file: TOML with `compare = [\"mariadb@10.11\", \"mariadb@11.8\"]` and, by the \
     same names, the options of `assay compare`";

/// Reads a study file; `-` is stdin.
pub fn read_study(file: &Path) -> Result<Request> {
    let name = file.display().to_string();
    let text = if file.as_os_str() == "-" {
        paths::text(std::io::stdin(), "stdin", STUDY_FILES)
            .context("cannot read the study from stdin")?
    } else {
        paths::check_file(file, STUDY_FILES)?;
        paths::text(fs_err::File::open(file)?, &name, STUDY_FILES)?
    };
    Ok(assay_plan::read_study(&name, &text)?)
}

pub fn resolved(
    request: Request,
    study_file: &Path,
    searched: &[Product],
    quiet: bool,
) -> Result<Request> {
    let directory = study_file.parent().unwrap_or(Path::new(""));
    let mut request = config_file::with_configs(request, directory, searched, quiet)?;
    let beside = |path: &str| {
        let there = directory.join(path);
        // Scripts that come with sysbench are found by name.
        let is_stock = assay_plan::is_script(path) && !there.exists();
        if is_stock { path.to_owned() } else { there.display().to_string() }
    };
    request.workload = request.workload.iter().map(|it| NamedFile::parse(it).at(beside)).collect();
    Ok(request)
}

/// A study that is planned for this machine.
pub struct PlannedStudy<'a> {
    pub plan: StudyPlan,
    pub ledger: Ledger,
    request: Request,
    suite: Vec<Test>,
    machine: MachineFacts,
    cache_dir: PathBuf,
    args: &'a MeasureArgs,
    junit: Option<&'a Path>,
}

/// Plans, measures and reports a study.
pub fn measured(
    request: Request,
    args: &MeasureArgs,
    explains_terms: bool,
    cache_dir: Option<&Path>,
) -> Result<Exit> {
    planned(request, args, None, |machine, _| machine, cache_dir)?.measure(explains_terms)
}

/// Plans a study. `facts` may change what is known of the machine.
pub fn planned<'a>(
    request: Request,
    args: &'a MeasureArgs,
    junit: Option<&'a Path>,
    facts: impl FnOnce(MachineFacts, &Request) -> MachineFacts,
    cache_dir: Option<&Path>,
) -> Result<PlannedStudy<'a>> {
    report::check(&args.output, junit, &args.ledger)?;
    feeds::check(&args.output)?;
    stacks::check(&args.output, || Ok(request.clone()))?;
    let request = config_file::with_configs(request, Path::new(""), &[], args.quiet)?;
    let cache_dir = paths::made_cache_dir(cache_dir)?;
    let machine = facts(machine_facts(&cache_dir)?, &request);
    let request = config_file::scale(request, machine, args.quiet)?;
    let suite = workload::suite(&request)?;
    let plan = afterwards::plan_of(&request, machine, suite.clone());
    let plan = plan.map_err(|error| on_disk(error, &cache_dir))?;
    let ledger = Ledger::open(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    Ok(PlannedStudy { plan, ledger, request, suite, machine, cache_dir, args, junit })
}

impl PlannedStudy<'_> {
    pub fn measure(self, explains_terms: bool) -> Result<Exit> {
        self.measure_by(explains_terms, study::run)
    }

    pub fn measure_by(
        self,
        explains_terms: bool,
        carry_out: impl FnOnce(StudyPlan, &Environment, &mut Ledger) -> Result<String, StudyError>,
    ) -> Result<Exit> {
        let (args, junit) = (self.args, self.junit);
        let write = |record: &StudyRecord, progress: &Progress| {
            report::write_measured(record, &args.output, junit, progress)
        };
        self.measure_and(explains_terms, carry_out, write)
    }

    /// Measures, and leaves the report to `write`, which also gets an unfinished study.
    pub fn measure_for(
        self,
        write: impl FnOnce(&StudyRecord, &Progress) -> Result<Exit>,
    ) -> Result<Exit> {
        self.measure_and(false, study::run, write)
    }

    fn measure_and(
        self,
        explains_terms: bool,
        carry_out: impl FnOnce(StudyPlan, &Environment, &mut Ledger) -> Result<String, StudyError>,
        write: impl FnOnce(&StudyRecord, &Progress) -> Result<Exit>,
    ) -> Result<Exit> {
        let Self { plan, mut ledger, request, suite, machine, cache_dir, args, .. } = self;
        if !args.quiet {
            print_notes(&request, &plan, machine);
        }
        let written = StatementLocator::new(&request);
        let start = StudyStart::New(&request);
        let first = which_default::FirstStudy { request: &request, suite: &suite, machine };
        let explained = explains_terms.then_some(&first);
        let carry_out = |env: &Environment, ledger: &mut Ledger| carry_out(plan, env, ledger);
        let measured = measure(args, explained, &cache_dir, &mut ledger, &start, carry_out, write);
        measured.map_err(|error| match written.and_then(|it| it.place(&error)) {
            Some(place) => error.context(format!("a server refuses what stands in {place}")),
            None => error,
        })
    }
}

fn print_notes(request: &Request, plan: &StudyPlan, machine: MachineFacts) {
    let specs: Vec<_> = plan.systems.iter().map(|it| &it.spec).collect();
    let notes = assay_plan::notes_on_logs(&specs).into_iter().chain(without_tables(plan));
    let notes = notes.chain(assay_plan::without_realtime(request, &plan.study, machine));
    let notes = notes.chain(assay_plan::note_on_limits(&plan.study).map(str::to_owned));
    let notes = notes.chain(equal_systems(&specs));
    let shared = plan.study.cpus.shared();
    let shared = (!shared.is_empty())
        .then(|| format!("servers and clients share {}", cpus_in_words(&shared)));
    let notes = notes.chain(shared);
    notes.for_each(|note| print(&format!("note: {note}")));
    let overrun = assay_plan::overrun(&plan.study, plan.systems.len());
    let warnings = overruled(request, &plan.study).into_iter().chain(overrun);
    warnings.for_each(|warning| print(&format!("warning: {warning}")));
}

/// Note for a study of one system against itself, which may be meant or a slip.
fn equal_systems(specs: &[&SystemSpec]) -> Option<String> {
    let [base, others @ ..] = specs else { return None };
    let are_equal = !others.is_empty() && others.iter().all(|other| other == base);
    are_equal
        .then(|| "all systems are equal, so every difference is noise (an A/A study)".to_owned())
}

/// Continues a study of the ledger and writes its report.
pub fn measure_again(
    args: &MeasureArgs,
    cache_dir: &Path,
    ledger: &mut Ledger,
    id: &str,
    carry_out: impl FnOnce(&Environment, &mut Ledger) -> Result<String, StudyError>,
) -> Result<Exit> {
    let write = |record: &StudyRecord, progress: &Progress| {
        report::write_measured(record, &args.output, None, progress)
    };
    measure(args, None, cache_dir, ledger, &StudyStart::Resumed(id), carry_out, write)
}

/// Note for scripts whose tables do not exist on the servers that assay starts.
fn without_tables(plan: &StudyPlan) -> Option<String> {
    let is_bare =
        plan.study.user_data().is_some_and(|data| data.tables.is_empty() && data.dump.is_none());
    let is_started = plan.systems.iter().any(|system| system.url.is_none());
    (is_bare && is_started).then(|| {
        "no statement names a table of pgbench, so the servers start without tables; if the scripts need some, name a \
         workload file with `[table.NAME]` beside them"
            .to_owned()
    })
}

/// Note for a preset that does not use a threshold as small as the requested one.
fn overruled(request: &Request, study: &Study) -> Option<String> {
    let is_timed = study.experiment != Experiment::Counted;
    let asked = request.threshold.filter(|&asked| is_timed && asked != assay_plan::THRESHOLD)?;
    let used = assay_verdict::threshold(study);
    let percent = |share: f64| (share * 1e5).round() / 1e3;
    (asked < used).then(|| {
        format!(
            "preset {} calls no changes below {}%, so it ignores the threshold of {}%; `--preset quick` \
             uses it",
            study.preset.word(),
            percent(used),
            percent(asked),
        )
    })
}

enum StudyStart<'a> {
    New(&'a Request),
    Resumed(&'a str),
}

fn measure(
    args: &MeasureArgs,
    explained: Option<&which_default::FirstStudy<'_>>,
    cache_dir: &Path,
    ledger: &mut Ledger,
    start: &StudyStart<'_>,
    carry_out: impl FnOnce(&Environment, &mut Ledger) -> Result<String, StudyError>,
    write: impl FnOnce(&StudyRecord, &Progress) -> Result<Exit>,
) -> Result<Exit> {
    let progress = Progress::new(args.quiet);
    let (offline, accept_expired_index) = match start {
        StudyStart::New(request) => (request.offline, request.accept_expired_index),
        StudyStart::Resumed(_) => (args.offline, args.accept_expired_index),
    };
    let environment = Environment {
        cache_dir: cache_dir.to_owned(),
        offline,
        accept_expired_index,
        progress: &progress,
        interrupt: Interrupt::listen()?,
    };
    let outcome = carry_out(&environment, ledger);
    progress.finish();
    let (id, stopped) = match outcome {
        Ok(id) => (id, None),
        // A study that was asked to stop may also fail because of that, for example if a package client got the same
        // Ctrl-C.
        Err(stopped) if environment.interrupt.check().is_err() => match stopped.study {
            Some(id) => (id, Some(("interrupted", Exit::Interrupted))),
            None => {
                print(&never_begun(start));
                return Ok(Exit::Interrupted);
            }
        },
        Err(StudyError { study: Some(id), error }) if error.is::<UnfinishedStudy>() => {
            print_error(&error);
            (id, Some(("unfinished", Exit::Error)))
        }
        Err(stopped) => {
            // A refused study does not continue.
            let goes_on = |id: &String| {
                !stopped.error.is::<OtherSystem>()
                    && !is_gone(&stopped.error)
                    && kept(ledger, id).is_ok_and(|it| !it.slices.is_empty())
            };
            if let Some(id) = stopped.study.filter(goes_on) {
                print(&format!(
                    "note: the measurements so far are in `{}`; `assay resume {id}` continues the study",
                    ledger.path().display()
                ));
            }
            return Err(stopped.error);
        }
    };
    let mut record = kept(ledger, &id).context("cannot read the measurements back")?;
    // The measurements stand even if this fails.
    if let (Some(asked), None) = (explained, &stopped) {
        if let Err(error) = which_default::explain(&record, asked, &environment, ledger) {
            print_error(&error.context("cannot find out which settings made the changes"));
        }
        record = kept(ledger, &id).unwrap_or(record);
    }
    let written = write(&record, &progress);
    if let Some((how, exit)) = stopped {
        // A failed step of the Insert Benchmark is a result, although later steps are missing.
        let is_result = record.study.is_insert_benchmark() && exit == Exit::Error;
        let exit = match written {
            Ok(Exit::Incomplete) if is_result => Exit::Incomplete,
            _ => exit,
        };
        // The terminal may have been closed together with the study.
        if let Err(error) = written {
            print(&format!("note: {error:#}"));
        }
        print(&format!("{how}: `assay resume {id}` continues the study"));
        return Ok(exit);
    }
    match environment.interrupt.check() {
        Ok(()) => written,
        // Interrupted while searching for the settings that made changes.
        Err(_) => written.map(|_| Exit::Interrupted),
    }
}

/// Reads the study as the next command will: the open ledger may have been replaced or damaged meanwhile.
fn kept(ledger: &Ledger, id: &str) -> Result<StudyRecord> {
    study_records::read(&Ledger::open_read_only(ledger.path())?, id)
}

/// Whether the ledger was removed or replaced. SQLite may still find the study in its log.
fn is_gone(error: &anyhow::Error) -> bool {
    let mut of_ledger = error.chain().filter_map(|it| it.downcast_ref::<assay_ledger::Error>());
    of_ledger.any(|it| matches!(it.problem, Problem::Gone))
}

/// Message for a command interrupted before it measured anything.
fn never_begun(start: &StudyStart<'_>) -> String {
    match start {
        StudyStart::Resumed(id) => format!(
            "interrupted before anything was measured; study `{id}` is as it was, and `assay resume {id}` continues it"
        ),
        StudyStart::New(_) => {
            "interrupted before the study started; run the command again to start it".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Preset;
    use assay_plan::MachineFacts;

    use super::*;

    #[test]
    fn a_study_is_kept_if_the_file_of_its_ledger_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l.db");
        let ledger = Ledger::open(&path).unwrap();
        let message = |ledger: &Ledger| format!("{:#}", kept(ledger, "s").unwrap_err());
        assert!(message(&ledger).contains("`s`"), "{}", message(&ledger));
        fs_err::remove_file(&path).unwrap();
        assert!(message(&ledger).contains("no such file"), "{}", message(&ledger));
        let ledger_error =
            |problem| anyhow::Error::from(assay_ledger::Error { path: path.clone(), problem });
        assert!(is_gone(&ledger_error(Problem::Gone).context("cannot measure")));
        assert!(!is_gone(&ledger_error(Problem::Missing)));
    }

    #[test]
    fn a_study_that_waited_to_go_on_had_started() {
        let message = never_begun(&StudyStart::Resumed("s1"));
        assert!(!message.contains("started") && message.contains("`assay resume s1`"), "{message}");
        let new = never_begun(&StudyStart::New(&Request::default()));
        assert!(new.contains("before the study started"));
    }

    #[test]
    fn a_threshold_ignored_by_smoke_is_reported() {
        let words = ["mariadb@10.11", "mariadb@11.8"].map(str::to_owned);
        let machine =
            MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
        let message = |preset, threshold| {
            let request = Request { preset, threshold, ..Request::of_systems(&words) };
            overruled(&request, &assay_plan::plan(&request, machine).unwrap().study)
        };
        let smoke = message(Preset::Smoke, Some(0.03)).unwrap();
        assert!(smoke.contains("below 10%") && smoke.contains("threshold of 3%"), "{smoke}");
        assert_eq!(message(Preset::Smoke, Some(0.2)), None);
        assert_eq!(message(Preset::Smoke, Some(assay_plan::THRESHOLD)), None);
        assert_eq!(message(Preset::Quick, Some(0.03)), None);
    }
}
