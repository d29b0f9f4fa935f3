//! Values of a claim: numbers and ranges of a quantity, words for systems, tests and clients.

use assay_model::{Quantity, Region, Relation};

use super::types::{SystemWords, TestWords};
use crate::document::{Fault, Value};
use crate::glob;
use assay_options::parse_percent;

const MOST: usize = 200;

/// Largest absolute value of a number.
const LARGEST: f64 = 1e15;

pub(super) const RELATIONS: [&str; 9] =
    ["faster", "slower", "same", "at-least", "at-most", "between", "about", "lowest", "highest"];

pub(super) fn wrong(value: &Value<'_>, expected: &str) -> Fault {
    value.fault(format!("`{}` must be {expected}", value.key))
}

/// Relation set by a key of [`RELATIONS`]. `within` is the tolerance of `about`.
pub(super) fn relation(
    value: &Value<'_>,
    within: Option<&Value<'_>>,
    quantity: Quantity,
) -> Result<Relation, Fault> {
    if let Some(within) = within.filter(|_| value.key != "about") {
        return Err(Fault::at(within.key_span.clone(), "`within` belongs to `about`"));
    }
    let is_rate = quantity == Quantity::Rqps;
    let words = || value.text("the words that name a system, such as `\"8.0.28\"`");
    if matches!(value.key, "faster" | "slower") && !is_rate
        || value.key == "same" && !quantity.is_ratio()
    {
        let message = format!("`{}` is not said of `{}`", value.key, quantity.word());
        return Err(Fault::at(value.key_span.clone(), message)
            .hint("`at-least`, `at-most`, `between` and `about` are said of every quantity"));
    }
    let above = |low| Region { low, high: f64::INFINITY, is_open: true };
    let below = |high| Region { low: f64::NEG_INFINITY, high, is_open: true };
    let closed = |low, high| Region { low, high, is_open: false };
    Ok(Relation::In(match value.key {
        "lowest" => return Ok(Relation::Lowest(words()?.to_owned())),
        "highest" => return Ok(Relation::Highest(words()?.to_owned())),
        "faster" => above(1.0 + change(value)?),
        "slower" => below(1.0 - change(value)?),
        "same" => {
            let most = percent(value)?;
            closed(1.0 - most, 1.0 + most)
        }
        "at-least" => closed(number(value, quantity)?, f64::INFINITY),
        "at-most" => closed(f64::NEG_INFINITY, number(value, quantity)?),
        "between" => between(value, quantity)?,
        _ => {
            let Some(within) = within else {
                return Err(Fault::at(value.key_span.clone(), "`about` lacks `within`")
                    .hint("for example `about = \"-20%\"` and `within = \"5%\"`"));
            };
            let middle = number(value, quantity)?;
            let scale = if quantity.is_ratio() { 1.0 } else { middle.abs() };
            let room = scale * percent(within)?;
            closed(middle - room, middle + room)
        }
    }))
}

fn between(value: &Value<'_>, quantity: Quantity) -> Result<Region, Fault> {
    const EXPECTED: &str = "two numbers such as `[\"-30%\", \"-15%\"]`";
    let ends = value.list(EXPECTED)?;
    let [low, high] = ends.as_slice() else { return Err(wrong(value, EXPECTED)) };
    let (low, high) = (number(low, quantity)?, number(high, quantity)?);
    if low > high {
        return Err(value.fault("the first number must not be the larger one"));
    }
    Ok(Region { low, high, is_open: false })
}

/// A number of a quantity. A ratio may be a change: `"-20%"` is 0.8.
fn number(value: &Value<'_>, quantity: Quantity) -> Result<f64, Fault> {
    let Some(text) = value.value.as_str() else { return value.fraction(&(0.0..=LARGEST)) };
    let expected = match quantity.is_ratio() {
        true => "a ratio such as `0.8`, or a change with its sign such as `\"-20%\"`",
        false => "a number",
    };
    let change = text.trim().strip_suffix('%').filter(|it| it.starts_with(['+', '-']));
    let change: Option<f64> = change.and_then(|it| format!("{it}e-2").parse().ok());
    let change = change.filter(|it| quantity.is_ratio() && (-1.0..=LARGEST).contains(it));
    change.map(|it| 1.0 + it).ok_or_else(|| wrong(value, expected))
}

