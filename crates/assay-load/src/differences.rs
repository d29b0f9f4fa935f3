//! Differences between the answers of two servers to the same statements.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use assay_model::{AnswerCounts, AnswerDifference, AnswerPart};

use crate::openings::{KnownOpening, Openings};
use crate::statement_answer::{
    AnswerColumns, AnswerOutcome, AnswerRows, StatementAnswer, pairs, shown,
};

pub(crate) const LATE: &str = "no answer within 10 s";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerComparison {
    /// One for each statement and differing part of its answer, from the first event that shows it.
    pub differences: Vec<AnswerDifference>,
    pub counts: AnswerCounts,
}

/// Why the base sorts the rows of a statement without `ORDER BY`, if it does.
type RowSorter<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Compares a server's answers with those of the base. `openings` covers statements whose rows differ.
pub fn answer_differences(
    base: &[StatementAnswer],
    other: &[StatementAnswer],
    openings: &Openings,
    sorted: RowSorter<'_>,
) -> AnswerComparison {
    let mut found: Vec<AnswerDifference> = Vec::new();
    let mut values: BTreeMap<(&str, &str), ValueCounts> = BTreeMap::new();
    for (there, here) in pairs(base, other) {
        let counts = values.entry(here.of_statement()).or_default();
        counts.all += 1;
        counts.failing_on_both += u32::from(there.outcome.fails_like(&here.outcome));
        for DifferentPart { what, why, base, here: of_here } in
            differing(there, here, openings, sorted)
        {
            // For types, the reason separates columns with the connection's collation from others.
            let is_same = |it: &&mut AnswerDifference| {
                (&*it.test, &*it.statement) == here.of_statement()
                    && it.what == what
                    && (what != AnswerPart::Types || it.why == why)
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
                why,
                count: 1,
                of: 0,
                base: shown(&base),
                here: shown(&of_here),
            });
        }
    }
    for it in &mut found {
        it.of = values[&(&*it.test, &*it.statement)].all;
    }
    // Values of which an error is the right answer, such as those of a duplicate key, leave the others to compare.
    found.retain(|it| it.what != AnswerPart::SameError || it.count == it.of);
    AnswerComparison { counts: counts(&found, &values), differences: found }
}

/// Values with which a statement was executed.
#[derive(Default)]
struct ValueCounts {
    all: u32,
    failing_on_both: u32,
}

/// A statement counts once, however many tests contain it.
fn counts(
    differences: &[AnswerDifference],
    values: &BTreeMap<(&str, &str), ValueCounts>,
) -> AnswerCounts {
    let mut by_statement: BTreeMap<&str, u32> = BTreeMap::new();
    for ((_, statement), count) in values {
        *by_statement.entry(statement).or_default() += count.all - count.failing_on_both;
    }
    let statements = |is_meant: fn(&AnswerDifference) -> bool| -> BTreeSet<&str> {
        let meant = differences.iter().filter(|difference| is_meant(difference));
        meant.map(|difference| difference.statement.as_str()).collect()
    };
    let differing = statements(|_| true);
    let compared = statements(|difference| {
        !matches!(difference.what, AnswerPart::SameError | AnswerPart::Undetermined)
    });
    let same = by_statement.iter().filter(|(statement, _)| !differing.contains(*statement));
    let same: Vec<u32> = same.map(|(_, count)| *count).collect();
    AnswerCounts {
        statements: by_statement.len() as u32,
        same: same.len() as u32,
        undetermined: differing.difference(&compared).count() as u32,
        least: same.iter().min().copied().unwrap_or(0),
        most: same.iter().max().copied().unwrap_or(0),
        values: same.iter().map(|it| u64::from(*it)).sum(),
    }
}

/// A part in which two answers differ: the reason, and its value on the base and on the other server.
#[derive(Debug, PartialEq, Eq)]
struct DifferentPart {
    what: AnswerPart,
    why: Option<String>,
    base: String,
    here: String,
}

impl DifferentPart {
    fn new(what: AnswerPart, base: String, here: String) -> Self {
        Self { what, why: None, base, here }
    }
}

