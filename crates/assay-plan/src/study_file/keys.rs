//! The keys of study files.

use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;

use assay_model::Counting;
use assay_workloads::{OltpOptions, TpccOptions};
use clap::{Args, Command};

use super::de::Setting;
use crate::document::{Fault, Table};
use crate::request::{InsertBench, Request, SetupRequest};

/// Keys at the top that are not options.
pub(super) const TABLES: [&str; 7] =
    ["compare", "system", "setup", "gate", "insert-bench", "oltp", "tpcc"];

pub(super) const WATCH: &str = "watch";

pub(super) const SYSTEM_KEYS: [&str; 4] = ["is", "config", "options", "without"];

pub(super) const GATE_KEYS: [&str; 4] = ["max-slowdown", "max-more", "limits", "allow-undecided"];

pub(super) const LIMIT_KEYS: [&str; 2] = ["max-slowdown", "max-more"];

pub(super) fn limit_key(count: Counting) -> &'static str {
    let [slowdown, more] = LIMIT_KEYS;
    if count == Counting::Only { more } else { slowdown }
}

pub(super) fn homes() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("at the top of the file, before all tables", keys_of::<Request>()),
        ("in a `[system.NAME]` table", &SYSTEM_KEYS),
        ("in a `[[setup]]` table", keys_of::<SetupRequest>()),
        ("in the `[gate]` table", &GATE_KEYS),
        ("in the `[insert-bench]` table", keys_of::<InsertBench>()),
        ("in the `[oltp]` table", keys_of::<OltpOptions>()),
        ("in the `[tpcc]` table", keys_of::<TpccOptions>()),
    ]
}

/// Reads a table without its subtables through serde, each value like the command-line option.
pub(super) fn read<T: DeserializeOwned + Args>(table: &Table<'_>) -> Result<T, Fault> {
    let options = &T::augment_args(Command::new("options"));
    let is_table = |key: &str| TABLES.contains(&key) || key == WATCH;
    let values = table.values().into_iter().filter(|value| !is_table(value.key));
    let settings = values.map(|value| (value.key, Setting { value, options }));
    T::deserialize(MapDeserializer::new(settings))
}

/// Keys of a type that refuses unknown ones: serde lists them in its error for an unknown key.
pub(crate) fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let unknown = MapDeserializer::new(std::iter::once(("", "")));
    T::deserialize(unknown).err().map_or(&[], |Keys(keys)| keys)
}

#[derive(Debug, thiserror::Error)]
#[error("the keys are {0:?}")]
struct Keys(&'static [&'static str]);

impl serde::de::Error for Keys {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_field(_: &str, keys: &'static [&'static str]) -> Self {
        Self(keys)
    }
}
