//! Finds out which parts of an answer a statement leaves unspecified: it is run again where the answers of two servers
//! differ.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::{Dialect, Setup, StatementMode, Test};
use assay_wire::{ConnectOptions, WireError};
use assay_workloads::{EventProgram, ProgramClient, ShuffledForms, shuffled, without_limits};

use crate::ask::{AnswerSession, RepeatForm, share};
use crate::error::{LoadError, Result};
use crate::statement_answer::{AnswerRows, EventKey, StatementAnswer, StatementKey, pairs};

/// Maximum number of values to repeat a statement with, while there is time.
const VALUES: usize = 100;

const REPEATS: usize = 2;

/// Random shuffles of rows with equal `ORDER BY` values. Two rows keep their order in half of the cases.
const SHUFFLES: usize = 4;

/// A slower statement runs only once in each form.
const SLOW: Duration = Duration::from_millis(500);

/// All statements together may exceed the time by this factor.
const OVER: u32 = 2;

/// MySQL and MariaDB errors for a selected column that is neither grouped nor aggregated.
const UNGROUPED: [u32; 2] = [1055, 1140];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnswerDoubt {
    key: EventKey,
    /// The rows differ, not only their order.
    is_of_rows: bool,
}

/// Answers whose rows differ and may do so, up to a few per statement.
pub fn doubts(base: &[StatementAnswer], other: &[StatementAnswer]) -> Vec<AnswerDoubt> {
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (there, here) in pairs(base, other).filter(|(_, here)| here.undetermined.is_none()) {
        let (Some(of_base), Some(of_here)) = (there.rows(), here.rows()) else { continue };
        let is_of_rows = !of_base.has_rows_of(of_here);
        if !is_of_rows && of_base.has_order_of(of_here) {
            continue;
        }
        let count = known.entry((&*here.test, &*here.statement)).or_default();
        *count += 1;
        if *count <= VALUES {
            found.push(AnswerDoubt { key: here.event_key(), is_of_rows });
        }
    }
    found
}

#[derive(Debug, Clone, Default)]
struct RepeatedForms {
    repeated: Vec<AnswerRows>,
    /// Answers to forms in which rows with equal `ORDER BY` values come in random order.
    shuffled: Vec<AnswerRows>,
    without_limits: Option<AnswerRows>,
    is_ungrouped: bool,
}

type EventMap<T> = BTreeMap<EventKey, T>;

#[derive(Debug, Clone, Default)]
pub struct RepeatedAnswers(EventMap<RepeatedForms>);

pub struct RepeatRequest<'a> {
    pub options: &'a ConnectOptions,
    pub dialect: Dialect,
    pub tests: &'a [Test],
    pub seed: u64,
    /// The base, whose answers must be known to be stable.
    pub is_base: bool,
}

/// Runs every statement again with one value however long it takes, and with others while there is time.
pub fn ask_again(
    asked: &RepeatRequest<'_>,
    doubts: &[AnswerDoubt],
    time: Duration,
) -> Result<RepeatedAnswers> {
    let mut by_statement: BTreeMap<(&str, &str), Vec<&AnswerDoubt>> = BTreeMap::new();
    for doubt in doubts {
        by_statement.entry((&*doubt.key.0, &*doubt.key.1)).or_default().push(doubt);
    }
    let (began, each) = (Instant::now(), share(time, by_statement.len()));
    let mut found = EventMap::new();
    for ((test, statement), doubts) in by_statement {
        if began.elapsed() > time * OVER {
            break;
        }
        let Some(test) = asked.tests.iter().find(|it| it.name() == test) else { continue };
        let setup = Setup { clients: 1, tables: 1, rows: 1 };
        let dialect = asked.dialect;
        let program = Arc::new(EventProgram::new(dialect, *test, setup, StatementMode::Text));
        let client = ProgramClient::new(Arc::clone(&program), asked.seed, 0);
        // Sessions with other settings have separate statements with the same text.
        let all = program.statements().iter().enumerate();
        let numbers =
            all.filter(|(_, it)| it.sql == statement).map(|(number, it)| (number, it.session));
        let began = Instant::now();
        for (number, session) in numbers {
            let (client, program) = (client.clone(), (Arc::clone(&program), session));
            let asking = AnswerSession::new(asked.options, dialect, *test, program, (each, 0))?;
            let mut statement =
                RepeatedStatement { asking, client, number, dialect, is_slow: false };
            for doubt in &doubts {
                if let Some(answers) = statement.answers(doubt, asked.is_base)? {
                    found.insert(doubt.key.clone(), answers);
                }
                if began.elapsed() > each {
                    break;
                }
            }
        }
    }
    Ok(RepeatedAnswers(found))
}

