//! Short names for systems with many options.

use std::collections::BTreeSet;

pub const NAME_LETTERS: usize = 60;

const OPTION_LETTERS: usize = 24;

/// Number of longer candidates to try if another system has the short name.
const LONGER: usize = 3;

pub const SHORTENED: &str = "+...";

/// A name for each system, in order: its own up to [`NAME_LETTERS`], else product and version with as many of the
/// options that distinguish it among systems of this version as fit, and `+...` for the rest. Different names stay
/// different. A URL stays unchanged.
pub fn short_names(names: &[&str]) -> Vec<String> {
    let parts: Vec<NameParts> = names.iter().map(|name| NameParts::new(name)).collect();
    let mut short: Vec<String> = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        if !is_long(name) {
            short.push((*name).to_owned());
            continue;
        }
        if let Some(same) = names.iter().take(index).position(|other| other == name) {
            short.push(short[same].clone());
            continue;
        }
        let is_free = |candidate: &String| {
            let is_taken = short.contains(candidate)
                || names.iter().any(|other| !is_long(other) && other == candidate);
            !is_taken
        };
        short.push(short_name(&parts, index).find(is_free).unwrap_or_else(|| (*name).to_owned()));
    }
    short
}

/// Names without the options that all systems have; `None` if these have none, or two names would become equal.
pub(crate) fn without_shared_options(names: &[String]) -> Option<Vec<String>> {
    let parts: Vec<NameParts> = names.iter().map(|name| NameParts::new(name)).collect();
    let differs = |other: &NameParts| {
        parts.iter().any(|one| (one.version, &one.set) != (other.version, &other.set))
    };
    if names.iter().any(|name| is_url(name)) || !parts.first().is_some_and(differs) {
        return None;
    }
    let is_own = |option: &&&str| {
        // Options behind `+...` are unknown, and those that are cut may differ.
        let is_cut = SHORTENED.ends_with(**option) || option.ends_with('…');
        is_cut || parts.iter().any(|other| !other.set.contains(**option))
    };
    let kept: Vec<String> = parts
        .iter()
        .map(|own| {
            let options = own.options.iter().filter(is_own).map(|option| format!("+{option}"));
            format!("{}{}{}", own.version, options.collect::<String>(), own.suffix)
        })
        .collect();
    let number = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len();
    (number(&kept) == number(names)).then_some(kept)
}

fn is_long(name: &str) -> bool {
    !is_url(name) && name.contains('+') && name.chars().nth(NAME_LETTERS).is_some()
}

fn is_url(name: &str) -> bool {
    name.split_once("://").is_some_and(|(scheme, _)| !scheme.contains('@'))
}

/// A name in parts: `mysql@8.0`, `+option=value` each, and ` (twin)` or ` #2`.
struct NameParts<'a> {
    version: &'a str,
    options: Vec<&'a str>,
    set: BTreeSet<&'a str>,
    suffix: &'a str,
}

impl<'a> NameParts<'a> {
    fn new(name: &'a str) -> Self {
        let (words, suffix) =
            name.find(" (").or_else(|| name.rfind(" #")).map_or((name, ""), |at| name.split_at(at));
        let mut options = words.split('+');
        let version = options.next().unwrap_or(words);
        let options: Vec<&str> = options.collect();
        Self { version, set: options.iter().copied().collect(), options, suffix }
    }

    fn with(&self, options: &[&str]) -> String {
        let cut = |option: &&str| match option.char_indices().nth(OPTION_LETTERS) {
            Some((end, _)) => format!("+{}…", option.get(..end).unwrap_or_default()),
            None => format!("+{option}"),
        };
        let shown: String = options.iter().map(cut).collect();
        let more = if options.len() < self.options.len() { SHORTENED } else { "" };
        format!("{}{shown}{more}{}", self.version, self.suffix)
    }
}

