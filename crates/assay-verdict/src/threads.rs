//! Threads that a server starts for a statement, as the cause of a change.

use assay_model::{AuditFinding, PlannedCell, Priority, Slice, Verdict};

use crate::PerOp;
use crate::phrases::per_operation;

/// Minimum cost of starting and ending a thread, µs of CPU time.
const LEAST_US: f64 = 10.0;

const CAUSE: f64 = 0.05;

/// The share if serving threads wait for them more often: starting and waiting for threads takes more time than they
/// use.
const CAUSE_WITH_WAITS: f64 = 0.005;

/// Factor from which context switches count as increased.
const WAITS: f64 = 2.0;

const SETTINGS: [&str; 2] = ["innodb_parallel_read_threads", "innodb_ddl_threads"];

/// Text on threads that begin and end with a statement: their CPU time per operation, if it changed in the direction of
/// the verdict and is large enough to matter.
pub(crate) fn started_threads(
    [before, after]: [&PerOp; 2],
    verdict: Verdict,
    settings: &[AuditFinding],
    systems: [usize; 2],
) -> Option<String> {
    let us = [before.get("short_lived_cpu_us")?, after.get("short_lived_cpu_us")?];
    let changes = |name: &str| Some([before.get(name)?, after.get(name)?]);
    let [with, without] = match verdict {
        Verdict::Slower => [1, 0],
        Verdict::Faster => [0, 1],
        _ => return None,
    };
    let growth = |[old, new]: [f64; 2]| [old, new][with] - [old, new][without];
    let grows = |[old, new]: [f64; 2]| [old, new][with] >= WAITS * [old, new][without];
    let share = growth(us) / growth([before.time_us(), after.time_us()]);
    let is_cause =
        share >= CAUSE || (share >= CAUSE_WITH_WAITS && changes("cs").is_some_and(grows));
    (growth(us) >= LEAST_US && grows(us) && is_cause).then(|| {
        let which = if with == 1 { "this system" } else { "the base" };
        let [old, new] = us.map(per_operation);
        let setting = setting(settings, systems).unwrap_or_default();
        format!(
            "statements of {which} start threads of their own{setting}: CPU time of threads that begin and end with a \
             statement {old} → {new} µs per operation"
        )
    })
}

/// Counter of the CPU time of threads that begin and end in a slice, nanoseconds.
pub const SHORT_LIVED_NS: &str = "server_short_lived_cpu_ns";

/// Time slice of a real-time thread before another of the same priority runs, less a tenth for events of a slice that
/// took less (`kernel.sched_rr_timeslice_ms` is 100).
const TURN_NS: u64 = 90_000_000;

/// Whether statements of an event of this duration started threads with this CPU time, and waited for a real-time time
/// slice of one of them.
pub fn waits_for_turns(threads_ns: u64, event_ns: u64) -> bool {
    threads_ns > 0 && event_ns >= TURN_NS
}

/// Whether most slices of a system were measured at real-time priority with statements that start threads, and an event
/// took as long as a time slice: the threads waited for each other's turns, an effect of the priority.
pub(crate) fn share_turns(cell: &PlannedCell, slices: &[&Slice]) -> bool {
    let clients = u64::from(cell.id.setup.clients);
    let is_shared = |slice: &&&Slice| {
        let event_ns = slice.work.elapsed_ns.saturating_mul(clients) / slice.work.events.max(1);
        waits_for_turns(slice.counters.get(SHORT_LIVED_NS).unwrap_or(0), event_ns)
    };
    cell.priority == Priority::Realtime
        && 2 * slices.iter().filter(is_shared).count() > slices.len()
}

/// `` (`innodb_parallel_read_threads` = none → 4) ``.
fn setting(settings: &[AuditFinding], [base, system]: [usize; 2]) -> Option<String> {
    let value = |finding: &AuditFinding, at: usize| {
        finding.values.get(at).cloned().flatten().unwrap_or_else(|| "none".to_owned())
    };
    let known = settings.iter().filter(|it| SETTINGS.contains(&it.setting.as_str()));
    let mut values = known.map(|it| (&it.setting, value(it, base), value(it, system)));
    let (name, before, after) = values.find(|(_, before, after)| before != after)?;
    Some(format!(" (`{name}` = {before} → {after})"))
}

