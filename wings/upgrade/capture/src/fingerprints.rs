//! Counts statements that differ only in their values together.

use std::collections::HashMap;

use assay_model::Dialect;

const FINGERPRINTS: usize = 100_000;

/// Maximum length of a constant literal that becomes part of the statement, bytes.
const SAME_BYTES: usize = 200;

/// Total bytes of samples above which few new rows are kept, and hardly any.
const BYTES: [usize; 2] = [192 << 20, 320 << 20];

#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    /// Digest of the value in the first call.
    digest: u64,
    /// That value as SQL, as long as all calls have it.
    pub(crate) same: Option<Box<[u8]>>,
}

/// Calls, and the time of those whose time is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CallTotal {
    pub(crate) calls: u64,
    pub(crate) timed: u64,
    pub(crate) time_us: f64,
}

impl CallTotal {
    pub(crate) fn add(&mut self, calls: u64, time_us: Option<f64>) {
        self.calls = self.calls.saturating_add(calls);
        if let Some(time) = time_us.filter(|it| it.is_finite() && *it >= 0.0) {
            self.timed = self.timed.saturating_add(calls);
            self.time_us += time;
        }
    }

    /// Total time, microseconds. Calls without a time count with the mean of the others.
    pub(crate) fn all_us(&self) -> f64 {
        self.mean_us().unwrap_or(0.0) * self.calls as f64
    }

    /// Mean time of a call, microseconds.
    pub(crate) fn mean_us(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.time_us / self.timed as f64)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    pub(crate) text: Box<[u8]>,
    pub(crate) dialect: Dialect,
    pub(crate) database: Option<u32>,
    pub(crate) writes: bool,
    pub(crate) settings: u32,
    pub(crate) total: CallTotal,
    pub(crate) slowest_us: f64,
    /// Calls by clients that prepared it.
    pub(crate) prepared: u64,
    /// Empty if their number varies.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) sample: ValueSample,
}

pub(crate) struct StatementCall<'c> {
    pub(crate) text: &'c [u8],
    pub(crate) dialect: Dialect,
    pub(crate) database: Option<u32>,
    pub(crate) writes: bool,
    pub(crate) settings: u32,
    pub(crate) calls: u64,
    pub(crate) time_us: Option<f64>,
    pub(crate) is_prepared: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    all: Vec<Fingerprint>,
    numbers: HashMap<Box<[u8]>, usize>,
    key: Vec<u8>,
    bytes: usize,
    calls: u64,
}

