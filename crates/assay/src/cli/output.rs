//! The shape and the place of results.

use std::path::PathBuf;
use std::sync::LazyLock;

use assay_report::{FEEDS, Feed};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, ValueEnum};

use super::OUTPUT;

/// Text or JSON.
#[derive(Debug, Args)]
pub(crate) struct ShapeArg {
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ShapeWord,
}

impl ShapeArg {
    /// Whether people read it.
    pub(crate) fn is_text(&self) -> bool {
        self.format == ShapeWord::Text
    }
}

/// `--format` of commands that are no reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeWord {
    /// For people
    Text,
    /// For scripts
    Json,
}

/// The place of the ledger.
#[derive(Debug, Args)]
pub(crate) struct LedgerArg {
    /// The ledger file, which stores every slice [default: `ledger.db` in the user's data directory]
    #[arg(long = "ledger", value_name = "FILE", env = "ASSAY_LEDGER")]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) file: Option<PathBuf>,
}

/// The shape and the place of the result.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Format of the result [default: by the extension of `-o`]
    ///
    /// Without `-o`, it is text.
    #[arg(long, value_enum)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) format: Option<FormatWord>,

    /// Write the result to a file instead of stdout
    ///
    /// The formats `svg`, `png` and `folded` take a directory.
    #[arg(long, short, value_name = "FILE")]
    #[arg(help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,

    /// With text: every section of the report
    ///
    /// Also the groups, what the columns mean, the conditions, and how to reproduce the study.
    #[arg(long)]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) verbose: bool,
}

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatWord {
    Text,
    Html,
    Markdown,
    Csv,
    Json,
    Svg,
    Png,
    Folded,
    /// What another program reads.
    For(&'static Feed),
}

/// All formats: our own, and then those of other programs.
static FORMATS: LazyLock<Vec<FormatWord>> = LazyLock::new(|| {
    let own = FormatWord::WITHOUT_STACKS.iter().copied().chain([FormatWord::Folded]);
    own.chain(FEEDS.into_iter().map(FormatWord::For)).collect()
});

impl ValueEnum for FormatWord {
    fn value_variants<'a>() -> &'a [Self] {
        &FORMATS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (word, about) = match self {
            Self::Text => ("text", "A table for the terminal"),
            Self::Html => ("html", "One self-contained page for a browser"),
            Self::Markdown => ("markdown", "Tables for an issue, a pull request or a post"),
            Self::Csv => ("csv", "One line per cell and system"),
            Self::Json => ("json", "For scripts: schema 1"),
            Self::Svg => ("svg", "Every chart as a file, and the Markdown report that shows them"),
            Self::Png => ("png", "The same charts as pictures"),
            Self::Folded => {
                ("folded", "The profiles as files of stacks, for tools that draw flame graphs")
            }
            Self::For(feed) => (feed.word, feed.about),
        };
        Some(PossibleValue::new(word).help(about))
    }
}

impl FormatWord {
    /// Our own, but not what only the profiles of a study have.
    pub(crate) const WITHOUT_STACKS: &[Self] =
        &[Self::Text, Self::Html, Self::Markdown, Self::Csv, Self::Json, Self::Svg, Self::Png];

    /// Makes `--format` take these formats alone, so that the help lists no other.
    pub(crate) fn only(words: &'static [Self]) -> impl FnOnce(Arg) -> Arg {
        let values = words.iter().filter_map(ValueEnum::to_possible_value);
        let parser = PossibleValuesParser::new(values).try_map(|word| Self::from_str(&word, false));
        |format| format.value_parser(parser)
    }
}