#[cfg(test)]
mod tests {
    use assay_model::{AuditClass, CellId, Setup, TestSet};

    use super::*;

    fn per_op([time, threads, switches]: [f64; 3]) -> PerOp {
        PerOp::of_test(&[("time_us", time), ("short_lived_cpu_us", threads), ("cs", switches)])
    }

    fn sentence(figures: [[f64; 3]; 2], verdict: Verdict) -> Option<String> {
        let [before, after] = figures.map(per_op);
        let values = [None, Some("4".to_owned())].into();
        let setting = "innodb_parallel_read_threads".to_owned();
        let class = AuditClass::Harmless;
        let why = String::new();
        let (is_asked, statements) = (false, Vec::new());
        let finding = AuditFinding { setting, values, class, why, is_asked, statements };
        started_threads([&before, &after], verdict, &[finding], [0, 1])
    }

    #[test]
    fn threads_that_a_statement_starts_are_named_with_their_setting() {
        let waits = [[43.0, 0.0, 1.0], [12_400.0, 165.0, 18.0]];
        assert_eq!(
            sentence(waits, Verdict::Slower).as_deref(),
            Some(
                "statements of this system start threads of their own (`innodb_parallel_read_threads` = none → 4): CPU \
                 time of threads that begin and end with a statement 0 → 165 µs per operation"
            )
        );
        let [before, after] = waits;
        let faster = sentence([after, before], Verdict::Faster).unwrap();
        assert!(faster.starts_with("statements of the base start threads"), "{faster}");
        assert!(sentence([[40.0, 0.0, 1.0], [400.0, 120.0, 1.0]], Verdict::Slower).is_some());
    }

    #[test]
    fn threads_that_matter_little_are_no_cause() {
        for (figures, verdict) in [
            // Less than one thread per operation.
            ([[83.0, 0.0, 1.0], [99.0, 1.2, 1.1]], Verdict::Slower),
            // They use little of the change, and nothing waits for them.
            ([[43.0, 0.0, 1.0], [12_400.0, 165.0, 1.0]], Verdict::Slower),
            // There were as many before.
            ([[400.0, 200.0, 9.0], [500.0, 230.0, 9.0]], Verdict::Slower),
            // They changed in the other direction.
            ([[43.0, 0.0, 1.0], [30.0, 20.0, 9.0]], Verdict::Faster),
            ([[43.0, 0.0, 1.0], [12_400.0, 165.0, 18.0]], Verdict::Uneven),
        ] {
            assert_eq!(sentence(figures, verdict), None, "{figures:?}");
        }
    }

    #[test]
    fn threads_that_take_turns_of_the_kernel_say_nothing_of_a_version() {
        let test = assay_workloads::tests_of(TestSet::All)[0];
        let id = CellId { test, setup: Setup { clients: 1, tables: 1, rows: 1000 } };
        let slice = |event_ms: u64, threads_ns: u64| {
            let mut slice = Slice::new(1, id);
            (slice.work.events, slice.work.elapsed_ns) = (5, 5 * event_ms * 1_000_000);
            slice.counters.set("server_short_lived_cpu_ns", Some(threads_ns));
            slice
        };
        let (turns, short, single) = (slice(400, 316_000), slice(13, 316_000), slice(400, 0));
        let study = assay_model::Study::published("s".to_owned(), 0, &[id]);
        let normal = study.cells[0].clone();
        let realtime = PlannedCell { priority: Priority::Realtime, ..normal.clone() };
        assert!(share_turns(&realtime, &[&turns, &turns, &short]));
        assert!(!share_turns(&realtime, &[&turns, &short]) && !share_turns(&realtime, &[&single]));
        assert!(!share_turns(&normal, &[&turns]) && !share_turns(&realtime, &[]));
    }
}
