//! Findings about builds: who built the servers, with what, and with which libraries they run.

use assay_model::AuditClass::{self, Expected, Harmless, Suspicious};
use assay_model::{AuditFinding, Origin};

use self::Meaning::{Nothing, OfBuilder, OfRelease, Wrong};

use super::difference::{differ, differ_within_series, finding};
use super::facts::{Audited, JIT};

const SOURCE: &str = "build.source";

/// The commit of the source, which cannot be compared between sources.
const CHANNEL: &str = "build.channel";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Wrong in any comparison.
    Wrong,
    /// A property of the builder. Between versions, it is part of the comparison if nobody has built all of them.
    OfBuilder,
    /// A property of the release, if the builder is the same; otherwise a property of the builder.
    OfRelease,
    Nothing,
}

struct Rule {
    name: &'static str,
    meaning: Meaning,
    why: &'static str,
}

const fn rule(name: &'static str, meaning: Meaning, why: &'static str) -> Rule {
    Rule { name, meaning, why }
}

const RULES: &[Rule] = &[
    rule(
        SOURCE,
        OfBuilder,
        "different builders use different compilers and flags, so this does not compare versions alone",
    ),
    rule(
        CHANNEL,
        Nothing,
        "the same builder, but another release with its own compiler and libraries",
    ),
    rule("build.compiler", OfRelease, "a different compiler generates different code"),
    rule("build.linker", OfRelease, "code is laid out differently"),
    rule("build.pie", OfBuilder, "position-independent code costs some CPU in every function"),
    rule("build.lto", OfBuilder, "link-time optimisation saves calls across files"),
    rule("build.hardening", OfBuilder, "stack, pointer and buffer checks cost CPU"),
    rule(
        "build.allocator",
        OfBuilder,
        "memory allocators differ in cost, especially with many threads",
    ),
    rule("version_malloc_library", OfBuilder, "memory allocators differ in cost"),
    rule("build.assertions", Wrong, "a debug build runs assertions all the time"),
    rule("build.c-library", OfRelease, "the C library provides memory, string and lock functions"),
    rule("build.c++-library", Nothing, "each server runs with the library of its release"),
    rule(JIT, Nothing, "only a build with LLVM compiles statements, where `jit` is on"),
    rule("build.relro", Nothing, "symbols are bound at startup or on first use"),
    rule("build.stripped", Nothing, "only debuggers and profilers use symbols; they cost nothing"),
    rule(
        "build.foreign-libraries",
        Wrong,
        "libraries that did not come with the server belong to another build",
    ),
];

pub(super) fn knows(name: &str) -> bool {
    name.starts_with("build.") || RULES.iter().any(|rule| rule.name == name)
}

/// In the order of the rules.
pub(super) fn compare(systems: &[Audited]) -> Vec<AuditFinding> {
    let values = |name: &str| -> Vec<Option<String>> {
        systems.iter().map(|it| it.facts.settings.get(name).cloned()).collect()
    };
    let is_one_source = !differ(values(SOURCE).iter());
    let of_rule = |rule: &Rule| {
        let found = values(rule.name);
        if rule.name == CHANNEL && !is_one_source {
            return None;
        }
        let class = match rule.meaning {
            Meaning::Nothing => Harmless,
            Meaning::OfRelease if is_one_source => Harmless,
            Meaning::Wrong => Suspicious,
            Meaning::OfBuilder | Meaning::OfRelease => class(systems, &found),
        };
        // A missing fact does not mean another build.
        differ(found.iter().flatten()).then(|| finding(rule.name, found, class, rule.why))
    };
    RULES.iter().filter_map(of_rule).collect()
}

/// Suspicious where the user has a choice: another package of the same release series, or the same build options for
/// builds from source.
fn class(systems: &[Audited], values: &[Option<String>]) -> AuditClass {
    let is_own = |it: &Audited| matches!(it.spec.origin, Origin::Dir(_) | Origin::Git(_));
    if systems.iter().any(is_own) || differ_within_series(systems, values) {
        Suspicious
    } else {
        Expected
    }
}
