//! Values of a claim: numbers and ranges of a quantity, shares, words for systems, tests and clients.

use assay_plan::document::{FileFault, FileResult, FileValue};
use assay_plan::{glob, parse_percent};

use crate::claim::{SystemWords, TestWords};
use crate::statement::{Quantity, Region, Relation, Share, ShareUnit, Summary};

const MOST: usize = 200;

/// Largest absolute value of a number.
const LARGEST: f64 = 1e15;

pub(crate) const RELATIONS: [&str; 9] =
    ["faster", "slower", "same", "at-least", "at-most", "between", "about", "lowest", "highest"];

fn wrong(value: &FileValue<'_>, expected: &str) -> FileFault {
    value.fault(format!("`{}` must be {expected}", value.key))
}

/// What a relation is said of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimSubject {
    pub(crate) quantity: Quantity,
    pub(crate) summary: Option<Summary>,
}

impl ClaimSubject {
    fn is_spread(self) -> bool {
        self.summary == Some(Summary::Stddev)
    }

    fn is_rate(self) -> bool {
        self.quantity == Quantity::Rqps && !self.is_spread()
    }

    fn is_ratio(self) -> bool {
        self.quantity.is_ratio() && !self.is_spread()
    }

    fn word(self) -> String {
        if self.is_spread() { Summary::Stddev.word().to_owned() } else { self.quantity.word() }
    }
}

pub(crate) fn quantity(value: &FileValue<'_>) -> FileResult<Quantity> {
    let text = value.text("a figure such as `\"rqps\"` or `\"relative cs/o\"`")?;
    Quantity::from_word(text).ok_or_else(|| {
        let all = Quantity::all().map(Quantity::word);
        let otherwise = "docs/reference/claim-files.md lists them";
        value
            .fault(format!("`{text}` is not a valid `{}`", value.key))
            .hint_nearest(text, all, otherwise)
    })
}

/// Relation set by a key of [`RELATIONS`]. `within` is the tolerance of `about`.
pub(crate) fn relation(
    value: &FileValue<'_>,
    within: Option<&FileValue<'_>>,
    subject: ClaimSubject,
) -> FileResult<Relation> {
    if let Some(within) = within.filter(|_| value.key != "about") {
        return Err(FileFault::at(within.key_span.clone(), "`within` belongs to `about`"));
    }
    let words = || value.text("the words that name a system, such as `\"8.0.28\"`");
    if matches!(value.key, "faster" | "slower") && !subject.is_rate()
        || value.key == "same" && !subject.is_ratio()
    {
        let message = format!("`{}` is not said of `{}`", value.key, subject.word());
        return Err(FileFault::at(value.key_span.clone(), message)
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
        "at-least" => closed(number(value, subject)?, f64::INFINITY),
        "at-most" => closed(f64::NEG_INFINITY, number(value, subject)?),
        "between" => between(value, subject)?,
        _ => {
            let Some(within) = within else {
                return Err(FileFault::at(value.key_span.clone(), "`about` lacks `within`")
                    .hint("for example `about = \"-20%\"` and `within = \"5%\"`"));
            };
            let middle = number(value, subject)?;
            let scale = if subject.is_ratio() { 1.0 } else { middle.abs() };
            let room = scale * percent(within)?;
            closed(middle - room, middle + room)
        }
    }))
}

fn between(value: &FileValue<'_>, subject: ClaimSubject) -> FileResult<Region> {
    const EXPECTED: &str = "two numbers such as `[\"-30%\", \"-15%\"]`";
    let ends = value.list(EXPECTED)?;
    let [low, high] = ends.as_slice() else { return Err(wrong(value, EXPECTED)) };
    let (low, high) = (number(low, subject)?, number(high, subject)?);
    if low > high {
        return Err(value.fault("the first number must not be the larger one"));
    }
    Ok(Region { low, high, is_open: false })
}

/// A number of a quantity. A ratio may be a change: `"-20%"` is 0.8.
fn number(value: &FileValue<'_>, subject: ClaimSubject) -> FileResult<f64> {
    let Some(text) = value.value.as_str() else { return value.fraction(&(0.0..=LARGEST)) };
    let expected = if subject.is_ratio() {
        "a ratio such as `0.8`, or a change with its sign such as `\"-20%\"`"
    } else {
        "a number"
    };
    let change = text.trim().strip_suffix('%').filter(|it| it.starts_with(['+', '-']));
    let change: Option<f64> = change.and_then(|it| format!("{it}e-2").parse().ok());
    let change = change.filter(|it| subject.is_ratio() && (-1.0..=LARGEST).contains(it));
    change.map(|it| 1.0 + it).ok_or_else(|| wrong(value, expected))
}

/// The change that `faster` and `slower` exceed: `true` is any.
fn change(value: &FileValue<'_>) -> FileResult<f64> {
    match value.value.as_bool() {
        Some(true) => Ok(0.0),
        _ if value.value.is_str() => percent(value),
        _ => Err(value.is_not("`true`, or the least change such as `\"5%\"`")),
    }
}

fn percent(value: &FileValue<'_>) -> FileResult<f64> {
    value.percent("a percentage in quotes, such as `\"5%\"`")
}

