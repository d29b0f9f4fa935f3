//! Systems of a study that were requested differently but are the same.

use serde::{Deserialize, Serialize};

/// A system with the same build, settings and plans as another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameSystems {
    pub other: usize,
    pub terms: String,
    /// Options in which they were meant to differ. Empty if their names resolve to the same build.
    pub options: Vec<SameOption>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameOption {
    pub setting: String,
    pub value: String,
    /// The system whose name lacks the option; `None` if both have it.
    pub without: Option<usize>,
    pub because: SameReason,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "why")]
pub enum SameReason {
    Terms,
    Default,
    Spelling,
    NoEffect(String),
}

impl SameSystems {
    /// `` these two are the same: `a` and `b`; `synchronous_commit` is off in both, because the terms `lean` set it;
    /// `--terms shipped` or `+synchronous_commit=on` for `a` would make a difference ``. `names`: the other system,
    /// then this one.
    pub fn sentence(&self, names: [&str; 2], name_of: impl Fn(usize) -> String) -> String {
        let [other, own] = names;
        let both = format!("these two are the same: `{other}` and `{own}`");
        if self.options.is_empty() {
            return format!("{both}: both names stand for the same build with the same settings");
        }
        let options: Vec<String> =
            self.options.iter().map(|it| it.sentence(&self.terms, &name_of)).collect();
        format!("{both}: {}; any difference between them is chance", options.join("; "))
    }
}

impl SameOption {
    fn sentence(&self, terms: &str, name_of: impl Fn(usize) -> String) -> String {
        let Self { setting, value, without, because } = self;
        let value = if value.is_empty() { "empty" } else { value.as_str() };
        // The other value of a switch, the only kind of setting with a known alternative.
        let other = opposite(value).map_or_else(|| "...".to_owned(), str::to_owned);
        let system =
            without.map_or_else(|| "one of them".to_owned(), |it| format!("`{}`", name_of(it)));
        let change = format!("`+{setting}={other}` for {system}");
        match because {
            SameReason::Terms if terms == SHIPPED => format!(
                "`{setting}` is {value} in both, because the terms `{terms}` set it; {change} makes a difference"
            ),
            SameReason::Terms => format!(
                "`{setting}` is {value} in both, because the terms `{terms}` set it; `--terms {SHIPPED}` or {change} \
                 makes a difference"
            ),
            SameReason::Default => format!(
                "`{setting}` is {value} in both, because it is the default; {change} makes a difference"
            ),
            SameReason::Spelling => {
                format!(
                    "`{setting}` is {value} in both: the values that were asked for mean the same"
                )
            }
            SameReason::NoEffect(why) => format!("`{setting}`: {why}"),
        }
    }
}

/// Terms that keep each version's defaults.
const SHIPPED: &str = "shipped";

fn opposite(value: &str) -> Option<&'static str> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some("off"),
        "off" | "0" | "false" | "no" => Some("on"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(options: Vec<SameOption>) -> String {
        let same = SameSystems { other: 0, terms: "lean".to_owned(), options };
        same.sentence(["postgres@15", "b"], |_| "postgres@15".to_owned())
    }

    fn option(setting: &str, value: &str, because: SameReason) -> SameOption {
        SameOption {
            setting: setting.to_owned(),
            value: value.to_owned(),
            without: Some(0),
            because,
        }
    }

    #[test]
    fn the_reason_and_a_remedy_are_named() {
        assert_eq!(
            same(vec![option("synchronous_commit", "off", SameReason::Terms)]),
            "these two are the same: `postgres@15` and `b`: `synchronous_commit` is off in both, because the terms \
             `lean` set it; `--terms shipped` or `+synchronous_commit=on` for `postgres@15` makes a difference; any \
             difference between them is chance"
        );
        let pages = same(vec![option("innodb_doublewrite_pages", "128", SameReason::Default)]);
        assert!(
            pages.contains("it is the default; `+innodb_doublewrite_pages=...` for"),
            "{pages}"
        );
        let jit = same(vec![option(
            "jit",
            "on",
            SameReason::NoEffect("no effect, because x".to_owned()),
        )]);
        assert!(jit.contains("`b`: `jit`: no effect, because x; any"), "{jit}");
        assert!(
            same(Vec::new())
                .ends_with("both names stand for the same build with the same settings")
        );
    }
}
