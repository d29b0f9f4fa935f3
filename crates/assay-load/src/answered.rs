//! Answers to a user's statements.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;

use assay_workloads::OpenChoice;

/// Characters of a row, or of a message, that are shown.
const SHOWN: usize = 200;

/// The code of the warning that `GROUP_CONCAT` has cut its list.
const CUT_LIST: &str = "1260";

/// The answer of a server to a statement with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The test's name.
    pub test: Arc<str>,
    /// The statement with marks for its values.
    pub statement: Arc<str>,
    /// The statement with its values, cut where it is long.
    pub sent: String,
    /// The number of the event.
    pub event: u64,
    /// Whether the statement orders its rows.
    pub is_ordered: bool,
    /// Why the answer is another one each time or on each server.
    pub undetermined: Option<String>,
    /// What the statement leaves open.
    pub choice: Option<OpenChoice>,
    /// The answer.
    pub outcome: AnswerOutcome,
}

/// What came of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// It has an answer.
    Answer(Box<RowsAnswered>),
    /// The server refused it.
    Refused {
        /// Its code of the error; 0 if the answer could not be read.
        code: u32,
        /// The error in words.
        message: String,
    },
    /// There was no answer in time.
    Late,
}

/// The columns of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// Their names.
    pub names: Vec<String>,
    /// Their types.
    pub types: Vec<String>,
    /// Their collations, if the server tells them; `None` of a column without one.
    pub collations: Vec<Option<String>>,
    /// Which columns have another collation if the connection has; only of MySQL and MariaDB.
    pub of_connection: Vec<bool>,
    /// The collation of the connection; only where that of a column is known.
    pub connection: Option<String>,
}

/// Rows of an answer, with what the server tells of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowsAnswered {
    /// Its columns, which most answers of a statement share.
    pub columns: Arc<Columns>,
    /// Number of rows.
    pub rows: u64,
    /// Code and text of each warning, sorted.
    pub warnings: Vec<(String, String)>,
    /// Sums up all rows, whatever their order is.
    sum: u64,
    /// Sums up all rows in their order.
    ordered: u64,
    /// Sums up all rows, whatever their order and that of the bytes of their values is; 0 if it is not asked for.
    unsorted: u64,
    sums_unsorted: bool,
    /// The first rows: what sums them up, and their text.
    first: Vec<(u64, String)>,
    /// How many rows are kept at most.
    most: usize,
}

impl RowsAnswered {
    /// No rows yet, of which so many will be kept. `sums_unsorted`: whether the order inside of values is open.
    pub(crate) fn keeping(most: usize, sums_unsorted: bool) -> Self {
        Self { most, sums_unsorted, ..Self::default() }
    }

    /// Bytes of the rows that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.first.iter().map(|(_, text)| text.len()).sum()
    }

    /// Adds a row whose values are as they are compared.
    pub(crate) fn add(&mut self, values: &[Option<Cow<'_, [u8]>>]) {
        let row = hash(values);
        self.rows += 1;
        self.sum = self.sum.wrapping_add(row);
        self.ordered = self.ordered.wrapping_mul(0x0100_0000_01b3).wrapping_add(row);
        if self.sums_unsorted {
            let sorted = |value: &Option<Cow<'_, [u8]>>| {
                let mut bytes = value.as_deref()?.to_vec();
                bytes.sort_unstable();
                Some(bytes)
            };
            let sorted: Vec<Option<Vec<u8>>> = values.iter().map(sorted).collect();
            self.unsorted = self.unsorted.wrapping_add(hash(&sorted));
        }
        if self.first.len() < self.most {
            self.first.push((row, row_text(values)));
        }
    }

    /// Whether both have the same rows, in whatever order.
    pub(crate) fn has_rows_of(&self, other: &Self) -> bool {
        (self.rows, self.sum) == (other.rows, other.sum)
    }

    /// Whether both have the same rows in the same order.
    pub(crate) fn has_order_of(&self, other: &Self) -> bool {
        self.ordered == other.ordered
    }

    /// Whether the rows differ at most in the order of what their values list.
    pub(crate) fn lists_the_same(&self, other: &Self) -> bool {
        // Lists of other elements, if both servers have cut them.
        let is_cut = |it: &Self| it.warnings.iter().any(|(code, _)| code == CUT_LIST);
        let is_same = (self.rows, self.unsorted) == (other.rows, other.unsorted);
        is_same || is_cut(self) && is_cut(other)
    }

    /// The texts of the first rows that differ, in both directions, if they are among those that are kept.
    pub(crate) fn first_difference(
        &self,
        other: &Self,
        is_ordered: bool,
    ) -> Option<(String, String)> {
        let most = self.most.min(other.most);
        let kept = [self, other].map(|it| it.first.get(..most).unwrap_or(&it.first));
        if is_ordered { in_order(kept) } else { in_any_order(kept, most) }
    }
}

