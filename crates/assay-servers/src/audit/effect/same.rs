//! Compares a requested value with the one that MySQL or MariaDB shows, in any spelling.

/// Relative tolerance for rounding: servers round to whole blocks and pages.
const ROUNDED: f64 = 0.01;

/// `None` for values that are not those of a switch.
pub(crate) fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Returns whether a variable's answer confirms the value. `later` are the values given after this one, if the option
/// adds up.
pub(super) fn is_same(variable: &str, asked: &str, later: &[&str], answer: &str) -> bool {
    let (asked, answer) = (asked.trim(), answer.trim());
    if asked.eq_ignore_ascii_case(answer) || asked.eq_ignore_ascii_case("default") {
        return true;
    }
    if asked.contains('=') {
        return has_flags(asked, later, answer);
    }
    match (switch(asked), switch(answer)) {
        (Some(one), Some(other)) if one == other => return true,
        // The value of `log_bin` is a name.
        (_, Some(is_on)) if variable == "log_bin" => return is_on,
        _ => {}
    }
    match (number(asked), number(answer)) {
        // The server chooses.
        (Some(-1.0), Some(_)) => true,
        (Some(one), Some(other)) => (one - other).abs() <= ROUNDED * one.abs().max(other.abs()),
        // A number in place of a word of a list.
        (Some(_), None) => switch(answer).is_none(),
        (None, Some(_)) => false,
        (None, None) => words_are_same(asked, answer),
    }
}

/// Returns whether each of these flags, such as `mrr=on`, has this value, unless a later one overrides it.
fn has_flags(asked: &str, later: &[&str], answer: &str) -> bool {
    let flag = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase())
    };
    let is_set_again = |name: &str| {
        let mut flags = later.iter().flat_map(|it| it.split(','));
        flags.any(|it| ["default", name].contains(&flag(it).0.as_str()))
    };
    let answers: Vec<_> = answer.split(',').map(flag).collect();
    asked.split(',').map(flag).all(|(name, value)| {
        let known = answers.iter().find(|(other, _)| *other == name);
        value == "default" || is_set_again(&name) || known.is_some_and(|(_, other)| *other == value)
    })
}

fn number(text: &str) -> Option<f64> {
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40), ('p', 50), ('e', 60)];
    let last = text.chars().next_back()?.to_ascii_lowercase();
    let is_number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.starts_with(|c: char| c.is_ascii_digit())
    };
    match units.iter().find(|(unit, _)| *unit == last) {
        Some((_, power)) => {
            let number = text.get(..text.len() - 1).filter(|it| is_number(it))?;
            Some(number.parse::<f64>().ok()? * 2_f64.powi(*power))
        }
        None => text.parse().ok().filter(|_| is_number(text)),
    }
}

/// Words in any order: a set may also contain what its words imply. Paths match by their ends; `utf8` is also called
/// `utf8mb3`.
fn words_are_same(asked: &str, answer: &str) -> bool {
    let asked = asked.trim_start_matches("./");
    if asked.is_empty() {
        return false;
    }
    let is_path = asked.contains('/') || asked.contains('.');
    if is_path && answer.ends_with(asked) {
        return true;
    }
    let plain = |word: &str| word.trim().to_ascii_lowercase().replace("utf8mb3", "utf8");
    let answers: Vec<String> = answer.split(',').map(plain).collect();
    asked.split(',').map(plain).all(|word| answers.contains(&word))
}
