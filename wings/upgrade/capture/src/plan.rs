//! Chooses the database, statements and transactions that become tests.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

use assay_model::limits::user::KINDS;
use assay_model::{Dialect, SessionSetting};

use crate::capture::CapturedLogs;
use crate::fingerprints::{CallTotal, Fingerprint};
use crate::name;
use crate::sessions::TransactionShape;
use crate::sql::kind::follows_another;

const LIMIT: usize = 200;

const TRANSACTIONS: usize = 50;

/// Maximum number of sets of session settings of all tests: a client of the mix has a connection for each.
const SETTINGS: usize = 16;

/// Minimum share of a test's transactions in all transactions.
const SHARE_MIN: f64 = 0.01;

#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// Statements that write become tests too.
    pub writes: bool,
    /// Maximum number of tests, by their time.
    pub limit: Option<usize>,
    pub database: Option<String>,
}

#[derive(Debug, Clone)]
pub struct CapturedWork {
    pub name: String,
    /// Calls in the log, without those that belong to other tests.
    pub calls: u64,
    /// Time of these calls, microseconds.
    pub time_us: f64,
    pub writes: bool,
    pub(crate) what: TestContent,
}

/// Content of a test; the number is that of the statement or transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestContent {
    Statement(usize),
    Transaction(usize),
}

#[derive(Debug, Clone, Default)]
pub struct OmissionCounts {
    /// Calls in other databases, by their names.
    pub databases: BTreeMap<String, u64>,
    pub dialect: u64,
    pub writes: u64,
    /// Calls of statements that ask about the previous one, outside of transactions that are kept.
    pub following: u64,
    pub transactions: u64,
    /// Statements without known values.
    pub unknown: usize,
    pub unknown_calls: u64,
    pub beyond: usize,
    pub beyond_calls: u64,
    /// Microseconds.
    pub beyond_us: f64,
    pub settings: usize,
    pub settings_calls: u64,
}

#[derive(Debug, Clone)]
pub struct CapturePlan {
    /// The database, if the logs name any.
    pub database: Option<String>,
    pub dialect: Dialect,
    /// Sorted by descending time.
    pub works: Vec<CapturedWork>,
    pub left_out: OmissionCounts,
    /// Share of calls that clients had prepared.
    pub prepared: f64,
    pub calls: u64,
    /// Time of the calls, microseconds; `None` if the logs have no times.
    pub time_us: Option<f64>,
    pub(crate) unknown: Vec<usize>,
}

/// Chooses the tests. If no log has the requested database, the error lists the existing ones.
pub fn plan(captured: &CapturedLogs, options: &PlanOptions) -> Result<CapturePlan, Vec<String>> {
    let all = &captured.fingerprints;
    let scope = PlanScope::new(captured, options)?;
    let mut left_out = OmissionCounts::default();
    elsewhere(captured, &scope, &mut left_out);
    let chosen = transactions(captured, options, &scope, &mut left_out);
    let mut works: Vec<CapturedWork> =
        chosen.iter().map(|number| transaction_work(captured, *number)).collect();
    let unknown = statements(captured, options, &scope, &chosen, &mut works, &mut left_out);
    let rank = |it: &CapturedWork| if scope.has_times { it.time_us } else { it.calls as f64 };
    works.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(b.calls.cmp(&a.calls)));
    keep_settings(captured, &mut works, &mut left_out);
    // Each is a kind of events of the test that mixes them.
    let limit = options.limit.unwrap_or(LIMIT).min(KINDS);
    for it in works.drain(works.len().min(limit)..) {
        left_out.beyond += 1;
        left_out.beyond_calls += it.calls;
        left_out.beyond_us += it.time_us;
    }
    let mut names: HashSet<String> = HashSet::from([EVERYTHING.to_owned()]);
    for work in &mut works {
        work.name = name::unique(std::mem::take(&mut work.name), &mut names);
    }
    let here: Vec<&Fingerprint> = all.iter().filter(|it| scope.has(it)).collect();
    let calls: u64 = here.iter().map(|it| it.total.calls).sum();
    let prepared: u64 = here.iter().map(|it| it.prepared).sum();
    Ok(CapturePlan {
        database: scope.database.map(|at| captured.databases[at as usize].clone()),
        dialect: scope.dialect,
        works,
        left_out,
        prepared: prepared as f64 / calls.max(1) as f64,
        calls,
        time_us: scope.has_times.then(|| here.iter().map(|it| it.total.all_us()).sum()),
        unknown,
    })
}