/// Candidates for a system's short name, the best first.
fn short_name<'a>(parts: &'a [NameParts<'a>], index: usize) -> impl Iterator<Item = String> + 'a {
    let own = &parts[index];
    let is_distinguishing = |option: &&str| {
        // Another version is distinguished by its number.
        let mut others = parts.iter().filter(|other| other.version == own.version);
        others.any(|other| !other.set.contains(option))
    };
    let options: Vec<&str> = own.options.iter().copied().filter(is_distinguishing).collect();
    let fits = |count: &usize| own.with(&options[..*count]).chars().count() <= NAME_LETTERS;
    let most = (0..=options.len()).rev().find(fits).unwrap_or(0);
    // More options distinguish systems whose first ones are alike; numbers do so if even the truncated ones are alike.
    let longer = (most..=options.len()).take(LONGER);
    let numbered = own.with(&options[..most]);
    let candidates: Vec<String> = longer.map(|count| own.with(&options[..count])).collect();
    let numbers = (2..).map(move |number| {
        let end = numbered.len() - own.suffix.len();
        let (words, suffix) = numbered.split_at(end);
        format!("{words}~{number}{suffix}")
    });
    candidates.into_iter().chain(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_short(names: &[&str], expected: &[&str]) {
        assert_eq!(short_names(names), expected);
    }

    #[test]
    fn names_up_to_the_limit_and_urls_are_kept() {
        let url = format!("mysql://root@/sbtest?socket=/{}/a+b+c", "x".repeat(100));
        let names = ["mysql@8.0+sync_binlog=0", "mysql@8.0 (twin)", &url, "old", ""];
        assert_short(&names, &names);
    }

    #[test]
    fn long_names_have_the_options_that_others_do_not_have() {
        let config: String = (0..40).map(|at| format!("+option_{at}=value_{at}")).collect();
        let old = format!("mysql@8.0{config}+sync_binlog=0");
        let new = format!("mysql@8.0{config}+sync_binlog=1");
        let twin = format!("{old} (twin)");
        assert_short(
            &[&old, &new, &twin],
            &[
                "mysql@8.0+sync_binlog=0+...",
                "mysql@8.0+sync_binlog=1+...",
                "mysql@8.0+sync_binlog=0+... (twin)",
            ],
        );
        let next = old.replace("8.0", "9.7");
        assert_short(&[&old, &next], &["mysql@8.0+...", "mysql@9.7+..."]);
        let cut = "mysql@8.0+option_0=value_0+option_1=value_1+...";
        assert_short(&["mysql@8.0", &new], &["mysql@8.0", cut]);
    }

    #[test]
    fn options_that_all_systems_have_are_left_out() {
        let kept = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            without_shared_options(&names).unwrap_or(names)
        };
        assert_eq!(
            kept(&["mysql@8.0+a=1+b=2", "mysql@8.4/rocksdb+a=1", "mysql@8.0+a=1+b=2 (twin)"]),
            ["mysql@8.0+b=2", "mysql@8.4/rocksdb", "mysql@8.0+b=2 (twin)"]
        );
        for names in [
            ["mysql@8.0+a=1", "mysql@8.0+a=1 (twin)"],
            ["mysql@8.0+a=1", "old"],
            ["mysql@8.0+...", "mysql@8.4+..."],
            ["mysql@8.0+a=1", "mysql://me@h/d?x=+a=1"],
            ["mysql@8.0+a=1 #2", "mysql@8.0+a=1 #2"],
        ] {
            assert_eq!(kept(&names), names);
        }
        assert!(kept(&[]).is_empty() && kept(&["mysql@8.0+a=1"]) == ["mysql@8.0+a=1"]);
    }

    /// Their differences lie beyond the visible part.
    #[test]
    fn different_names_stay_different_and_short() {
        let modes = "sql_mode=STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY";
        let names: Vec<String> = (0..5).map(|it| format!("mysql@8.0+{modes},MODE_{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let short = short_names(&names);
        assert_eq!(short[0], "mysql@8.0+sql_mode=STRICT_TRANS_TA…");
        assert_eq!(short[1], "mysql@8.0+sql_mode=STRICT_TRANS_TA…~2");
        let mut unique = short.clone();
        unique.dedup();
        assert_eq!(unique.len(), 5);
        assert!(short.iter().all(|name| name.chars().count() <= NAME_LETTERS));
        let again = short_names(&[names[0], names[0]]);
        assert_eq!(again[0], again[1]);
    }

    #[test]
    fn a_short_name_is_not_that_of_another_system() {
        let long = format!("mysql@8.0{}", "+a=b".repeat(30));
        let names = ["mysql@8.0+...", &long, "mysql@8.0"];
        let short = short_names(&names);
        assert!(short[1] != short[0] && short[1] != short[2], "{short:?}");
        for odd in ["+", "++++", &"+".repeat(100), &"é".repeat(100), &" (+".repeat(40)] {
            assert_eq!(short_names(&[odd, odd]).len(), 2);
        }
    }
}
