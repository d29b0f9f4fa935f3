//! The rule base: settings that can decide a comparison, their names on each server, and the meaning of a difference.
//! Data; each fact has its source.

mod engine;
mod ignored;
mod postgres;
mod rule;
mod server;

pub use ignored::ignored_table;
pub(super) use rule::{ProductDefault, SettingRule, spelling};

/// Server rules come first.
pub(super) fn all_rules() -> impl Iterator<Item = &'static SettingRule> {
    server::RULES.iter().chain(engine::RULES).chain(postgres::RULES)
}

/// Returns whether differences of a setting say nothing about a comparison. A setting with a rule is judged, whatever
/// its name begins or ends with.
pub fn is_ignored(name: &str) -> bool {
    ignored::why_ignored(name).is_some()
        && all_rules().all(|rule| rule.variables().all(|variable| variable != name))
}
