//! Scripts that sent different work to some systems. assay draws the same values for all systems, but a script may
//! decide by the time, by an address, or by a server's answer.

use assay_model::{CellId, SliceOutcome};

use super::study::JudgedStudy;

/// Tolerated relative difference of statements per event: restarted events send some twice.
const TOLERANCE: f64 = 0.05;

/// With a larger share of restarted events, the counts say nothing about the script.
const RETRIED_MAX: f64 = 0.02;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sent {
    events: u64,
    statements: u64,
    reads: u64,
    retried: u64,
}

impl Sent {
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

/// A warning for each system and cell of a script in which its work differs from that of the base.
pub(super) fn warnings(study: &JudgedStudy) -> Vec<String> {
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

fn warning(test: &str, labels: [&str; 2], sent: [Sent; 2]) -> Option<String> {
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

fn sent(study: &JudgedStudy, cell: CellId, system: usize) -> Sent {
    let slices = study.record.slices_that_count();
    let of_both = slices.filter(|it| it.system == system && it.cell == cell);
    let measured = of_both.filter(|it| !matches!(it.outcome, SliceOutcome::Failed(_)));
    measured.fold(Sent::default(), |sum, slice| {
        let work = &slice.work;
        Sent {
            events: sum.events + work.events,
            statements: sum.statements + work.read + work.write + work.other,
            reads: sum.reads + work.read,
            retried: sum.retried + work.errors.iter().map(|(_, count)| count).sum::<u64>(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_statements_per_event_are_other_work_unless_events_were_started_again() {
        let sent = |events, statements, reads, retried| Sent { events, statements, reads, retried };
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