fn differing(
    base: &StatementAnswer,
    here: &StatementAnswer,
    openings: &Openings,
    sorted: RowSorter<'_>,
) -> Vec<DifferentPart> {
    use AnswerOutcome::{Answer, Late, Refused};
    let words = |outcome: &AnswerOutcome| match outcome {
        Answer(answer) => assay_model::counted(answer.rows, "row"),
        Refused { message, .. } => message.clone(),
        Late => LATE.to_owned(),
    };
    match (&base.outcome, &here.outcome) {
        (Answer(there), Answer(answer)) => {
            let mut parts = around_rows(there, answer);
            let (base, sent, known) = (there, here, openings.known(here));
            parts.extend(RowComparison { base, here: answer, sent, known, sorted }.part());
            parts
        }
        // The client could not read the answer, which says nothing about the server.
        (Refused { code: 0, message }, _) | (_, Refused { code: 0, message }) => {
            let why = format!("assay could not read the answer: {message}");
            vec![DifferentPart::new(AnswerPart::Undetermined, String::new(), why)]
        }
        (one, two) if one.fails_like(two) => {
            vec![DifferentPart::new(AnswerPart::SameError, words(one), words(two))]
        }
        (Late, Late) => {
            vec![DifferentPart::new(AnswerPart::NoAnswer, LATE.to_owned(), LATE.to_owned())]
        }
        (one @ Late, two @ Answer(_)) | (one @ Answer(_), two @ Late) => {
            vec![DifferentPart::new(AnswerPart::NoAnswer, words(one), words(two))]
        }
        (one @ Refused { .. }, two) => {
            vec![DifferentPart::new(AnswerPart::OtherError, words(one), words(two))]
        }
        (one, two) => vec![DifferentPart::new(AnswerPart::Error, words(one), words(two))],
    }
}

fn around_rows(base: &AnswerRows, here: &AnswerRows) -> Vec<DifferentPart> {
    let mut parts = Vec::new();
    let (of_base, of_here) = (&*base.columns, &*here.columns);
    if of_base.names != of_here.names {
        let names = |columns: &AnswerColumns| columns.names.join(", ");
        parts.push(DifferentPart::new(AnswerPart::Names, names(of_base), names(of_here)));
    }
    parts.extend(types(of_base, of_here));
    let codes =
        |it: &AnswerRows| it.warnings.iter().map(|it| it.0.clone()).collect::<BTreeSet<_>>();
    if !codes(here).is_subset(&codes(base)) {
        let texts = |rows: &AnswerRows| match rows.warnings.as_slice() {
            [] => "none".to_owned(),
            warnings => {
                warnings.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("; ")
            }
        };
        parts.push(DifferentPart::new(AnswerPart::Warnings, texts(base), texts(here)));
    }
    parts
}

/// Differences in column types: columns whose text has the connection's collation on both servers, and others.
fn types(base: &AnswerColumns, here: &AnswerColumns) -> Vec<DifferentPart> {
    if base.names.len() != here.names.len() {
        return Vec::new();
    }
    let (one, two) = (with_collations(base, here), with_collations(here, base));
    let differs =
        |(_, (one, two)): &(usize, (&String, &String))| without_alias(one) != without_alias(two);
    let differing: Vec<usize> =
        one.iter().zip(&two).enumerate().filter(differs).map(|(at, _)| at).collect();
    let why = of_connection(base, here);
    let is_of_connection = |at: &usize| {
        let has = |it: &AnswerColumns| {
            let collation = it.collations.get(*at).cloned().flatten();
            let is_of_connection = it.of_connection.get(*at).copied().unwrap_or(false);
            is_of_connection && collation.is_some() && collation == it.connection
        };
        why.is_some() && base.types.get(*at) == here.types.get(*at) && has(base) && has(here)
    };
    let (of_connection, others): (Vec<usize>, Vec<usize>) =
        differing.into_iter().partition(is_of_connection);
    let part = |at: &[usize], why: Option<String>| {
        let listed = |kinds: &[String]| {
            let columns = at.iter().map(|at| format!("{} {}", here.names[*at], kinds[*at]));
            columns.collect::<Vec<_>>().join(", ")
        };
        (!at.is_empty()).then(|| DifferentPart {
            why,
            ..DifferentPart::new(AnswerPart::Types, listed(&one), listed(&two))
        })
    };
    [part(&others, None), part(&of_connection, why)].into_iter().flatten().collect()
}

