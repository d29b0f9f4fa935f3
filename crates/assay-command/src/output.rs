//! Format and destination of results.

use std::path::PathBuf;
use std::sync::LazyLock;

use assay_report::{FEEDS, FORMATS, Feed, Format};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, ValueEnum};

use crate::args::OUTPUT;

/// Text or JSON.
#[derive(Debug, Args)]
pub struct ShapeArg {
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    pub format: ShapeWord,
}

impl ShapeArg {
    pub fn is_text(&self) -> bool {
        self.format == ShapeWord::Text
    }
}

/// `--format` of commands that are no reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShapeWord {
    /// For people
    Text,
    /// For scripts
    Json,
}

/// The place of the ledger.
#[derive(Debug, Args)]
pub struct LedgerArg {
    /// The ledger file, which stores every study [default: `ledger.db` in the user's data directory]
    #[arg(long = "ledger", value_name = "FILE", env = "ASSAY_LEDGER")]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub file: Option<PathBuf>,
}

/// The shape and the place of the result.
#[derive(Debug, Args)]
pub struct Output {
    /// Format of the result [default: by the extension of `-o`]
    ///
    /// Without `-o`, it is text.
    #[arg(long, value_enum)]
    #[arg(help_heading = OUTPUT)]
    pub format: Option<FormatWord>,

    /// Write the result to a file instead of stdout
    ///
    /// The formats `svg`, `png` and `folded` take a directory.
    #[arg(long, short, value_name = "FILE")]
    #[arg(help_heading = OUTPUT)]
    pub output: Option<PathBuf>,

    /// With text: every section of the report
    ///
    /// Also the groups, what the columns mean, the conditions, and how to reproduce the study.
    #[arg(long)]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatWord {
    Of(Format),
    Svg,
    Png,
    Folded,
    For(&'static Feed),
}

/// All formats: assay's own, then those of other programs.
static WORDS: LazyLock<Vec<FormatWord>> = LazyLock::new(|| {
    let own = FormatWord::without_stacks().into_iter().chain([FormatWord::Folded]);
    own.chain(FEEDS.into_iter().map(FormatWord::For)).collect()
});

impl ValueEnum for FormatWord {
    fn value_variants<'a>() -> &'a [Self] {
        &WORDS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (word, about) = match self {
            Self::Of(format) => (format.word, format.about),
            Self::Svg => ("svg", "Every chart as a file, and the Markdown report that shows them"),
            Self::Png => ("png", "The same charts as pictures"),
            Self::Folded => (
                "folded",
                "Profiles and counts as files of stacks, for tools that draw flame graphs",
            ),
            Self::For(feed) => (feed.word, feed.about),
        };
        Some(PossibleValue::new(word).help(about))
    }
}

impl FormatWord {
    pub fn pages() -> impl Iterator<Item = Self> {
        FORMATS.into_iter().map(Self::Of)
    }

    /// assay's own, without those that need profiles.
    pub fn without_stacks() -> Vec<Self> {
        Self::pages().chain([Self::Svg, Self::Png]).collect()
    }

    pub fn only(words: impl IntoIterator<Item = Self>) -> impl FnOnce(Arg) -> Arg {
        let values = words.into_iter().filter_map(|word| word.to_possible_value());
        let values: Vec<PossibleValue> = values.collect();
        let parser = PossibleValuesParser::new(values).try_map(|word| Self::from_str(&word, false));
        |format| format.value_parser(parser)
    }
}
