//! Reservations about the measured work: tests that do nothing, scripts that send systems different work, and the parts
//! of writes that settings leave out.

use assay_model::{
    CellId, Class, Dialect, Origin, Script, SliceOutcome, StudyRecord, System, Test, UserStep,
    WorkCounters,
};

use super::study::JudgedStudy;
use crate::words::one_line;

const SHOWN: usize = 80;

/// A warning for each test of a user's workload whose statements return or change no rows on any server: it measures
/// little, and rarely what was intended. The warning comes with its first statement that should return or change rows.
pub(super) fn idle(record: &StudyRecord) -> Vec<String> {
    let mut message: Vec<Test> = Vec::new();
    let mut warnings = Vec::new();
    for test in record.study.cells.iter().map(|cell| cell.id.test) {
        if test.workload().is_some() && !message.contains(&test) {
            message.push(test);
            warnings.extend(idle_test(record, test));
        }
    }
    warnings
}

fn idle_test(record: &StudyRecord, test: Test) -> Option<String> {
    let (words, count, first): (_, fn(&WorkCounters) -> u64, &[&str]) = match test.class {
        Class::Read => ("returned no rows", |work| work.rows, &READS),
        Class::Write => ("changed no row", |work| work.write, &WRITES),
    };
    let is_measured = |outcome: &SliceOutcome| !matches!(outcome, SliceOutcome::Failed(_));
    let slices = record.slices.iter().filter(|it| it.cell.test == test);
    let mut measured = slices.filter(|it| is_measured(&it.outcome)).peekable();
    measured.peek()?;
    let does_nothing = measured.all(|it| it.work.events > 0 && count(&it.work) == 0);
    let mut roles = test.roles.iter().filter(|_| does_nothing);
    let sql = roles.find_map(|role| statement(&role.script, first))?;
    Some(format!("`{}` {words} on any server: `{sql}`", test.name))
}

const READS: [&str; 5] = ["SELECT", "WITH", "TABLE", "VALUES", "("];

const WRITES: [&str; 5] = ["INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"];

/// The first statement that begins with one of the words. A statement that returns the rows it changes counts as a
/// query.
fn statement(script: &Script, first: &[&str]) -> Option<String> {
    let steps = script.mix.iter().flat_map(|it| &it.steps);
    let texts = steps.filter_map(|step| match step {
        UserStep::Send { sql, .. } => {
            let sql = sql.mysql.as_ref().or(sql.postgres.as_ref())?;
            Some(sql.with_marks(|_| "?".to_owned()))
        }
        UserStep::Sleep { .. } | UserStep::Pipeline { .. } => None,
    });
    let is_one = |text: &String| {
        let text = text.trim_start().to_ascii_uppercase();
        first.iter().any(|word| text.starts_with(word)) && !text.contains("RETURNING")
    };
    Some(one_line(&texts.into_iter().find(is_one)?, SHOWN, " ..."))
}

/// Tolerated relative difference of statements per event: restarted events send some twice.
const TOLERANCE: f64 = 0.05;

/// With a larger share of restarted events, the counts say nothing about the script.
const RETRIED_MAX: f64 = 0.02;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct SentWork {
    events: u64,
    statements: u64,
    reads: u64,
    retried: u64,
}

impl SentWork {
    /// Statements and reads per event; `None` if inconclusive.
    fn per_event(&self) -> Option<[f64; 2]> {
        let events = self.events as f64;
        let tells = self.events > 0 && self.retried as f64 <= events * RETRIED_MAX;
        tells.then(|| [self.statements as f64 / events, self.reads as f64 / events])
    }

    /// Whether both were sent the same work, as far as it is known.
    fn equals(&self, other: &Self) -> bool {
        let Some((one, other)) = self.per_event().zip(other.per_event()) else { return true };
        one.iter().zip(other).all(|(one, other)| {
            let most = one.max(other);
            most - one.min(other) <= most.max(1.0) * TOLERANCE
        })
    }
}

/// A warning for each system and cell of a script in which its work differs from that of the base. assay draws the same
/// values for all systems, but a script may decide by the time, by an address, or by a server's answer.
pub(super) fn unequal(study: &JudgedStudy) -> Vec<String> {
    let record = study.record;
    let of_scripts = record.study.cells.iter().filter(|cell| cell.id.test.lua().is_some());
    let mut warnings = Vec::new();
    for cell in of_scripts {
        let base = sent(study, cell.id, study.base);
        for system in (0..record.systems.len()).filter(|it| *it != study.base) {
            let own = sent(study, cell.id, system);
            let labels = [study.label(study.base), study.label(system)];
            warnings.extend(warning(cell.id.test.name(), labels, [base, own]));
        }
    }
    warnings.dedup();
    warnings
}

