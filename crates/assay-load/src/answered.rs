//! Answers to a user's statements, and where those of two servers differ.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use assay_model::{AnswerDifference, AnswerPart};

/// Rows of an answer that are kept to show where it differs.
const KEPT: usize = 200;

/// Characters of a row, or of a message, that are shown.
const SHOWN: usize = 200;

/// Why there is no answer in time, in words.
pub(crate) const LATE: &str = "no answer within 10 s";

/// The answer of a server to a statement with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The test's name.
    pub test: String,
    /// The statement with marks for its values.
    pub statement: String,
    /// The statement with its values.
    pub sent: String,
    /// The number of the event.
    pub event: u64,
    /// Whether the statement orders its rows.
    pub is_ordered: bool,
    /// Why another answer would be right too.
    pub undetermined: Option<String>,
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
        /// Its code of the error.
        code: u32,
        /// The error in words.
        message: String,
    },
    /// There was no answer in time.
    Late,
}

/// Rows of an answer, with what the server tells of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowsAnswered {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Types of the columns.
    pub types: Vec<String>,
    /// Collations of the columns, if the server tells them; `None` of a column without one.
    pub collations: Vec<Option<String>>,
    /// Number of rows.
    pub rows: u64,
    /// Code and text of each warning, sorted.
    pub warnings: Vec<(String, String)>,
    /// Sums up all rows, whatever their order is.
    sum: u64,
    /// Sums up all rows in their order.
    ordered: u64,
    /// The first rows: what sums them up, and their text.
    first: Vec<(u64, String)>,
}

