//! The order in which preset published runs its tests on one instance: as the published harness does.

use assay_model::{Class, Kind, Microbenchmark, PlannedCell, Setup, StartFrom};

/// Something to do on an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Run a test without recording it.
    Warm {
        /// The test.
        test: Microbenchmark,
        /// Its clients.
        clients: u32,
        /// How long, seconds.
        seconds: u32,
    },
    /// Take statistics, write changed pages, purge; then rest until the time is over.
    Maintain {
        /// How long, seconds.
        seconds: u32,
    },
    /// Measure the cell with this index.
    Measure(usize),
}

/// Longest warm-up by scans, seconds.
const SCAN_WARM_S: u32 = 60;

/// Length of maintenance: this, a second for each million rows, and at most the last, seconds.
const MAINTAIN_S: (u32, u32) = (60, 1200);

/// The steps for the cells of one data set, given in the order of their study.
///
/// The warm-ups and the maintenance are those of the sequence run since April 2025; no step that is not measured is
/// longer than a measured read, so that a study with short slices is short.
#[must_use]
pub fn sequence(cells: &[PlannedCell]) -> Vec<Step> {
    let Some(first) = cells.first() else { return Vec::new() };
    let of = Sequence { setup: first.id.setup, read_s: read_s(cells) };
    let mut steps =
        vec![of.warm(Kind::PointQuery, first.id.setup.tables, of.read_s), of.maintain()];
    let is_early_write = |cell: &PlannedCell| {
        cell.id.test.class() == Class::Write && cell.id.test.start_from() == StartFrom::Fresh
    };
    let is_later_read = |cell: &PlannedCell| {
        cell.id.test.class() == Class::Read && cell.id.test.start_from() == StartFrom::Aged
    };
    let scan = |clients| of.warm(Kind::Scan, clients, of.read_s.min(SCAN_WARM_S));
    let last_write = cells.iter().rposition(is_early_write);
    let first_read = cells.iter().position(is_later_read);
    let first_pre = cells.iter().position(|cell| cell.id.test.pre);
    let first_si = cells
        .iter()
        .position(|cell| is_later_read(cell) && cell.id.test.kind == Kind::PointsCoveredSi);
    for (index, cell) in cells.iter().enumerate() {
        let clients = cell.id.setup.clients;
        if first_pre == Some(index) || first_read == Some(index) {
            steps.push(scan(clients));
        }
        if first_si == Some(index) {
            steps.push(of.warm(Kind::PointsCoveredSi, clients, of.read_s));
        }
        steps.push(Step::Measure(index));
        if last_write == Some(index) {
            steps.push(of.maintain());
        }
    }
    steps
}

/// What all steps share.
struct Sequence {
    setup: Setup,
    read_s: u32,
}

impl Sequence {
    fn warm(&self, kind: Kind, clients: u32, seconds: u32) -> Step {
        Step::Warm { test: Microbenchmark { kind, range: 100, pre: false }, clients, seconds }
    }

    fn maintain(&self) -> Step {
        let rows = u64::from(self.setup.tables) * u64::from(self.setup.rows);
        let millions = u32::try_from(rows / 1_000_000).unwrap_or(u32::MAX);
        let seconds = MAINTAIN_S.0.saturating_add(millions).min(MAINTAIN_S.1);
        // At the length of the posts a read is as long as this or longer only for huge tables: then this is longer.
        let limit = if self.read_s >= MAINTAIN_S.0 { u32::MAX } else { self.read_s };
        Step::Maintain { seconds: seconds.min(limit) }
    }
}

/// Length of a measured read, seconds, at least 1.
fn read_s(cells: &[PlannedCell]) -> u32 {
    let reads = cells.iter().filter(|cell| cell.id.test.class() == Class::Read);
    let longest = reads.map(|cell| cell.slice_ms).max();
    longest.or(cells.first().map(|cell| cell.slice_ms)).unwrap_or(0).div_ceil(1000).max(1)
}

#[cfg(test)]
mod tests {
    use assay_model::{CellId, CpuPlacement, TestSet};

    use super::*;

    fn cells(set: TestSet, clients: &[u32], seconds: u32) -> Vec<PlannedCell> {
        let setup = |clients| Setup { clients, tables: 8, rows: 10_000_000 };
        let cell = |test, clients| PlannedCell {
            id: CellId { test, setup: setup(clients) },
            warm_ms: 0,
            slice_ms: seconds * 1000,
            events: None,
            placement: CpuPlacement::Free,
        };
        let tests = set.tests().into_iter();
        tests.flat_map(|test| clients.iter().map(move |&clients| cell(test, clients))).collect()
    }

    /// The steps in words: `w` warm-ups, `m` maintenance, names of measured tests.
    fn words(cells: &[PlannedCell]) -> Vec<String> {
        let word = |step: &Step| match *step {
            Step::Warm { test, clients, seconds } => format!("w {test} {clients} {seconds}"),
            Step::Maintain { seconds } => format!("m {seconds}"),
            Step::Measure(index) => cells[index].id.test.name(),
        };
        sequence(cells).iter().map(word).collect()
    }

    #[test]
    fn the_32_run_as_published() {
        let words = words(&cells(TestSet::Set32, &[1], 600));
        assert_eq!(words[..3], ["w point-query 8 600", "m 140", "update-inlist"]);
        let at = |word: &str| words.iter().position(|it| it == word).unwrap();
        let written = at("read-write_range=100");
        assert_eq!(words[written + 1..written + 4], ["m 140", "w scan 1 60", "scan"]);
        assert_eq!(words[at("points-covered-si") - 1], "w points-covered-si 1 600");
        assert_eq!(words.last().unwrap(), "insert");
        assert_eq!(words.len(), 32 + 5);
    }

    #[test]
    fn the_pre_tests_of_the_42_are_warmed_by_scans_too() {
        let words = words(&cells(TestSet::Set42, &[1, 4], 300));
        assert_eq!(words[2..5], ["w scan 1 60", "point-query.pre", "point-query.pre"]);
        assert_eq!(words.len(), 2 * 42 + 6);
    }

    #[test]
    fn short_studies_have_short_steps_and_only_what_they_need() {
        let mut few = cells(TestSet::Set32, &[1], 2);
        few.retain(|cell| ["update-one", "insert"].contains(&cell.id.test.kind.name()));
        assert_eq!(words(&few), ["w point-query 8 2", "m 2", "update-one", "m 2", "insert"]);
        assert!(sequence(&[]).is_empty());
    }
}
