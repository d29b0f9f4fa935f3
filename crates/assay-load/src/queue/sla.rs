//! Where a background rate was lost.

use std::time::Duration;

use assay_model::{Broke, SLA};

/// The second from which on the inserts of a step were behind their rate until the end; `None` if the rate was kept.
/// Seconds have their rows and their longest response time in microseconds. `target` is in rows per second.
pub(super) fn broke(
    inserts: &[(u32, u32)],
    deletes: &[(u32, u32)],
    elapsed: Duration,
    target: f64,
) -> Option<Broke> {
    let rows: f64 = inserts.iter().map(|(rows, _)| f64::from(*rows)).sum();
    if rows >= SLA * target * elapsed.as_secs_f64() {
        return None;
    }
    let mut so_far = 0.0;
    let kept = inserts.iter().zip(1..).filter_map(|((rows, _), second)| {
        so_far += f64::from(*rows);
        (so_far >= SLA * target * f64::from(second)).then_some(second)
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

    #[test]
    fn the_second_is_the_first_of_those_that_are_behind_until_the_end() {
        let inserts = [(100, 5), (20, 900_000), (180, 7), (100, 5), (10, 950_000), (40, 3)];
        let deletes = [(100, 5); 6];
        let seconds = Duration::from_secs;
        let broken = broke(&inserts, &deletes, seconds(6), 100.0).unwrap();
        assert_eq!(broken, Broke { second: 5, insert_us: 950_000, delete_us: 5 });
        assert_eq!(broke(&inserts[..4], &deletes, seconds(4), 100.0), None);
        assert_eq!(broke(&[], &[], seconds(3), 100.0).map(|it| it.second), Some(1));
    }
}
