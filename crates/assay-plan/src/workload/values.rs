//! Generators of values in workload files.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use assay_model::limits::user::{PARETO_H, TEXT, VALUES, ZIPF_S};
use assay_model::{Distribution, Generator, Range, Scalar};
use jiff::civil;
use toml::de::DeValue;
use toml::value::{Datetime, Offset};

use crate::document::{FileFault, FileResult, FileTable, FileValue, listed};
use assay_options::{parse_duration_s, parse_percent};

/// Words for distributions, followed by a range.
const DISTRIBUTIONS: [&str; 5] = ["uniform", "zipfian", "pareto", "gaussian", "special"];

const OTHERS: [&str; 4] = ["sequence", "text", "pattern", "one-of"];

const BESIDE: [&str; 6] = ["s", "h", "prefer", "step", "weights", "null"];

#[derive(Clone, Copy)]
pub(super) struct ValueContext<'a> {
    /// Rows of each table of the file; `None` where a script makes them.
    pub(super) tables: &'a BTreeMap<String, Option<u32>>,
    /// Whether they are for a column, whose rows have numbers.
    pub(super) is_column: bool,
}

/// Reads a generator: a table such as `{ uniform = [1, 9] }`, or a constant.
pub(super) fn generator(value: &FileValue<'_>, context: ValueContext<'_>) -> FileResult<Generator> {
    if !value.value.is_table() {
        return Ok(Generator::Constant(scalar(value)?));
    }
    let table = value.table("")?;
    let all = [&DISTRIBUTIONS[..], &OTHERS, &BESIDE].concat();
    table.refuse_unknown(&all)?;
    let mut kinds = table.values();
    kinds.retain(|it| !BESIDE.contains(&it.key));
    let [kind] = kinds.as_slice() else {
        let fault = value.fault("values are made in exactly one way");
        return Err(fault.hint(format!("use one of {}", listed(&all[..all.len() - BESIDE.len()]))));
    };
    let values = match kind.key {
        "sequence" => sequence(kind, &table, context),
        "text" => text(kind),
        "pattern" => {
            let text = kind.text("a pattern in quotes: `@` for a letter, `#` for a digit")?;
            Ok(Generator::Pattern(text.to_owned()))
        }
        "one-of" => one_of(kind, &table),
        _ => drawn(kind, &table, context),
    }?;
    refuse_unused(kind.key, &table)?;
    let Some(null) = table.get("null") else { return Ok(values) };
    let written = null.text("a percentage in quotes, such as `\"5%\"`")?;
    let share = match written.strip_suffix('%').and_then(|number| number.trim().parse().ok()) {
        // A column without values.
        Some(100.0) => Ok(1.0),
        // Never NULL.
        Some(0.0) => Ok(0.0),
        _ => parse_percent(written),
    };
    let share = share.map_err(|error| match error {
        assay_options::OptionError::Bounds(_) => {
            null.fault("a share of NULL must be from 0% to 100%")
        }
        error => null.mistaken(&error.into()),
    })?;
    Ok(Generator::Nullable { share, of: Box::new(values) })
}

/// Refuses keys without meaning beside this one.
fn refuse_unused(kind: &str, table: &FileTable<'_>) -> FileResult<()> {
    let used: &[&str] = match kind {
        "zipfian" => &["s", "prefer"],
        "pareto" => &["h", "prefer"],
        "sequence" => &["step"],
        "one-of" => &["weights"],
        _ => &[],
    };
    let is_unused =
        |it: &FileValue<'_>| it.key != kind && it.key != "null" && !used.contains(&it.key);
    match table.values().into_iter().find(is_unused) {
        Some(value) => {
            let message = format!("`{}` has no meaning beside `{kind}`", value.key);
            Err(FileFault::at(value.key_span, message))
        }
        None => Ok(()),
    }
}

fn scalar(value: &FileValue<'_>) -> FileResult<Scalar> {
    Ok(match value.value {
        DeValue::Integer(_) => Scalar::Integer(value.number(&(i64::MIN..=i64::MAX))?),
        DeValue::String(text) => Scalar::Text(text.clone().into_owned()),
        DeValue::Float(number) => Scalar::Text(plain_float(value, number.as_str())?.to_owned()),
        // Both families of servers read these as `true` and `false`.
        DeValue::Boolean(is_true) => Scalar::Text(if *is_true { "1" } else { "0" }.to_owned()),
        DeValue::Datetime(moment) if moment.offset.is_some() => {
            let moment = jiff::Timestamp::from_second(seconds(value, moment)?);
            let moment = moment.map_err(|_| value.fault("this is outside the calendar"))?;
            Scalar::Text(moment.strftime("%Y-%m-%d %H:%M:%S").to_string())
        }
        DeValue::Datetime(moment) => Scalar::Text(moment.to_string().replace('T', " ")),
        DeValue::Array(_) | DeValue::Table(_) => {
            return Err(value.is_not("a value, or a table such as `{ uniform = [1, 9] }`"));
        }
    })
}

