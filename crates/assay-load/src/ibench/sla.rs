//! Detects when a background rate was lost.

use std::time::Duration;

use assay_model::{Broke, SLA};

/// The second from which a step's inserts stayed behind their rate until the end; `None` if the rate was kept.
///
/// `seconds` has the inserts and the deletes: for each second, the rows and the longest response time in microseconds.
/// The first second has one burst of `first` rows, each later one `target` rows.
pub(super) fn broke(
    [inserts, deletes]: [&[(u32, u32)]; 2],
    elapsed: Duration,
    (first, target): (f64, f64),
) -> Option<Broke> {
    let rows: f64 = inserts.iter().map(|(rows, _)| f64::from(*rows)).sum();
    // Whole seconds, as in `Slice::rate_s`.
    if rows >= SLA * target * elapsed.as_secs().max(1) as f64 {
        return None;
    }
    let mut so_far = 0.0;
    let kept = inserts.iter().zip(1..).filter_map(|((rows, _), second)| {
        so_far += f64::from(*rows);
        let due = first + target * f64::from(second - 1);
        (so_far >= SLA * due).then_some(second)
    });
    let second: u32 = kept.last().unwrap_or(0) + 1;
    let longest = |seconds: &[(u32, u32)]| {
        seconds.get(second as usize - 1).map_or(0, |(_, longest)| u64::from(*longest))
    };
    Some(Broke { second, insert_us: longest(inserts), delete_us: longest(deletes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: (f64, f64) = (50.0, 100.0);

    #[test]
    fn the_second_is_the_first_of_those_that_are_behind_until_the_end() {
        let inserts =
            [(50, 5), (100, 5), (20, 900_000), (180, 7), (100, 5), (10, 950_000), (40, 3)];
        let deletes = [(100, 5); 7];
        let seconds = Duration::from_secs;
        let broken = broke([&inserts, &deletes], seconds(7), RATE).unwrap();
        assert_eq!(broken, Broke { second: 6, insert_us: 950_000, delete_us: 5 });
        assert_eq!(broke([&[], &[]], seconds(3), RATE).map(|it| it.second), Some(1));
    }

    #[test]
    fn the_burst_of_the_first_second_is_small_by_design() {
        let mut inserts = vec![(100, 5); 20];
        inserts[0].0 = 50;
        inserts[3] = (0, 1);
        // Nothing is behind before the stall.
        let broken = broke([&inserts, &[]], Duration::from_secs(22), RATE).unwrap();
        assert_eq!(broken.second, 4);
        let all = Duration::from_secs_f64(19.9);
        assert_eq!(broke([&inserts, &[]], all, RATE), None);
        assert!(broke([&inserts, &[]], Duration::from_secs(20), RATE).is_some());
    }
}
