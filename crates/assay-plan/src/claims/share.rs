//! Parser of shares: `every`, `most tests`, `7 of 9 tests`, `at least 90% of cells`.

use assay_model::{Counted, Share};

use assay_options::parse_percent;

pub(super) const EXPECTED: &str = "a number, or words such as `\"every\"`, `\"none\"`, `\"most tests\"`, \
    `\"7 of 9 tests\"`, `\"at most 2\"` or `\"at least 90% of cells\"`";

pub(super) fn share(text: &str) -> Option<(Share, Counted)> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let counted = match words.last() {
        Some(&("tests" | "steps")) => Some(Counted::Tests),
        Some(&"cells") => Some(Counted::Cells),
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
            count(rest, |least| (least, u32::MAX)).or_else(|| part(rest))?
        }
        ["at", "most", rest @ ..] => count(rest, |most| (0, most))?,
        ["exactly", rest @ ..] | rest => count(rest, |number| (number, number))?,
    };
    Some((share, counted.unwrap_or(Counted::Tests)))
}

fn count(words: &[&str], bounds: fn(u32) -> (u32, u32)) -> Option<Share> {
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

fn part(words: &[&str]) -> Option<Share> {
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
            ("every", (Share::Every, Counted::Tests)),
            ("most cells", (Share::Most, Counted::Cells)),
            ("7 of 9 tests", (count(7, 7, Some(9)), Counted::Tests)),
            ("exactly 10 cells", (count(10, 10, None), Counted::Cells)),
            ("at most 2", (count(0, 2, None), Counted::Tests)),
            ("at least 5 of 10", (count(5, u32::MAX, Some(10)), Counted::Tests)),
            ("at least 90% of cells", (Share::Part(0.9), Counted::Cells)),
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
