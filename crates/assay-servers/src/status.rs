//! Counters that a server keeps of its own work: rows, pages, log, locks.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Product, STATUS_LEVELS};
use assay_wire::{ConnectOptions, Connection, ResultSet};

use crate::error::Error;
use crate::products::{self, kind::Counters};

const VALUE_MAX: u64 = 1 << 53;

pub struct Status {
    control: Connection,
    /// The known counters, since a proxy may send others, and how to read them.
    counters: Counters,
    /// Increments caused by one read.
    own: BTreeMap<String, u64>,
}

impl Status {
    /// Connects to a server that is not frozen. `None` for a Postgres before version 15, whose processes publish their
    /// counters only now and then.
    pub fn open(options: &ConnectOptions, product: Product) -> Result<Option<Self>, Error> {
        let mut control = Connection::control(options)?;
        let Some(counters) = products::of(product)?.counters(&mut control)? else {
            return Ok(None);
        };
        let mut status = Self { control, counters, own: BTreeMap::new() };
        let (first, second) = (status.read()?, status.read()?);
        let own = status.grown(&first, &second).into_iter();
        let is_of_reading =
            |name: &str| status.counters.of_reading.iter().any(|start| name.starts_with(start));
        status.own = own.filter(|(name, _)| is_of_reading(name)).collect();
        Ok(Some(status))
    }

    #[must_use]
    pub fn publish(&self) -> Option<&'static str> {
        self.counters.publish
    }

    pub fn read(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        let mut all = BTreeMap::new();
        for query in &self.counters.queries {
            all.extend(counters(&self.control.query_catalog(query)?, &self.counters.known));
        }
        Ok(all)
    }

    /// Increases from one read to the next, without those caused by reading. A counter that was reset counts from 0. A
    /// level keeps its later value ([`STATUS_LEVELS`]).
    #[must_use]
    pub fn grown(
        &self,
        before: &BTreeMap<String, u64>,
        after: &BTreeMap<String, u64>,
    ) -> Vec<(String, u64)> {
        let growth = after.iter().filter_map(|(name, after)| {
            if STATUS_LEVELS.contains(&name.as_str()) {
                return Some((name.clone(), *after));
            }
            let own = self.own.get(name).copied().unwrap_or(0);
            let grown = after.checked_sub(*before.get(name)?).unwrap_or(*after);
            Some((name.clone(), grown.saturating_sub(own)))
        });
        growth.collect()
    }
}

fn counters(found: &ResultSet, known: &BTreeSet<String>) -> BTreeMap<String, u64> {
    let counter = |row: usize| {
        let name = found.text(row, 0).filter(|name| known.contains(*name))?;
        let value = found.text(row, 1)?.parse().ok().filter(|value| *value <= VALUE_MAX)?;
        Some((name.to_owned(), value))
    };
    (0..found.rows.len()).filter_map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_counters_with_sensible_values_are_told() {
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let row = |name, value| vec![text(name), text(value)];
        let found = ResultSet {
            rows: vec![
                row("Innodb_rows_read", "17"),
                row("Uptime", "5"),
                row("Sort_rows", "18446744073709551615"),
                row("Select_scan", "-1"),
                vec![None, None],
            ],
            ..ResultSet::default()
        };
        let known = ["Innodb_rows_read", "Sort_rows", "Select_scan"].map(str::to_owned).into();
        assert_eq!(counters(&found, &known), BTreeMap::from([("Innodb_rows_read".to_owned(), 17)]));
    }
}
