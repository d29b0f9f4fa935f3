//! The keys of study files, and their values through serde: an option's type, and for numbers and texts its key,
//! determine how its value is read.

use std::error::Error as _;

use assay_model::{Counting, LIMITED_STUDY};
use assay_terms::Terms;
use assay_workloads::{OltpOptions, TpccOptions};
use clap::{Arg, Args, Command};
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use toml::de::DeValue;

use crate::document::{FileFault, FileResult, FileTable, FileValue};
use crate::limits::CLIENTS;
use crate::request::{InsertBenchRequest, Request, SetupRequest};
use assay_options::parse_clients;

/// Keys at the top that are not options.
pub(super) const TABLES: [&str; 7] =
    ["compare", "system", "setup", LIMITED_STUDY, "insert-bench", "oltp", "tpcc"];

pub(super) const SYSTEM_KEYS: [&str; 4] = ["is", "config", "options", "without"];

pub(super) const LIMITS_KEYS: [&str; 4] = ["max-slowdown", "max-more", "limits", "allow-undecided"];

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
        ("in the `[gate]` table", &LIMITS_KEYS),
        ("in the `[insert-bench]` table", keys_of::<InsertBenchRequest>()),
        ("in the `[oltp]` table", keys_of::<OltpOptions>()),
        ("in the `[tpcc]` table", keys_of::<TpccOptions>()),
    ]
}

/// Reads the keys of a type through serde, each value like the command-line option. Other keys are tables.
pub(super) fn read<T: DeserializeOwned + Args>(table: &FileTable<'_>) -> FileResult<T> {
    let options = &T::augment_args(Command::new("options"));
    let keys = keys_of::<T>();
    let values = table.values().into_iter().filter(|value| keys.contains(&value.key));
    let settings = values.map(|value| (value.key, OptionValue { value, options }));
    T::deserialize(MapDeserializer::new(settings))
}

/// Keys of a type that refuses unknown ones: serde lists them in its error for an unknown key.
pub(super) fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let unknown = MapDeserializer::new(std::iter::once(("", "")));
    T::deserialize(unknown).err().map_or(&[], |Keys(keys)| keys)
}

/// The key that an option of a command has in study files: its name, or that of its field.
pub fn study_key(option: &Arg) -> Option<&'static str> {
    let keys = keys_of::<Request>().iter().chain(keys_of::<SetupRequest>());
    let field = option.get_id().as_str().replace('_', "-");
    keys.copied().find(|key| option.get_long() == Some(*key) || *key == field)
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

#[derive(Clone)]
struct OptionValue<'t> {
    value: FileValue<'t>,
    options: &'t Command,
}

pub(super) fn option_of<'c>(options: &'c Command, key: &str) -> Option<&'c Arg> {
    let field = key.replace('-', "_");
    let mut all = options.get_arguments();
    all.find(|option| option.get_long() == Some(key) || option.get_id() == field.as_str())
}

