//! `assay claims`: checks published statements against studies of the ledger.

mod page;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use assay_claim_check::{ClaimFile, ClaimStatus, check_claims, read_claims};
use assay_command::args::{FormatWord, LedgerArg, Output};
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, report};
use assay_model::StudyRecord;
use assay_report::Format;
use assay_run::advice::HintedError;
use assay_run::paths;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

pub use assay_claim_check::{CheckedClaim, CheckedPart};
pub use page::{answer, claims, document};

fn formats() -> impl Iterator<Item = FormatWord> {
    FormatWord::pages().filter(|it| *it != FormatWord::Of(Format::CSV))
}

#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(formats())))]
pub struct Claims {
    /// The file with published statements, TOML, such as those in `posts/`; `-` reads it from stdin
    #[arg(value_name = "FILE")]
    pub claim_file: PathBuf,

    /// The study, or several whose values count together [default: the latest]
    #[arg(value_name = "STUDY")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub studies: Vec<String>,

    /// Exit with 0 although some claims cannot be decided
    #[arg(long)]
    pub allow_undecided: bool,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

const CLAIM_FILES: &str = "name a file with claims, such as those in `posts/`; \
     `docs/reference/claim-files.md` describes them";

impl Arguments for Claims {
    const NAME: &'static str = "claims";
    const ABOUT: &'static str = "Check published statements against studies";
    const GROUP: CommandGroup = CommandGroup::Read;
    const EXITS: &'static [(Exit, &'static str)] = &[
        (Exit::LimitExceeded, "found a claim that does not hold"),
        (Exit::Incomplete, "could not decide a claim, without `--allow-undecided`"),
    ];

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        if report::format(&self.output)? == Format::CSV {
            bail!(HintedError::new(
                "checked claims have no CSV",
                "use `--format json`, which has all of it for programs"
            ));
        }
        report::check(&self.output, None, &self.ledger)?;
        let text = read(&self.claim_file)?;
        let file = read_claims(&self.claim_file.display().to_string(), &text)?;
        let latest = [None];
        let named: Vec<Option<&str>> = self.studies.iter().map(|it| Some(it.as_str())).collect();
        let names = if named.is_empty() { &latest[..] } else { &named };
        let mut records: Vec<StudyRecord> = Vec::new();
        for name in names {
            let record = report::found(&self.ledger, *name)?;
            if !records.iter().any(|it| it.study.id == record.study.id) {
                records.push(record);
            }
        }
        let checked = checked(&file, &records, &BTreeMap::new());
        let ids: Vec<String> = records.iter().map(|it| it.study.id.clone()).collect();
        report::put(&self.output, &claims(&checked, &ids))?;
        Ok(match ClaimStatus::of_all(checked.iter().map(CheckedClaim::status)) {
            ClaimStatus::Holds => Exit::Done,
            ClaimStatus::Fails => Exit::LimitExceeded,
            ClaimStatus::Unknown if self.allow_undecided => Exit::Done,
            ClaimStatus::Unknown => Exit::Incomplete,
        })
    }
}

fn read(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        return paths::text(std::io::stdin().lock(), "stdin", CLAIM_FILES);
    }
    paths::check_file(path, CLAIM_FILES)?;
    paths::text(fs_err::File::open(path)?, &path.display().to_string(), CLAIM_FILES)
}

/// Checks the claims of a file against studies, whose values count together. `counterparts` are the systems of the
/// studies that answer for systems of the claims, by the names of the latter.
pub fn checked(
    file: &ClaimFile,
    records: &[StudyRecord],
    counterparts: &BTreeMap<String, String>,
) -> Vec<CheckedClaim> {
    check_claims(&file.claims, records, counterparts)
}
