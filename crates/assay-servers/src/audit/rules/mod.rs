//! The rule base: settings that can decide a comparison, their names on each server, and the meaning of a difference.
//! Data; each fact has its source.

mod engine;
mod ignored;
mod postgres;
mod rule;
mod server;

pub use ignored::is_ignored;
pub(super) use rule::{Own, Rule, spelling};

/// Server rules come first.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    server::RULES.iter().chain(engine::RULES).chain(postgres::RULES)
}
