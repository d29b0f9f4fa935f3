//! Counters by name, shared by clients, probe and server status.

use std::sync::Arc;

use serde::{Serialize, Serializer};

pub const STATUS: &str = "status.";

/// Prefix of counters for statements of a user's test, followed by the statement's number and the counted thing, such
/// as `statement.3.ns`.
pub const STATEMENT: &str = "statement.";

/// Status entries that are levels rather than counts: InnoDB's free pages, and its history length (transactions with
/// undo log not yet purged).
pub const STATUS_LEVELS: [&str; 2] =
    ["Innodb_buffer_pool_pages_free", "Innodb_history_list_length"];

/// Counters of a slice by name. A counter that was not read is missing.
///
/// The prefix says what was counted: `client_` the client threads, `connection_` the threads or backends that serve the
/// measured connections, `background_` the server's other threads, `server_` all its processes, `host_` the machine
/// during the round, `host_device_` the block device with the data during the turns of the slice, `statement.` a
/// statement of a user's test in the measured part, as its clients saw it. `status.` precedes the server's own names of
/// its status counters, with their growth during the round; for [`STATUS_LEVELS`], the value at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sorted. Shared by many slices.
    names: Arc<[String]>,
    values: Vec<u64>,
}

impl Counters {
    /// `names` are sorted without duplicates; `None` if the numbers of names and values differ.
    pub fn new(names: Arc<[String]>, values: Vec<u64>) -> Option<Self> {
        (names.len() == values.len()).then_some(Self { names, values })
    }

    /// `None` if it was not read.
    pub fn get(&self, name: &str) -> Option<u64> {
        let at = self.names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        self.values.get(at).copied()
    }

    /// Sums counters that both have; others are dropped.
    pub fn add(&mut self, other: &Self) {
        if Arc::ptr_eq(&self.names, &other.names) || self.names == other.names {
            for (value, more) in self.values.iter_mut().zip(&other.values) {
                *value = value.saturating_add(*more);
            }
            return;
        }
        let both = |(name, value): (&str, u64)| {
            Some((name.to_owned(), value.saturating_add(other.get(name)?)))
        };
        let all: (Vec<String>, Vec<u64>) = self.iter().filter_map(both).unzip();
        *self = Self { names: all.0.into(), values: all.1 };
    }

    /// `None` removes the counter.
    pub fn set(&mut self, name: &str, value: Option<u64>) {
        let others = self.iter().filter(|(known, _)| *known != name);
        let others: Self = others.chain(value.map(|value| (name, value))).collect();
        *self = others;
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.names.iter().map(String::as_str).zip(self.values.iter().copied())
    }

    /// Server status counters, without the prefix.
    pub fn status(&self) -> impl Iterator<Item = (&str, u64)> {
        self.iter().filter_map(|(name, value)| Some((name.strip_prefix(STATUS)?, value)))
    }

    pub fn add_status(&mut self, status: impl IntoIterator<Item = (String, u64)>) {
        self.extend(status.into_iter().map(|(name, value)| (format!("{STATUS}{name}"), value)));
    }
}

impl<N: Into<String>> Extend<(N, u64)> for Counters {
    fn extend<I: IntoIterator<Item = (N, u64)>>(&mut self, more: I) {
        let mut all: std::collections::BTreeMap<String, u64> =
            self.iter().map(|(name, value)| (name.to_owned(), value)).collect();
        all.extend(more.into_iter().map(|(name, value)| (name.into(), value)));
        let (names, values): (Vec<String>, Vec<u64>) = all.into_iter().unzip();
        *self = Self { names: names.into(), values };
    }
}

impl<N: Into<String>> FromIterator<(N, u64)> for Counters {
    fn from_iter<I: IntoIterator<Item = (N, u64)>>(all: I) -> Self {
        let mut counters = Self::default();
        counters.extend(all);
        counters
    }
}

impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_counters_that_both_have() {
        let mut sum = Counters::from_iter([("b", 1), ("a", 2)]);
        sum.add(&Counters::from_iter([("a", 3), ("b", u64::MAX)]));
        assert_eq!(sum, Counters::from_iter([("a", 5), ("b", u64::MAX)]));
        sum.add(&Counters::from_iter([("a", 1), ("c", 1)]));
        assert_eq!(sum, Counters::from_iter([("a", 6)]));
    }

    #[test]
    fn counters_are_found_by_name_whatever_their_order_was() {
        let mut counters = Counters::from_iter([("host_busy_ns", 3), ("client_cpu_ns", 1)]);
        counters.add_status([("Innodb_rows_read".to_owned(), 5)]);
        counters.extend([("host_busy_ns", 4)]);
        assert_eq!(counters.get("host_busy_ns"), Some(4));
        assert_eq!(counters.get("client_cpu_ns"), Some(1));
        assert_eq!(counters.get("client_runq_ns"), None);
        assert_eq!(counters.status().collect::<Vec<_>>(), [("Innodb_rows_read", 5)]);
    }
}