fn warning(test: &str, labels: [&str; 2], sent: [SentWork; 2]) -> Option<String> {
    let [base, own] = sent;
    if base.equals(&own) {
        return None;
    }
    let [of_base, of_own] = [base, own].map(|it| it.per_event().unwrap_or_default());
    let message = |[statements, reads]: [f64; 2]| {
        format!("{statements:.2} statements per event, {reads:.2} of them reads,")
    };
    Some(format!(
        "`{test}` did not send the same work: {} to {} and {} to {}, so its verdict says little about the systems",
        message(of_base),
        labels[0],
        message(of_own),
        labels[1]
    ))
}

fn sent(study: &JudgedStudy, cell: CellId, system: usize) -> SentWork {
    let slices = study.record.slices_that_count();
    let of_both = slices.filter(|it| it.system == system && it.cell == cell);
    let measured = of_both.filter(|it| !matches!(it.outcome, SliceOutcome::Failed(_)));
    measured.fold(SentWork::default(), |sum, slice| {
        let work = &slice.work;
        SentWork {
            events: sum.events + work.events,
            statements: sum.statements + work.read + work.write + work.other,
            reads: sum.reads + work.read,
            retried: sum.retried + work.errors.iter().map(|(_, count)| count).sum::<u64>(),
        }
    })
}

const RELAXED: [&str; 2] = ["lean", "published"];

const WITHOUT_BINLOG: &str = "lean";

/// Options that decide whether a commit waits for the disk, each with the values for which it does not.
const FLUSHES: [(&str, &[&str]); 3] = [
    ("rocksdb_flush_log_at_trx_commit", &["0", "2"]),
    ("innodb_flush_log_at_trx_commit", &["0", "2"]),
    ("synchronous_commit", &["off"]),
];

/// `None` for published results, for studies without writes, and if nothing is left out.
pub(super) fn left_out(record: &StudyRecord) -> Option<String> {
    let has_writes = record.study.is_insert_benchmark()
        || record.study.cells.iter().any(|cell| cell.id.test.class == Class::Write);
    if record.is_reported() || !has_writes {
        return None;
    }
    let terms = record.study.terms.as_deref().unwrap_or_default();
    let started = || record.systems.iter().filter(|it| !matches!(it.spec.origin, Origin::Url(_)));
    let is_relaxed = started().any(|system| is_relaxed(system, terms));
    let has_no_binlog = terms == WITHOUT_BINLOG && started().any(has_no_binlog);
    let parts: Vec<&str> = [
        is_relaxed
            .then_some("durable commits (the log is flushed each second, not at each commit)"),
        has_no_binlog.then_some("the binary log (it is off)"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "the writes do not include the cost of {}; many servers in production pay it",
            parts.join(" and of ")
        )
    })
}

/// The last value of an option, whichever way its name is written.
fn option<'a>(system: &'a System, name: &str) -> Option<&'a str> {
    let own = system.options.iter().map(String::as_str);
    own.rev().find_map(|option| {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let key = key.trim_start_matches('-').replace('-', "_").to_ascii_lowercase();
        (key.strip_prefix("loose_").unwrap_or(&key) == name).then_some(value.trim())
    })
}

fn is_relaxed(system: &System, terms: &str) -> bool {
    let given = FLUSHES.iter().find_map(|(name, relaxed)| {
        option(system, name).map(|value| relaxed.contains(&value.to_ascii_lowercase().as_str()))
    });
    given.unwrap_or_else(|| RELAXED.contains(&terms))
}

fn has_no_binlog(system: &System) -> bool {
    system.spec.product.dialect() == Dialect::MySql && option(system, "log_bin").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_statements_per_event_are_other_work_unless_events_were_started_again() {
        let sent =
            |events, statements, reads, retried| SentWork { events, statements, reads, retried };
        let message = |one, other| warning("tm", ["a", "b"], [one, other]);
        let base = sent(1000, 10_500, 10_000, 0);
        assert_eq!(message(base, sent(500, 5250, 5000, 0)), None);
        assert_eq!(message(base, sent(1000, 10_800, 10_200, 9)), None);
        assert_eq!(message(base, sent(1000, 20_000, 20_000, 900)), None);
        assert_eq!(message(base, sent(0, 0, 0, 0)), None);
        let words = message(base, sent(1000, 6500, 5500, 0)).unwrap();
        assert!(
            words.contains(
                "10.50 statements per event, 10.00 of them reads, to a and 6.50 statements"
            ),
            "{words}"
        );
        // The same number of statements, but different ones.
        assert!(message(sent(100, 1000, 900, 0), sent(100, 1000, 100, 0)).is_some());
    }
}
