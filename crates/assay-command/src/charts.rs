//! Writes the charts of a study into a directory, with a Markdown report that shows them.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use assay_model::counted;
use assay_report::ChartFile;
use assay_run::advice::HintedError;
use assay_run::progress::print;
use assay_run::whole_file;

use crate::raster::Rasterizer;

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

/// The format writes several files, and no directory was named.
pub fn no_directory(word: &str) -> HintedError {
    HintedError::new(
        format!("`--format {word}` writes several files, so it needs a directory"),
        format!("use `--format {word} -o DIR`; assay creates the directory"),
    )
}

/// Checks, before anything is measured, that a directory can take the files of a format. Creates nothing.
pub fn check(word: &str, directory: Option<&Path>) -> Result<(), HintedError> {
    let directory = directory.ok_or_else(|| no_directory(word))?;
    match fs_err::metadata(directory) {
        Ok(found) if !found.is_dir() => Err(HintedError::new(
            format!("`{}` is no directory", directory.display()),
            "name a new directory with `-o`, or one that exists",
        )),
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
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => bail!(HintedError::new(
            format!("`{}` is no regular file, so it is not replaced", path.display()),
            "move it away, or name another directory with `-o`"
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}
