//! `assay gate`: compares for CI; the exit code says whether a system is slower than a limit.

mod arguments;

use std::path::Path;

use anyhow::{Result, bail};
use assay_command::exit::Exit;
use assay_command::measured::planned;
use assay_command::verb::{Arguments, Group};
use assay_command::{feeds, report};
use assay_model::Experiment;
use assay_run::advice::Advised;
use assay_run::progress::print;
use assay_run::study::Foreign;

pub use arguments::Gate;

impl Arguments for Gate {
    const NAME: &'static str = "gate";
    const ABOUT: &'static str =
        "Compare for CI: the exit code says whether a system is slower than a limit";
    const GROUP: Group = Group::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let Some(request) = self.request()? else { return judge_by_limits(self) };
        let junit = self.junit.as_deref();
        planned(request, &self.measuring, junit, |machine, _| machine, cache_dir)?.measure(false)
    }
}

fn judge_by_limits(args: &Gate) -> Result<Exit> {
    report::check(&args.measuring.output, args.junit.as_deref(), &args.measuring.ledger)?;
    feeds::check(&args.measuring.output)?;
    let mut record = report::found(&args.measuring.ledger, args.study.as_deref())?;
    if record.foreign && args.junit.is_some() {
        bail!(Foreign::new(&record.study.id, "judged in a file that CI acts on (`--junit`)"));
    }
    let study = &mut record.study;
    if let Some(limits) = args.limits() {
        if args.limits_instructions() != (study.experiment == Experiment::Counted) {
            let (has, limits, use_) = match study.experiment {
                Experiment::Counted => ("counted instructions", "rates", "`--max-more`"),
                _ => ("measured rates", "instructions", "`--max-slowdown`"),
            };
            bail!(Advised::new(
                format!("study `{}` {has}; these limits are for {limits}", study.id),
                format!("use {use_}")
            ))
        }
        let chosen = assay_plan::gate(&limits, study.set, &study.cells)?;
        if study.gate.as_ref().is_none_or(|own| own.margins != chosen.margins) {
            print(
                "note: limits chosen after seeing the results prove nothing; run a new gate with them",
            );
        }
        study.gate = Some(chosen);
    }
    let Some(gate) = &mut study.gate else {
        bail!(Advised::new(
            format!("study `{}` has no limits", study.id),
            match study.experiment {
                Experiment::Counted => "give them with `--max-more`, such as `--max-more 1%`",
                _ => "give them with `--max-slowdown`, such as `--max-slowdown 3%`",
            }
        ))
    };
    gate.allow_undecided |= args.allow_undecided;
    report::write_gate(&record, &args.measuring.output, args.junit.as_deref())
}
