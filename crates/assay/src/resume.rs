//! `assay resume`: continues a study, or gives it more time.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use assay_command::args::ResumeArgs;
use assay_command::exit::Exit;
use assay_command::measurement::measure_again;
use assay_command::verb::{Arguments, CommandGroup, verbs};
use assay_command::{feeds, report, stacks, study_id};
use assay_ledger::Ledger;
use assay_model::{Conclusions, Study, StudySummary, Verdict, counted};
use assay_run::advice::HintedError;
use assay_run::progress::print;
use assay_run::study::{self, ForeignStudy};
use assay_run::systems::Environment;
use assay_run::{paths, study_records};

/// [`ResumeArgs`] as a command.
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeStudy {
    #[command(flatten)]
    args: ResumeArgs,
}

impl Arguments for ResumeStudy {
    const NAME: &'static str = "resume";
    const ABOUT: &'static str = "Continue an interrupted study";
    const GROUP: CommandGroup = CommandGroup::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        resume(&self.args, cache_dir)
    }
}

fn resume(args: &ResumeArgs, cache_dir: Option<&Path>) -> Result<Exit> {
    report::check(&args.measuring.output, None, &args.measuring.ledger)?;
    feeds::check(&args.measuring.output)?;
    let file = paths::ledger_file(args.measuring.ledger.file.as_deref())?;
    // Read-only, so that a mistyped name creates no file.
    let ledger = Ledger::open_read_only(&file)?;
    for verb in verbs() {
        if let Some(exit) = (verb.resume)(args, &ledger, cache_dir)? {
            return Ok(exit);
        }
    }
    let is_open = |it: &StudySummary| {
        (args.more.is_some() || !it.finished) && study::is_mine(&ledger, &it.id)
    };
    let found = study_id::find(&ledger, args.study.as_deref(), is_open)?;
    let Some(id) = found else {
        if let Some(foreign) = study_id::find(&ledger, None, |it| !it.finished)? {
            bail!(ForeignStudy::new(&foreign, "resumed"));
        }
        bail!(HintedError::new(
            format!("there is no unfinished study in `{}`", file.display()),
            "`assay resume latest --more 10m` gives more time to the latest one that has ended"
        ))
    };
    let cache_dir = paths::made_cache_dir(cache_dir)?;
    let mut ledger = Ledger::open(&file)?;
    stacks::check(&args.measuring.output, || {
        let request = assay_plan::request_of(&ledger.read(&id)?.study);
        request.with_context(|| study_records::cannot_read(&ledger, &id))
    })?;
    let before = ledger.conclusions(&id)?;
    let resume =
        |env: &Environment, ledger: &mut Ledger| study::resume(&id, args.more, env, ledger);
    let exit = measure_again(&args.measuring, &cache_dir, &mut ledger, &id, resume)?;
    if let Some((before, after)) = before.zip(ledger.conclusions(&id)?) {
        let record = ledger.read(&id)?;
        let names: Vec<&str> = record.systems.iter().map(|system| system.name.as_str()).collect();
        let changed = changed(&record.study, &names, &before, &after);
        if !changed.is_empty() {
            print(&format!("note: the new time changed verdicts on QPS: {}", changed.join("; ")));
        }
    }
    Ok(exit)
}

/// Verdicts that differ from those decided earlier.
fn changed(
    study: &Study,
    systems: &[&str],
    before: &Conclusions,
    after: &Conclusions,
) -> Vec<String> {
    let pairs = before.cells.iter().filter_map(|old| {
        let mut cells = after.cells.iter();
        let new = cells.find(|new| (new.cell, new.system) == (old.cell, old.system))?;
        let is_changed = old.verdict != Verdict::Undecided && new.verdict != old.verdict;
        is_changed.then_some((old, new))
    });
    let words = pairs.filter_map(|(old, new)| {
        let (cell, system) = (study.cells.get(old.cell)?.id, systems.get(old.system)?);
        let clients = counted(u64::from(cell.setup.clients), "client");
        let [old, new] = [old.verdict, new.verdict].map(Verdict::word);
        Some(format!("{} ({clients}) of {system} was {old} and is {new}", cell.test.name))
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use assay_model::Conclusion;
    use assay_plan::{MachineFacts, Request};

    use super::*;

    #[test]
    fn verdicts_that_more_time_takes_back_are_named() {
        let words = ["mariadb@10.11", "mariadb@11.8"].map(str::to_owned);
        let machine =
            MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
        let plan = assay_plan::plan(&Request::of_systems(&words), machine).unwrap();
        let concluded = |verdicts: [Verdict; 3]| {
            let cells = (0..).zip(verdicts).map(|(cell, verdict)| Conclusion {
                cell,
                system: 0,
                verdict,
                qps: None,
                rqps: None,
                cpu_verdict: None,
                cpu_ratio: None,
            });
            Conclusions { judged_by: String::new(), cells: cells.collect() }
        };
        let before = concluded([Verdict::Same, Verdict::Undecided, Verdict::Slower]);
        let after = concluded([Verdict::Undecided, Verdict::Slower, Verdict::Slower]);
        let test = &plan.study.cells[0].id.test.name;
        let expected = format!("{test} (1 client) of mariadb@11.8 was same and is undecided");
        assert_eq!(changed(&plan.study, &["mariadb@11.8"], &before, &after), [expected]);
    }
}
