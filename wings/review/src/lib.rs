//! `assay review`: a benchmark that someone else did, read with care. It says what was unequal, whether a difference
//! exceeds the noise in its files, what is missing, and which study would settle it.

mod comparisons;
mod contents;
mod gaps;
mod page;
mod runs;
mod statistics;
mod study;
mod systems;
mod unequal;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_command::args::{FormatWord, Output};
use assay_command::exit::Exit;
use assay_command::known::known_ratio;
use assay_command::report;
use assay_command::verb::{Arguments, CommandGroup};
use assay_model::counted;
use assay_report::Page;
use assay_run::advice::HintedError;
use assay_run::{paths, whole_file};
use assay_setting_files::NamedServer;
use clap::Args;
use fs_err as fs;

use contents::content_of;
use page::BenchmarkReview;
use runs::{AssignedFile, ReviewedFiles};
use systems::{name, release_in, systems_of};

const FORMS: &str = "\
FILE is an output of sysbench, pgbench or HammerDB, a log of `pgbench --log`, a table of queries per
second in the layout of Mark Callaghan, the output of vmstat, or a file with settings as for
`assay audit`. Folders, or the names of files, say which files belong to one system; NAME=FILE,FILE
says it as well. The first system is the base:
  assay review old/ new/ -o review.html
  assay review mysql@8.0.36=old.txt,old.vmstat,old-vars.txt mysql@8.4.0=new.txt,new-vars.txt";

#[derive(Debug, Args)]
#[command(after_help = FORMS)]
#[command(mut_arg("format", FormatWord::only(FormatWord::pages())))]
pub struct ReviewArgs {
    /// Files of one benchmark, or folders with the files of one system each; `-o FILE.toml` writes the study
    #[arg(required = true, value_name = "[NAME=]FILE,...")]
    pub files: Vec<String>,

    #[command(flatten)]
    pub output: Output,
}

impl Arguments for ReviewArgs {
    const NAME: &'static str = "review";
    const ABOUT: &'static str =
        "Read a published benchmark with care, and write a study that would settle it";
    const GROUP: CommandGroup = CommandGroup::Read;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        let files = read_all(&given_files(&self.files)?)?;
        let names: Vec<&str> = files.systems.iter().map(|system| system.name.as_str()).collect();
        let why = files.left_out.first().map_or_else(String::new, |why| format!("; {why}"));
        match names.as_slice() {
            [] => bail!(HintedError::new(format!("these files have no usable run{why}"), HINT)),
            [only] => bail!(HintedError::new(
                format!("all runs belong to one system, `{only}`{why}"),
                "name the systems: `assay review old=FILE,FILE new=FILE,FILE`"
            )),
            _ => {}
        }
        let review = BenchmarkReview::new(files, known_ratio);
        self.write(&review)?;
        Ok(Exit::Done)
    }
}

impl ReviewArgs {
    /// The review, or with `-o FILE.toml` the study to that file and the review to stdout.
    fn write(&self, review: &BenchmarkReview) -> Result<()> {
        let Output { format, output, verbose } = &self.output;
        let is_study = |path: &&PathBuf| path.extension() == Some(OsStr::new("toml"));
        let page = Page::new(review);
        let Some(path) = output.as_ref().filter(|path| format.is_none() && is_study(path)) else {
            return report::put(&self.output, &page);
        };
        let text = review.study.as_ref().map_err(|why| {
            let what = format!("no study file can be written: {why}");
            HintedError::new(what, "the review itself needs no `-o FILE.toml`")
        })?;
        let cannot = || format!("cannot write `{}`", path.display());
        whole_file::write(path, text.as_bytes()).with_context(cannot)?;
        report::put(&Output { format: None, output: None, verbose: *verbose }, &page)
    }
}

const HINT: &str = "`assay review -h` lists the files that it reads";

/// Bytes of a file. A log of pgbench has some 40 a transaction.
const SIZE_MAX: u64 = 256 << 20;

/// Most files of a review.
const FILES_MAX: usize = 1000;

struct GivenPath {
    path: PathBuf,
    /// The name from the user, or of the folder.
    system: Option<String>,
    /// Whether it was found in a folder, which may have other files too.
    is_found: bool,
}

