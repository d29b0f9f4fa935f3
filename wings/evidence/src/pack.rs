//! `assay pack`: writes a study with its reports to one file.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_ledger::{Ledger, StudyRows};
use assay_model::{StudyRecord, printable};
use assay_pack::{MEMBERS, Pack};
use assay_report::{Format, TextOptions};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use super::personal::{self, directories};
use assay_command::args::LedgerArg;
use assay_command::exit::Exit;
use assay_command::ledger_files::{is_pack, open_ledger, read};
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, report, study_id};
use assay_run::advice::HintedError;
use assay_run::progress::print;
use assay_run::study_records::{self, published_id};
use assay_run::{paths, study, whole_file};

/// `assay pack`.
#[derive(Debug, Args)]
pub struct PackArgs {
    /// The study: its name, a unique prefix of it, or `latest`
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: String,

    /// The file to write, such as `study.assay`; only a pack is overwritten
    #[arg(value_name = "FILE")]
    pub pack: PathBuf,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

impl Arguments for PackArgs {
    const NAME: &'static str = "pack";
    const ABOUT: &'static str =
        "Write a study, its reports and their digests to one file, without personal paths";
    const GROUP: CommandGroup = CommandGroup::Share;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        check_place(&self.pack)?;
        let file = paths::ledger_file(self.ledger.file.as_deref())?;
        let ledger = open_ledger(&file)?;
        let Some(id) = study_id::find(&ledger, Some(&self.study), |_| true)? else {
            bail!("there is no study in `{}` yet", file.display())
        };
        let record = ledger.read(&id)?;
        if study::is_measured(&record) {
            bail!(HintedError::new(
                format!("study `{id}` is being measured"),
                "pack it when it has ended, or interrupt it first"
            ));
        }
        let directories = directories(paths::cache_dir(cache_dir).ok().as_deref());
        let pack = packed(judged(&ledger, &id)?, &record, &directories)?;
        let cannot = || format!("cannot write `{}`", self.pack.display());
        whole_file::write(&self.pack, &pack.bytes()).with_context(cannot)?;
        let name = self.pack.display();
        print(&format!(
            "note: `{name}` has study `{id}`; publish the digest below beside the file"
        ));
        report::write_stdout(&format!("{}\n", pack.digest))?;
        Ok(Exit::Done)
    }
}

/// The rows of a study, with its verdicts if it is finished: assay may have been killed before it stored them.
pub(super) fn judged(ledger: &Ledger, id: &str) -> Result<StudyRows> {
    let (rows, record) = (ledger.rows(id)?, study_records::read(ledger, id)?);
    if !record.finished || ledger.conclusions(id)?.is_some() {
        return Ok(rows);
    }
    let directory = tempfile::tempdir()?;
    let mut copy = Ledger::open(&directory.path().join(assay_pack::LEDGER))?;
    copy.add_rows(std::slice::from_ref(&rows))?;
    copy.set_conclusions(&record.study.id, &study_records::conclusions(&record))?;
    Ok(copy.rows(id)?)
}

/// Whether a study of a ledger, once packed, has these rows. A pack lacks places of the machine.
pub fn is_packed(ledger: &Ledger, rows: &StudyRows) -> Result<bool> {
    let id = rows.study();
    let record = ledger.read(id)?;
    let directories = directories(paths::cache_dir(None).ok().as_deref());
    let pack = packed(judged(ledger, id)?, &record, &directories)?;
    let kept = Ledger::of_bytes(pack.member(assay_pack::LEDGER), Path::new("the packed ledger"))?;
    Ok(kept.rows(id).is_ok_and(|kept| kept.is_same(rows)))
}

pub(super) fn packed(
    mut rows: StudyRows,
    record: &StudyRecord,
    directories: &[String],
) -> Result<Pack> {
    personal::remove(&mut rows, record, directories)?;
    if rows.is_published() {
        let id = published_id(&rows);
        rows = rows.renamed(id);
    }
    let id = rows.study().to_owned();
    // For the reader of a pack, the study comes from elsewhere.
    let bytes = Ledger::bytes_of(&[rows.marked_foreign()])
        .context("cannot make a ledger of the study alone")?;
    let ledger = Ledger::of_bytes(&bytes, Path::new("the packed ledger"))?;
    let packed = study_records::read(&ledger, &id)?;
    let concluded = |record| assay_verdict::judge(record).conclusions();
    if concluded(&packed).len() != concluded(record).len() {
        bail!("the study cannot be packed: without personal names it would be another one");
    }
    let mut reports = reports(&packed).into_iter();
    let contents = MEMBERS.map(|name| match name {
        assay_pack::LEDGER => bytes.clone(),
        _ => reports.next().unwrap_or_default(),
    });
    for (name, content) in MEMBERS.iter().zip(&contents) {
        personal::check(name, content, directories)?;
    }
    Ok(Pack::new(&id, env!("CARGO_PKG_VERSION"), contents)?)
}

fn check_place(file: &Path) -> Result<()> {
    if let Ok(found) = fs_err::metadata(file)
        && !(found.is_file() && is_pack(file) && read(file).is_ok())
    {
        bail!(HintedError::new(
            format!("`{}` already exists and is not a pack", printable(&file.to_string_lossy())),
            "name a new file; only a pack is overwritten"
        ));
    }
    Ok(())
}

const LAYOUT: TextOptions = TextOptions { width: 120, color: false, verbose: true };

pub(super) const REPORTS: [(&str, Format); 5] = [
    ("report.json", Format::JSON),
    ("report.csv", Format::CSV),
    ("report.html", Format::HTML),
    ("report.md", Format::MARKDOWN),
    ("report.txt", Format::TEXT),
];

pub(super) fn reports(record: &StudyRecord) -> [Vec<u8>; REPORTS.len()] {
    let judgement = assay_verdict::judge(record);
    REPORTS
        .map(|(_, format)| assay_report::render(record, &judgement, format, &LAYOUT).into_bytes())
}
