//! Form of a result, from `--format` or the file name.

use assay_model::Hint;
use assay_report::{FORMATS, Feed, Format};

use crate::args::{FormatWord, Output};
use crate::charts::ChartForm;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text(Format),
    Charts(ChartForm),
    Stacks,
    Feed(&'static Feed),
}

/// The requested form, else that of the file's extension.
pub fn form(output: &Output) -> Result<Form, NoFormat> {
    Ok(match output.format {
        None => implied(output)?,
        Some(FormatWord::Of(format)) => Form::Text(format),
        Some(FormatWord::Svg) => Form::Charts(ChartForm::Svg),
        Some(FormatWord::Png) => Form::Charts(ChartForm::Png),
        Some(FormatWord::Folded) => Form::Stacks,
        Some(FormatWord::For(feed)) => Form::Feed(feed),
    })
}

fn implied(output: &Output) -> Result<Form, NoFormat> {
    let name = output.output.as_ref().and_then(|path| path.file_name());
    if let Some(feed) = name.and_then(|it| assay_report::feed_of_file(&it.to_string_lossy())) {
        return Ok(Form::Feed(feed));
    }
    let ending = output.output.as_ref().and_then(|path| path.extension());
    let ending = ending.map(|it| it.to_string_lossy().to_ascii_lowercase());
    let Some(ending) = ending else { return Ok(Form::Text(Format::TEXT)) };
    Format::of_extension(&ending).map(Form::Text).ok_or(NoFormat(ending))
}

#[derive(Debug, thiserror::Error)]
#[error("assay has no format with the extension `.{0}`")]
pub struct NoFormat(String);

impl Hint for NoFormat {
    fn hints(&self) -> Vec<String> {
        vec![match self.0.as_str() {
            "svg" | "png" => {
                format!("charts are files of a directory: `--format {} -o DIR`", self.0)
            }
            "folded" => "the stacks of profiles are files of a directory: `--format folded -o DIR`"
                .to_owned(),
            _ => {
                let usual = FORMATS.iter().filter_map(|format| format.extensions.first());
                let mut usual: Vec<String> = usual.map(|it| format!("`.{it}`")).collect();
                let last = usual.pop().unwrap_or_default();
                format!("use {} or {last}, or name the format with `--format`", usual.join(", "))
            }
        }]
    }
}
