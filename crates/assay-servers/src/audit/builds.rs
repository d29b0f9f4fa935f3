//! Builds that differ: who built the servers, with what, and which libraries they run with.

use assay_model::AuditClass::{self, Harmless, Suspicious};
use assay_model::AuditFinding;

use super::{Audited, differ, finding};

/// What is known of builds stands below this word.
const SOURCE: &str = "build.source";

/// Where in the source: means nothing between sources.
const CHANNEL: &str = "build.channel";

/// How a difference is read where the builds have one source, and where they have several.
struct Rule {
    name: &'static str,
    of_one_source: AuditClass,
    of_several: AuditClass,
    why: &'static str,
}

const fn rule(name: &'static str, class: AuditClass, why: &'static str) -> Rule {
    Rule { name, of_one_source: class, of_several: class, why }
}

/// What comes with a release of the source: part of what is compared where the source is one, else a matter of
/// who built.
const fn of_release(name: &'static str, why: &'static str) -> Rule {
    Rule { name, of_one_source: Harmless, of_several: Suspicious, why }
}

const RULES: &[Rule] = &[
    rule(
        SOURCE,
        Suspicious,
        "built by different people with different compilers and flags: not versions alone are compared",
    ),
    rule(
        CHANNEL,
        Harmless,
        "the same builder, but of another release, with that release's compiler and libraries",
    ),
    of_release("build.compiler", "another compiler makes other code of the same source"),
    of_release("build.linker", "code is laid out differently"),
    rule("build.pie", Suspicious, "position independent code costs some CPU in every function"),
    rule("build.lto", Suspicious, "optimisation across files saves calls"),
    rule("build.hardening", Suspicious, "checks of the stack, of pointers and of buffers cost CPU"),
    rule(
        "build.allocator",
        Suspicious,
        "memory allocators differ in cost, with many threads above all",
    ),
    rule("build.assertions", Suspicious, "a build for debugging checks itself all the time"),
    of_release("build.c-library", "memory, strings and locks are the C library's"),
    rule("build.c++-library", Harmless, "each server runs with the library of its release"),
    rule("build.relro", Harmless, "when symbols are bound: at the start, or at their first use"),
    rule("build.stripped", Harmless, "symbols are for debuggers and profilers, they cost nothing"),
    rule(
        "build.foreign-libraries",
        Suspicious,
        "libraries that did not come with the server are another build's",
    ),
];

/// Findings about builds, in the order of the rules.
pub(super) fn compare(systems: &[Audited]) -> Vec<AuditFinding> {
    let values = |name: &str| -> Vec<Option<String>> {
        systems.iter().map(|it| it.facts.settings.get(name).cloned()).collect()
    };
    let is_one = !differ(values(SOURCE).iter());
    let of_rule = |rule: &Rule| {
        let found = values(rule.name);
        if rule.name == CHANNEL && !is_one {
            return None;
        }
        let class = if is_one { rule.of_one_source } else { rule.of_several };
        // What a file does not tell is no other build.
        differ(found.iter().flatten()).then(|| finding(rule.name, found, class, rule.why))
    };
    RULES.iter().filter_map(of_rule).collect()
}
