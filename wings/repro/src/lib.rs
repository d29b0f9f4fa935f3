//! `assay repro`: writes files that show a finding without assay.

use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_command::args::{LedgerArg, OUTPUT};
use assay_command::exit::Exit;
use assay_command::ledger_files::open_ledger;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{base, candidates, report, study_id};
use assay_model::{StudyRecord, Test, Verdict};
use assay_options::whole;
use assay_repro::{Finding, ReproFile};
use assay_run::advice::HintedError;
use assay_run::progress::print;
use assay_run::{paths, study, whole_file, workload};
use assay_verdict::{CellJudgement, Judgement};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

#[derive(Debug, Args)]
pub struct Repro {
    /// The study: its name, a unique prefix of it, or `latest`
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: String,

    /// The test: its name, or a pattern that only its name matches [default: the one that is slower by most]
    #[arg(long, value_name = "TEST")]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub test: Option<String>,

    /// The directory to write, which must not exist or must be empty
    #[arg(long, short, value_name = "DIR")]
    #[arg(help_heading = OUTPUT)]
    pub output: PathBuf,

    /// The one system: its name in the study, or its number from 1 [default: the base of the study]
    #[arg(long, value_name = "SYSTEM")]
    pub base: Option<String>,

    /// The other system [default: the slowest in this test]
    #[arg(long, value_name = "SYSTEM")]
    pub other: Option<String>,

    /// Number of clients, if the study measured several [default: that with the largest change]
    #[arg(long, value_name = "N", value_parser = whole(0..=u32::MAX), allow_negative_numbers = true)]
    pub clients: Option<u32>,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

impl Arguments for Repro {
    const NAME: &'static str = "repro";
    const ABOUT: &'static str =
        "Write what shows a finding without assay: configurations, tables, a script";
    const GROUP: CommandGroup = CommandGroup::Share;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        check_place(&self.output)?;
        let file = paths::ledger_file(self.ledger.file.as_deref())?;
        let ledger = open_ledger(&file)?;
        let Some(id) = study_id::find(&ledger, Some(&self.study), |_| true)? else {
            bail!("there is no study in `{}` yet", file.display())
        };
        let mut record = study::own(&ledger, &id, "written as scripts that run")?;
        if let Some(words) = &self.base {
            record = base::rebased(record, words)?;
        }
        let base =
            record.systems.iter().position(|it| it.is_base).context("the study has no base")?;
        let named =
            self.other.as_deref().map(|words| base::position(&record, words)).transpose()?;
        let judgement = assay_verdict::judge(&record);
        let test = match &self.test {
            Some(words) => test_of(&record, words)?,
            None => slowest(&record, &judgement, base, named, self.clients)?,
        };
        let judged = chosen(&record, &judgement, test, base, named, self.clients)?;
        let request = assay_plan::request_of(&record.study)?;
        workload::read_captured([test])?;
        let finding = Finding {
            record: &record,
            judgement: &judgement,
            cell: judged.cell,
            base,
            other: judged.system,
            oltp: request.oltp_options(),
            read_file: &workload::read_again,
        };
        let files = assay_repro::files(&finding);
        let files = files.map_err(|refused| HintedError::new(refused.what, refused.hint))?;
        write(&self.output, &files)?;
        let directory = self.output.display();
        print(&format!(
            "note: `{directory}` shows `{test}` without assay; README.md says how to run it"
        ));
        let [archive, packed] = [format!("{test}.tar.gz"), directory.to_string()]
            .map(|word| assay_plan::shell_quoted(&word));
        print(&format!("note: to send it as one file, `tar -czf {archive} {packed}`"));
        report::write_stdout(&format!("{directory}\n"))?;
        Ok(Exit::Done)
    }
}

