//! Counts statements that differ only in their values together.

use std::collections::HashMap;

use assay_model::Dialect;

use crate::sample::{Place, ROWS_MAX, Row, Sample};

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
pub(crate) struct Total {
    pub(crate) calls: u64,
    pub(crate) timed: u64,
    pub(crate) time_us: f64,
}

impl Total {
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
    pub(crate) total: Total,
    pub(crate) slowest_us: f64,
    /// Calls by clients that prepared it.
    pub(crate) prepared: u64,
    /// Empty if their number varies.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) sample: Sample,
}

pub(crate) struct Call<'c> {
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
    pub(crate) fn count(&mut self, call: &Call<'_>) -> Option<usize> {
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
                    total: Total::default(),
                    slowest_us: 0.0,
                    prepared: 0,
                    parameters: Vec::new(),
                    sample: Sample::new(seed),
                });
                number
            }
        };
        self.calls += 1;
        let found = self.all.get_mut(number)?;
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
        let Some(found) = self.all.get_mut(number) else { return };
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
    pub(crate) fn place(&mut self, number: usize, time_us: Option<f64>) -> Option<Place> {
        let most = match self.bytes {
            bytes if bytes < BYTES[0] => ROWS_MAX,
            bytes if bytes < BYTES[1] => 10,
            _ => 1,
        };
        self.all.get_mut(number)?.sample.place(time_us, most)
    }

    pub(crate) fn put(&mut self, number: usize, place: Place, time_us: Option<f64>, row: Row) {
        if let Some(found) = self.all.get_mut(number) {
            self.bytes += found.sample.put(place, time_us, row);
        }
    }
}
