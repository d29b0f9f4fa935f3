//! Events per second, from progress reports of a running test.

use std::time::Duration;

#[derive(Debug, Default)]
pub struct Seconds {
    counts: Vec<u64>,
    counted: u64,
    /// Time of the last report, seconds, and events until then.
    last: (f64, u64),
}

impl Seconds {
    /// Records the number of events that ended within `elapsed`. They are spread evenly since the last report.
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
