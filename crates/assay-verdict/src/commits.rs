//! Share of commit time in a change, as seen by clients of a user's test.

use assay_model::{CellId, StudyRecord, UserStep, Verdict};

use crate::phrases::{per_operation, times};
use crate::plans::StatementPlace;
use crate::statements::{MOST, PartTime};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CommitTime(PartTime);

impl CommitTime {
    /// `None` if statements were not timed, or none is a commit.
    pub(crate) fn for_cell(
        record: &StudyRecord,
        cell: CellId,
        systems: [usize; 2],
    ) -> Option<Self> {
        let part = PartTime::for_cell(record, cell, systems, |place| is_commit(cell, place))?;
        part.us.iter().all(|it| *it > 0.0).then_some(Self(part))
    }

    pub(crate) fn is_most_of(&self, verdict: Verdict) -> bool {
        self.0.is_part_of(verdict, MOST)
    }

    pub(crate) fn rest(&self) -> f64 {
        1.0 - self.0.share
    }

    /// `committing takes 500 → 2,200 µs (×4.40), 83% of the change`.
    pub(crate) fn sentence(&self) -> String {
        let [before, after] = self.0.us;
        format!(
            "committing takes {} → {} µs per event ({}), {:.0}% of the change",
            per_operation(before),
            per_operation(after),
            times(after / before),
            100.0 * self.0.share.min(1.0)
        )
    }
}

/// Whether the statement at a place ends a transaction and keeps its effects.
fn is_commit(cell: CellId, (kind, step): StatementPlace) -> bool {
    let mut kinds = cell.test.roles.iter().flat_map(|role| &role.script.mix);
    let step = kinds.nth(kind as usize).and_then(|kind| kind.steps.get(step as usize));
    let Some(UserStep::Send { sql, .. }) = step else { return false };
    let Some(sql) = sql.postgres.as_ref().or(sql.mysql.as_ref()) else { return false };
    let text = sql.with_marks(|_| String::new());
    let word = text.split_whitespace().next().unwrap_or_default().trim_end_matches(';');
    ["COMMIT", "END"].iter().any(|it| word.eq_ignore_ascii_case(it))
}

#[cfg(test)]
mod tests {
    use assay_model::{
        Host, PerDialect, Sending, Setup, Slice, Sql, Study, Test, TestSet, Transaction,
    };

    use super::*;

    fn test(statements: &[&str]) -> Test {
        let send = |sql: &&str| UserStep::Send {
            sql: PerDialect::all(Sql { pieces: vec![(*sql).to_owned()], variables: Vec::new() }),
            times: 1,
            keep: Vec::new(),
            sending: Sending::default(),
            when: None,
        };
        let transaction = Transaction {
            name: "t".to_owned(),
            weight: 1.0,
            variables: Vec::new(),
            steps: statements.iter().map(send).collect(),
            captured: None,
            session: Vec::new(),
            logged: None,
        };
        let mut definition = assay_workloads::tests_of(TestSet::All)[0].definition().clone();
        definition.roles[0].script.mix = vec![transaction];
        Test::intern(definition)
    }

    /// Share of commits in the change, given the microseconds of each statement in the base and in another system.
    fn share(statements: &[&str], us: [&[u64]; 2]) -> Option<CommitTime> {
        let cell =
            CellId { test: test(statements), setup: Setup { clients: 1, tables: 1, rows: 1000 } };
        let study = Study::published("s".to_owned(), 0, &[cell]);
        let mut record = StudyRecord::new(study, Host::default(), Vec::new());
        for (system, us) in us.into_iter().enumerate() {
            let mut slice = Slice::new(system, cell);
            slice.work.events = 10;
            for (step, us) in us.iter().enumerate() {
                slice.counters.set(&format!("statement.0.{step}.count"), Some(10));
                slice.counters.set(&format!("statement.0.{step}.ns"), Some(10_000 * us));
            }
            record.slices.push(slice);
        }
        CommitTime::for_cell(&record, cell, [0, 1])
    }

    #[test]
    fn commits_that_are_most_of_a_change_are_its_cause() {
        let transaction = ["BEGIN", "UPDATE t SET a = 1", "commit"];
        let slower = share(&transaction, [&[10, 300, 500], &[10, 640, 2_200]]).unwrap();
        assert!(
            slower.is_most_of(Verdict::Slower) && (slower.rest() - 1.0 / 6.0).abs() < 1e-9,
            "{slower:?}"
        );
        assert_eq!(
            slower.sentence(),
            "committing takes 500 → 2,200 µs per event (×4.4), 83% of the change"
        );
        let update = share(&transaction, [&[10, 300, 500], &[10, 900, 550]]).unwrap();
        assert!(!update.is_most_of(Verdict::Slower), "{update:?}");
        // Shorter commits do not make a test slower.
        let less = share(&transaction, [&[10, 400, 500], &[10, 390, 410]]).unwrap();
        assert!(less.is_most_of(Verdict::Faster) && !less.is_most_of(Verdict::Slower), "{less:?}");
        let single = ["UPDATE t SET a = 1"];
        assert_eq!(share(&single, [&[300], &[900]]), None);
        assert_eq!(share(&transaction, [&[], &[]]), None);
    }
}