/// Keeps only the sets of session settings that come first among the tests.
fn keep_settings(
    captured: &CapturedLogs,
    works: &mut Vec<CapturedWork>,
    left_out: &mut OmissionCounts,
) {
    let (mut kept, mut others) = (HashSet::new(), HashSet::new());
    works.retain(|work| {
        let set = captured.sent(work.what)[0].settings;
        if kept.contains(&set) || (kept.len() < SETTINGS && kept.insert(set)) {
            return true;
        }
        others.insert(set);
        left_out.settings_calls += work.calls;
        false
    });
    left_out.settings = others.len();
}

impl CapturePlan {
    /// Share of a test in the time of all statements, or in all calls if the logs have no times.
    pub(crate) fn share(&self, work: &CapturedWork) -> f64 {
        match self.time_us {
            Some(all) if all > 0.0 => work.time_us / all,
            _ => work.calls as f64 / self.calls.max(1) as f64,
        }
    }
}

impl CapturedLogs {
    /// The fingerprints of the statements that a test sends.
    pub(crate) fn sent(&self, what: TestContent) -> Vec<&Fingerprint> {
        match what {
            TestContent::Statement(number) => vec![&self.fingerprints[number]],
            TestContent::Transaction(number) => {
                let statements = self.shapes[number].statements.iter();
                statements.map(|(number, _)| &self.fingerprints[*number]).collect()
            }
        }
    }

    pub(crate) fn settings_of(&self, what: TestContent) -> &[SessionSetting] {
        &self.settings[self.sent(what)[0].settings as usize]
    }
}

struct PlanScope {
    dialect: Dialect,
    database: Option<u32>,
    has_times: bool,
}

impl PlanScope {
    fn new(captured: &CapturedLogs, options: &PlanOptions) -> Result<Self, Vec<String>> {
        let all = &captured.fingerprints;
        let has_times = all.iter().any(|it| it.total.timed > 0);
        let mut scope = Self { dialect: Dialect::MySql, database: None, has_times };
        let dialects = all.iter().map(|it| (it.dialect, scope.weight(&it.total)));
        scope.dialect = heaviest(dialects).unwrap_or(Dialect::MySql);
        scope.database = match &options.database {
            Some(name) => match captured.databases.iter().position(|it| it == name) {
                Some(number) => u32::try_from(number).ok(),
                None => return Err(captured.databases.clone()),
            },
            None => {
                let of_dialect = all.iter().filter(|it| it.dialect == scope.dialect);
                heaviest(of_dialect.filter_map(|it| Some((it.database?, scope.weight(&it.total)))))
            }
        };
        Ok(scope)
    }

    /// A statement without a known database passes.
    fn has(&self, it: &Fingerprint) -> bool {
        let is_here = it.database.is_none() || it.database == self.database;
        it.dialect == self.dialect && is_here
    }

    fn weight(&self, total: &CallTotal) -> f64 {
        if self.has_times { total.time_us } else { total.calls as f64 }
    }
}

fn elsewhere(captured: &CapturedLogs, scope: &PlanScope, left_out: &mut OmissionCounts) {
    for it in captured.fingerprints.iter().filter(|it| !scope.has(it)) {
        if it.dialect != scope.dialect {
            left_out.dialect += it.total.calls;
        } else if let Some(number) = it.database {
            let name = &captured.databases[number as usize];
            *left_out.databases.entry(name.clone()).or_default() += it.total.calls;
        }
    }
}

