//! Groups the statements of sessions into transactions.

use std::collections::HashMap;

use assay_model::limits::captured::WIDTH;

use crate::fingerprints::{BETWEEN, ParameterRow, ROWS_MAX, ValueSample};
use crate::sql::kind::StatementEffect;

/// Maximum statements of a transaction that is kept as one.
const STATEMENTS: usize = 50;

/// Transactions of a shape whose numbers are kept, and values of each.
const NUMBERS: usize = 64;
const NUMBERED: usize = 200;

const SESSIONS: usize = 50_000;

const SHAPES: usize = 20_000;

#[derive(Debug, Clone)]
pub(crate) struct SentStatement {
    pub(crate) fingerprint: usize,
    pub(crate) settings: u32,
    /// Number of rows of its `VALUES`.
    pub(crate) rows: usize,
    pub(crate) digests: Vec<u64>,
    /// Its values as JSON, separated by [`BETWEEN`].
    pub(crate) values: String,
    pub(crate) time_us: Option<f64>,
    /// Sequence number in the order of sending.
    pub(crate) order: u64,
}

#[derive(Debug, Default)]
struct OpenSession {
    is_open: bool,
    /// Autocommit is off.
    is_manual: bool,
    /// The transaction cannot be kept as one.
    is_broken: bool,
    sent: Vec<SentStatement>,
}

/// Transactions with the same statements in the same order.
#[derive(Debug, Clone)]
pub(crate) struct TransactionShape {
    /// The fingerprints of its statements, each with the rows of its `VALUES`.
    pub(crate) statements: Vec<(usize, usize)>,
    pub(crate) is_rolled_back: bool,
    pub(crate) count: u64,
    /// By value, the index of the first value that was equal to it in all transactions.
    pub(crate) equal: Vec<usize>,
    /// By value, the sending order and the number, in the first transactions.
    pub(crate) numbers: Vec<Vec<(u64, Option<i64>)>>,
    pub(crate) sample: ValueSample,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Transactions {
    /// Ended ones with at least two statements.
    pub(crate) ended: u64,
    /// Those whose end is missing from the log, or in which a statement failed.
    pub(crate) unfinished: u64,
    /// Those with too many statements or values.
    pub(crate) long: u64,
    /// Those in which the session's settings changed between two statements.
    pub(crate) changing: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: HashMap<u64, OpenSession>,
    pub(crate) shapes: Vec<TransactionShape>,
    numbers: HashMap<(Vec<(usize, usize)>, bool), usize>,
    pub(crate) transactions: Transactions,
}

impl Sessions {
    pub(crate) fn control(&mut self, id: u64, does: StatementEffect) {
        // Definitions commit implicitly.
        self.end(id, does == StatementEffect::Rollback);
        match does {
            StatementEffect::Autocommit(is_on) => self.session(id).is_manual = !is_on,
            StatementEffect::Begin => self.session(id).is_open = true,
            _ => {}
        }
    }

    /// Whether statements of this session belong to a transaction.
    pub(crate) fn is_open(&self, id: u64) -> bool {
        self.open.get(&id).is_some_and(|it| (it.is_open || it.is_manual) && !it.is_broken)
    }

    pub(crate) fn send(&mut self, id: u64, sent: SentStatement) {
        let session = self.session(id);
        if session.sent.first().is_some_and(|first| first.settings != sent.settings) {
            session.is_broken = true;
            session.sent.clear();
            self.transactions.changing += 1;
            return;
        }
        session.sent.push(sent);
        let values: usize = session.sent.iter().map(|it| it.digests.len()).sum();
        if session.sent.len() > STATEMENTS || values > WIDTH {
            session.is_broken = true;
            session.sent.clear();
            self.transactions.long += 1;
        }
    }

    pub(crate) fn break_off(&mut self, id: u64) {
        if let Some(session) = self.open.get_mut(&id).filter(|it| it.is_open || it.is_manual) {
            self.transactions.unfinished +=
                u64::from(!session.is_broken && !session.sent.is_empty());
            session.is_broken = true;
            session.sent.clear();
        }
    }

    pub(crate) fn forget(&mut self, id: u64) {
        if let Some(session) = self.open.remove(&id) {
            self.transactions.unfinished += u64::from(!session.sent.is_empty());
        }
    }

    pub(crate) fn forget_all(&mut self) {
        let unfinished = self.open.values().filter(|it| !it.sent.is_empty()).count();
        self.transactions.unfinished += unfinished as u64;
        self.open.clear();
    }

    fn session(&mut self, id: u64) -> &mut OpenSession {
        if self.open.len() >= SESSIONS && !self.open.contains_key(&id) {
            self.forget_all();
        }
        self.open.entry(id).or_default()
    }

    fn end(&mut self, id: u64, is_rolled_back: bool) {
        let Some(session) = self.open.get_mut(&id) else { return };
        let sent = std::mem::take(&mut session.sent);
        session.is_open = false;
        session.is_broken = false;
        if !session.is_manual {
            self.open.remove(&id);
        }
        // A single statement is the same inside and outside a transaction.
        if sent.len() > 1 {
            self.transactions.ended += 1;
            self.keep(&sent, is_rolled_back);
        }
    }

