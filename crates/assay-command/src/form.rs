//! Form of a result, from `--format` or the file name.

use assay_report::{FORMATS, Feed, Format};
use assay_run::advice::HintedError;

use crate::args::{FormatWord, Output};
use crate::charts::ChartForm;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultForm {
    Text(Format),
    Charts(ChartForm),
    Stacks,
    Feed(&'static Feed),
}

/// The requested form, else that of the file's extension.
pub fn form(output: &Output) -> Result<ResultForm, HintedError> {
    Ok(match output.format {
        None => implied(output)?,
        Some(FormatWord::Of(format)) => ResultForm::Text(format),
        Some(FormatWord::Svg) => ResultForm::Charts(ChartForm::Svg),
        Some(FormatWord::Png) => ResultForm::Charts(ChartForm::Png),
        Some(FormatWord::Folded) => ResultForm::Stacks,
        Some(FormatWord::For(feed)) => ResultForm::Feed(feed),
    })
}

fn implied(output: &Output) -> Result<ResultForm, HintedError> {
    let name = output.output.as_ref().and_then(|path| path.file_name());
    if let Some(feed) = name.and_then(|name| assay_report::feed_of_file(&name.to_string_lossy())) {
        return Ok(ResultForm::Feed(feed));
    }
    let ending = output.output.as_ref().and_then(|path| path.extension());
    let ending = ending.map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let Some(ending) = ending else { return Ok(ResultForm::Text(Format::TEXT)) };
    Format::of_extension(&ending).map(ResultForm::Text).ok_or_else(|| no_format(&ending))
}

fn no_format(ending: &str) -> HintedError {
    let hint = match ending {
        "svg" | "png" => format!("charts are files of a directory: `--format {ending} -o DIR`"),
        "folded" => {
            "the stacks of profiles are files of a directory: `--format folded -o DIR`".to_owned()
        }
        _ => {
            let usual = FORMATS.iter().filter_map(|format| format.extensions.first());
            let mut usual: Vec<String> = usual.map(|ending| format!("`.{ending}`")).collect();
            let last = usual.pop().expect("some formats have extensions");
            format!("use {} or {last}, or name the format with `--format`", usual.join(", "))
        }
    };
    HintedError::new(format!("assay has no format with the extension `.{ending}`"), hint)
}
