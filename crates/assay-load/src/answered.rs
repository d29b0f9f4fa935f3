//! Answers to a user's statements, and where those of two servers differ.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use assay_model::{AnswerDifference, AnswerPart};

/// Characters of a row, or of a message, that are shown.
const SHOWN: usize = 200;

/// Why there is no answer in time, in words.
pub(crate) const LATE: &str = "no answer within 10 s";

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
    /// The first rows: what sums them up, and their text.
    first: Vec<(u64, String)>,
    /// How many rows are kept at most.
    most: usize,
}

impl RowsAnswered {
    /// No rows yet, of which so many will be kept.
    pub(crate) fn keeping(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Bytes of the rows that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.first.iter().map(|(_, text)| text.len()).sum()
    }

    /// Adds a row whose values are as they are compared.
    pub(crate) fn add(&mut self, values: &[Option<Cow<'_, [u8]>>]) {
        let mut hasher = DefaultHasher::new();
        values.hash(&mut hasher);
        let row = hasher.finish();
        self.rows += 1;
        self.sum = self.sum.wrapping_add(row);
        self.ordered = self.ordered.wrapping_mul(0x0100_0000_01b3).wrapping_add(row);
        if self.first.len() < self.most {
            self.first.push((row, row_text(values)));
        }
    }

    /// The texts of the first rows that differ, in both directions, if they are among those that are kept.
    fn first_difference(&self, other: &Self, is_ordered: bool) -> Option<(String, String)> {
        let most = self.most.min(other.most);
        let kept = [self, other].map(|it| it.first.get(..most).unwrap_or(&it.first));
        if is_ordered { in_order(kept) } else { in_any_order(kept, most) }
    }
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

/// What came of comparing the answers of a server with those of the base.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswersCompared {
    /// The differences: one for each statement and differing part of its answer, from the first event that shows it.
    pub differences: Vec<AnswerDifference>,
    /// With how many values each statement was compared.
    pub values: Vec<u32>,
}

/// Where a server answers differently from the base.
#[must_use]
pub fn answer_differences(base: &[Answered], other: &[Answered]) -> AnswersCompared {
    fn key(it: &Answered) -> (&str, &str, u64) {
        (&it.test, &it.statement, it.event)
    }
    let known: BTreeMap<_, &Answered> = base.iter().map(|it| (key(it), it)).collect();
    let mut found: Vec<AnswerDifference> = Vec::new();
    let mut values: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for here in other {
        let Some(there) = known.get(&key(here)) else { continue };
        *values.entry((&*here.test, &*here.statement)).or_default() += 1;
        for (what, of_base, of_here) in differing(there, here) {
            let is_same = |it: &&mut AnswerDifference| {
                *it.test == *here.test && *it.statement == *here.statement && it.what == what
            };
            if let Some(known) = found.iter_mut().find(is_same) {
                known.count += 1;
                continue;
            }
            found.push(AnswerDifference {
                test: here.test.to_string(),
                statement: here.statement.to_string(),
                sent: shown(&here.sent),
                what,
                count: 1,
                of: 0,
                base: shown(&of_base),
                here: shown(&of_here),
            });
        }
    }
    for it in &mut found {
        it.of = values.get(&(&*it.test, &*it.statement)).copied().unwrap_or(it.count);
    }
    AnswersCompared { differences: found, values: values.into_values().collect() }
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
        // Whoever asked could not read the answer, which says nothing about the server.
        (Refused { code: 0, .. }, _) | (_, Refused { code: 0, .. }) => Vec::new(),
        (Late, Late) => vec![(AnswerPart::NoAnswer, LATE.to_owned(), LATE.to_owned())],
        (one @ Late, two @ Answer(_)) | (one @ Answer(_), two @ Late) => {
            vec![(AnswerPart::NoAnswer, of(one), of(two))]
        }
        (one, two) => vec![(AnswerPart::Error, of(one), of(two))],
    }
}