/// The change that `faster` and `slower` exceed: `true` is any.
fn change(value: &Value<'_>) -> Result<f64, Fault> {
    match value.value.as_bool() {
        Some(true) => Ok(0.0),
        _ if value.value.is_str() => percent(value),
        _ => Err(value.is_not("`true`, or the least change such as `\"5%\"`")),
    }
}

fn percent(value: &Value<'_>) -> Result<f64, Fault> {
    let text = value.text("a percentage in quotes, such as `\"5%\"`")?;
    parse_percent(text).map_err(|error| value.mistaken(&error.into()))
}

fn words<'t>(value: &Value<'t>, expected: &str) -> Result<Vec<(&'t str, Value<'t>)>, Fault> {
    let values = match value.value.is_array() {
        true => value.list(expected)?,
        false => vec![value.clone()],
    };
    if values.len() > MOST {
        return Err(value.fault(format!("`{}` has at most {MOST} entries", value.key)));
    }
    let word = |it: Value<'t>| {
        let text = it.text(expected)?;
        match text.chars().count() {
            1..=MOST => Ok((text, it)),
            _ => Err(it.fault(format!("this must have 1 to {MOST} characters"))),
        }
    };
    values.into_iter().map(word).collect()
}

pub(super) fn systems(value: &Value<'_>) -> Result<Vec<SystemWords>, Fault> {
    let words = words(value, "a system such as `\"8.0\"`, or a list of them")?;
    let system = |(text, value): (&str, Value<'_>)| {
        let is_pattern = text.contains(['*', '?']);
        let pattern = is_pattern.then(|| pattern(text, &value)).transpose()?;
        Ok(SystemWords { words: text.to_owned(), pattern })
    };
    words.into_iter().map(system).collect()
}

/// Words for tests; `!` excludes.
pub(super) fn tests(value: &Value<'_>) -> Result<Vec<TestWords>, Fault> {
    let words = words(value, "a group or a pattern such as `\"point*\"`, or a list of them")?;
    let test = |(text, value): (&str, Value<'_>)| {
        let (is_excluded, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        Ok(TestWords { words: text.to_owned(), pattern: pattern(text, &value)?, is_excluded })
    };
    words.into_iter().map(test).collect()
}

fn pattern(text: &str, value: &Value<'_>) -> Result<regex_lite::Regex, Fault> {
    glob::regex(text).map_err(|why| value.fault(format!("the pattern cannot be read: {why}")))
}

/// Client counts: `8`, `"1-8"`, `"20+"`, one or a list of them.
pub(super) fn clients(value: &Value<'_>) -> Result<Vec<(u32, u32)>, Fault> {
    const EXPECTED: &str = "a number of clients, a range such as `\"1-8\"`, or `\"20+\"`";
    let values = match value.value.is_array() {
        true => value.list(EXPECTED)?,
        false => vec![value.clone()],
    };
    let range = |it: &Value<'_>| {
        let Some(text) = it.value.as_str() else {
            let number = it.number(&(1..=u32::MAX))?;
            return Ok((number, number));
        };
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|it| *it > 0);
        let read = match (text.strip_suffix('+'), text.split_once('-')) {
            (Some(least), _) => number(least).map(|least| (least, u32::MAX)),
            (None, Some((least, most))) => number(least).zip(number(most)),
            (None, None) => number(text).map(|number| (number, number)),
        };
        read.filter(|(least, most)| least <= most).ok_or_else(|| wrong(it, EXPECTED))
    };
    values.iter().map(range).collect()
}
