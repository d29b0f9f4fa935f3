//! The description of a feed.

use assay_model::StudyRecord;
use assay_verdict::Judgement;

/// A format that another program reads.
#[derive(Debug)]
pub struct Feed {
    /// Value of `--format`.
    pub word: &'static str,
    /// Help line without a full stop.
    pub about: &'static str,
    /// The program that reads it, for the documentation.
    pub reader: &'static str,
    /// File extensions, with their dots.
    pub endings: &'static [&'static str],
    /// Treatment of cells without a decision, for the documentation.
    pub undecided: &'static str,
    /// Treatment of cells without a value, for the documentation.
    pub failed: &'static str,
    pub made: Made,
}

impl PartialEq for Feed {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for Feed {}

pub type Judged<'a> = (&'a StudyRecord, &'a Judgement);

#[derive(Debug, Clone, Copy)]
pub enum Made {
    Study(fn(&StudyRecord, &Judgement) -> Fed),
    History(fn(&[Judged<'_>], &str) -> Fed),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fed {
    /// Ends with a line feed.
    pub text: String,
    /// Omissions with reasons: lines for people.
    pub left_out: Vec<String>,
}