fn slowest(
    record: &StudyRecord,
    judgement: &Judgement,
    base: usize,
    named: Option<usize>,
    clients: Option<u32>,
) -> Result<Test> {
    let is_twin = |system: usize| record.systems.get(system).is_some_and(|it| it.is_twin);
    let is_meant = |it: &&CellJudgement| {
        it.system != base && named.map_or(!is_twin(it.system), |named| it.system == named)
    };
    let slower = judgement.cells.iter().filter(|it| it.verdict == Verdict::Slower).filter(is_meant);
    let slower = slower.filter(|it| clients.is_none_or(|wanted| it.cell.setup.clients == wanted));
    let slowest = slower.min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    slowest.map(|it| it.cell.test).ok_or_else(|| {
        HintedError::new(
            format!("study `{}` calls no test slower", record.study.id),
            "`--test` names the one to write, with a verdict or without",
        )
        .into()
    })
}

fn ratio(cell: &CellJudgement) -> f64 {
    cell.rqps.map_or(f64::INFINITY, |ratio| ratio.value)
}

fn test_of(record: &StudyRecord, words: &str) -> Result<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for cell in &record.study.cells {
        if !tests.contains(&cell.id.test) {
            tests.push(cell.id.test);
        }
    }
    if let Some(test) = tests.iter().find(|test| test.name() == words) {
        return Ok(*test);
    }
    let found = assay_plan::select_of(tests, &[words.to_owned()])?;
    match found.as_slice() {
        [test] => Ok(*test),
        several => {
            let names: Vec<_> = several.iter().map(|test| format!("`{test}`")).collect();
            bail!(HintedError::new(
                format!("`{words}` means {} tests of study `{}`", several.len(), record.study.id),
                format!("name one of them: {}", names.join(", ")),
            ))
        }
    }
}

fn chosen<'j>(
    record: &StudyRecord,
    judgement: &'j Judgement,
    test: Test,
    base: usize,
    other: Option<usize>,
    clients: Option<u32>,
) -> Result<&'j CellJudgement> {
    if other == Some(base) {
        bail!(HintedError::new(
            "`--base` and `--other` name the same system",
            "`assay studies show` lists the systems of a study"
        ));
    }
    let is_twin = |system: usize| record.systems.get(system).is_some_and(|it| it.is_twin);
    let of_test = || judgement.cells.iter().filter(|it| it.cell.test == test && it.system != base);
    let counts = || of_test().map(|it| it.cell.setup.clients);
    if let Some(wanted) = clients.filter(|wanted| !counts().any(|it| it == *wanted)) {
        let mut counts: Vec<String> = counts().map(|it| it.to_string()).collect();
        counts.dedup();
        bail!(HintedError::new(
            format!("the study has not measured `{test}` with {wanted} clients"),
            format!("it has measured it with these numbers of clients: {}", counts.join(", ")),
        ));
    }
    let wanted = of_test()
        .filter(|it| other.map_or(!is_twin(it.system), |other| it.system == other))
        .filter(|it| clients.is_none_or(|clients| it.cell.setup.clients == clients));
    let slowest = wanted.min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let found = slowest.filter(|it| it.rqps.is_some());
    found.ok_or_else(|| {
        HintedError::new(
            format!("study `{}` has no other system with a result in `{test}`", record.study.id),
            "a finding needs two systems that were both measured",
        )
        .into()
    })
}

fn check_place(directory: &Path) -> Result<()> {
    let is_empty = match fs_err::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(error.into()),
    };
    if !is_empty {
        bail!(HintedError::new(
            format!("`{}` is not empty", directory.display()),
            "name a directory that does not exist yet"
        ));
    }
    Ok(())
}

fn write(directory: &Path, files: &[ReproFile]) -> Result<()> {
    for file in files {
        let path = directory.join(&file.name);
        let parent = path.parent().unwrap_or(directory);
        fs_err::create_dir_all(parent)?;
        whole_file::put(&path, &file.content)?;
        if file.is_program {
            fs_err::set_permissions(&path, Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}
