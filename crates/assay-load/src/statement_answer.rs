//! Answers to a user's statements.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;

use assay_workloads::OpenChoice;

const SHOWN: usize = 200;

/// MySQL's warning that `GROUP_CONCAT` truncated its result.
const CUT_LIST: &str = "1260";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementAnswer {
    pub test: Arc<str>,
    pub statement: Arc<str>,
    /// The statement with its values, truncated if long.
    pub sent: String,
    pub event: u64,
    pub is_ordered: bool,
    /// Why the answer varies between executions or servers.
    pub undetermined: Option<String>,
    pub choice: Option<OpenChoice>,
    pub outcome: AnswerOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerOutcome {
    Answer(Box<AnswerRows>),
    Refused {
        /// Error code; 0 if the answer could not be read.
        code: u32,
        message: String,
    },
    Late,
}

impl AnswerOutcome {
    /// Whether both servers refused the statement with the same error.
    pub(crate) fn fails_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Refused { code, .. }, Self::Refused { code: other, .. }) => {
                code == other && *code != 0
            }
            _ => false,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerColumns {
    pub names: Vec<String>,
    pub types: Vec<String>,
    /// Collations, if the server reports them; `None` for a column without one.
    pub collations: Vec<Option<String>>,
    /// Columns whose collation depends on that of the connection; MySQL and MariaDB only.
    pub of_connection: Vec<bool>,
    /// Collation of the connection; only where those of columns are known.
    pub connection: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerRows {
    /// Shared by most answers of a statement.
    pub columns: Arc<AnswerColumns>,
    pub rows: u64,
    /// Code and text of each warning, sorted.
    pub warnings: Vec<(String, String)>,
    /// Sum of the row hashes, independent of row order.
    sum: u64,
    /// Hash of all rows in order.
    ordered: u64,
    /// Like `sum`, but also independent of the order of the bytes within a value; 0 unless requested.
    unsorted: u64,
    sums_unsorted: bool,
    /// Hash and text of the first rows.
    first: Vec<(u64, String)>,
    most: usize,
}

impl AnswerRows {
    /// `sums_unsorted`: whether the order within values is unspecified.
    pub(crate) fn keeping(most: usize, sums_unsorted: bool) -> Self {
        Self { most, sums_unsorted, ..Self::default() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.first.iter().map(|(_, text)| text.len()).sum()
    }

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

    pub(crate) fn has_rows_of(&self, other: &Self) -> bool {
        (self.rows, self.sum) == (other.rows, other.sum)
    }

    pub(crate) fn has_order_of(&self, other: &Self) -> bool {
        self.ordered == other.ordered
    }

    /// Whether the rows differ at most in the order of the elements within their values.
    pub(crate) fn lists_the_same(&self, other: &Self) -> bool {
        // If both servers truncated their lists, the elements may differ.
        let is_cut = |it: &Self| it.warnings.iter().any(|(code, _)| code == CUT_LIST);
        let is_same = (self.rows, self.unsorted) == (other.rows, other.unsorted);
        is_same || is_cut(self) && is_cut(other)
    }

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

type KeptRows<'a> = &'a [(u64, String)];

fn note(row: Option<&(u64, String)>) -> String {
    row.map_or_else(|| "no such row".to_owned(), |it| it.1.clone())
}

fn in_order([one, two]: [KeptRows<'_>; 2]) -> Option<(String, String)> {
    let differs = |at: &usize| one.get(*at).map(|it| it.0) != two.get(*at).map(|it| it.0);
    let at = (0..one.len().max(two.len())).find(differs)?;
    Some((note(one.get(at)), note(two.get(at))))
}

/// A row that one answer has and the other lacks. If an answer has more rows than were kept, its missing rows are
/// unknown.
fn in_any_order([one, two]: [KeptRows<'_>; 2], most: usize) -> Option<(String, String)> {
    let lacking = |one: KeptRows<'_>, other: KeptRows<'_>| {
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
    let is_whole = |rows: KeptRows<'_>| rows.len() < most;
    let (of_one, of_two) = match (is_whole(one), is_whole(two)) {
        (false, false) => return None,
        (false, true) => (lacking(one, two), None),
        (true, false) => (None, lacking(two, one)),
        (true, true) => (lacking(one, two), lacking(two, one)),
    };
    (of_one.is_some() || of_two.is_some()).then(|| (note(of_one.as_ref()), note(of_two.as_ref())))
}

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

pub(crate) fn shown(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

pub(crate) type StatementKey = (Arc<str>, Arc<str>);

/// Test, statement and event.
pub(crate) type EventKey = (Arc<str>, Arc<str>, u64);

impl StatementAnswer {
    pub(crate) fn statement_key(&self) -> StatementKey {
        (Arc::clone(&self.test), Arc::clone(&self.statement))
    }

    pub(crate) fn event_key(&self) -> EventKey {
        (Arc::clone(&self.test), Arc::clone(&self.statement), self.event)
    }

    pub(crate) fn of_statement(&self) -> (&str, &str) {
        (&self.test, &self.statement)
    }

    pub(crate) fn rows(&self) -> Option<&AnswerRows> {
        match &self.outcome {
            AnswerOutcome::Answer(rows) => Some(rows),
            AnswerOutcome::Refused { .. } | AnswerOutcome::Late => None,
        }
    }
}

pub(crate) fn pairs<'a>(
    base: &'a [StatementAnswer],
    other: &'a [StatementAnswer],
) -> impl Iterator<Item = (&'a StatementAnswer, &'a StatementAnswer)> {
    let known: BTreeMap<EventKey, &StatementAnswer> =
        base.iter().map(|answer| (answer.event_key(), answer)).collect();
    other.iter().filter_map(move |here| Some((*known.get(&here.event_key())?, here)))
}
