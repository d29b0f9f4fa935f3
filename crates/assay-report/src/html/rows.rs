//! Sorting and filtering of the table of tests.

use assay_model::Verdict;

use crate::view::Report;
use crate::view::tests::TestRow;
use crate::words::Separated;

/// The words that the table can be filtered by.
pub(crate) struct Filters<'a> {
    pub(crate) groups: Vec<&'a str>,
    /// Empty where there is one setup.
    pub(crate) setups: Vec<String>,
    /// The verdicts that occur. Where some of them is a change, [`CHANGED`] comes first.
    pub(crate) verdicts: Vec<&'static str>,
}

/// The word for tests with any change.
const CHANGED: &str = "changed";

/// The verdicts in the order in which their column is sorted.
const VERDICTS: [Verdict; 6] = [
    Verdict::Slower,
    Verdict::Faster,
    Verdict::Uneven,
    Verdict::Same,
    Verdict::Undecided,
    Verdict::Failed,
];

impl<'a> Filters<'a> {
    pub(crate) fn new(report: &'a Report<'a>) -> Self {
        let sections = &report.tests.sections;
        let mut groups: Vec<&str> = sections.iter().map(|it| it.group.word.as_str()).collect();
        groups.sort_unstable();
        groups.dedup();
        let mut setups: Vec<_> = sections.iter().map(|section| section.setup).collect();
        setups.dedup();
        let setups = if setups.len() > 1 { setups } else { Vec::new() };
        let rows = || sections.iter().flat_map(|section| &section.rows);
        let occurs = |verdict: &&Verdict| rows().any(|row| verdicts(row).any(|it| it == **verdict));
        let found = VERDICTS.iter().filter(occurs).copied();
        let changed = rows().any(has_changed).then_some(CHANGED);
        Self {
            groups,
            setups: setups.iter().map(Separated::separated).collect(),
            verdicts: changed.into_iter().chain(found.map(Verdict::word)).collect(),
        }
    }
}

fn verdicts(row: &TestRow) -> impl Iterator<Item = Verdict> {
    row.others.iter().filter(|other| !other.is_twin).map(|other| other.verdict)
}

fn has_changed(row: &TestRow) -> bool {
    let is_change = |it| matches!(it, Verdict::Slower | Verdict::Faster | Verdict::Uneven);
    verdicts(row).any(is_change)
}

/// The words that find a test by its verdicts, separated by spaces.
pub(crate) fn verdict_words(row: &TestRow) -> String {
    let mut words: Vec<&str> = verdicts(row).map(Verdict::word).collect();
    words.extend(has_changed(row).then_some(CHANGED));
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

/// The place of a verdict in a sorted column.
pub(crate) fn rank(verdict: &Verdict) -> usize {
    VERDICTS.iter().position(|it| it == verdict).unwrap_or(0)
}