impl RowsAnswered {
    /// Adds a row whose values are as they are compared.
    pub(crate) fn add(&mut self, values: &[Option<Cow<'_, [u8]>>]) {
        let mut hasher = DefaultHasher::new();
        values.hash(&mut hasher);
        let row = hasher.finish();
        self.rows += 1;
        self.sum = self.sum.wrapping_add(row);
        self.ordered = self.ordered.wrapping_mul(0x0100_0000_01b3).wrapping_add(row);
        if self.first.len() < KEPT {
            self.first.push((row, row_text(values)));
        }
    }

    /// The texts of the first rows that differ, in both directions.
    fn first_difference(&self, other: &Self, is_ordered: bool) -> Option<(String, String)> {
        const NONE: &str = "no such row";
        let text =
            |row: Option<&(u64, String)>| row.map_or_else(|| NONE.to_owned(), |it| it.1.clone());
        if is_ordered {
            let rows = self.first.len().max(other.first.len());
            let differs = |at: &usize| {
                self.first.get(*at).map(|it| it.0) != other.first.get(*at).map(|it| it.0)
            };
            let at = (0..rows).find(differs)?;
            return Some((text(self.first.get(at)), text(other.first.get(at))));
        }
        let lacking = |one: &Self, other: &Self| {
            let mut left: BTreeMap<u64, usize> = BTreeMap::new();
            other.first.iter().for_each(|(row, _)| *left.entry(*row).or_default() += 1);
            let is_lacking = |(row, _): &&(u64, String)| match left.get_mut(row) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            };
            let mut rows: Vec<&(u64, String)> = one.first.iter().filter(is_lacking).collect();
            rows.sort_by(|a, b| a.1.cmp(&b.1));
            rows.first().map(|row| (*row).clone())
        };
        let (one, two) = (lacking(self, other), lacking(other, self));
        (one.is_some() || two.is_some()).then(|| (text(one.as_ref()), text(two.as_ref())))
    }
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

/// Where a server answers otherwise than the base: for each statement and part of the answer, the first event with the
/// difference.
#[must_use]
pub fn answer_differences(base: &[Answered], other: &[Answered]) -> Vec<AnswerDifference> {
    let key = |it: &Answered| (it.test.clone(), it.statement.clone(), it.event);
    let known: BTreeMap<_, &Answered> = base.iter().map(|it| (key(it), it)).collect();
    let mut found: Vec<AnswerDifference> = Vec::new();
    for here in other {
        let Some(there) = known.get(&key(here)) else { continue };
        for (what, of_base, of_here) in differing(there, here) {
            let is_same = |it: &&mut AnswerDifference| {
                it.test == here.test && it.statement == here.statement && it.what == what
            };
            if let Some(known) = found.iter_mut().find(is_same) {
                known.count += 1;
                continue;
            }
            found.push(AnswerDifference {
                test: here.test.clone(),
                statement: here.statement.clone(),
                sent: shown(&here.sent),
                what,
                count: 1,
                base: shown(&of_base),
                here: shown(&of_here),
            });
        }
    }
    found
}

type Part = (AnswerPart, String, String);

/// The parts in which two answers differ, and these parts of the base and of the other server.
fn differing(base: &Answered, here: &Answered) -> Vec<Part> {
    use AnswerOutcome::{Answer, Late, Refused};
    let of = |outcome: &AnswerOutcome| match outcome {
        Answer(answer) => assay_model::counted(answer.rows, "row"),
        Refused { message, .. } => message.clone(),
        Late => LATE.to_owned(),
    };
    match (&base.outcome, &here.outcome) {
        (Answer(there), Answer(answer)) => of_rows(base, there, answer),
        (Refused { code: one, .. }, Refused { code: two, .. }) if one == two => Vec::new(),
        (Late, Late) => Vec::new(),
        (one @ Late, two) | (one, two @ Late) => vec![(AnswerPart::NoAnswer, of(one), of(two))],
        (one, two) => vec![(AnswerPart::Error, of(one), of(two))],
    }
}

fn of_rows(sent: &Answered, base: &RowsAnswered, here: &RowsAnswered) -> Vec<Part> {
    let mut parts = Vec::new();
    if base.names != here.names {
        parts.push((AnswerPart::Names, base.names.join(", "), here.names.join(", ")));
    }
    let (one, two) = (with_collations(base, here), with_collations(here, base));
    if base.names.len() == here.names.len() && one != two {
        let differs: BTreeSet<usize> =
            (0..one.len()).filter(|at| one.get(*at) != two.get(*at)).collect();
        let of = |all: &[String]| {
            let named = all.iter().zip(&here.names).enumerate();
            let named = named.filter(|(at, _)| differs.contains(at));
            named.map(|(_, (kind, name))| format!("{name} {kind}")).collect::<Vec<_>>().join(", ")
        };
        parts.push((AnswerPart::Types, of(&one), of(&two)));
    }
    let is_ordered = sent.is_ordered;
    let differs = base.sum != here.sum || base.rows != here.rows;
    let is_other_order = !differs && is_ordered && base.ordered != here.ordered;
    if differs || is_other_order {
        parts.push(of_values(sent, base, here, is_other_order));
    }
    let codes =
        |it: &RowsAnswered| it.warnings.iter().map(|it| it.0.clone()).collect::<BTreeSet<_>>();
    if codes(base) != codes(here) {
        let of = |it: &RowsAnswered| match it.warnings.as_slice() {
            [] => "none".to_owned(),
            all => all.iter().map(|it| it.1.as_str()).collect::<Vec<_>>().join("; "),
        };
        parts.push((AnswerPart::Warnings, of(base), of(here)));
    }
    parts
}

fn of_values(
    sent: &Answered,
    base: &RowsAnswered,
    here: &RowsAnswered,
    is_other_order: bool,
) -> Part {
    if let Some(why) = &sent.undetermined {
        return (AnswerPart::Undetermined, String::new(), why.clone());
    }
    let rows = [base, here].map(|it| assay_model::counted(it.rows, "row"));
    let [of_base, of_here] = rows;
    let row = base.first_difference(here, sent.is_ordered);
    if base.rows != here.rows {
        let told = |count: String, row: Option<String>| {
            row.map_or_else(|| count.clone(), |row| format!("{count}; first difference: {row}"))
        };
        let (one, two) = row.unzip();
        return (AnswerPart::Rows, told(of_base, one), told(of_here, two));
    }
    let same =
        if is_other_order { "the same rows in another order; first difference: " } else { "" };
    match row {
        Some((one, two)) => (AnswerPart::Values, one, format!("{same}{two}")),
        None => (
            AnswerPart::Values,
            format!("{of_base}, with other values after the first {KEPT}"),
            format!("{of_here}, with other values after the first {KEPT}"),
        ),
    }
}

/// The types of columns, with their collations where both servers tell them.
fn with_collations(answer: &RowsAnswered, other: &RowsAnswered) -> Vec<String> {
    let kinds = answer.types.iter().enumerate().map(|(at, kind)| {
        let collation = answer.collations.get(at).cloned().flatten();
        let is_told = other.collations.get(at).is_some_and(Option::is_some);
        match collation.filter(|_| is_told) {
            Some(collation) => format!("{kind} {collation}"),
            None => kind.clone(),
        }
    });
    kinds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &[&str]) -> RowsAnswered {
        let mut answer = RowsAnswered {
            names: vec!["a".to_owned()],
            types: vec!["int".to_owned()],
            ..RowsAnswered::default()
        };
        texts.iter().for_each(|text| answer.add(&[Some(Cow::Borrowed(text.as_bytes()))]));
        answer
    }