struct RepeatedStatement {
    asking: AnswerSession,
    client: ProgramClient,
    number: usize,
    dialect: Dialect,
    is_slow: bool,
}

impl RepeatedStatement {
    /// `None` if the event does not run the statement, such as one of a session with other settings.
    fn answers(&mut self, doubt: &AnswerDoubt, is_base: bool) -> Result<Option<RepeatedForms>> {
        let mut answers = RepeatedForms::default();
        let Some(sql) = self.sql(doubt.key.2)? else { return Ok(None) };
        if is_base {
            for number in 0..REPEATS {
                if number == 0 || !self.is_slow {
                    answers.repeated.extend(self.answer(doubt, &sql)?);
                }
            }
            answers.shuffled = self.shuffled(doubt, &sql, answers.repeated.first())?;
        }
        if doubt.is_of_rows {
            if let Some(sql) = without_limits(&sql, self.dialect) {
                answers.without_limits = self.answer(doubt, &sql)?;
            }
            answers.is_ungrouped = self.dialect == Dialect::MySql && self.is_ungrouped(&sql)?;
        }
        Ok(Some(answers))
    }

    fn sql(&mut self, event: u64) -> Result<Option<String>> {
        let sent = RefCell::new(None);
        let form = |sql: &str| {
            *sent.borrow_mut() = Some(sql.to_owned());
            None
        };
        self.asking.again(&self.client, event, RepeatForm { number: self.number, form: &form })?;
        Ok(sent.into_inner())
    }

    fn answer(&mut self, doubt: &AnswerDoubt, sql: &str) -> Result<Option<AnswerRows>> {
        let (form, began) = (|_: &str| Some(sql.to_owned()), Instant::now());
        let again = RepeatForm { number: self.number, form: &form };
        let answer = self.asking.again(&self.client, doubt.key.2, again);
        self.is_slow |= began.elapsed() > SLOW;
        answer
    }