fn of_rows(sent: &Answered, base: &RowsAnswered, here: &RowsAnswered) -> Vec<Part> {
    let mut parts = Vec::new();
    let (of_base, of_here) = (&*base.columns, &*here.columns);
    if of_base.names != of_here.names {
        parts.push((AnswerPart::Names, of_base.names.join(", "), of_here.names.join(", ")));
    }
    let (one, two) = (with_collations(of_base, of_here), with_collations(of_here, of_base));
    if of_base.names.len() == of_here.names.len() && one != two {
        let differs: BTreeSet<usize> =
            (0..one.len()).filter(|at| one.get(*at) != two.get(*at)).collect();
        let of = |all: &[String]| {
            let named = all.iter().zip(&of_here.names).enumerate();
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
        None => (AnswerPart::Values, of_base, format!("{of_here}, with other values")),
    }
}

/// The types of columns, with their collations where both servers tell them.
fn with_collations(answer: &Columns, other: &Columns) -> Vec<String> {
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

    fn column() -> Columns {
        let (names, types) = (vec!["a".to_owned()], vec!["int".to_owned()]);
        Columns { names, types, collations: Vec::new() }
    }

    fn rows(texts: &[&str]) -> RowsAnswered {
        let mut answer = RowsAnswered { columns: Arc::new(column()), ..RowsAnswered::keeping(3) };
        texts.iter().for_each(|text| answer.add(&[Some(Cow::Borrowed(text.as_bytes()))]));
        answer
    }

    fn answered(outcome: AnswerOutcome, is_ordered: bool) -> Answered {
        Answered {
            test: "t".into(),
            statement: "SELECT ?".into(),
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
        differences.differences.into_iter().map(|it| (it.what, it.base, it.here)).collect()
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
        assert_eq!(
            found(AnswerOutcome::Late, AnswerOutcome::Late, false)[0].0,
            AnswerPart::NoAnswer
        );
    }

    #[test]
    fn types_names_and_warnings_are_parts_of_an_answer() {
        let mut other = rows(&["1"]);
        let types = vec!["bigint".to_owned()];
        other.columns = Arc::new(Columns { types, ..column() });
        other.warnings = vec![("1292".to_owned(), "wrong".to_owned())];
        let other = AnswerOutcome::Answer(Box::new(other));
        let parts: Vec<AnswerPart> =
            found(of(&["1"]), other, false).into_iter().map(|it| it.0).collect();
        assert_eq!(parts, [AnswerPart::Types, AnswerPart::Warnings]);
        let collated = |collation: &str| {
            let mut answer = rows(&["1"]);
            let collations = vec![Some(collation.to_owned())];
            answer.columns = Arc::new(Columns { collations, ..column() });
            AnswerOutcome::Answer(Box::new(answer))
        };
        assert_eq!(found(collated("a"), of(&["1"]), false), []);
        assert_eq!(found(collated("a"), collated("b"), false)[0].2, "a int b");
    }

    #[test]
    fn what_is_undetermined_is_not_said_to_differ() {
        let undetermined =
            |outcome| Answered { undetermined: Some("any".to_owned()), ..answered(outcome, false) };
        let differences = |one: &str, two: &str| {
            let sides = [one, two].map(|it| [undetermined(of(&[it]))]);
            answer_differences(&sides[0], &sides[1]).differences
        };
        let [only] = differences("1", "2").try_into().unwrap();
        assert_eq!((only.what, only.here.as_str()), (AnswerPart::Undetermined, "any"));
        assert_eq!(differences("1", "1"), []);
    }

    #[test]
    fn it_is_counted_for_how_many_values_an_answer_differs() {
        let all = |texts: [&str; 3]| -> Vec<Answered> {
            let one =
                |(event, text): (u64, &str)| Answered { event, ..answered(of(&[text]), false) };
            (0..).zip(texts).map(one).collect()
        };
        // The base was asked with one more value.
        let (base, here) = (all(["1", "2", "3"]), all(["1", "x", "3"]));
        let found = answer_differences(&base, here.get(..2).unwrap());
        assert_eq!(found.values, [2]);
        let [only] = found.differences.try_into().unwrap();
        assert_eq!((only.count, only.of), (1, 2));
    }

    #[test]
    fn a_row_beyond_those_that_are_kept_is_not_said_to_be_missing() {
        // Three rows are kept.
        let [(_, base, here)] =
            found(of(&["1", "2", "3", "4"]), of(&["5", "3", "2", "1"]), false).try_into().unwrap();
        assert_eq!((base.as_str(), here.as_str()), ("4 rows", "4 rows, with other values"));
        let [(_, base, _)] =
            found(of(&["1", "2", "3", "4"]), of(&["9", "1"]), false).try_into().unwrap();
        assert_eq!(base, "4 rows; first difference: 2");
        let [(_, base, here)] =
            found(of(&["1", "2", "3", "4"]), of(&["1", "2", "3", "5"]), true).try_into().unwrap();
        assert_eq!((base.as_str(), here.as_str()), ("4 rows", "4 rows, with other values"));
    }
}