fn words<'t>(value: &FileValue<'t>, expected: &str) -> FileResult<Vec<(&'t str, FileValue<'t>)>> {
    let values = value.one_or_more(expected)?;
    if values.len() > MOST {
        return Err(value.fault(format!("`{}` has at most {MOST} entries", value.key)));
    }
    let word = |it: FileValue<'t>| {
        let text = it.text(expected)?;
        match text.chars().count() {
            1..=MOST => Ok((text, it)),
            _ => Err(it.fault(format!("this must have 1 to {MOST} characters"))),
        }
    };
    values.into_iter().map(word).collect()
}

pub(crate) fn systems(value: &FileValue<'_>) -> FileResult<Vec<SystemWords>> {
    let words = words(value, "a system such as `\"8.0\"`, or a list of them")?;
    let system = |(text, value): (&str, FileValue<'_>)| {
        let is_pattern = text.contains(['*', '?']);
        let pattern = is_pattern.then(|| pattern(text, &value)).transpose()?;
        Ok(SystemWords { words: text.to_owned(), pattern })
    };
    words.into_iter().map(system).collect()
}

/// Words for tests; `!` excludes.
pub(crate) fn tests(value: &FileValue<'_>) -> FileResult<Vec<TestWords>> {
    let words = words(value, "a group or a pattern such as `\"point*\"`, or a list of them")?;
    let test = |(text, value): (&str, FileValue<'_>)| {
        let (is_excluded, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        Ok(TestWords { words: text.to_owned(), pattern: pattern(text, &value)?, is_excluded })
    };
    words.into_iter().map(test).collect()
}

fn pattern(text: &str, value: &FileValue<'_>) -> FileResult<regex_lite::Regex> {
    glob::regex(text).map_err(|why| value.fault(format!("the pattern cannot be read: {why}")))
}

/// Client counts: `8`, `"1-8"`, `"20+"`, one or a list of them.
pub(crate) fn clients(value: &FileValue<'_>) -> FileResult<Vec<(u32, u32)>> {
    const EXPECTED: &str = "a number of clients, a range such as `\"1-8\"`, or `\"20+\"`";
    let values = value.one_or_more(EXPECTED)?;
    let range = |it: &FileValue<'_>| {
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

pub(crate) fn shared(value: &FileValue<'_>) -> FileResult<(Share, ShareUnit)> {
    if value.value.as_integer().is_some() {
        let number = value.number(&(0..=u32::MAX))?;
        return Ok((Share::Count { least: number, most: number, of: None }, ShareUnit::Tests));
    }
    let text = value.text(SHARES)?;
    share(text).ok_or_else(|| wrong(value, SHARES))
}

const SHARES: &str = "a number, or words such as `\"every\"`, `\"none\"`, `\"most tests\"`, \
    `\"7 of 9 tests\"`, `\"at most 2\"` or `\"at least 90% of cells\"`";

/// Parses `every`, `most tests`, `7 of 9 tests`, `at least 90% of cells`.
fn share(text: &str) -> Option<(Share, ShareUnit)> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let counted = match words.last() {
        Some(&("tests" | "steps")) => Some(ShareUnit::Tests),
        Some(&"cells") => Some(ShareUnit::Cells),
        _ => None,
    };
    if counted.is_some() {
        words.pop();
    }
    let share = match words.as_slice() {
        ["every" | "all"] => Share::Every,
        ["none"] => Share::None,
        ["most"] => Share::Most,
        ["at", "least", rest @ ..] => {
            share_of_count(rest, |least| (least, u32::MAX)).or_else(|| share_of_all(rest))?
        }
        ["at", "most", rest @ ..] => share_of_count(rest, |most| (0, most))?,
        ["exactly", rest @ ..] | rest => share_of_count(rest, |number| (number, number))?,
    };
    Some((share, counted.unwrap_or(ShareUnit::Tests)))
}

fn share_of_count(words: &[&str], bounds: fn(u32) -> (u32, u32)) -> Option<Share> {
    let (number, of) = match words {
        [number] => (number, None),
        [number, "of", all] => (number, Some(all.parse().ok()?)),
        _ => return None,
    };
    let number = number.parse().ok()?;
    let (least, most) = bounds(number);
    let fits = of.is_none_or(|of| number <= of);
    fits.then_some(Share::Count { least, most, of })
}

fn share_of_all(words: &[&str]) -> Option<Share> {
    let [percent] = words.strip_suffix(&["of"]).unwrap_or(words) else { return None };
    parse_percent(percent).ok().map(Share::Part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_words() {
        let count = |least, most, of| Share::Count { least, most, of };
        for (words, expected) in [
            ("every", (Share::Every, ShareUnit::Tests)),
            ("most cells", (Share::Most, ShareUnit::Cells)),
            ("7 of 9 tests", (count(7, 7, Some(9)), ShareUnit::Tests)),
            ("exactly 10 cells", (count(10, 10, None), ShareUnit::Cells)),
            ("at most 2", (count(0, 2, None), ShareUnit::Tests)),
            ("at least 5 of 10", (count(5, u32::MAX, Some(10)), ShareUnit::Tests)),
            ("at least 90% of cells", (Share::Part(0.9), ShareUnit::Cells)),
        ] {
            assert_eq!(share(words), Some(expected), "{words}");
        }
        for words in
            ["", "tests", "10 of 9", "at most 90%", "some", "-1", "at least", "200%", "7 9"]
        {
            assert_eq!(share(words), None, "{words}");
        }
    }
}