fn given_files(words: &[String]) -> Result<Vec<GivenPath>> {
    let mut all = Vec::new();
    for word in words {
        let named = word.split_once('=').filter(|(name, _)| !name.is_empty());
        match named.filter(|_| !Path::new(word).exists()) {
            None => add(&mut all, Path::new(word), None)?,
            Some((system, files)) => {
                for file in files.split(',') {
                    add(&mut all, Path::new(file), Some(system))?;
                }
            }
        }
    }
    if all.len() > FILES_MAX {
        bail!(HintedError::new(
            format!("these are {}", counted(all.len() as u64, "file")),
            format!("name at most {FILES_MAX}: those of two systems")
        ));
    }
    Ok(all)
}

/// Adds a file, or those of a folder.
fn add(all: &mut Vec<GivenPath>, path: &Path, system: Option<&str>) -> Result<()> {
    let system = system.map(str::to_owned);
    if !path.is_dir() {
        paths::check_file(path, HINT)?;
        all.push(GivenPath { path: path.to_owned(), system, is_found: false });
        return Ok(());
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(path)? {
        paths.push(entry?.path());
    }
    paths.sort();
    paths.retain(|path| path.is_file());
    let system = Some(system.unwrap_or_else(|| name(path)));
    all.extend(paths.into_iter().map(|path| GivenPath {
        path,
        system: system.clone(),
        is_found: true,
    }));
    Ok(())
}

fn read_all(given: &[GivenPath]) -> Result<ReviewedFiles> {
    let unnamed = given.iter().filter(|file| file.system.is_none());
    let unnamed: Vec<&Path> = unnamed.map(|file| file.path.as_path()).collect();
    let mut found = systems_of(&unnamed).into_iter();
    let (mut assigned, mut left_out) = (Vec::new(), Vec::new());
    let mut contents = BTreeSet::new();
    for file in given {
        let system = match &file.system {
            Some(system) => system.clone(),
            None => found.next().context("each unnamed file has a system")?,
        };
        let shown = shown(&file.path, given);
        let bytes = read(&file.path)?;
        // A copy would be a repeat without noise.
        let mut hasher = DefaultHasher::new();
        (&system, &bytes).hash(&mut hasher);
        if !contents.insert(hasher.finish()) {
            left_out.push(format!("{shown}: a copy of another file of {system}"));
            continue;
        }
        let release = release_in(&system);
        let server = release.map(|release| NamedServer {
            product: release.product,
            version: Some(release.version),
        });
        let (content, faults) = content_of(&shown, &bytes, server.as_ref())?;
        if let Some((first, others)) = faults.split_first().filter(|_| content.is_some()) {
            let more = match others.len() {
                0 => String::new(),
                more => format!(", and {}", counted(more as u64, "more line")),
            };
            left_out.push(format!("lines that cannot be read: {first}{more}"));
        }
        match content {
            Some(content) => assigned.push(AssignedFile { system, file: shown, content }),
            None if file.is_found => left_out.push(format!("{shown}: nothing that is known")),
            None => bail!(HintedError::new(
                format!("`{}` has nothing that a review reads", file.path.display()),
                HINT
            )),
        }
    }
    let mut files = ReviewedFiles::new(assigned);
    files.left_out.extend(left_out);
    Ok(files)
}

/// The name of a file, with its folder if another file has the same name.
fn shown(path: &Path, all: &[GivenPath]) -> String {
    let own = name(path);
    let is_alone = all.iter().filter(|other| name(&other.path) == own).count() == 1;
    match path.parent().map(name).filter(|folder| !is_alone && !folder.is_empty()) {
        Some(folder) => format!("{folder}/{own}"),
        None => own,
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    // Opening a pipe would wait for its writer.
    if !fs::metadata(path)?.is_file() {
        bail!(HintedError::new(format!("`{}` is not a regular file", path.display()), HINT));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(SIZE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SIZE_MAX {
        bail!(HintedError::new(
            format!("`{}` has more than {} MiB", path.display(), SIZE_MAX >> 20),
            "leave it out; `pgbench --progress=1` shows the rates of seconds in a few lines"
        ));
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        bail!(HintedError::new(format!("`{}` is compressed", path.display()), "`gunzip` it first"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
