//! Writes the charts of a study into a directory, with a Markdown report that shows them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use assay_model::{Hint, counted};
use assay_raster::Rasterizer;
use assay_report::ChartFile;

use assay_run::progress::print;
use assay_run::whole_file;

pub const REPORT: &str = "report.md";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartForm {
    Svg,
    Png,
}

impl ChartForm {
    /// File extension, which is also the word in `--format`.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NoCharts {
    #[error("`--format {0}` writes several files, so it needs a directory")]
    NoDirectory(&'static str),
    #[error("`{}` is no directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("`{}` is no regular file, so it is not replaced", .0.display())]
    NotAFile(PathBuf),
    #[error("this command has no charts")]
    NoReport,
}

impl Hint for NoCharts {
    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NoDirectory(ending) => {
                format!("use `--format {ending} -o DIR`; assay creates the directory")
            }
            Self::NotADirectory(_) => {
                "name a new directory with `-o`, or one that exists".to_owned()
            }
            Self::NotAFile(_) => "move it away, or name another directory with `-o`".to_owned(),
            Self::NoReport => {
                "use `assay report STUDY --format svg -o DIR` or `assay trend TEST --format svg -o DIR`".to_owned()
            }
        };
        vec![hint]
    }
}

/// Checks, before anything is measured, that a directory can take the files of a format. Creates nothing.
pub fn check(word: &'static str, directory: Option<&Path>) -> Result<(), NoCharts> {
    let directory = directory.ok_or(NoCharts::NoDirectory(word))?;
    match fs_err::metadata(directory) {
        Ok(it) if !it.is_dir() => Err(NoCharts::NotADirectory(directory.to_owned())),
        _ => Ok(()),
    }
}

/// Writes the charts and their report. Only files of their names are replaced.
pub fn write_files(
    charts: &[ChartFile],
    report: &str,
    form: ChartForm,
    directory: &Path,
) -> Result<()> {
    let ending = form.ending();
    let file = |chart: &ChartFile| directory.join(format!("{}.{ending}", chart.name));
    fs_err::create_dir_all(directory)?;
    for path in charts.iter().map(file).chain([directory.join(REPORT)]) {
        check_file(&path)?;
    }
    let rasterizer = (form == ChartForm::Png).then(Rasterizer::default);
    for chart in charts {
        let bytes = match &rasterizer {
            None => chart.svg.clone().into_bytes(),
            Some(rasterizer) => {
                let picture = rasterizer.png(&chart.svg);
                picture.with_context(|| format!("cannot draw the chart `{}`", chart.name))?
            }
        };
        whole_file::write(&file(chart), &bytes)?;
    }
    whole_file::write(&directory.join(REPORT), report.as_bytes())?;
    let written = match charts.len() {
        0 => "nothing to draw; the report".to_owned(),
        count => format!("{} and the report that shows them", counted(count as u64, "chart")),
    };
    print(&format!("{written}: `{}`", directory.join(REPORT).display()));
    Ok(())
}

/// Checks that a file may be created or replaced: a link might lead out of the directory, and a pipe would block.
pub fn check_file(path: &Path) -> Result<()> {
    match fs_err::symlink_metadata(path) {
        Ok(it) if it.is_file() => Ok(()),
        Ok(_) => Err(NoCharts::NotAFile(path.to_owned()).into()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}