/// Why the connections of two servers have different collations, and how to make them equal; `None` if they are.
fn of_connection(base: &AnswerColumns, here: &AnswerColumns) -> Option<String> {
    let (one, two) = (base.connection.as_deref()?, here.connection.as_deref()?);
    let set = |collation: &str| collation.split('_').next().unwrap_or_default().to_owned();
    let (of_base, of_here) = (set(one), set(two));
    if one == two || without_alias_of_set(&of_base) != without_alias_of_set(&of_here) {
        return None;
    }
    Some(format!(
        "`SET NAMES {of_here}` gives texts of the connection the collation {two} instead of {one}; \
         `SET NAMES {of_here} COLLATE {one}` gives them that of the base, if the server has it"
    ))
}

/// Replaces an alias of a character set by its newer name.
fn without_alias_of_set(set: &str) -> &str {
    if set == "utf8" { "utf8mb3" } else { set }
}

/// Replaces `utf8` in a type's collation by its newer name.
fn without_alias(kind: &str) -> Cow<'_, str> {
    match kind.split_once(" utf8_") {
        Some((kind, collation)) => Cow::Owned(format!("{kind} utf8mb3_{collation}")),
        None => Cow::Borrowed(kind),
    }
}

#[derive(Clone, Copy)]
struct RowComparison<'a> {
    base: &'a AnswerRows,
    here: &'a AnswerRows,
    sent: &'a StatementAnswer,
    known: KnownOpening<'a>,
    sorted: RowSorter<'a>,
}

impl RowComparison<'_> {
    fn part(self) -> Option<DifferentPart> {
        let Self { base, here, sent, known, sorted } = self;
        let (same_rows, same_order) = (base.has_rows_of(here), base.has_order_of(here));
        if same_rows && same_order {
            return None;
        }
        let KnownOpening { opening, rows_unknown, order_unknown } = known;
        let is_unknown = match same_rows {
            // If the statement leaves the order unspecified, nothing need be known.
            true => order_unknown && sent.is_ordered,
            false => rows_unknown && self.choice().is_none(),
        };
        if is_unknown {
            let why = "with other values the statement leaves it open, and there was no time to find out whether it \
                       does with these";
            return Some(DifferentPart::new(
                AnswerPart::Undetermined,
                String::new(),
                why.to_owned(),
            ));
        }
        let varies = if same_rows { opening.order_varies } else { opening.rows_vary };
        let changes = varies.then(|| "the base itself answers in another way each time".to_owned());
        let why = sent.undetermined.clone().filter(|_| !same_rows || sent.is_ordered);
        if let Some(why) = why.or(changes) {
            return Some(DifferentPart::new(AnswerPart::Undetermined, String::new(), why));
        }
        let (what, why) = if !same_rows {
            match self.choice() {
                Some(why) => (AnswerPart::Choice, Some(why)),
                None if base.rows != here.rows => (AnswerPart::Rows, None),
                None => (AnswerPart::Values, None),
            }
        } else if !sent.is_ordered {
            let why = sorted(&sent.statement);
            (AnswerPart::Order, why.or_else(|| Some("the statement has no `ORDER BY`".to_owned())))
        } else if opening.has_ties {
            (AnswerPart::Order, Some("the rows have equal `ORDER BY` values".to_owned()))
        } else {
            (AnswerPart::Values, None)
        };
        let (of_base, of_here) = self.shown(sent.is_ordered || what == AnswerPart::Order);
        let of_here = match what {
            AnswerPart::Values if same_rows => {
                format!("the same rows in another order; first difference: {of_here}")
            }
            _ => of_here,
        };
        Some(DifferentPart { what, why, base: of_base, here: of_here })
    }

    fn choice(self) -> Option<String> {
        let Self { sent, known: KnownOpening { opening, .. }, sorted, .. } = self;
        if opening.differs_without_limit {
            return None;
        }
        if let Some(choice) = &sent.choice {
            let is_open = !choice.is_within_values || self.base.lists_the_same(self.here);
            let sorted = || sorted(&sent.statement).filter(|_| !choice.is_within_values);
            if is_open {
                let why = sorted().map(|sorted| format!("{}; {sorted}", choice.why));
                return why.or_else(|| Some(choice.why.clone()));
            }
        }
        let of_ties = "rows have equal `ORDER BY` values, and any of them may come first";
        let of_ties = opening.ties_choose.then(|| of_ties.to_owned());
        let of_column =
            "a selected column is neither grouped nor aggregated, so any of its values is right";
        of_ties.or_else(|| opening.is_ungrouped.then(|| of_column.to_owned()))
    }

    /// The first rows that differ, with row counts if these differ.
    fn shown(self, is_ordered: bool) -> (String, String) {
        let Self { base, here, .. } = self;
        let [of_base, of_here] = [base, here].map(|it| assay_model::counted(it.rows, "row"));
        let row = base.first_difference(here, is_ordered);
        if base.rows != here.rows {
            let note = |count: String, row: Option<String>| {
                row.map_or_else(|| count.clone(), |row| format!("{count}; first difference: {row}"))
            };
            let (one, two) = row.unzip();
            return (note(of_base, one), note(of_here, two));
        }
        row.unwrap_or_else(|| (of_base, format!("{of_here}, with other values")))
    }
}