impl Fingerprints {
    /// In the order in which they were first seen.
    pub(crate) fn into_all(self) -> Vec<Fingerprint> {
        self.all
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// Counts a call. Returns the number of its fingerprint; `None` if there are too many.
    pub(crate) fn count(&mut self, call: &StatementCall<'_>) -> Option<usize> {
        self.key.clear();
        self.key.extend_from_slice(call.text);
        self.key.push(0);
        self.key.push(u8::from(call.dialect == Dialect::Postgres));
        self.key.extend(call.database.unwrap_or(u32::MAX).to_le_bytes());
        self.key.extend(call.settings.to_le_bytes());
        let number = match self.numbers.get(self.key.as_slice()) {
            Some(number) => *number,
            None if self.all.len() >= FINGERPRINTS => return None,
            None => {
                let number = self.all.len();
                let seed = self.key.iter().fold(0xa55a_u64, |seed, byte| {
                    (seed ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
                });
                self.numbers.insert(self.key.as_slice().into(), number);
                self.all.push(Fingerprint {
                    text: call.text.into(),
                    dialect: call.dialect,
                    database: call.database,
                    writes: call.writes,
                    settings: call.settings,
                    total: CallTotal::default(),
                    slowest_us: 0.0,
                    prepared: 0,
                    parameters: Vec::new(),
                    sample: ValueSample::new(seed),
                });
                number
            }
        };
        self.calls += 1;
        let found = &mut self.all[number];
        found.total.add(call.calls, call.time_us);
        let each_us = call.time_us.map_or(0.0, |it| it / call.calls.max(1) as f64);
        found.slowest_us = found.slowest_us.max(each_us);
        if call.is_prepared {
            found.prepared = found.prepared.saturating_add(call.calls);
        }
        Some(number)
    }

    /// Records the values of a call: the digest of each and, on request, the value as SQL.
    pub(crate) fn note(
        &mut self,
        number: usize,
        values: &[(bool, u64)],
        sql: impl Fn(usize) -> Vec<u8>,
    ) {
        let found = &mut self.all[number];
        if found.parameters.is_empty() {
            found.parameters = values
                .iter()
                .enumerate()
                .map(|(at, (is_list, digest))| {
                    let same = (!is_list).then(|| sql(at)).filter(|sql| sql.len() <= SAME_BYTES);
                    Parameter { digest: *digest, same: same.map(Into::into) }
                })
                .collect();
            return;
        }
        let is_alike = found.parameters.len() == values.len();
        for (at, parameter) in found.parameters.iter_mut().enumerate() {
            let is_same = values.get(at).is_some_and(|(_, digest)| *digest == parameter.digest);
            if !is_same || !is_alike {
                parameter.same = None;
            }
        }
    }

    /// Where the sample of a fingerprint puts the values of this call; `None` if they are not wanted.
    pub(crate) fn place(&mut self, number: usize, time_us: Option<f64>) -> Option<SamplePlace> {
        let most = match self.bytes {
            bytes if bytes < BYTES[0] => ROWS_MAX,
            bytes if bytes < BYTES[1] => 10,
            _ => 1,
        };
        self.all[number].sample.place(time_us, most)
    }

    pub(crate) fn put(
        &mut self,
        number: usize,
        place: SamplePlace,
        time_us: Option<f64>,
        row: ParameterRow,
    ) {
        self.bytes += self.all[number].sample.put(place, time_us, row);
    }
}

pub(crate) const ROWS_MAX: usize = 200;

pub(crate) const ROW_BYTES: usize = 1 << 20;

const SAMPLE_BYTES: usize = 4 << 20;

/// Separates values in a row. JSON escapes this character, so no value contains it.
pub(crate) const BETWEEN: char = '\u{1f}';

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParameterRow {
    /// Number of rows of `VALUES`.
    pub(crate) rows: usize,
    /// The values as JSON, separated by [`BETWEEN`].
    pub(crate) values: Box<str>,
}

impl ParameterRow {
    pub(crate) fn values(&self) -> Vec<&str> {
        if self.values.is_empty() { Vec::new() } else { self.values.split(BETWEEN).collect() }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ValueSample {
    rows: Vec<ParameterRow>,
    slowest: Option<(f64, ParameterRow)>,
    seen: u64,
    random: u64,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SamplePlace {
    at: Option<usize>,
    is_slowest: bool,
}

impl ValueSample {
    /// The seed determines the choice.
    pub(crate) fn new(seed: u64) -> Self {
        Self { rows: Vec::new(), slowest: None, seen: 0, random: seed, bytes: 0 }
    }

    /// Where to put the values of the next call; `None` if they are not wanted. Every call so far has the same chance
    /// to be in the sample, and the slowest call is in it.
    pub(crate) fn place(&mut self, time_us: Option<f64>, most: usize) -> Option<SamplePlace> {
        self.seen += 1;
        let at = match self.rows.len() {
            len if len < most.min(ROWS_MAX) => Some(len),
            len => {
                let chosen = (self.next() % self.seen) as usize;
                Some(chosen).filter(|chosen| *chosen < len)
            }
        };
        let most_so_far = self.slowest.as_ref().map_or(f64::NEG_INFINITY, |(time, _)| *time);
        let is_slowest = time_us.is_some_and(|time| time > most_so_far);
        (at.is_some() || is_slowest).then_some(SamplePlace { at, is_slowest })
    }

    /// Puts a row into its place, unless the sample would become too large. Returns the growth in bytes.
    pub(crate) fn put(
        &mut self,
        place: SamplePlace,
        time_us: Option<f64>,
        row: ParameterRow,
    ) -> usize {
        let (before, length) = (self.bytes, row.values.len());
        if length > ROW_BYTES || self.bytes + length > SAMPLE_BYTES {
            return 0;
        }
        if let (true, Some(time)) = (place.is_slowest, time_us) {
            self.slowest = Some((time, row.clone()));
        }
        match place.at {
            Some(at) if at < self.rows.len() => {
                self.bytes = self.bytes + length - self.rows[at].values.len();
                self.rows[at] = row;
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
    pub(crate) fn rows(&self) -> Vec<&ParameterRow> {
        let slowest = self.slowest.as_ref().map(|(_, row)| row);
        let is_new = |row: &&ParameterRow| !self.rows.contains(row);
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

    fn filled(calls: u32) -> ValueSample {
        let mut sample = ValueSample::new(7);
        for call in 0..calls {
            let time = Some(if call == 1234 { 99.0 } else { 1.0 });
            if let Some(place) = sample.place(time, ROWS_MAX) {
                sample.put(place, time, ParameterRow { rows: 0, values: call.to_string().into() });
            }
        }
        sample
    }

    #[test]
    fn a_sample_is_spread_and_repeatable_and_has_the_slowest_call() {
        let sample = filled(100_000);
        let numbers_of = |sample: &ValueSample| -> Vec<u32> {
            sample.rows().iter().map(|row| row.values.parse().unwrap()).collect()
        };
        let numbers = numbers_of(&sample);
        assert!((ROWS_MAX..=ROWS_MAX + 1).contains(&numbers.len()));
        assert!(numbers.contains(&1234));
        assert_eq!(numbers, numbers_of(&filled(100_000)));
        let late = numbers.iter().filter(|it| **it >= 50_000).count();
        assert!((60..140).contains(&late), "{late}");
        assert_eq!(numbers_of(&filled(3)), [0, 1, 2]);
    }

    #[test]
    fn a_sample_is_bounded() {
        let mut sample = ValueSample::new(1);
        let long: Box<str> = "x".repeat(ROW_BYTES).into();
        for _ in 0..10 {
            if let Some(place) = sample.place(None, ROWS_MAX) {
                sample.put(place, None, ParameterRow { rows: 0, values: long.clone() });
            }
        }
        assert_eq!(sample.rows().len(), 4);
    }
}
