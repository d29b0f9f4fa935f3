//! `assay trend`: one test over the versions and the time of all studies of a ledger.

mod line;
mod page;
mod shifts;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use assay_command::args::{FormatWord, LedgerArg, Output};
use assay_command::exit::Exit;
use assay_command::ledger_files::open_ledger;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, report};
use assay_ledger::Ledger;
use assay_model::{Experiment, StudyRecord};
use assay_report::Page;
use assay_run::advice::HintedError;
use assay_run::{paths, study_records};
use assay_verdict::Judgement;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use line::{TrendLine, lines};
use page::TrendResult;

#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub struct Trend {
    /// The test, as the studies name it
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub test: String,

    /// Show only systems whose names match
    #[arg(long, value_name = "GLOB")]
    pub system: Option<String>,

    /// Show only this number of clients
    #[arg(long, value_name = "N")]
    pub clients: Option<u32>,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

impl Arguments for Trend {
    const NAME: &'static str = "trend";
    const ABOUT: &'static str = "Show one test over the versions and the time of all studies";
    const GROUP: CommandGroup = CommandGroup::Read;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        report::check(&self.output, None, &self.ledger)?;
        let ledger = open_ledger(&paths::ledger_file(self.ledger.file.as_deref())?)?;
        let found = found(&ledger, &self.test, self.system.as_deref(), self.clients)?;
        let trend = TrendResult { test: &found.test, lines: &found.lines, studies: found.studies };
        report::put(&self.output, &page::trend(&trend))?;
        Ok(Exit::Done)
    }
}

/// The lines of a test.
struct TestHistory {
    /// Its name, which may have been searched for with a pattern.
    test: String,
    lines: Vec<TrendLine>,
    /// Studies that have the test.
    studies: usize,
}

/// Passes the page of a test over studies to `then`, if any two of its values are comparable. Returns whether they are.
pub fn with_trend(
    test: &str,
    studies: &[(&StudyRecord, &Judgement)],
    then: &mut dyn FnMut(&Page<'_>),
) -> bool {
    let has_test = |(record, _): &(&StudyRecord, &Judgement)| {
        record.study.cells.iter().any(|cell| cell.id.test.name() == test)
    };
    let studies: Vec<_> = studies.iter().copied().filter(has_test).collect();
    let lines = lines(&studies, |cell, _| cell.test.name() == test);
    let is_trend = lines.iter().any(|line| line.points.len() > 1);
    if is_trend {
        let studies = studies.len();
        then(&page::trend(&TrendResult { test, lines: &lines, studies }));
    }
    is_trend
}

fn nothing(
    studies: &[(StudyRecord, Judgement)],
    test: &str,
    (system, clients): (Option<&str>, Option<u32>),
) -> HintedError {
    let records = || studies.iter().map(|(record, _)| record);
    let of_test =
        |record: &&StudyRecord| record.study.cells.iter().any(|cell| cell.id.test.name() == test);
    let listed = |all: BTreeSet<String>| {
        let first: Vec<String> = all.iter().take(8).cloned().collect();
        format!("there are {}{}", first.join(", "), if all.len() > 8 { ", ..." } else { "" })
    };
    if records().all(|record| record.study.experiment == Experiment::Counted) {
        return HintedError::new(
            format!("the studies of `{test}` counted instructions, and a trend is one of rates"),
            "`assay report STUDY` shows the counts; `assay watch` follows them",
        );
    }
    if let Some(clients) = clients {
        let cells = records().filter(of_test).flat_map(|it| &it.study.cells);
        let all: BTreeSet<u32> = cells.map(|it| it.id.setup.clients).collect();
        if !all.contains(&clients) {
            let all = all.iter().map(u32::to_string).collect();
            return HintedError::new(
                format!("no study of `{test}` has {clients} clients"),
                listed(all),
            );
        }
    }
    let systems = records().flat_map(|it| it.systems.iter().filter(|it| !it.is_base));
    let all: BTreeSet<String> = systems.map(|it| it.name.clone()).collect();
    match system {
        Some(system) if !all.is_empty() => {
            HintedError::new(format!("no system of `{test}` matches `{system}`"), listed(all))
        }
        _ => HintedError::new(
            format!("no study of `{test}` has a system beside the base with a value"),
            "`assay studies` lists the studies",
        ),
    }
}

/// Searches all studies of a ledger for a test.
fn found(
    ledger: &Ledger,
    test: &str,
    system: Option<&str>,
    clients: Option<u32>,
) -> Result<TestHistory> {
    let is_named = assay_plan::name_matcher(system.unwrap_or("*"))?;
    let is_test = assay_plan::name_matcher(test)?;
    let mut tests: BTreeSet<String> = BTreeSet::new();
    let mut studies: Vec<(StudyRecord, Judgement)> = Vec::new();
    for record in study_records::readable(ledger)? {
        tests.extend(record.study.cells.iter().map(|cell| cell.id.test.name().to_owned()));
        if record.study.cells.iter().any(|cell| is_test(cell.id.test.name())) {
            let judgement = assay_verdict::judge(&record);
            studies.push((record, judgement));
        }
    }
    let matched: Vec<&str> = tests.iter().map(String::as_str).filter(|it| is_test(it)).collect();
    if let [_, _, ..] = matched.as_slice() {
        let hint = format!("name one of {}", matched.join(", "));
        bail!(HintedError::new(format!("`{test}` stands for {} tests", matched.len()), hint));
    }
    if studies.is_empty() {
        let first: Vec<&str> = tests.iter().map(String::as_str).take(8).collect();
        let hint = match (assay_plan::nearest(test, &tests), first.as_slice()) {
            (Some(nearest), _) => format!("did you mean `{nearest}`?"),
            (None, []) => "`assay compare BASE OTHER` measures some".to_owned(),
            (None, first) => format!(
                "they have {}{}",
                first.join(", "),
                if tests.len() > 8 { ", ..." } else { "" }
            ),
        };
        bail!(HintedError::new(format!("no study of the ledger has a test `{test}`"), hint));
    }
    let all: Vec<_> = studies.iter().map(|(record, judgement)| (record, judgement)).collect();
    let lines = lines(&all, |cell, system| {
        is_test(cell.test.name())
            && clients.is_none_or(|clients| clients == cell.setup.clients)
            && is_named(&system.name)
    });
    let test = matched.first().copied().unwrap_or(test).to_owned();
    if lines.is_empty() {
        bail!(nothing(&studies, &test, (system, clients)));
    }
    Ok(TestHistory { test, lines, studies: all.len() })
}