fn hash(values: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    values.hash(&mut hasher);
    hasher.finish()
}

/// Rows that are kept: what sums each up, and its text.
type Kept<'a> = &'a [(u64, String)];

fn told(row: Option<&(u64, String)>) -> String {
    row.map_or_else(|| "no such row".to_owned(), |it| it.1.clone())
}

/// The first rows that differ at the same place.
fn in_order([one, two]: [Kept<'_>; 2]) -> Option<(String, String)> {
    let differs = |at: &usize| one.get(*at).map(|it| it.0) != two.get(*at).map(|it| it.0);
    let at = (0..one.len().max(two.len())).find(differs)?;
    Some((told(one.get(at)), told(two.get(at))))
}

/// A row that one has and the other lacks. Of an answer with more rows than are kept it is not known what it lacks.
fn in_any_order([one, two]: [Kept<'_>; 2], most: usize) -> Option<(String, String)> {
    let lacking = |one: Kept<'_>, other: Kept<'_>| {
        let mut left: BTreeMap<u64, usize> = BTreeMap::new();
        other.iter().for_each(|(row, _)| *left.entry(*row).or_default() += 1);
        let is_lacking = |(row, _): &&(u64, String)| match left.get_mut(row) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        let mut rows: Vec<&(u64, String)> = one.iter().filter(is_lacking).collect();
        rows.sort_by(|a, b| a.1.cmp(&b.1));
        rows.first().map(|row| (*row).clone())
    };
    let is_whole = |rows: Kept<'_>| rows.len() < most;
    let (of_one, of_two) = match (is_whole(one), is_whole(two)) {
        (false, false) => return None,
        (false, true) => (lacking(one, two), None),
        (true, false) => (None, lacking(two, one)),
        (true, true) => (lacking(one, two), lacking(two, one)),
    };
    (of_one.is_some() || of_two.is_some()).then(|| (told(of_one.as_ref()), told(of_two.as_ref())))
}

/// The values of a row as text.
fn row_text(values: &[Option<Cow<'_, [u8]>>]) -> String {
    let value = |value: &Option<Cow<'_, [u8]>>| match value {
        None => "NULL".to_owned(),
        Some(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => format!("0x{}", hex(bytes)),
        },
    };
    shown(&values.iter().map(value).collect::<Vec<_>>().join(" | "))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect()
}

/// A text that is cut where it is long.
pub(crate) fn shown(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// What tells an answer from others: test, statement and event.
type Key<'a> = (&'a str, &'a str, u64);

impl Answered {
    fn key(&self) -> Key<'_> {
        (&self.test, &self.statement, self.event)
    }

    pub(crate) fn of_statement(&self) -> (&str, &str) {
        (&self.test, &self.statement)
    }

    pub(crate) fn rows(&self) -> Option<&RowsAnswered> {
        match &self.outcome {
            AnswerOutcome::Answer(rows) => Some(rows),
            AnswerOutcome::Refused { .. } | AnswerOutcome::Late => None,
        }
    }
}

/// Answers of the base and of a server to the same statements with the same values.
pub(crate) fn pairs<'a>(
    base: &'a [Answered],
    other: &'a [Answered],
) -> impl Iterator<Item = (&'a Answered, &'a Answered)> {
    let known: BTreeMap<Key<'_>, &Answered> = base.iter().map(|it| (it.key(), it)).collect();
    other.iter().filter_map(move |here| Some((*known.get(&here.key())?, here)))
}