impl<'de> IntoDeserializer<'de, FileFault> for OptionValue<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for OptionValue<'de> {
    type Error = FileFault;

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> FileResult<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> FileResult<V::Value> {
        visitor.visit_bool(self.value.flag()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> FileResult<V::Value> {
        visitor.visit_u64(self.as_option(&self.number_text()?)?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> FileResult<V::Value> {
        visitor.visit_u32(self.as_option(&self.number_text()?)?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> FileResult<V::Value> {
        let value = &self.value;
        let text = match (self.shape(), value.value) {
            ("PERCENT", _) => value.text("a percentage in quotes, such as `\"2%\"`")?.to_owned(),
            (_, DeValue::Integer(_)) => self.number_text()?,
            (_, DeValue::Float(number)) => number.as_str().trim_start_matches('+').replace('_', ""),
            ("TIME", _) => {
                value.text("a number of seconds, or a time in quotes such as `\"10m\"`")?.to_owned()
            }
            _ => return Err(value.is_not("a number")),
        };
        visitor.visit_f64(self.as_option(&text)?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> FileResult<V::Value> {
        let value = &self.value;
        let text = match value.key {
            "tests" => value.text("patterns for tests")?,
            "source" => self.source()?,
            "terms" => value.word(&Terms::names())?,
            "workload" => value.text("the path of a workload file, in quotes")?,
            "script-options" => value.text("an option such as `\"--tables=4\"`")?,
            _ => {
                let text = value.text("a text in quotes")?;
                return visitor.visit_string(self.as_option(text)?);
            }
        };
        visitor.visit_str(text)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> FileResult<V::Value> {
        if self.value.key == "clients" {
            return visitor.visit_seq(SeqDeserializer::new(self.clients()?.into_iter()));
        }
        if ["workload", "config"].contains(&self.value.key) && !self.value.value.is_array() {
            return visitor.visit_seq(SeqDeserializer::new(std::iter::once(self)));
        }
        let values = self.value.list(match self.value.key {
            "define" => "a list of definitions such as `[\"customers=1000\"]`",
            "workload" => "the path of a workload file, or a list of paths",
            "config" => "the path of a config file, or a list such as `[\"mysql=my.cnf\"]`",
            "script-options" => "a list of options such as `[\"--tables=4\"]`",
            "config-options" => "a list of options such as `[\"mysql: innodb_io_capacity=300\"]`",
            "rows" => "three numbers such as `[\"10M\", \"4M\", \"400k\"]`",
            _ => "a list of patterns such as `[\"point*\", \"scan\"]`",
        })?;
        let values = values.into_iter().map(|value| OptionValue { value, ..self });
        visitor.visit_seq(SeqDeserializer::new(values))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> FileResult<V::Value> {
        let word =
            if self.value.key == "set" { self.set(words)? } else { self.value.word(words)? };
        visitor.visit_enum(word.into_deserializer())
    }

    /// Type and key of an option are inconsistent.
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> FileResult<V::Value> {
        Err(self.value.fault(format!("`{}` cannot be read", self.value.key)))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 char str bytes byte_buf unit unit_struct newtype_struct
        tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'t> OptionValue<'t> {
    fn as_option<T: Clone + Send + Sync + 'static>(&self, text: &str) -> FileResult<T> {
        let key = self.value.key;
        let unread = || self.value.fault(format!("`{key}` cannot be read"));
        let option = option_of(self.options, key).ok_or_else(unread)?.clone();
        // A list of the file has one element for each value.
        let option = option.long("value").value_delimiter(None);
        let id = option.get_id().clone();
        let read = Command::new(key.to_owned()).no_binary_name(true).arg(option);
        let mut found =
            read.try_get_matches_from([format!("--value={text}")]).map_err(|error| {
                let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                let is_bare = why.starts_with("must ");
                self.value.fault(if is_bare { format!("`{key}` {why}") } else { why })
            })?;
        found.remove_one(id.as_str()).ok_or_else(unread)
    }

    fn shape(&self) -> &str {
        let option = option_of(self.options, self.value.key);
        let names = option.and_then(Arg::get_value_names).unwrap_or_default();
        names.first().map_or("", |name| name.as_str())
    }

    /// A whole number as typed in an option: a text may have a unit.
    fn number_text(&self) -> FileResult<String> {
        match self.value.value {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Ok(self.value.number(&(i128::MIN..=i128::MAX))?.to_string()),
        }
    }

    /// Client counts: numbers, or texts such as `"1-8"`, one or a list of them.
    fn clients(&self) -> FileResult<Vec<u32>> {
        let values = self.value.one_or_more("")?;
        let counts: Vec<_> = values.iter().map(client_counts).collect::<Result<_, _>>()?;
        Ok(counts.concat())
    }

    fn source(&self) -> FileResult<&'t str> {
        let word = self.value.text("a source in quotes, such as `\"maven\"`")?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".:_-@/".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) {
            return Ok(word);
        }
        Err(self.value.fault("this is not a source").hint("one is `apt` or `maven` for example"))
    }

    /// A published set's name is a number.
    fn set(&self, sizes: &[&'static str]) -> FileResult<&'static str> {
        if self.value.value.is_str() {
            return self.value.word(sizes);
        }
        let size = self.value.number(&(0..=u64::MAX))?.to_string();
        sizes.iter().copied().find(|other| **other == size).ok_or_else(|| {
            self.value
                .fault(format!("there is no set of {size} tests"))
                .hint("the sets are `27`, `32`, `42`, `47` and `\"all\"`")
        })
    }
}

fn client_counts(value: &FileValue<'_>) -> FileResult<Vec<u32>> {
    let Some(text) = value.value.as_str() else { return Ok(vec![value.number(&CLIENTS)?]) };
    let counts = parse_clients(text).map_err(|error| value.mistaken(&error.into()))?;
    counts.into_iter().map(|count| value.in_range(count.into(), &CLIENTS)).collect()
}
