//! Events by second, from what is seen of a run while it lasts.

use std::time::Duration;

/// The events of each whole second of a run.
#[derive(Debug, Default)]
pub struct Seconds {
    counts: Vec<u64>,
    /// Events of the seconds before the present one.
    counted: u64,
    /// When the run was last seen, seconds, and its events until then.
    last: (f64, u64),
}

impl Seconds {
    /// Notes how many events have ended after so long. Between two of these moments, events end evenly.
    pub fn see(&mut self, elapsed: Duration, events: u64) {
        let (before, of_before) = self.last;
        let now = elapsed.as_secs_f64();
        if now <= before {
            return;
        }
        loop {
            let end = self.counts.len() as f64 + 1.0;
            if end > now {
                break;
            }
            let part = (end - before) / (now - before);
            let until = of_before + (part * events.saturating_sub(of_before) as f64).round() as u64;
            self.counts.push(until.saturating_sub(self.counted));
            self.counted = until;
        }
        self.last = (now, events);
    }

    /// The counts of the seconds that have passed as a whole.
    #[must_use]
    pub fn counts(self) -> Vec<u64> {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_belong_to_the_second_in_which_they_ended() {
        let mut seconds = Seconds::default();
        let ms = Duration::from_millis;
        for (at, events) in [(500, 50), (900, 90), (1100, 110), (2050, 205), (2050, 999)] {
            seconds.see(ms(at), events);
        }
        // Nothing ends for two seconds and more.
        seconds.see(ms(4950), 205);
        seconds.see(ms(5050), 225);
        assert_eq!(seconds.counts(), [100, 100, 5, 0, 10]);
        assert!(Seconds::default().counts().is_empty());
    }
}
