//! How data are aged: which writes change them, and how many.

use assay_model::{Class, DataSet, StartFrom, Test, TestSet};

/// Rows changed by each of the aging tests, as part of all rows.
const AGED_SHARE: u64 = 10;

/// Rows changed by each of the aging tests at most: more would cost time and age no further.
const AGED_ROWS_MAX: u64 = 50_000;

/// Events of an aging test at least, so that its rate means something.
const AGED_EVENTS_MIN: u64 = 100;

/// The eight write tests that come before the reads of the published sequence.
pub(super) fn aging_tests() -> impl Iterator<Item = Test> {
    assay_workloads::tests_of(TestSet::Set32)
        .into_iter()
        .filter(|test| test.class == Class::Write && test.start_from == StartFrom::Fresh)
}

/// The number of events with which a test ages the data.
pub(super) fn aging_events(test: Test, data: DataSet) -> u64 {
    let rows_per_event = u64::from(test.planning.rows_per_event.max(1));
    let rows = u64::from(data.tables) * u64::from(data.rows) / AGED_SHARE;
    (rows.min(AGED_ROWS_MAX) / rows_per_event).max(AGED_EVENTS_MIN)
}

/// Events of aging tests per second, assumed before a server has run one.
const AGING_PER_S: f64 = 12_000.0;

/// Seconds to start and stop a server and to let it write its pages, besides the events.
const AROUND_S: f64 = 2.0;

/// Seconds that aging the data of one system takes, as a guess.
pub(super) fn aging_s(data: DataSet) -> f64 {
    let events: u64 = aging_tests().map(|test| aging_events(test, data)).sum();
    AROUND_S + events as f64 / AGING_PER_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aging_works_on_tables_whose_ids_the_client_sends() {
        assert_eq!(aging_tests().count(), 8);
        assert!(!aging_tests().any(assay_workloads::needs_numbering));
    }
}
