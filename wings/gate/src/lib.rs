//! `assay gate`: compares for CI; the exit code says whether a system is slower than a limit.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use assay_command::args::{MeasureArgs, OUTPUT, SYSTEMS, StudyArgs, TestOptions};
use assay_command::exit::Exit;
use assay_command::keys::refused;
use assay_command::measurement::planned;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, feeds, report};
use assay_model::{Counting, Experiment};
use assay_options::parse_percent;
use assay_plan::{LimitsRequest, Request, parse_limit};
use assay_run::advice::HintedError;
use assay_run::progress::print;
use assay_run::study::ForeignStudy;
use clap::{Arg, ArgGroup, Args};
use clap_complete::engine::ArgValueCompleter;

const GATE_EXITS: &str = "\
Exit codes:
  0  every test is within its limit
  1  a limit is exceeded
  2  wrong use, or the machine or the network does not allow it
  3  a test is undecided (unless `--allow-undecided`) or could not be measured
  4  interrupted; `assay resume` continues";

const USAGE: &str = "\
assay gate [OPTIONS] --max-slowdown <PERCENT> <SYSTEM> <SYSTEM>... [-- <TEST OPTION>...]
       assay gate [OPTIONS] --study <STUDY>";

/// `assay gate`.
#[derive(Debug, Args)]
#[command(after_help = format!("{GATE_EXITS}\n\n{SYSTEMS}"), override_usage = USAGE)]
#[command(mut_arg("tests", |tests| tests.add(ArgValueCompleter::new(candidates::tests))))]
#[command(mut_args(limits_alone))]
#[command(group = ArgGroup::new("most").args(["max_slowdown", "max_more"]))]
pub struct GateArgs {
    /// The base, and what must keep up with it, such as `mariadb@10.11 mariadb@11.8`
    #[arg(value_name = "SYSTEM", required_unless_present_any = ["base", "others", "study"])]
    #[arg(conflicts_with_all = ["base", "others"])]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    /// The system that the others must keep up with, instead of the first SYSTEM
    #[arg(long, value_name = "SYSTEM", requires = "others", hide_short_help = true)]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    base: Option<String>,

    /// A system to compare with `--base`; may be given several times
    #[arg(long = "other", value_name = "SYSTEM", requires = "base", hide_short_help = true)]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    others: Vec<String>,

    /// Largest slowdown that passes, as a share of the base's QPS; with `--judge cpu`, largest increase in CPU time per
    /// operation
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, allow_hyphen_values = true)]
    #[arg(required_unless_present_any = ["study", "max_more"])]
    max_slowdown: Option<f64>,

    /// With `--count`: largest increase in instructions that passes
    ///
    /// A share of the base's instructions. No time is measured then.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, allow_hyphen_values = true)]
    #[arg(conflicts_with = "max_slowdown")]
    max_more: Option<f64>,

    /// Limit of its own for some tests or for a group, such as `writes=5%`
    ///
    /// It may be given several times, and the last one that applies to a test counts.
    #[arg(long = "limit", value_name = "TESTS=PERCENT", value_parser = parse_limit)]
    #[arg(requires = "most")]
    limits: Vec<(String, f64)>,

    /// Let undecided tests pass
    #[arg(long)]
    pub allow_undecided: bool,

    /// Write the result as JUnit XML too: one test case for each test and system
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = OUTPUT)]
    pub junit: Option<PathBuf>,

    /// Judge a study of the ledger, by its own limits unless others are given
    #[arg(long, value_name = "STUDY")]
    #[arg(conflicts_with_all = [
        "systems", "base", "others", "Request", "SetupRequest", "SourceArg", "TermsArg", "words",
    ])]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: Option<String>,

    #[command(flatten)]
    asked: StudyArgs,

    #[command(flatten)]
    pub measuring: MeasureArgs,

    #[command(flatten)]
    test_options: TestOptions,
}