    fn keep(&mut self, sent: &[SentStatement], is_rolled_back: bool) {
        let statements: Vec<(usize, usize)> =
            sent.iter().map(|it| (it.fingerprint, it.rows)).collect();
        let digests: Vec<u64> = sent.iter().flat_map(|it| it.digests.iter().copied()).collect();
        let key = (statements, is_rolled_back);
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None if self.shapes.len() >= SHAPES => return,
            None => {
                let number = self.shapes.len();
                self.shapes.push(TransactionShape {
                    statements: key.0.clone(),
                    is_rolled_back,
                    count: 0,
                    equal: vec![0; digests.len()],
                    numbers: vec![Vec::new(); digests.len().min(NUMBERED)],
                    sample: ValueSample::new(number as u64),
                });
                self.numbers.insert(key, number);
                number
            }
        };
        let shape = &mut self.shapes[number];
        shape.count += 1;
        if shape.count <= NUMBERS as u64 {
            let values = sent.iter().flat_map(|it| {
                let values = it.values.split(BETWEEN).filter(|_| !it.values.is_empty());
                values.map(|value| (it.order, value.trim_matches('"').parse().ok()))
            });
            shape.numbers.iter_mut().zip(values).for_each(|(all, one)| all.push(one));
        }
        shape.equal = refined(&shape.equal, &digests);
        let mut times = sent.iter().map(|it| it.time_us);
        let time_us = times.try_fold(0.0, |all, it| Some(all + it?));
        if let Some(place) = shape.sample.place(time_us, ROWS_MAX) {
            let values: Vec<&str> =
                sent.iter().map(|it| it.values.as_str()).filter(|it| !it.is_empty()).collect();
            let values = values.join(&BETWEEN.to_string()).into();
            shape.sample.put(place, time_us, ParameterRow { rows: 0, values });
        }
    }
}

/// Keeps the groups of values that were equal so far and are equal now; by value, the index of the first of its group.
fn refined(equal: &[usize], digests: &[u64]) -> Vec<usize> {
    let mut firsts: HashMap<(usize, u64), usize> = HashMap::new();
    let pairs = equal.iter().copied().zip(digests.iter().copied());
    pairs.enumerate().map(|(at, key)| *firsts.entry(key).or_insert(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(fingerprint: usize, digests: &[u64]) -> SentStatement {
        let values: Vec<String> = digests.iter().map(ToString::to_string).collect();
        SentStatement {
            fingerprint,
            settings: 0,
            rows: 0,
            digests: digests.to_vec(),
            values: values.join(&BETWEEN.to_string()),
            time_us: Some(1.0),
            order: 0,
        }
    }

    #[test]
    fn values_that_are_always_equal_share_a_variable() {
        let mut sessions = Sessions::default();
        for (id, [a, b]) in [(1, [5, 5]), (2, [7, 5]), (1, [5, 5])] {
            sessions.control(id, StatementEffect::Begin);
            assert!(sessions.is_open(id));
            sessions.send(id, sent(0, &[a]));
            sessions.send(id, sent(1, &[a, b]));
            sessions.control(id, StatementEffect::Commit);
            assert!(!sessions.is_open(id));
        }
        let [shape] = sessions.shapes.as_slice() else { panic!("{:?}", sessions.shapes) };
        assert_eq!((shape.count, shape.equal.as_slice()), (3, [0, 0, 2].as_slice()));
        assert_eq!(shape.sample.rows()[1].values(), ["7", "7", "5"]);
    }

    #[test]
    fn sessions_that_commit_only_when_told_have_transactions_too() {
        let mut sessions = Sessions::default();
        sessions.control(1, StatementEffect::Autocommit(false));
        for end in [StatementEffect::Commit, StatementEffect::Rollback] {
            sessions.send(1, sent(0, &[1]));
            sessions.send(1, sent(1, &[1]));
            sessions.control(1, end);
        }
        assert_eq!(sessions.shapes.len(), 2);
        assert!(sessions.is_open(1));
        sessions.control(1, StatementEffect::Autocommit(true));
        assert!(!sessions.is_open(1));
    }

    #[test]
    fn what_has_no_end_is_counted() {
        let mut sessions = Sessions::default();
        sessions.control(1, StatementEffect::Begin);
        sessions.send(1, sent(0, &[1]));
        sessions.break_off(1);
        assert!(!sessions.is_open(1));
        sessions.control(2, StatementEffect::Begin);
        sessions.send(2, sent(0, &[1]));
        sessions.forget(2);
        sessions.control(3, StatementEffect::Begin);
        (0..60).for_each(|_| {
            if sessions.is_open(3) {
                sessions.send(3, sent(0, &[1]));
            }
        });
        assert_eq!(
            sessions.transactions,
            Transactions { unfinished: 2, long: 1, ..Transactions::default() }
        );
    }
}