/// A decimal number without exponent, and no word such as `inf`.
fn plain_float<'t>(value: &FileValue<'_>, number: &'t str) -> FileResult<&'t str> {
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    if digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Ok(number.trim_start_matches('+'));
    }
    Err(value.fault("this number cannot be used").hint("write it as `1234.50`"))
}

fn sequence(
    kind: &FileValue<'_>,
    table: &FileTable<'_>,
    context: ValueContext<'_>,
) -> FileResult<Generator> {
    if !context.is_column {
        return Err(FileFault::at(kind.key_span.clone(), "only columns have sequences")
            .hint("events of several clients have no common order"));
    }
    let step = table.get("step");
    if let DeValue::Datetime(moment) = kind.value {
        let first_s = seconds(kind, moment)?;
        let Some(step) = step else {
            return Err(kind.fault("a sequence of times needs a `step`").hint("such as `\"1s\"`"));
        };
        let step_s = parse_duration_s(step.text("a time in quotes, such as `\"500ms\"`")?);
        let step_s = step_s.map_err(|error| step.mistaken(&error.into()))?;
        return Ok(Generator::TimeSequence { first_s, step_ms: (step_s * 1000.0).round() as u64 });
    }
    if let Some(step) = step {
        return Err(FileFault::at(step.key_span, "a sequence of numbers rises by 1"));
    }
    if !kind.value.is_integer() {
        return Err(kind.is_not("the first number or the first date"));
    }
    Ok(Generator::Sequence { first: kind.number(&(i64::MIN..=i64::MAX))?, each: 1 })
}

fn text(kind: &FileValue<'_>) -> FileResult<Generator> {
    let lengths = kind.one_or_more("")?;
    let length = |it: &FileValue<'_>| it.number(&(0..=TEXT));
    let (least, most) = match lengths.as_slice() {
        [length_of] => (length(length_of)?, length(length_of)?),
        [least, most] => (length(least)?, length(most)?),
        _ => return Err(kind.is_not("a length, or the shortest and the longest length")),
    };
    if least > most {
        return Err(kind.fault("the shortest length is greater than the longest"));
    }
    Ok(Generator::Text { least, most })
}

fn one_of(kind: &FileValue<'_>, table: &FileTable<'_>) -> FileResult<Generator> {
    let listed = kind.list("a list of values")?;
    if listed.len() > VALUES {
        return Err(kind.fault(format!("a list may have at most {VALUES} values")));
    }
    let values: Vec<Scalar> = listed.iter().map(scalar).collect::<Result<_, _>>()?;
    let weights = match table.get("weights") {
        None => vec![1.0; values.len()],
        Some(value) => {
            let weights = value.list("a list of numbers")?;
            if weights.len() != values.len() {
                let message = format!("{} weights for {} values", weights.len(), values.len());
                return Err(value.fault(message));
            }
            weights.iter().map(weight).collect::<Result<_, _>>()?
        }
    };
    Ok(Generator::OneOf { values, weights })
}

pub(super) fn weight(value: &FileValue<'_>) -> FileResult<f64> {
    let number = match value.value {
        DeValue::Integer(_) => f64::from(value.number(&(1..=1_000_000_u32))?),
        DeValue::Float(number) => number.as_str().parse().unwrap_or(f64::NAN),
        _ => return Err(value.is_not("a number")),
    };
    if number > 0.0 && number <= 1e6 {
        return Ok(number);
    }
    Err(value.fault("a weight must be above 0 and at most 1000000"))
}

fn constant(
    table: &FileTable<'_>,
    key: &str,
    usual: f64,
    range: &RangeInclusive<f64>,
) -> FileResult<f64> {
    let Some(value) = table.get(key) else { return Ok(usual) };
    let number: f64 = match value.value {
        DeValue::Float(number) => number.as_str().parse().unwrap_or(f64::NAN),
        DeValue::Integer(_) => f64::from(value.number(&(0..=1000_u32))?),
        _ => return Err(value.is_not("a number")),
    };
    if range.contains(&number) {
        return Ok(number);
    }
    let (low, high) = (range.start(), range.end());
    Err(value.fault(format!("`{key}` must be between {low} and {high}")))
}

