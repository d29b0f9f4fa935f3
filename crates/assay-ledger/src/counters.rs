//! Counters of a slice. Those of its work are columns; all others are values with names, which slices share, so a new
//! counter changes no schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_model::limits::within;
use assay_model::{Counters, Slice, WorkCounters};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::Problem;
use crate::limits::COUNTER_MAX;
use crate::rows::{Fields, rows};
use crate::values::{integer, json};

const COUNTERS: usize = 1000;

const NAME_BYTES: usize = 200;

/// Calls `visit` with column and value of every work counter. Shared by writing and reading, so that they cannot
/// confuse counters.
pub(crate) fn visit_work(work: &mut WorkCounters, mut visit: impl FnMut(&str, &mut u64)) {
    // The column `rows` holds the size of the tables.
    visit("rows_received", &mut work.rows);
    visit("events", &mut work.events);
    visit("read", &mut work.read);
    visit("write", &mut work.write);
    visit("other", &mut work.other);
    visit("bytes_sent", &mut work.bytes_sent);
    visit("bytes_received", &mut work.bytes_received);
    visit("elapsed_ns", &mut work.elapsed_ns);
    visit("event_ns_sum", &mut work.event_ns_sum);
}

pub(crate) fn names_and_values(slice: &Slice) -> Result<(Vec<&str>, Vec<i64>), Problem> {
    let both = slice.counters.iter().map(|(name, value)| Ok((name, integer(name, value)?)));
    Ok(both.collect::<Result<Vec<_>, Problem>>()?.into_iter().unzip())
}

fn check_names(names: &[impl AsRef<str>]) -> Result<(), String> {
    within("number of counters", names.len(), &(0..=COUNTERS))?;
    for name in names.iter().map(AsRef::as_ref) {
        within("length of a name", name.len(), &(1..=NAME_BYTES))?;
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
            return Err(format!("`{name}` is no name of a counter"));
        }
    }
    Ok(())
}

/// Number of a list of names in a study, which is added if missing.
pub(crate) fn number(connection: &Connection, study: &str, names: &[&str]) -> Result<i64, Problem> {
    check_names(names).map_err(Problem::Unstorable)?;
    let names = json(&names)?;
    let known = "SELECT number FROM counter_names WHERE study = ? AND names = ?";
    let mut known = connection.prepare_cached(known)?;
    let known = known.query_row([study, &names], |row| row.get(0)).optional()?;
    if let Some(number) = known {
        return Ok(number);
    }
    let add = "INSERT INTO counter_names (study, number, names)
        SELECT ?1, coalesce(max(number) + 1, 0), ?2 FROM counter_names WHERE study = ?1
        RETURNING number";
    Ok(connection.query_row(add, params![study, names], |row| row.get(0))?)
}

pub(crate) struct CounterNames(BTreeMap<i64, Names>);

struct Names {
    /// Sorted, shared by slices.
    ordered: Arc<[String]>,
    places: Vec<usize>,
}

impl CounterNames {
    pub(crate) fn load(connection: &Connection, study: &str) -> Result<Self, Problem> {
        let sql = "SELECT number, names FROM counter_names WHERE study = ?";
        let names = rows(connection, sql, [study], |row| {
            let fields = Fields::new("counter_names", "number", row);
            let names: Vec<String> = fields.json("names")?;
            check_names(&names).map_err(|what| fields.wrong(what))?;
            let mut ordered: Vec<(String, usize)> = names.into_iter().zip(0..).collect();
            ordered.sort_unstable();
            if !ordered.is_sorted_by(|(one, _), (next, _)| one < next) {
                return Err(fields.wrong("`names` has one twice"));
            }
            let (ordered, places): (Vec<String>, _) = ordered.into_iter().unzip();
            Ok((fields.get("number")?, Names { ordered: ordered.into(), places }))
        })?;
        Ok(Self(names.into_iter().collect()))
    }

    pub(crate) fn read(&self, fields: &Fields<'_>) -> Result<Counters, Problem> {
        let number: i64 = fields.get("counter_names")?;
        let names = self.0.get(&number).ok_or_else(|| {
            fields.wrong(format!("`counter_names` is {number}, not one of the study"))
        })?;
        let stored: Vec<i64> = fields.json("counters")?;
        let wrong = |name, value| fields.wrong(format!("`{name}` is {value}"));
        let mut values = Vec::with_capacity(stored.len());
        for (name, place) in names.ordered.iter().zip(&names.places) {
            let value = stored.get(*place).copied().unwrap_or_default();
            let valid = u64::try_from(value).ok().filter(|value| *value <= COUNTER_MAX);
            values.push(valid.ok_or_else(|| wrong(name, value))?);
        }
        let as_many = values.len() == stored.len();
        let counters = Counters::new(Arc::clone(&names.ordered), values).filter(|_| as_many);
        counters.ok_or_else(|| fields.wrong("`counters` and their names are not equally many"))
    }
}
