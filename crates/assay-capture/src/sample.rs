//! A bounded sample of a statement's values, the same for the same log.

pub(crate) const ROWS_MAX: usize = 200;

pub(crate) const ROW_BYTES: usize = 1 << 20;

const SAMPLE_BYTES: usize = 4 << 20;

/// Separates values in a row. JSON escapes this character, so no value contains it.
pub(crate) const BETWEEN: char = '\u{1f}';

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Number of rows of `VALUES`.
    pub(crate) rows: usize,
    /// The values as JSON, separated by [`BETWEEN`].
    pub(crate) values: Box<str>,
}

impl Row {
    pub(crate) fn values(&self) -> Vec<&str> {
        if self.values.is_empty() { Vec::new() } else { self.values.split(BETWEEN).collect() }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Sample {
    rows: Vec<Row>,
    slowest: Option<(f64, Row)>,
    seen: u64,
    random: u64,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    at: Option<usize>,
    is_slowest: bool,
}

impl Sample {
    /// The seed determines the choice.
    pub(crate) fn new(seed: u64) -> Self {
        Self { rows: Vec::new(), slowest: None, seen: 0, random: seed, bytes: 0 }
    }

    /// Where to put the values of the next call; `None` if they are not wanted. Every call so far has the same chance
    /// to be in the sample, and the slowest call is in it.
    pub(crate) fn place(&mut self, time_us: Option<f64>, most: usize) -> Option<Place> {
        self.seen += 1;
        let at = match self.rows.len() {
            len if len < most.min(ROWS_MAX) => Some(len),
            len => {
                let chosen = usize::try_from(self.next() % self.seen).unwrap_or(usize::MAX);
                Some(chosen).filter(|chosen| *chosen < len)
            }
        };
        let most_so_far = self.slowest.as_ref().map_or(f64::NEG_INFINITY, |(time, _)| *time);
        let is_slowest = time_us.is_some_and(|time| time > most_so_far);
        (at.is_some() || is_slowest).then_some(Place { at, is_slowest })
    }

    /// Puts a row into its place, unless the sample would become too large. Returns the growth in bytes.
    pub(crate) fn put(&mut self, place: Place, time_us: Option<f64>, row: Row) -> usize {
        let (before, length) = (self.bytes, row.values.len());
        if length > ROW_BYTES || self.bytes + length > SAMPLE_BYTES {
            return 0;
        }
        if let (true, Some(time)) = (place.is_slowest, time_us) {
            self.slowest = Some((time, row.clone()));
        }
        match place.at {
            Some(at) if at < self.rows.len() => {
                if let Some(old) = self.rows.get_mut(at) {
                    self.bytes = self.bytes + length - old.values.len();
                    *old = row;
                }
            }
            Some(_) => {
                self.bytes += length;
                self.rows.push(row);
            }
            None => {}
        }
        self.bytes.saturating_sub(before)
    }

    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Including the row of the slowest call.
    pub(crate) fn rows(&self) -> Vec<&Row> {
        let slowest = self.slowest.as_ref().map(|(_, row)| row);
        let is_new = |row: &&Row| !self.rows.contains(row);
        self.rows.iter().chain(slowest.filter(is_new)).collect()
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(calls: u32) -> Sample {
        let mut sample = Sample::new(7);
        for call in 0..calls {
            let time = Some(if call == 1234 { 99.0 } else { 1.0 });
            if let Some(place) = sample.place(time, ROWS_MAX) {
                sample.put(place, time, Row { rows: 0, values: call.to_string().into() });
            }
        }
        sample
    }

    #[test]
    fn a_sample_is_spread_and_repeatable_and_has_the_slowest_call() {
        let sample = filled(100_000);
        let of = |sample: &Sample| -> Vec<u32> {
            sample.rows().iter().map(|row| row.values.parse().unwrap()).collect()
        };
        let numbers = of(&sample);
        assert!((ROWS_MAX..=ROWS_MAX + 1).contains(&numbers.len()));
        assert!(numbers.contains(&1234));
        assert_eq!(numbers, of(&filled(100_000)));
        let late = numbers.iter().filter(|it| **it >= 50_000).count();
        assert!((60..140).contains(&late), "{late}");
        assert_eq!(of(&filled(3)), [0, 1, 2]);
    }

    #[test]
    fn a_sample_is_bounded() {
        let mut sample = Sample::new(1);
        let long: Box<str> = "x".repeat(ROW_BYTES).into();
        for _ in 0..10 {
            if let Some(place) = sample.place(None, ROWS_MAX) {
                sample.put(place, None, Row { rows: 0, values: long.clone() });
            }
        }
        assert_eq!(sample.rows().len(), 4);
    }
}
