//! Options through serde: the type of an option, and for numbers and texts its key, say how its value is read.

use assay_model::TableForm;
use assay_model::limits::queue::{INDEXES, PARTITIONS, QUERY_S, TRANSACTION_S};
use assay_model::limits::{oltp, own};
use assay_terms::Terms;
use serde::de::value::SeqDeserializer;
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use toml::de::DeValue;

use crate::document::{Fault, Value, listed};
use crate::limits::{BLOCKS, CLIENTS, ROUNDS, ROWS, TABLES};
use crate::nearest::nearest;
use crate::units::{parse_clients, parse_duration_s, parse_percent};

impl<'de> IntoDeserializer<'de, Fault> for Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Fault;

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let flag = self.value.as_bool().ok_or_else(|| self.is_not("`true` or `false`"))?;
        visitor.visit_bool(flag)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_u64(self.number(&(0..=u64::MAX))?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let number = match self.key {
            "blocks" => self.number(&BLOCKS)?,
            "rounds" => self.number(&ROUNDS)?,
            "tables" => self.count(&TABLES)?,
            "rows" => self.count(&ROWS)?,
            "clients" => self.number(&CLIENTS)?,
            "query-seconds" => self.number(&QUERY_S)?,
            "indexes" => self.number(&INDEXES)?,
            "partitions" => self.number(&PARTITIONS)?,
            "partition-rows" => self.count(&(1..=*ROWS.end()))?,
            "open-transaction" => self.number(&TRANSACTION_S)?,
            "repeats" => self.number(&BLOCKS)?,
            "range-size" => self.count(&oltp::RANGE)?,
            "point-selects" | "simple-ranges" | "sum-ranges" | "order-ranges"
            | "distinct-ranges" | "index-updates" | "non-index-updates" => {
                self.number(&oltp::TIMES)?
            }
            "delete-inserts" => self.number(&oltp::DELETE_INSERTS)?,
            "random-points" | "number-of-ranges" => self.number(&oltp::LISTED)?,
            "delta" => self.number(&oltp::DELTA)?,
            _ => return self.deserialize_any(visitor),
        };
        visitor.visit_u32(number)
    }

    /// A percentage, or a time in seconds.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.key {
            "rand-pareto-h" => return visitor.visit_f64(self.fraction(&own::PARETO_H)?),
            "rand-zipfian-exp" => return visitor.visit_f64(self.fraction(&own::ZIPF_S)?),
            _ => {}
        }
        let parsed = if self.key == "threshold" {
            parse_percent(self.text("a percentage in quotes, such as `\"2%\"`")?)
        } else {
            parse_duration_s(&match self.value {
                DeValue::Integer(_) => self.number(&(i128::MIN..=i128::MAX))?.to_string(),
                DeValue::Float(number) => number.as_str().trim_start_matches('+').to_owned(),
                _ => self
                    .text("a number of seconds, or a time in quotes such as `\"10m\"`")?
                    .to_owned(),
            })
        };
        visitor.visit_f64(parsed.map_err(|error| self.mistaken(&error))?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let text = match self.key {
            "tests" => self.text("patterns for tests")?,
            "source" => self.source()?,
            "terms" => self.word(&Terms::names())?,
            "workload" => self.text("the path of a workload file, in quotes")?,
            "create-table-options" => {
                let text = self.text("the end of a `CREATE TABLE`, in quotes")?;
                TableForm::check_options(text)
                    .map_err(|why| self.fault(format!("`{}` {why}", self.key)))?;
                text
            }
            _ => return self.deserialize_any(visitor),
        };
        visitor.visit_str(text)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.key == "clients" {
            return visitor.visit_seq(SeqDeserializer::new(self.clients()?.into_iter()));
        }
        if self.key == "rows" {
            let values = self.list("three numbers such as `[\"10M\", \"4M\", \"400k\"]`")?;
            return visitor.visit_seq(SeqDeserializer::new(values.into_iter()));
        }
        let values = self.list("a list of patterns such as `[\"point*\", \"scan\"]`")?;
        visitor.visit_seq(SeqDeserializer::new(values.into_iter()))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let word = if self.key == "set" { self.set(words)? } else { self.word(words)? };
        visitor.visit_enum(word.into_deserializer())
    }

    /// The type and the key of an option do not belong together.
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(self.fault(format!("`{}` cannot be read", self.key)))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 char str bytes byte_buf unit unit_struct newtype_struct
        tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'t> Value<'t> {
    /// Client counts: numbers, or texts such as `"1-8"`, one or a list of them.
    fn clients(&self) -> Result<Vec<u32>, Fault> {
        if self.value.is_array() {
            let counts: Vec<_> =
                self.list("")?.iter().map(Self::client_counts).collect::<Result<_, _>>()?;
            return Ok(counts.concat());
        }
        self.client_counts()
    }

    fn client_counts(&self) -> Result<Vec<u32>, Fault> {
        let Some(text) = self.value.as_str() else { return Ok(vec![self.number(&CLIENTS)?]) };
        let counts = parse_clients(text).map_err(|error| self.mistaken(&error))?;
        counts.into_iter().map(|count| self.in_range(count.into(), &CLIENTS)).collect()
    }

    fn source(&self) -> Result<&'t str, Fault> {
        let word = self.text("a source in quotes, such as `\"maven\"`")?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".:_-@/".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) {
            return Ok(word);
        }
        Err(self.fault("this is not a source").hint("one is `apt` or `maven` for example"))
    }

    /// The set of tests with a name. That of a published one is a number.
    fn set(&self, sizes: &[&'static str]) -> Result<&'static str, Fault> {
        if self.value.is_str() {
            return self.word(sizes);
        }
        let size = self.number(&(0..=u64::MAX))?.to_string();
        sizes.iter().copied().find(|other| **other == size).ok_or_else(|| {
            self.fault(format!("there is no set of {size} tests"))
                .hint("the sets are `27`, `32`, `42`, `47` and `\"all\"`")
        })
    }

    fn word(&self, words: &[&'static str]) -> Result<&'static str, Fault> {
        let choice = listed(words);
        let text = self.text(&format!("one of {choice}"))?;
        words.iter().copied().find(|word| *word == text).ok_or_else(|| {
            let fault = self.fault(format!("`{text}` is not a valid `{}`", self.key));
            match nearest(text, words) {
                Some(meant) => fault.hint(format!("did you mean `{meant}`")),
                None => fault.hint(format!("it must be one of {choice}")),
            }
        })
    }
}