/// Adds the statements that become separate tests. Returns those without values.
fn statements(
    captured: &CapturedLogs,
    options: &PlanOptions,
    scope: &PlanScope,
    chosen: &[usize],
    works: &mut Vec<CapturedWork>,
    left_out: &mut OmissionCounts,
) -> Vec<usize> {
    let all = &captured.fingerprints;
    let mut taken = vec![0_u64; all.len()];
    for shape in chosen.iter().map(|number| &captured.shapes[*number]) {
        shape.statements.iter().for_each(|(statement, _)| taken[*statement] += shape.count);
    }
    let mut unknown = Vec::new();
    for (number, it) in all.iter().enumerate().filter(|(_, it)| scope.has(it)) {
        let calls = it.total.calls.saturating_sub(taken[number]);
        if calls == 0 {
            continue;
        }
        if it.writes && !options.writes {
            left_out.writes += calls;
        } else if follows_another(&it.text, it.dialect) {
            left_out.following += calls;
        } else if it.sample.rows().is_empty() {
            left_out.unknown_calls += calls;
            unknown.push(number);
        } else {
            let time_us = it.total.mean_us().unwrap_or(0.0) * calls as f64;
            let name = name::of_statement(&it.text, scope.dialect);
            let (writes, what) = (it.writes, TestContent::Statement(number));
            works.push(CapturedWork { name, calls, time_us, writes, what });
        }
    }
    left_out.unknown = unknown.len();
    let rank = |number: usize| scope.weight(&all[number].total);
    unknown.sort_by(|a, b| rank(*b).total_cmp(&rank(*a)));
    unknown
}

/// The test that mixes all others.
pub(crate) const EVERYTHING: &str = "everything";

/// The key with the largest sum. Ties go to the first.
fn heaviest<K: PartialEq + Copy>(weights: impl Iterator<Item = (K, f64)>) -> Option<K> {
    let mut sums: Vec<(K, f64)> = Vec::new();
    for (key, weight) in weights {
        match sums.iter_mut().find(|(other, _)| *other == key) {
            Some((_, sum)) => *sum += weight,
            None => sums.push((key, weight)),
        }
    }
    let by_weight = |a: &(K, f64), b: &(K, f64)| a.1.partial_cmp(&b.1).unwrap_or(Ordering::Equal);
    // On ties, `max_by` returns the last.
    sums.into_iter().rev().max_by(by_weight).map(|(key, _)| key)
}

/// The numbers of the transactions that become tests.
fn transactions(
    captured: &CapturedLogs,
    options: &PlanOptions,
    scope: &PlanScope,
    left_out: &mut OmissionCounts,
) -> Vec<usize> {
    let least = (captured.transactions.ended as f64 * SHARE_MIN).max(2.0);
    let mut chosen: Vec<(usize, &TransactionShape)> = Vec::new();
    for (number, shape) in captured.shapes.iter().enumerate() {
        let statements = captured.sent(TestContent::Transaction(number));
        if !statements.iter().all(|it| scope.has(it)) {
            continue;
        }
        if statements.iter().any(|it| it.writes) && !options.writes {
            left_out.transactions += shape.count;
        } else if shape.count as f64 >= least && !shape.sample.rows().is_empty() {
            chosen.push((number, shape));
        }
    }
    chosen.sort_by_key(|(_, shape)| std::cmp::Reverse(shape.count));
    chosen.truncate(TRANSACTIONS);
    chosen.into_iter().map(|(number, _)| number).collect()
}

fn transaction_work(captured: &CapturedLogs, number: usize) -> CapturedWork {
    let what = TestContent::Transaction(number);
    let (shape, sent) = (&captured.shapes[number], captured.sent(what));
    let each_us: f64 = sent.iter().filter_map(|statement| statement.total.mean_us()).sum();
    CapturedWork {
        name: name::of_transaction(sent.iter().map(|statement| &*statement.text), sent[0].dialect),
        calls: shape.count,
        time_us: each_us * shape.count as f64,
        writes: sent.iter().any(|statement| statement.writes),
        what,
    }
}