/// Column types, with their collations where both servers report them.
fn with_collations(answer: &AnswerColumns, other: &AnswerColumns) -> Vec<String> {
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
    use std::sync::Arc;

    use assay_workloads::OpenChoice;

    use super::*;
    use crate::openings::Opening;

    fn column() -> AnswerColumns {
        let (names, types) = (vec!["a".to_owned()], vec!["int".to_owned()]);
        AnswerColumns { names, types, ..AnswerColumns::default() }
    }

    fn rows(texts: &[&str]) -> AnswerRows {
        let mut answer = AnswerRows::keeping(3, false);
        answer.columns = Arc::new(column());
        texts.iter().for_each(|text| answer.add(&[Some(Cow::Borrowed(text.as_bytes()))]));
        answer
    }

    fn answered(outcome: AnswerOutcome, is_ordered: bool) -> StatementAnswer {
        StatementAnswer {
            test: "t".into(),
            statement: "SELECT ?".into(),
            sent: "SELECT 1".to_owned(),
            event: 0,
            is_ordered,
            undetermined: None,
            choice: None,
            outcome,
        }
    }

    fn compared(
        base: &[StatementAnswer],
        other: &[StatementAnswer],
        opening: Opening,
    ) -> AnswerComparison {
        let sorted = |_: &str| Some("it sorts".to_owned());
        answer_differences(base, other, &Openings::with_default(opening), &sorted)
    }

    fn found(
        base: AnswerOutcome,
        here: AnswerOutcome,
        is_ordered: bool,
    ) -> Vec<(AnswerPart, String, String)> {
        let (base, here) = (answered(base, is_ordered), answered(here, is_ordered));
        let found = compared(&[base], &[here], Opening::default());
        found.differences.into_iter().map(|it| (it.what, it.base, it.here)).collect()
    }

    fn row_answer(texts: &[&str]) -> AnswerOutcome {
        AnswerOutcome::Answer(Box::new(rows(texts)))
    }

    #[test]
    fn the_order_of_rows_counts_where_it_is_asked_for() {
        let [(what, base, here)] =
            found(row_answer(&["1", "2"]), row_answer(&["2", "1"]), false).try_into().unwrap();
        assert_eq!((what, base.as_str(), here.as_str()), (AnswerPart::Order, "1", "2"));
        let [(what, base, here)] =
            found(row_answer(&["1", "2"]), row_answer(&["2", "1"]), true).try_into().unwrap();
        assert_eq!((what, base.as_str()), (AnswerPart::Values, "1"));
        assert!(here.starts_with("the same rows in another order"), "{here}");
    }

    #[test]
    fn the_first_row_that_differs_is_shown() {
        let text = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let [(what, base, here)] =
            found(row_answer(&["1", "2"]), row_answer(&["3", "1"]), false).try_into().unwrap();
        assert_eq!((what, (base, here)), (AnswerPart::Values, text("2", "3")));
        let [(what, base, here)] =
            found(row_answer(&["1"]), row_answer(&["1", "2"]), false).try_into().unwrap();
        let shown = text("1 row; first difference: no such row", "2 rows; first difference: 2");
        assert_eq!((what, (base, here)), (AnswerPart::Rows, shown));
    }

    #[test]
    fn errors_and_lateness_differ_from_answers() {
        let refused = |code| AnswerOutcome::Refused { code, message: format!("error {code}") };
        assert_eq!(found(refused(1), refused(1), false)[0].0, AnswerPart::SameError);
        assert_eq!(found(refused(0), refused(0), false)[0].0, AnswerPart::Undetermined);
        assert_eq!(found(refused(1), refused(2), false)[0].0, AnswerPart::OtherError);
        assert_eq!(found(refused(1), row_answer(&["1"]), false)[0].0, AnswerPart::OtherError);
        assert_eq!(found(row_answer(&["1"]), refused(2), false)[0].0, AnswerPart::Error);
        assert_eq!(
            found(row_answer(&["1"]), AnswerOutcome::Late, false)[0].0,
            AnswerPart::NoAnswer
        );
        assert_eq!(
            found(AnswerOutcome::Late, AnswerOutcome::Late, false)[0].0,
            AnswerPart::NoAnswer
        );
    }

    #[test]
    fn the_same_error_is_not_the_same_answer() {
        let refused =
            |code, message: &str| AnswerOutcome::Refused { code, message: message.to_owned() };
        let values = |outcomes: [AnswerOutcome; 2]| -> Vec<StatementAnswer> {
            let one = |(event, outcome)| StatementAnswer { event, ..answered(outcome, false) };
            (0..).zip(outcomes).map(one).collect()
        };
        let counts = |outcomes: [AnswerOutcome; 2]| {
            let answers = values(outcomes);
            let found = compared(&answers, &answers, Opening::default());
            let AnswerCounts { statements, same, undetermined, values, .. } = found.counts;
            (found.differences.len(), [statements, same, undetermined], values)
        };
        let never = [refused(1146, "no table"), refused(1146, "no table")];
        assert_eq!(counts(never), (1, [1, 0, 1], 0));
        let for_one_value = [row_answer(&["1"]), refused(1062, "duplicate entry")];
        assert_eq!(counts(for_one_value), (0, [1, 1, 0], 1));
    }

    #[test]
    fn types_names_and_warnings_are_parts_of_an_answer() {
        let mut other = rows(&["1"]);
        let types = vec!["bigint".to_owned()];
        other.columns = Arc::new(AnswerColumns { types, ..column() });
        other.warnings = vec![("1292".to_owned(), "wrong".to_owned())];
        let other = AnswerOutcome::Answer(Box::new(other));
        let parts: Vec<AnswerPart> =
            found(row_answer(&["1"]), other, false).into_iter().map(|it| it.0).collect();
        assert_eq!(parts, [AnswerPart::Types, AnswerPart::Warnings]);
        let collated = |collation: &str| {
            let mut answer = rows(&["1"]);
            let collations = vec![Some(collation.to_owned())];
            answer.columns = Arc::new(AnswerColumns { collations, ..column() });
            AnswerOutcome::Answer(Box::new(answer))
        };
        assert_eq!(found(collated("a"), row_answer(&["1"]), false), []);
        assert_eq!(found(collated("a"), collated("b"), false)[0].2, "a int b");
    }

    #[test]
    fn a_collation_of_the_connection_is_told_apart() {
        let collated = |columns: [&str; 2], connection: &str, is_own: bool| {
            let mut answer = rows(&["1"]);
            let [names, types] =
                [["a", "b"], ["varchar"; 2]].map(|it| it.map(str::to_owned).into());
            let collations = columns.map(|it| Some(it.to_owned())).into();
            let (connection, of_connection) = (Some(connection.to_owned()), vec![true, !is_own]);
            answer.columns =
                Arc::new(AnswerColumns { names, types, collations, of_connection, connection });
            AnswerOutcome::Answer(Box::new(answer))
        };
        let differing = |base, here, connections: [&str; 2], is_own| {
            let base = answered(collated(base, connections[0], is_own), false);
            let here = answered(collated(here, connections[1], is_own), false);
            compared(&[base], &[here], Opening::default()).differences
        };
        let (old, new) = ("utf8mb4_general_ci", "utf8mb4_0900_ai_ci");
        let [only] = differing([old, old], [new, new], [old, new], false).try_into().unwrap();
        assert!(only.is_of_connection());
        assert_eq!(only.here, "a varchar utf8mb4_0900_ai_ci, b varchar utf8mb4_0900_ai_ci");
        let why = only.why.unwrap();
        assert!(why.contains("`SET NAMES utf8mb4 COLLATE utf8mb4_general_ci`"), "{why}");
        // A different collation of a table column, and one of an expression over a column.
        for (base, is_own, expected) in
            [(["utf8mb4_bin", old], false, ["a", "b"]), ([old, old], true, ["b", "a"])]
        {
            let own = differing(base, [new, new], [old, new], is_own);
            let of_connection: Vec<bool> =
                own.iter().map(AnswerDifference::is_of_connection).collect();
            assert_eq!(of_connection, [false, true]);
            let here = expected.map(|name| format!("{name} varchar {new}"));
            assert_eq!([&own[0].here, &own[1].here], [&here[0], &here[1]]);
        }
        let [only] = differing([old, old], [old, new], [old, old], false).try_into().unwrap();
        assert!(!only.is_of_connection());
    }

    #[test]
    fn what_is_undetermined_is_not_said_to_differ() {
        let undetermined = |outcome| StatementAnswer {
            undetermined: Some("any".to_owned()),
            ..answered(outcome, false)
        };
        let differences = |one: &str, two: &str| {
            let sides = [one, two].map(|it| [undetermined(row_answer(&[it]))]);
            compared(&sides[0], &sides[1], Opening::default()).differences
        };
        let [only] = differences("1", "2").try_into().unwrap();
        assert_eq!((only.what, only.here.as_str()), (AnswerPart::Undetermined, "any"));
        assert_eq!(differences("1", "1"), []);
    }

    #[test]
    fn it_is_counted_for_how_many_values_an_answer_differs() {
        let all = |texts: [&str; 3]| -> Vec<StatementAnswer> {
            let one = |(event, text): (u64, &str)| StatementAnswer {
                event,
                ..answered(row_answer(&[text]), false)
            };
            (0..).zip(texts).map(one).collect()
        };
        // The base was asked with one more value.
        let (base, here) = (all(["1", "2", "3"]), all(["1", "x", "3"]));
        let found = compared(&base, here.get(..2).unwrap(), Opening::default());
        let counts = AnswerCounts { statements: 1, ..AnswerCounts::default() };
        assert_eq!(found.counts, counts);
        let [only] = found.differences.try_into().unwrap();
        assert_eq!((only.count, only.of), (1, 2));
    }

    #[test]
    fn a_statement_of_several_tests_counts_once() {
        let statement_answer = |test: &str, text: &str| StatementAnswer {
            test: test.into(),
            ..answered(row_answer(&[text]), false)
        };
        let other = StatementAnswer { statement: "SELECT b".into(), ..statement_answer("u", "1") };
        let base = [statement_answer("t", "1"), statement_answer("t-2", "1"), other.clone()];
        let here = [statement_answer("t", "1"), statement_answer("t-2", "2"), other];
        let found = compared(&base, &here, Opening::default());
        let counts =
            AnswerCounts { statements: 2, same: 1, undetermined: 0, least: 1, most: 1, values: 1 };
        assert_eq!(found.counts, counts);
        let found = compared(&base, &base, Opening::default());
        assert_eq!((found.counts.same, found.counts.most, found.counts.values), (2, 2, 3));
    }

    #[test]
    fn a_row_beyond_those_that_are_kept_is_not_said_to_be_missing() {
        let [(_, base, here)] =
            found(row_answer(&["1", "2", "3", "4"]), row_answer(&["5", "3", "2", "1"]), false)
                .try_into()
                .unwrap();
        assert_eq!((base.as_str(), here.as_str()), ("4 rows", "4 rows, with other values"));
        let [(_, base, _)] =
            found(row_answer(&["1", "2", "3", "4"]), row_answer(&["9", "1"]), false)
                .try_into()
                .unwrap();
        assert_eq!(base, "4 rows; first difference: 2");
        let [(_, base, here)] =
            found(row_answer(&["1", "2", "3", "4"]), row_answer(&["1", "2", "3", "5"]), true)
                .try_into()
                .unwrap();
        assert_eq!((base.as_str(), here.as_str()), ("4 rows", "4 rows, with other values"));
    }
    #[test]
    fn what_a_statement_leaves_open_must_not_be_fixed() {
        let differing =
            |opening: Opening, rows: [&[&str]; 2], is_ordered, choice: Option<(&str, bool)>| {
                let sides = rows.map(|rows| {
                    let choice = choice.map(|(why, is_within_values)| OpenChoice {
                        why: why.to_owned(),
                        is_within_values,
                    });
                    StatementAnswer { choice, ..answered(row_answer(rows), is_ordered) }
                });
                let [base, here] = sides;
                let found = compared(&[base], &[here], opening).differences;
                found.into_iter().map(|it| (it.what, it.why)).collect::<Vec<_>>()
            };
        let none = Opening::default;
        let other: [&[&str]; 2] = [&["1", "2"], &["1", "3"]];
        let turned: [&[&str]; 2] = [&["1", "2"], &["2", "1"]];
        let [(what, why)] = differing(none(), turned, false, None).try_into().unwrap();
        assert_eq!((what, why.as_deref()), (AnswerPart::Order, Some("it sorts")));
        let parts = |opening, rows, is_ordered, choice| -> Vec<AnswerPart> {
            differing(opening, rows, is_ordered, choice).into_iter().map(|it| it.0).collect()
        };
        let ties = || Opening { has_ties: true, ties_choose: true, ..none() };
        assert_eq!(parts(none(), turned, true, None), [AnswerPart::Values]);
        assert_eq!(parts(ties(), turned, true, None), [AnswerPart::Order]);
        assert_eq!(parts(none(), other, true, None), [AnswerPart::Values]);
        assert_eq!(parts(ties(), other, true, None), [AnswerPart::Choice]);
        let limit = Some(("`LIMIT` without `ORDER BY` takes any rows", false));
        assert_eq!(parts(none(), other, false, limit), [AnswerPart::Choice]);
        // A limit does not explain a difference that remains without it.
        let differs = Opening { differs_without_limit: true, ..none() };
        assert_eq!(parts(differs, other, false, limit), [AnswerPart::Values]);
        let ungrouped = Opening { is_ungrouped: true, ..none() };
        assert_eq!(parts(ungrouped, other, false, None), [AnswerPart::Choice]);
        // Answers that vary on the base itself prove nothing.
        let varies = Opening { rows_vary: true, order_varies: true, ..none() };
        assert_eq!(parts(varies.clone(), other, true, None), [AnswerPart::Undetermined]);
        assert_eq!(parts(varies, turned, false, None), [AnswerPart::Undetermined]);
    }

    #[test]
    fn a_list_in_another_order_has_the_same_elements() {
        let list = |text: &str| {
            let mut rows = AnswerRows::keeping(3, true);
            rows.columns = Arc::new(column());
            rows.add(&[Some(Cow::Borrowed(text.as_bytes()))]);
            let choice = OpenChoice { why: "any order".to_owned(), is_within_values: true };
            let outcome = AnswerOutcome::Answer(Box::new(rows));
            StatementAnswer { choice: Some(choice), ..answered(outcome, false) }
        };
        let part = |other: &str| {
            let found = compared(&[list("b,a,c")], &[list(other)], Opening::default()).differences;
            found.first().map(|it| it.what)
        };
        assert_eq!(part("b,a,c"), None);
        assert_eq!(part("a,b,c"), Some(AnswerPart::Choice));
        assert_eq!(part("a,b,d"), Some(AnswerPart::Values));
    }

    #[test]
    fn another_name_for_utf8_is_no_other_type() {
        let collated = |collation: &str| {
            let mut answer = rows(&["1"]);
            let collations = vec![Some(collation.to_owned())];
            answer.columns = Arc::new(AnswerColumns { collations, ..column() });
            AnswerOutcome::Answer(Box::new(answer))
        };
        let difference_count =
            |one: &str, two: &str| found(collated(one), collated(two), false).len();
        assert_eq!(difference_count("utf8_general_ci", "utf8mb3_general_ci"), 0);
        assert_eq!(difference_count("utf8_general_ci", "utf8mb3_bin"), 1);
        assert_eq!(difference_count("utf8_general_ci", "utf8mb4_general_ci"), 1);
    }
}
