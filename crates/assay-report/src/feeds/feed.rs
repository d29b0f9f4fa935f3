//! What a feed is.

use assay_model::StudyRecord;
use assay_verdict::Judgement;

/// A format that another program reads.
#[derive(Debug)]
pub struct Feed {
    /// The word of `--format`.
    pub word: &'static str,
    /// What it is, for the help: a line without a full stop.
    pub about: &'static str,
    /// The program that reads it, for the documentation.
    pub reader: &'static str,
    /// The endings of files that stand for it, with their dots.
    pub endings: &'static [&'static str],
    /// What becomes of cells without a decision, for the documentation.
    pub undecided: &'static str,
    /// What becomes of cells without a value, for the documentation.
    pub failed: &'static str,
    /// How it is made.
    pub made: Made,
}

impl PartialEq for Feed {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for Feed {}

/// A study and its verdicts.
pub type Judged<'a> = (&'a StudyRecord, &'a Judgement);

/// How a feed is made.
#[derive(Debug, Clone, Copy)]
pub enum Made {
    /// From one study.
    Study(fn(&StudyRecord, &Judgement) -> Fed),
    /// From the study of this name and all others of the ledger.
    History(fn(&[Judged<'_>], &str) -> Fed),
}

/// What another program gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fed {
    /// The text; ends with a line feed.
    pub text: String,
    /// What the text leaves out, and why: lines for people.
    pub left_out: Vec<String>,
}