    fn answered(outcome: AnswerOutcome, is_ordered: bool) -> Answered {
        Answered {
            test: "t".to_owned(),
            statement: "SELECT ?".to_owned(),
            sent: "SELECT 1".to_owned(),
            event: 0,
            is_ordered,
            undetermined: None,
            outcome,
        }
    }

    fn found(
        base: AnswerOutcome,
        here: AnswerOutcome,
        is_ordered: bool,
    ) -> Vec<(AnswerPart, String, String)> {
        let differences =
            answer_differences(&[answered(base, is_ordered)], &[answered(here, is_ordered)]);
        differences.into_iter().map(|it| (it.what, it.base, it.here)).collect()
    }

    fn of(texts: &[&str]) -> AnswerOutcome {
        AnswerOutcome::Answer(Box::new(rows(texts)))
    }

    #[test]
    fn the_order_of_rows_counts_where_it_is_asked_for() {
        assert_eq!(found(of(&["1", "2"]), of(&["2", "1"]), false), []);
        let [(what, base, here)] =
            found(of(&["1", "2"]), of(&["2", "1"]), true).try_into().unwrap();
        assert_eq!((what, base.as_str()), (AnswerPart::Values, "1"));
        assert!(here.starts_with("the same rows in another order"), "{here}");
    }

    #[test]
    fn the_first_row_that_differs_is_shown() {
        let text = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let [(what, base, here)] =
            found(of(&["1", "2"]), of(&["3", "1"]), false).try_into().unwrap();
        assert_eq!((what, (base, here)), (AnswerPart::Values, text("2", "3")));
        let [(what, base, here)] = found(of(&["1"]), of(&["1", "2"]), false).try_into().unwrap();
        let shown = text("1 row; first difference: no such row", "2 rows; first difference: 2");
        assert_eq!((what, (base, here)), (AnswerPart::Rows, shown));
    }

    #[test]
    fn errors_and_lateness_differ_from_answers() {
        let refused = |code| AnswerOutcome::Refused { code, message: format!("error {code}") };
        assert_eq!(found(refused(1), refused(1), false), []);
        assert_eq!(found(refused(1), refused(2), false)[0].0, AnswerPart::Error);
        assert_eq!(found(of(&["1"]), refused(2), false)[0].0, AnswerPart::Error);
        assert_eq!(found(of(&["1"]), AnswerOutcome::Late, false)[0].0, AnswerPart::NoAnswer);
        assert_eq!(found(AnswerOutcome::Late, AnswerOutcome::Late, false), []);
    }

    #[test]
    fn types_names_and_warnings_are_parts_of_an_answer() {
        let mut other = rows(&["1"]);
        other.types = vec!["bigint".to_owned()];
        other.warnings = vec![("1292".to_owned(), "wrong".to_owned())];
        let other = AnswerOutcome::Answer(Box::new(other));
        let parts: Vec<AnswerPart> =
            found(of(&["1"]), other, false).into_iter().map(|it| it.0).collect();
        assert_eq!(parts, [AnswerPart::Types, AnswerPart::Warnings]);
        let collated = |collation: &str| {
            let mut answer = rows(&["1"]);
            answer.collations = vec![Some(collation.to_owned())];
            AnswerOutcome::Answer(Box::new(answer))
        };
        assert_eq!(found(collated("a"), of(&["1"]), false), []);
        assert_eq!(found(collated("a"), collated("b"), false)[0].2, "a int b");
    }

    #[test]
    fn what_is_undetermined_is_not_said_to_differ() {
        let undetermined =
            |outcome| Answered { undetermined: Some("any".to_owned()), ..answered(outcome, false) };
        let [only] = answer_differences(&[undetermined(of(&["1"]))], &[undetermined(of(&["2"]))])
            .try_into()
            .unwrap();
        assert_eq!((only.what, only.here.as_str()), (AnswerPart::Undetermined, "any"));
        assert_eq!(
            answer_differences(&[undetermined(of(&["1"]))], &[undetermined(of(&["1"]))]),
            []
        );
    }
}
