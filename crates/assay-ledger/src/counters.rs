//! The counters of a slice. Those of its work are columns. All others are values with names, which are kept once for
//! all slices that have the same ones: a counter more is a name more, and no other schema.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    ClientCounters, DeviceCounters, HostCounters, ServerCounters, Slice, TaskCounters, WorkCounters,
};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::Problem;
use crate::limits::COUNTER_MAX;
use crate::read_limits::RepeatLimit;
use crate::rows::{Fields, rows};
use crate::values::{integer, json};

/// What precedes the names of counters of a server's own status.
const STATUS: &str = "status.";

/// A struct whose numbers have the names of its fields.
trait Counters {
    /// Calls `visit` with the name and the value of every counter that is known.
    fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut u64));
}

macro_rules! counters {
    ($type:ident: $($field:ident),+ $(; if known $($optional:ident),+)?) => {
        impl Counters for $type {
            fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut u64)) {
                $(visit(stringify!($field), &mut self.$field);)+
                $($(if let Some(number) = &mut self.$optional {
                    visit(stringify!($optional), number);
                })+)?
            }
        }
    };
}

counters!(WorkCounters: events, read, write, other, bytes_sent, bytes_received, elapsed_ns,
    event_ns_sum);
counters!(TaskCounters: cpu_ns, user_ns, sys_ns, runq_ns, context_switches; if known disk_wait_ns);
counters!(ServerCounters: read_calls, read_bytes, write_calls, write_bytes);
counters!(HostCounters: busy_ns, steal_ns, context_switches; if known other_ns);
counters!(DeviceCounters: reads, read_kb, writes, write_kb);

/// Calls `visit` with the column and the value of every counter of the work of a slice.
///
/// Here and in [`visit_others`], writing and reading share the list, so that they cannot confuse counters.
pub(crate) fn visit_work(work: &mut WorkCounters, mut visit: impl FnMut(&str, &mut u64)) {
    // The column `rows` holds the size of the tables.
    visit("rows_received", &mut work.rows);
    work.visit(&mut |name, number| visit(name, number));
}

/// Calls `visit` with the name and the value of every counter of a slice that others than the clients counted, except
/// those of a server's own status.
fn visit_others(slice: &mut Slice, mut visit: impl FnMut(&str, &mut u64)) {
    let mut group = |prefix: &str, counters: &mut dyn Counters| {
        counters.visit(&mut |name, number| visit(&format!("{prefix}{name}"), number));
    };
    if let Some(client) = &mut slice.client {
        group("client_", &mut client.tasks);
    }
    if let Some(server) = &mut slice.server {
        group("connection_", &mut server.connections);
        group("background_", &mut server.background);
        group("server_", server);
    }
    if let Some(host) = &mut slice.host {
        group("host_", host);
        if let Some(device) = &mut host.device {
            group("host_device_", device);
        }
    }
}

/// Adds zeroed groups and counters to a slice for the counters that it has.
fn make_room(slice: &mut Slice, has: impl Fn(&str) -> bool) {
    let tasks = |prefix: &str| TaskCounters {
        disk_wait_ns: has(&format!("{prefix}disk_wait_ns")).then_some(0),
        ..TaskCounters::default()
    };
    slice.client = has("client_cpu_ns").then(|| ClientCounters { tasks: tasks("client_") });
    slice.server = has("connection_cpu_ns").then(|| ServerCounters {
        connections: tasks("connection_"),
        background: tasks("background_"),
        ..ServerCounters::default()
    });
    slice.host = has("host_busy_ns").then(|| HostCounters {
        other_ns: has("host_other_ns").then_some(0),
        device: has("host_device_reads").then(DeviceCounters::default),
        ..HostCounters::default()
    });
}

/// The names of a slice's counters, and their values.
pub(crate) fn of(slice: &Slice) -> Result<(Vec<String>, Vec<i64>), Problem> {
    let mut all = Vec::new();
    visit_others(&mut slice.clone(), |name, number| all.push((name.to_owned(), *number)));
    let status = slice.status.iter().flatten();
    all.extend(status.map(|(name, number)| (format!("{STATUS}{name}"), *number)));
    let values = all.iter().map(|(name, number)| integer(name, *number));
    let values = values.collect::<Result<_, _>>()?;
    Ok((all.into_iter().map(|(name, _)| name).collect(), values))
}

/// The number of these names in a study. They are added unless they are there.
pub(crate) fn number(
    connection: &Connection,
    study: &str,
    names: &[String],
) -> Result<i64, Problem> {
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

/// The names that a study has for the counters of its slices, by number.
pub(crate) struct CounterNames {
    names: BTreeMap<i64, Vec<String>>,
    limit: RepeatLimit,
}

impl CounterNames {
    pub(crate) fn of(connection: &Connection, study: &str) -> Result<Self, Problem> {
        let sql = "SELECT number, names FROM counter_names WHERE study = ?";
        let names = rows(connection, sql, [study], |row| {
            let fields = Fields::new("counter_names", "number", row);
            let names: Vec<String> = fields.json("names")?;
            if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
                return Err(fields.wrong("`names` has one twice"));
            }
            Ok((fields.get("number")?, names))
        })?;
        let names = names.into_iter().collect();
        Ok(Self { names, limit: RepeatLimit::new(connection)? })
    }

    /// Reads the counters of a slice from its row.
    pub(crate) fn read(&mut self, fields: &Fields<'_>, slice: &mut Slice) -> Result<(), Problem> {
        let number: i64 = fields.get("counter_names")?;
        let names = self.names.get(&number).ok_or_else(|| {
            fields.wrong(format!("`counter_names` is {number}, not one of the study"))
        })?;
        let values: Vec<i64> = fields.json("counters")?;
        if values.len() != names.len() {
            return Err(fields.wrong("`counters` and their names are not equally many"));
        }
        let counter = |(name, value): (&String, i64)| {
            let valid = u64::try_from(value).ok().filter(|value| *value <= COUNTER_MAX);
            let wrong = || fields.wrong(format!("`{name}` is {value}"));
            Ok((name.clone(), valid.ok_or_else(wrong)?))
        };
        let mut counted =
            names.iter().zip(values).map(counter).collect::<Result<BTreeMap<_, _>, Problem>>()?;
        make_room(slice, |name| counted.contains_key(name));
        let mut missing = Vec::new();
        visit_others(slice, |name, place| match counted.remove(name) {
            Some(value) => *place = value,
            None => missing.push(name.to_owned()),
        });
        if let Some(name) = missing.first() {
            return Err(fields.wrong(format!("`counters` has no `{name}`")));
        }
        let mut status = Vec::new();
        for (name, value) in counted {
            let Some(name) = name.strip_prefix(STATUS) else {
                return Err(fields.wrong(format!("`counters` has `{name}`, an unknown counter")));
            };
            self.limit.take(name)?;
            status.push((name.to_owned(), value));
        }
        slice.status = (!status.is_empty()).then_some(status);
        Ok(())
    }
}