    /// Answers to forms of the statement that shuffle equal rows, up to the first that differs from `known`.
    fn shuffled(
        &mut self,
        doubt: &AnswerDoubt,
        sql: &str,
        known: Option<&AnswerRows>,
    ) -> Result<Vec<AnswerRows>> {
        let mut found = Vec::new();
        let Some(known) = known else { return Ok(found) };
        let ShuffledForms { whole, single } = shuffled(sql, self.dialect);
        for forms in [whole, single] {
            for sql in forms {
                let shuffles = if self.is_slow { 1 } else { SHUFFLES };
                for _ in 0..shuffles {
                    let Some(rows) = self.answer(doubt, &sql)? else { break };
                    let is_other = match doubt.is_of_rows {
                        true => !known.has_rows_of(&rows),
                        false => !known.has_order_of(&rows),
                    };
                    found.push(rows);
                    if is_other {
                        return Ok(found);
                    }
                }
            }
            // The server may have refused the whole form.
            if !found.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    fn is_ungrouped(&self, sql: &str) -> Result<bool> {
        const STRICT: &[u8] =
            b"SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',ONLY_FULL_GROUP_BY')";
        let mut wire = self.asking.connect()?;
        for sql in [STRICT, format!("EXPLAIN {sql}").as_bytes()] {
            match wire.answer(sql, &mut |_, _| ()) {
                Ok(_) => {}
                Err(WireError::Server { code, .. }) => return Ok(UNGROUPED.contains(&code)),
                Err(cause) => return Err(LoadError::query(sql, cause)),
            }
        }
        Ok(false)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Opening {
    /// The base returns different rows each time.
    pub(crate) rows_vary: bool,
    /// The base returns them in a different order each time.
    pub(crate) order_varies: bool,
    /// Reordering rows with equal `ORDER BY` values changes the rows (`ties_choose`), or only their order.
    pub(crate) ties_choose: bool,
    pub(crate) has_ties: bool,
    pub(crate) is_ungrouped: bool,
    /// The servers differ without limits too, so limits do not explain the difference.
    pub(crate) differs_without_limit: bool,
}

impl Opening {
    fn new(
        answered: &StatementAnswer,
        base: &RepeatedForms,
        other: Option<&RepeatedForms>,
    ) -> Self {
        let mut found = Self::default();
        let Some(known) = answered.rows() else { return found };
        found.rows_vary = base.repeated.iter().any(|it| !it.has_rows_of(known));
        found.order_varies = base.repeated.iter().any(|it| !it.has_order_of(known));
        found.ties_choose = base.shuffled.iter().any(|it| !it.has_rows_of(known));
        found.has_ties = base.shuffled.iter().any(|it| !it.has_order_of(known));
        found.is_ungrouped = base.is_ungrouped && other.is_none_or(|it| it.is_ungrouped);
        let other = other.and_then(|it| it.without_limits.as_ref());
        let without_limits = base.without_limits.as_ref().zip(other);
        found.differs_without_limit =
            without_limits.is_some_and(|(one, two)| !one.has_rows_of(two));
        found
    }

    fn leaves_rows(&self) -> bool {
        self.rows_vary || self.ties_choose || self.is_ungrouped
    }

    fn leaves_order(&self) -> bool {
        self.order_varies || self.has_ties
    }
}

/// Parts left unspecified by statements whose answers differ between the base and a server.
#[derive(Debug, Clone, Default)]
pub struct Openings {
    by_event: EventMap<Opening>,
    /// Statements whose rows are unspecified for at least one value. For values that were not retried, it is unknown.
    open_rows: BTreeSet<StatementKey>,
    /// Statements that leave the row order unspecified for a value, which excuses no different rows.
    open_order: BTreeSet<StatementKey>,
    /// Statements whose limits do not explain the difference for a value: they excuse none for other values.
    differing: BTreeMap<StatementKey, Opening>,
    none: Opening,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownOpening<'a> {
    pub(crate) opening: &'a Opening,
    /// Its rows are unspecified for another value, and this one was not retried.
    pub(crate) rows_unknown: bool,
    pub(crate) order_unknown: bool,
}

impl Openings {
    pub fn new(
        answers: &[StatementAnswer],
        base: &RepeatedAnswers,
        other: &RepeatedAnswers,
    ) -> Self {
        let mut found = Self::default();
        for answered in answers {
            let (statement, key) = (answered.statement_key(), answered.event_key());
            let Some(of_base) = base.0.get(&key) else { continue };
            let opening = Opening::new(answered, of_base, other.0.get(&key));
            if opening.leaves_order() {
                found.open_order.insert(statement.clone());
            }
            if opening.leaves_rows() {
                found.open_rows.insert(statement);
            } else if opening.differs_without_limit {
                let of_others = Opening { differs_without_limit: true, ..Opening::default() };
                found.differing.insert(statement, of_others);
            }
            found.by_event.insert(key, opening);
        }
        found
    }

    /// Known facts about an answer's statement with its value. Findings for other values do not apply to it.
    pub(crate) fn known(&self, answered: &StatementAnswer) -> KnownOpening<'_> {
        let statement = answered.statement_key();
        if let Some(opening) = self.by_event.get(&answered.event_key()) {
            return KnownOpening { opening, rows_unknown: false, order_unknown: false };
        }
        KnownOpening {
            opening: self.differing.get(&statement).unwrap_or(&self.none),
            rows_unknown: self.open_rows.contains(&statement),
            order_unknown: self.open_order.contains(&statement),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_default(opening: Opening) -> Self {
        Self { none: opening, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use assay_model::AnswerPart;

    use super::*;
    use crate::differences::answer_differences;
    use crate::statement_answer::AnswerOutcome;

    fn rows(texts: &[&str]) -> AnswerRows {
        let mut answer = AnswerRows::keeping(3, false);
        texts.iter().for_each(|text| answer.add(&[Some(Cow::Borrowed(text.as_bytes()))]));
        answer
    }

    fn answered(event: u64, texts: &[&str]) -> StatementAnswer {
        StatementAnswer {
            test: "t".into(),
            statement: "SELECT a FROM t WHERE b = ? ORDER BY c LIMIT 1".into(),
            sent: String::new(),
            event,
            is_ordered: true,
            undetermined: None,
            choice: None,
            outcome: AnswerOutcome::Answer(Box::new(rows(texts))),
        }
    }

    fn differing(again: &[(u64, &[&str])]) -> Vec<(AnswerPart, u32)> {
        let base = [1, 2, 3].map(|event| answered(event, &["1"]));
        let here = [1, 2, 3].map(|event| answered(event, &["2"]));
        let asked = again.iter().map(|(event, shuffled)| {
            let answers = RepeatedForms {
                repeated: vec![rows(&["1"])],
                shuffled: vec![rows(shuffled)],
                ..RepeatedForms::default()
            };
            let first = &base[0];
            ((Arc::clone(&first.test), Arc::clone(&first.statement), *event), answers)
        });
        let asked = RepeatedAnswers(asked.collect());
        let openings = Openings::new(&base, &asked, &RepeatedAnswers::default());
        let found = answer_differences(&base, &here, &openings, &|_| None).differences;
        found.into_iter().map(|it| (it.what, it.count)).collect()
    }

    #[test]
    fn what_is_open_with_a_value_excuses_no_other_one() {
        use AnswerPart::{Choice, Undetermined, Values};
        let (ties, none): (&[&str], &[&str]) = (&["2"], &["1"]);
        // Only the first value has ties.
        assert_eq!(differing(&[(1, ties), (2, none), (3, none)]), [(Choice, 1), (Values, 2)]);
        // There was no time for the third one.
        assert_eq!(
            differing(&[(1, ties), (2, none)]),
            [(Choice, 1), (Values, 1), (Undetermined, 1)]
        );
        assert_eq!(differing(&[(1, none), (2, none)]), [(Values, 3)]);
        assert_eq!(differing(&[]), [(Values, 3)]);
    }
    #[test]
    fn an_open_order_excuses_no_other_rows() {
        let event_answers = |texts: &[&str]| [1, 2].map(|event| answered(event, texts));
        let base = event_answers(&["1", "2"]);
        let key = (Arc::clone(&base[0].test), Arc::clone(&base[0].statement), 1);
        let (repeated, shuffled) = (vec![rows(&["1", "2"])], vec![rows(&["2", "1"])]);
        let answers = RepeatedForms { repeated, shuffled, ..RepeatedForms::default() };
        let asked = RepeatedAnswers([(key, answers)].into());
        let openings = Openings::new(&base, &asked, &RepeatedAnswers::default());
        let parts = |here: &[StatementAnswer]| -> Vec<(AnswerPart, u32)> {
            let found = answer_differences(&base, here, &openings, &|_| None).differences;
            found.into_iter().map(|it| (it.what, it.count)).collect()
        };
        assert_eq!(parts(&event_answers(&["1"])), [(AnswerPart::Rows, 2)]);
        assert_eq!(parts(&event_answers(&["1", "3"])), [(AnswerPart::Values, 2)]);
        // There was no time for the second one.
        let turned = [(AnswerPart::Order, 1), (AnswerPart::Undetermined, 1)];
        assert_eq!(parts(&event_answers(&["2", "1"])), turned);
    }
}
