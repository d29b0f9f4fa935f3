//! Rules, and the variables and values that they are about.

use assay_model::AuditClass::{Harmless, Suspicious};
use assay_model::{AuditClass, Product};

use crate::audit::facts::ServerSettings;

/// A setting that systems should have in common, whatever their versions call it.
pub(crate) struct SettingRule {
    /// Name in findings; the variable's name, if all versions have the same one.
    pub(crate) name: &'static str,
    /// The variables that hold it, each for some versions; empty if `name` is the only one.
    pub(crate) from: &'static [RuleVariable],
    pub(crate) class: AuditClass,
    /// The value for a server without any of the variables, if known.
    pub(crate) without: Option<&'static str>,
    /// The default of each product, if the intent keeps it and products differ.
    pub(crate) own: Option<ProductDefault>,
    pub(crate) why: &'static str,
    pub(crate) source: &'static str,
}

/// A variable, and the meaning of its values in the rule's terms.
pub(crate) struct RuleVariable {
    pub(crate) name: &'static str,
    pub(crate) meaning: fn(&str, &ServerSettings) -> String,
}

/// A default that differs between products and that the intent keeps.
pub(crate) struct ProductDefault {
    /// In the rule's terms.
    pub(crate) value: fn(Product) -> &'static str,
    /// Why it is kept: it belongs to the requested comparison.
    pub(crate) why: &'static str,
}

impl SettingRule {
    pub(super) const fn else_(self, without: &'static str) -> Self {
        Self { without: Some(without), ..self }
    }

    pub(super) const fn own(self, own: ProductDefault) -> Self {
        Self { own: Some(own), ..self }
    }

    pub(super) const fn from(self, from: &'static [RuleVariable]) -> Self {
        Self { from, ..self }
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        let own = self.from.is_empty().then_some(self.name);
        own.into_iter().chain(self.from.iter().map(|variable| variable.name))
    }
}

/// A setting whose differences are suspicious.
pub(super) const fn trap(
    name: &'static str,
    why: &'static str,
    source: &'static str,
) -> SettingRule {
    SettingRule { name, from: &[], class: Suspicious, without: None, own: None, why, source }
}

pub(super) const fn harmless(
    name: &'static str,
    why: &'static str,
    source: &'static str,
) -> SettingRule {
    SettingRule { class: Harmless, ..trap(name, why, source) }
}

/// A variable whose values need no translation.
pub(super) const fn plain(name: &'static str) -> RuleVariable {
    RuleVariable { name, meaning: |value, _| spelling(value) }
}

pub(crate) fn spelling(value: &str) -> String {
    let value = value.to_ascii_uppercase();
    match value.as_str() {
        "0" | "FALSE" | "NO" => "OFF".to_owned(),
        "1" | "TRUE" | "YES" => "ON".to_owned(),
        // The same character set: `utf8` is its older name.
        "UTF8" => "UTF8MB3".to_owned(),
        _ => match value.strip_prefix("UTF8_") {
            Some(rest) => format!("UTF8MB3_{rest}"),
            // Servers write more decimals than people.
            None => match without_zeros(&value) {
                Some(shorter) => spelling(shorter),
                None => value,
            },
        },
    }
}

/// A fraction without the zeros at its end, such as `0.5` for `0.500000` and `2` for `2.000000`; `None` if there are
/// none, or if it is no number.
fn without_zeros(value: &str) -> Option<&str> {
    let (whole, decimals) = value.strip_prefix('-').unwrap_or(value).split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let has_zeros = is_number(whole) && is_number(decimals) && decimals.ends_with('0');
    has_zeros.then(|| value.trim_end_matches('0').trim_end_matches('.'))
}
