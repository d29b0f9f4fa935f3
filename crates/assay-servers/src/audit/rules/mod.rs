//! The rule base: what is known to decide comparisons by itself, under which names servers have it, and how a
//! difference is read. Data, each fact with its source.

mod engine;
mod ignored;
mod postgres;
mod server;

use assay_model::AuditClass::{Harmless, Suspicious};
use assay_model::{AuditClass, Product};

pub(super) use ignored::is_ignored;

use super::Settings;

/// One thing that systems should have in common, whatever their versions call it.
pub(super) struct Rule {
    /// What it is called in findings: the variable, where all versions have the same.
    pub(super) name: &'static str,
    /// The variables that tell it, each for some versions; none where the name is the only one.
    pub(super) from: &'static [Variable],
    pub(super) class: AuditClass,
    /// What a server does that has none of the variables, where that is known.
    pub(super) without: Option<&'static str>,
    /// What each product has by its nature, where that differs.
    pub(super) own: Option<Own>,
    /// Why it matters, or does not.
    pub(super) why: &'static str,
    /// Where the facts can be read.
    pub(super) source: &'static str,
}

/// A variable, and what a value of it means in the rule's terms.
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) meaning: fn(&str, &Settings) -> String,
}

/// A default that each product has by its nature.
pub(super) struct Own {
    /// In the rule's terms.
    pub(super) value: fn(Product) -> &'static str,
    /// Why it is kept: it belongs to the comparison that was asked for.
    pub(super) why: &'static str,
}

impl Rule {
    const fn trap(name: &'static str, why: &'static str, source: &'static str) -> Self {
        Self { name, from: &[], class: Suspicious, without: None, own: None, why, source }
    }

    const fn harmless(name: &'static str, why: &'static str, source: &'static str) -> Self {
        Self { class: Harmless, ..Self::trap(name, why, source) }
    }

    /// Of versions without it: what they do.
    const fn else_(self, without: &'static str) -> Self {
        Self { without: Some(without), ..self }
    }

    /// With a default of each product that the intent keeps.
    const fn own(self, own: Own) -> Self {
        Self { own: Some(own), ..self }
    }

    /// Known under other names.
    const fn from(self, from: &'static [Variable]) -> Self {
        Self { from, ..self }
    }

    /// The variables that tell it.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        let own = self.from.is_empty().then_some(self.name);
        own.into_iter().chain(self.from.iter().map(|variable| variable.name))
    }
}

/// A variable with the meaning that its value says.
const fn plain(name: &'static str) -> Variable {
    Variable { name, meaning: |value, _| spelling(value) }
}

/// A value in one spelling.
pub(super) fn spelling(value: &str) -> String {
    let value = value.to_ascii_uppercase();
    match value.as_str() {
        "0" | "FALSE" | "NO" => "OFF".to_owned(),
        "1" | "TRUE" | "YES" => "ON".to_owned(),
        // The same character set: `utf8` is its name before it had a wider brother.
        "UTF8" => "UTF8MB3".to_owned(),
        _ => match value.strip_prefix("UTF8_") {
            Some(rest) => format!("UTF8MB3_{rest}"),
            // Some versions write whole numbers as fractions.
            None => match value.strip_suffix(".000000") {
                Some(whole) => spelling(whole),
                None => value,
            },
        },
    }
}

/// The rules of all products, those of the servers first.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    server::RULES.iter().chain(engine::RULES).chain(postgres::RULES)
}