/// A gate has limits instead of a threshold, and no twin.
fn limits_alone(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "threshold" | "twin" => {
            refused(option).conflicts_with_all(["max_slowdown", "max_more", "study"])
        }
        _ => option,
    }
}

impl GateArgs {
    pub fn limits(&self) -> Option<LimitsRequest> {
        let mut limits: Vec<(String, f64)> = Vec::new();
        for (scope, most) in &self.limits {
            limits.retain(|(other, _)| other != scope);
            limits.push((scope.clone(), *most));
        }
        let allow_undecided = self.allow_undecided;
        let most = self.max_slowdown.or(self.max_more)?;
        Some(LimitsRequest { most, limits, allow_undecided })
    }

    pub fn limits_instructions(&self) -> bool {
        self.max_more.is_some()
    }

    /// The words as the plan takes them; `None` if no system is given, and a study is judged.
    pub fn request(&self) -> Result<Option<Request>> {
        let named = self.systems.iter().chain(&self.base).chain(&self.others);
        let systems: Vec<String> = named.cloned().collect();
        let request =
            self.test_options.in_request(self.asked.request(&systems, &self.measuring))?;
        let request = Request { limits: self.limits(), ..request };
        let request = match (self.limits_instructions(), request.count) {
            (true, _) => Request { count: Counting::Only, threshold: None, ..request },
            // A limit of QPS needs measurements.
            (false, Counting::Only) => Request { count: Counting::After, ..request },
            (false, _) => request,
        };
        Ok((!systems.is_empty()).then_some(request))
    }
}

impl Arguments for GateArgs {
    const NAME: &'static str = "gate";
    const ABOUT: &'static str =
        "Compare for CI: the exit code says whether a system is slower than a limit";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const EXITS: &'static [(Exit, &'static str)] = &[
        (Exit::Done, "passed"),
        (Exit::LimitExceeded, "found a test slower than its limit"),
        (Exit::Incomplete, "could not decide a test, without `--allow-undecided`"),
    ];

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let Some(request) = self.request()? else { return judge_by_limits(self) };
        let junit = self.junit.as_deref();
        planned(request, &self.measuring, junit, |machine, _| machine, cache_dir)?.measure(false)
    }
}

fn judge_by_limits(args: &GateArgs) -> Result<Exit> {
    report::check(&args.measuring.output, args.junit.as_deref(), &args.measuring.ledger)?;
    feeds::check(&args.measuring.output)?;
    let mut record = report::found(&args.measuring.ledger, args.study.as_deref())?;
    if record.foreign && args.junit.is_some() {
        bail!(ForeignStudy::new(&record.study.id, "judged in a file that CI acts on (`--junit`)"));
    }
    let study = &mut record.study;
    if let Some(limits) = args.limits() {
        if args.limits_instructions() != (study.experiment == Experiment::Counted) {
            let (has, limits, use_) = match study.experiment {
                Experiment::Counted => ("counted instructions", "rates", "`--max-more`"),
                _ => ("measured rates", "instructions", "`--max-slowdown`"),
            };
            bail!(HintedError::new(
                format!("study `{}` {has}; these limits are for {limits}", study.id),
                format!("use {use_}")
            ))
        }
        let chosen = assay_plan::regression_limits(&limits, study.set, &study.cells)?;
        if study.limits.as_ref().is_none_or(|own| own.margins != chosen.margins) {
            print(
                "note: limits chosen after seeing the results prove nothing; run a new gate with them",
            );
        }
        study.limits = Some(chosen);
    }
    let Some(gate) = &mut study.limits else {
        bail!(HintedError::new(
            format!("study `{}` has no limits", study.id),
            match study.experiment {
                Experiment::Counted => "give them with `--max-more`, such as `--max-more 1%`",
                _ => "give them with `--max-slowdown`, such as `--max-slowdown 3%`",
            }
        ))
    };
    gate.allow_undecided |= args.allow_undecided;
    report::write_by_limits(&record, &args.measuring.output, args.junit.as_deref())
}