fn drawn(
    kind: &FileValue<'_>,
    table: &FileTable<'_>,
    context: ValueContext<'_>,
) -> FileResult<Generator> {
    let draw = match kind.key {
        "zipfian" => Distribution::Zipfian { s: constant(table, "s", 0.8, &ZIPF_S)? },
        "pareto" => Distribution::Pareto { h: constant(table, "h", 0.2, &PARETO_H)? },
        "gaussian" => Distribution::Gaussian,
        "special" => Distribution::Special,
        _ => Distribution::Uniform,
    };
    let is_reversed = match table.get("prefer") {
        None => false,
        Some(value) => match value.text("`\"low\"` or `\"high\"`")? {
            "low" => false,
            "high" => true,
            _ => return Err(value.fault("`prefer` must be `low` or `high`")),
        },
    };
    let range = |low, high| Range { low, high, draw, is_reversed };
    if kind.value.is_str() {
        let rows = rows_of(kind, context)?;
        return Ok(Generator::Integer(range(1, i64::from(rows))));
    }
    let ends = kind.list("two ends such as `[1, 9]`, or a table such as `\"customer\"`")?;
    let [low, high] = ends.as_slice() else {
        return Err(kind.fault("a range has two ends, such as `[1, 9]`"));
    };
    let generator = match (low.value, high.value) {
        (DeValue::Datetime(from), DeValue::Datetime(to)) => {
            Generator::Time(range(seconds(low, from)?, seconds(high, to)?))
        }
        (DeValue::Integer(_), DeValue::Integer(_)) => {
            let whole = |it: &FileValue<'_>| it.number(&(i64::MIN..=i64::MAX));
            Generator::Integer(range(whole(low)?, whole(high)?))
        }
        (DeValue::Datetime(_), _) | (_, DeValue::Datetime(_)) => {
            return Err(kind.fault("one end of the range is a date, and the other is none"));
        }
        _ => {
            let decimals = decimals(low)?.max(decimals(high)?);
            let (low, high) = (scaled(low, decimals)?, scaled(high, decimals)?);
            Generator::Decimal { range: range(low, high), decimals }
        }
    };
    match &generator {
        Generator::Integer(range) | Generator::Time(range) | Generator::Decimal { range, .. }
            if range.low > range.high =>
        {
            Err(kind.fault("the first end of the range is greater than the second"))
        }
        _ => Ok(generator),
    }
}

fn rows_of(value: &FileValue<'_>, context: ValueContext<'_>) -> FileResult<u32> {
    let name = value.text("the name of a table")?;
    match context.tables.get(name) {
        Some(Some(rows)) => Ok(*rows),
        Some(None) => Err(value
            .fault(format!("how many rows `{name}` has is only known after the load"))
            .hint("write the range as `[1, 1000]`")),
        None => {
            let fault = value.fault(format!("the file has no table `{name}`"));
            let lacks = format!("`[table.{name}]` would define it");
            Err(fault.hint_nearest(name, context.tables.keys(), lacks))
        }
    }
}

const DECIMALS_MAX: usize = 9;

fn decimals(value: &FileValue<'_>) -> FileResult<u8> {
    let text = number_text(value)?;
    let digits = text.split_once('.').map_or(0, |(_, part)| part.len());
    if digits <= DECIMALS_MAX {
        return Ok(digits as u8);
    }
    Err(value.fault(format!("a number may have at most {DECIMALS_MAX} digits after the point")))
}

/// The number times a power of ten, as an integer.
fn scaled(value: &FileValue<'_>, decimals: u8) -> FileResult<i64> {
    let text = number_text(value)?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{part:0<width$}", width = usize::from(decimals));
    digits.parse().map_err(|_| value.fault("this number is too large"))
}

fn number_text<'t>(value: &FileValue<'t>) -> FileResult<&'t str> {
    match value.value {
        DeValue::Float(number) => plain_float(value, number.as_str()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str()),
        _ => Err(value.is_not("a number or a date")),
    }
}

/// Date and time as seconds since the Unix epoch; UTC without an offset.
fn seconds(value: &FileValue<'_>, moment: &Datetime) -> FileResult<i64> {
    let fail =
        || value.fault("a date is needed").hint("such as `2026-01-31` or `2026-01-31 12:00:00`");
    let date = moment.date.ok_or_else(fail)?;
    let small = |number: u8| number as i8;
    let date = civil::Date::new(date.year as i16, small(date.month), small(date.day));
    let date = date.map_err(|_| fail())?;
    let time = moment.time.map_or(Ok(civil::Time::midnight()), |time| {
        let second = time.second.unwrap_or(0);
        civil::Time::new(small(time.hour), small(time.minute), small(second), 0)
    });
    let time = date.to_datetime(time.map_err(|_| fail())?);
    let seconds =
        time.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| fail())?.timestamp().as_second();
    Ok(match moment.offset {
        Some(Offset::Custom { minutes }) => seconds - 60 * i64::from(minutes),
        Some(Offset::Z) | None => seconds,
    })
}
